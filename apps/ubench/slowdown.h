/* SPDX-License-Identifier: MIT */
/*
 * CPUs of unequal speed where all are equal: an emulation.
 *
 * A thread asks every few microseconds on which CPU it runs. On a slow one it also does steps that
 * count for nothing, so that each step that counts costs more CPU time. Only the work is slowed, not
 * the barriers, the kernel or other programs. The extra steps touch no memory.
 */
#ifndef UBENCH_SLOWDOWN_H
#define UBENCH_SLOWDOWN_H

#include "apps/ubench/work.h"
#include "daemon/base/cpuset.h"

#include <stdint.h>

/* The CPUs; read-only while threads run. All zero: none is slowed. */
struct slowdown {
	uint64_t chunk_steps; /* CPU time between two looks at where the thread runs */
	double speed[CPUSET_CPUS_MAX]; /* by OS number: 1, or less */
};

/* What one thread does beside its work. */
struct burn {
	struct work work; /* its steps count for nothing */
	double owed_steps; /* of it; less than WORK_STEPS_PER_LINE are carried over */
};

/* The i-th of the CPUs has speed[i], above 0 and up to 1, and any other CPU 1. There must be as many
 * speeds as CPUs. */
void slowdown_init(struct slowdown *slowdown, uint64_t rate_steps_per_ms, const struct cpuset *cpus,
	const double *speed);

/* Ready to run: nothing is owed. It holds no memory. */
void burn_init(struct burn *burn);

/* How many steps to burn for that many steps of work on a CPU of that speed: a multiple of
 * WORK_STEPS_PER_LINE. It keeps the rest in *owed_steps for the next call. */
uint64_t slowdown_extra(double speed, uint64_t steps, double *owed_steps);

/* As work_run(): the work ends in the same state, only later. */
void slowdown_run(
	const struct slowdown *slowdown, struct work *work, struct burn *burn, uint64_t steps);

#endif
