/* SPDX-License-Identifier: MIT */
/*
 * CPUs of unequal speed, emulated; see slowdown.h.
 */
#include "apps/ubench/slowdown.h"

#include <sched.h>

/* Asking takes some 10 to 30 ns: less than 1 % of this. */
#define CHUNK_NS 4000

static uint64_t whole_lines(uint64_t steps)
{
	return (steps + WORK_STEPS_PER_LINE - 1) / WORK_STEPS_PER_LINE * WORK_STEPS_PER_LINE;
}

void slowdown_init(struct slowdown *slowdown, uint64_t rate_steps_per_ms, const struct cpuset *cpus,
	const double *speed)
{
	int count = cpuset_count(cpus);

	/* work_run() rounds up to whole lines: other chunks would do more work than one call. */
	slowdown->chunk_steps = whole_lines(work_steps(rate_steps_per_ms, CHUNK_NS));
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++)
		slowdown->speed[cpu] = 1;
	for (int i = 0; i < count; i++)
		slowdown->speed[cpuset_nth(cpus, i)] = speed[i];
}

void burn_init(struct burn *burn)
{
	*burn = (struct burn){0};
	(void)work_init(&burn->work, 0, 0); /* can't fail without memory */
}

uint64_t slowdown_extra(double speed, uint64_t steps, double *owed_steps)
{
	double owed = *owed_steps + (double)whole_lines(steps) * (1 / speed - 1);
	uint64_t extra = (uint64_t)(owed / WORK_STEPS_PER_LINE) * WORK_STEPS_PER_LINE;

	*owed_steps = owed - (double)extra;
	return extra;
}

/* The speed of the CPU that the caller runs on. */
static double speed_here(const struct slowdown *slowdown)
{
	int cpu = sched_getcpu();

	return cpu >= 0 && cpu < CPUSET_CPUS_MAX ? slowdown->speed[cpu] : 1;
}

void slowdown_run(
	const struct slowdown *slowdown, struct work *work, struct burn *burn, uint64_t steps)
{
	while (steps > 0) {
		double speed = speed_here(slowdown);
		/* Work and burning together take a chunk's time, so that a move is noticed as soon
		 * on a slow CPU as on a fast one. */
		uint64_t chunk = whole_lines((uint64_t)(speed * (double)slowdown->chunk_steps));

		if (chunk == 0)
			chunk = WORK_STEPS_PER_LINE;
		if (chunk > steps)
			chunk = steps;
		work_run(work, chunk);
		work_run(&burn->work, slowdown_extra(speed, chunk, &burn->owed_steps));
		steps -= chunk;
	}
}
