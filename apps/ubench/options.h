/* SPDX-License-Identifier: MIT */
/*
 * The command line of ubench, ubench-omp and ubench-mpi: one table, three programs.
 */
#ifndef UBENCH_OPTIONS_H
#define UBENCH_OPTIONS_H

#include "apps/ubench/barrier.h"
#include "daemon/base/cpuset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_THREADS_MAX 4096

/* How the three programs differ; constant. */
struct model {
	const char *program;
	const char *doc; /* first line of --help */
	const char *notes; /* last lines of --help */
	unsigned barriers; /* bit 1 << kind for each that it has */
	enum barrier_kind barrier_default;
};

struct ubench_options {
	int threads; /* 0: not given */
	uint64_t phase_ns;
	uint64_t phases;
	enum barrier_kind barrier;
	uint64_t memory_bytes;
	uint64_t rate_steps_per_ms; /* 0: not given */
	double imbalance_pct;
	size_t speed_count; /* 0: all CPUs are equal */
	double speed[CPUSET_CPUS_MAX]; /* relative to the fastest */
	bool calibrate;
	bool pin;
	bool quiet;
	const char *json; /* points into argv, or is constant */
};

/* Read the command line. Errors go to standard error, one line each, and help to standard output;
 * nothing is printed with `silent` (in an MPI job one rank prints for all). Returns 0 to go on, 1
 * when the command line asked for help or the version, or -EINVAL. */
int ubench_options_parse(
	int argc, char **argv, const struct model *model, bool silent, struct ubench_options *out);

#endif
