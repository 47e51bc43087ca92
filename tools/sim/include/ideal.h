/* SPDX-License-Identifier: MIT */
/*
 * The idealised algorithm of Hofmeyr et al. (2012), "Juggle", Fig. 4, in the model of their Section
 * 3, exactly: from event to event, without steps of time. What Figs. 11 to 15 and 21 call the
 * simulation. Pure: fast enough for the million cases of Fig. 14.
 */
#ifndef SIM_IDEAL_H
#define SIM_IDEAL_H

#include <stdint.h>

struct ideal_case {
	uint32_t threads, cpus; /* n > m > 0, or n a multiple of m: then nothing moves */
	double phase; /* e > 0 */
	double period; /* lambda > 0 */
	uint64_t phases; /* at least 1 */
	double first; /* when the first balancing point is after 0; 0: a period */
	double jitter; /* random variation of each period, a share; 0: none */
	uint64_t seed;
};

struct ideal_result {
	double time; /* when the last thread has completed the last phase */
	uint64_t points; /* balancing points until then */
	uint64_t migrations; /* threads that changed their CPU, of all */
	double lag; /* the largest difference in progress seen at a balancing point (Lemma 1) */
};

/* Returns 0, -EINVAL (no threads or CPUs, a time that is not positive) or -ENOMEM. */
int ideal_run(const struct ideal_case *c, struct ideal_result *result);

#endif
