/* SPDX-License-Identifier: MIT */
/*
 * From options to a job: what the three programs do before the timed part.
 */
#ifndef UBENCH_SETUP_H
#define UBENCH_SETUP_H

#include "apps/ubench/options.h"
#include "apps/ubench/thread.h"

#include <stdint.h>

/* Find the rate: the given one, or one that is measured on the calling thread, and printed to
 * standard error unless quiet. First checks that this machine has the memory for the footprint of
 * that many threads. Prints its errors. Returns 0, or the exit status to end with. */
int setup_rate(const char *program, const struct ubench_options *options, int threads,
	uint64_t *rate_steps_per_ms);

/* Check that there is a speed for each of the CPUs, if there are any. Prints the error. Returns 0, or
 * the exit status to end with. */
int setup_speeds(const char *program, const struct ubench_options *options, int cpus);

/* Fill in what options and rate decide. cpus is for --pin and --speeds, of which there is
 * one for each CPU; it must outlive the job. The caller adds the barrier. */
void setup_job(struct job *job, const struct ubench_options *options, uint64_t rate_steps_per_ms,
	const struct cpuset *cpus);

/* Print that a run failed, and why (a negative errno). Returns the exit status, 1. */
int setup_failed(const char *program, const char *what, int error);

#endif
