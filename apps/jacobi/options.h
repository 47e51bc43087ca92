/* SPDX-License-Identifier: MIT */
/*
 * The command line of jacobi.
 */
#ifndef JACOBI_OPTIONS_H
#define JACOBI_OPTIONS_H

#include "apps/jacobi/grid.h"
#include "libprogress/progress.h"

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_THREADS_MAX 4096

enum mode {
	MODE_SYNC, /* a barrier after each iteration */
	MODE_SSYNC, /* halos are at most `bound` iterations old */
	MODE_ASYNC, /* the newest halos there are */
};

/* What moves subdomains between ranks. */
enum dplb {
	DPLB_DEFAULT,
	DPLB_NONE,
	DPLB_GLOBAL, /* by the progress of all ranks */
	DPLB_NEIGHBOURS, /* by that of a neighbourhood */
	DPLB_RANDOM, /* without regard to progress: to test moving */
};

struct options {
	uint32_t threads; /* 0: not given */
	uint32_t rows, columns; /* 0: not given */
	uint32_t subdomains; /* of each thread */
	enum grid_cut cut;
	enum mode mode;
	uint64_t bound; /* UINT64_MAX unless MODE_SSYNC */
	enum progress_balancing balancing; /* never the default */
	uint32_t hybrid_every;
	bool self_hosted; /* the threads balance; else juggle does, or nobody */
	uint64_t period_ns;
	uint32_t pairs, low, high;
	enum dplb dplb; /* never the default */
	uint32_t dplb_reach; /* of a neighbourhood */
	uint64_t dplb_period_ns;
	double dplb_threshold; /* updates; negative: not given */
	uint64_t seed;
	bool check; /* that each subdomain is on exactly one rank */
	uint64_t iterations; /* UINT64_MAX: no limit */
	double residual; /* 0: no threshold */
	bool pin;
	bool quiet;
	const char *json, *output, *trace; /* point into argv; NULL: not wanted */
};

/* Read the command line. Errors go to standard error, one line each, help to standard output,
 * unless it is to be silent.
 * Returns 0 to go on, 1 when help or version was all that was wanted, -EINVAL. */
int options_parse(int argc, char **argv, bool silent, struct options *out);

/* As --mode (without its bound), --balance, --dplb (without its reach) and --cut have them. */
const char *options_mode_name(enum mode mode);
const char *options_balancing_name(enum progress_balancing balancing);
const char *options_dplb_name(enum dplb dplb);
const char *options_cut_name(enum grid_cut cut);

#endif
