/* SPDX-License-Identifier: MIT */
/*
 * The idealised algorithm of Hofmeyr et al. (2012), "Juggle", Fig. 4, in the model of their Section
 * 3. It is exact: it goes from event to event, without time steps. Figs. 11 to 15 and 21 call this
 * the simulation. Pure, and fast enough for the million cases of Fig. 14.
 */
#ifndef SIM_IDEAL_H
#define SIM_IDEAL_H

#include <stdint.h>

struct ideal_case {
	uint32_t threads, cpus; /* n and m; when n <= m or m divides n, nothing moves */
	double phase; /* e > 0 */
	double period; /* lambda > 0 */
	uint64_t phases; /* at least 1 */
	double first; /* when the first balancing point is after 0; 0: a period */
	double jitter; /* random variation of each period, a share below 1; 0: none */
	uint64_t seed;
};

struct ideal_result {
	double time; /* when the last thread has completed the last phase */
	uint64_t points; /* balancing points until then */
	/* How often a thread changed its CPU. The figure is read such that as few as possible do,
	 * and a fast CPU stays fast: two for each swap of Fig. 3. */
	uint64_t migrations;
	/* The largest difference in progress seen at a balancing point (Lemma 1), between threads
	 * that are not at the barrier. */
	double lag;
};

/* When a point and the end of a phase coincide, the phase ends first. Takes O(n) time for each
 * point and each end of a thread's phase, of which there are phase / period * n / m per phase;
 * memory O(n + m). Thread-safe. Returns 0, -EINVAL (no threads or CPUs, or a time that is not
 * positive) or -ENOMEM. */
int ideal_run(const struct ideal_case *c, struct ideal_result *result);

#endif
