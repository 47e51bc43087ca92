/* SPDX-License-Identifier: MIT */
#include "daemon/policy/phases.h"

#include <math.h>

#define SMOOTHING 8.0 /* barriers over which the length of a phase is smoothed */
#define BARRIERS_LEAST 0.5 /* one, of which not all threads that slept were sampled */
/* Threads yield in an interval with more context switches than that many, and that many per second
 * and CPU. Measured: some 500 per second for threads that compute, or spin with our ticks; 20 to
 * 2,000 more at each barrier that yields. */
#define YIELDING_LEAST 8
#define YIELDING_HZ 1500.0
/* When threads yield in LOUD_LONG intervals in a row, phases are shorter than intervals, and each
 * interval counts as LOUD_BARRIERS. Fewer intervals in a row may be one long wait. */
#define LOUD_LONG 8
#define LOUD_BARRIERS 4

static void take_in(struct policy_signs *signs, double run_ns, double barriers)
{
	signs->run_ns += run_ns;
	signs->barriers += barriers;
	if (signs->barriers < BARRIERS_LEAST) {
		/* The phase under way is longer than those before. */
		if (signs->phase_ns > 0)
			signs->phase_ns = fmax(signs->phase_ns, signs->run_ns);
		return;
	}
	double seen_ns = signs->run_ns / signs->barriers;
	double share = fmin(signs->barriers / SMOOTHING, 1);
	if (signs->phase_ns > 0)
		signs->phase_ns += share * (seen_ns - signs->phase_ns);
	else
		signs->phase_ns = seen_ns;
	signs->run_ns = signs->barriers = 0;
}

void policy_phases_switches(struct policy_phases *phases, uint64_t now_ns, uint64_t elapsed_ns,
	double run_ns, double switches, uint32_t cpus)
{
	bool loud = switches > YIELDING_LEAST + YIELDING_HZ * 1e-9 * (double)elapsed_ns * cpus;

	/* After a loud interval nobody can tell a new barrier from the last one. */
	bool clear = phases->loud == 0 || phases->loud >= LOUD_LONG - 1;
	phases->loud = loud ? phases->loud + 1 : 0;
	if (loud)
		phases->yielded_ns = now_ns;
	if (clear && run_ns > 0)
		take_in(&phases->yields, run_ns, phases->loud >= LOUD_LONG ? LOUD_BARRIERS : loud);
}

void policy_phases_sleeps(
	struct policy_phases *phases, double run_ns, double sleeps, uint32_t threads)
{
	if (threads > 1)
		take_in(&phases->sleeps, run_ns, sleeps * threads / (threads - 1));
}

double policy_phases_length_ns(const struct policy_phases *phases, bool sleeps, bool yields)
{
	if (sleeps)
		return phases->sleeps.phase_ns;
	return yields ? phases->yields.phase_ns : 0;
}
