/* SPDX-License-Identifier: MIT */
/*
 * The command line of jacobi.
 */
#ifndef JACOBI_OPTIONS_H
#define JACOBI_OPTIONS_H

#include "apps/jacobi/method.h"

#define OPTIONS_THREADS_MAX 4096

struct jacobi_options {
	uint32_t threads; /* 0: not given */
	uint32_t rows, columns; /* 0: not given */
	uint32_t subdomains; /* of each thread */
	enum grid_cut cut;
	enum mode mode;
	uint64_t bound; /* UINT64_MAX unless MODE_SSYNC */
	struct method_balance balance; /* never the default */
	bool self_hosted; /* the threads balance; otherwise juggle does, or nobody */
	uint64_t period_ns;
	struct policy_plb_params plb; /* mode: as `balance` says */
	struct method_dplb dplb; /* never the default */
	uint64_t dplb_period_ns;
	double dplb_threshold; /* updates; 0: not given; PROGRESS_THRESHOLD_NONE: 0 was */
	uint64_t seed;
	bool check; /* check that each subdomain is on exactly one rank */
	uint64_t iterations; /* UINT64_MAX: no limit */
	double residual; /* 0: no threshold */
	bool pin;
	bool quiet;
	const char *json, *output, *trace; /* point into argv; NULL: not given */
};

/* Read the command line. Errors go to standard error, one line each, and help to standard output,
 * unless `silent`. Returns 0 to go on, 1 when the command line asked for help or the version, or
 * -EINVAL. */
int jacobi_options_parse(int argc, char **argv, bool silent, struct jacobi_options *out);

#endif
