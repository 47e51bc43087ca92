/* SPDX-License-Identifier: MIT */
/*
 * The result of a run of ubench, as JSON: the same keys for the three programs.
 */
#ifndef UBENCH_RESULT_H
#define UBENCH_RESULT_H

#include "apps/ubench/options.h"

#include <stdint.h>

struct result {
	const char *program;
	int threads;
	int cpus; /* that the threads may use */
	uint64_t rate_steps_per_ms;
	uint64_t elapsed_ns;
	uint64_t *phase_ns; /* not owned; result_write() sorts it */
	uint64_t phase_count;
	uint64_t checksum; /* all threads' final states, exclusive-or */
};

/* Write the run's object to options->json; says so on standard error when that fails.
 * Returns the program's exit status. */
int result_write(const struct result *result, const struct ubench_options *options);

/* The same for --calibrate, whose result is only the program and the rate. */
int result_write_rate(
	const char *program, uint64_t rate_steps_per_ms, const struct ubench_options *options);

#endif
