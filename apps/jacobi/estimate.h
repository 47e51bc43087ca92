/* SPDX-License-Identifier: MIT */
/*
 * Whether the residual may be small enough, while the workers run.
 *
 * The norm known then is a sum of parts that were computed at different times, with halos of
 * different age. It is usually too small, because a subdomain between old halos comes to rest. Only
 * a meeting of all workers shows the exact norm, and thereby the error of the estimate. That error
 * is remembered, to avoid another useless meeting. It is also forgotten, at a pace at which
 * useless meetings take a small part of the time, however long they are.
 */
#ifndef JACOBI_ESTIMATE_H
#define JACOBI_ESTIMATE_H

#include <math.h>
#include <stdint.h>

#define ESTIMATE_MEETINGS                                                                          \
	16.0 /* half of the error is forgotten in the time of this many meetings */

struct estimate {
	double excess; /* exact norm over the estimated one, less 1; 0 before the first meeting */
	uint64_t met_ns, cost_ns; /* when the last meeting ended, and how long it was */
};

/* A guess of the exact norm. NAN stays NAN. */
static inline double estimate_exact(
	const struct estimate *estimate, double estimated, uint64_t now_ns)
{
	double age = (double)(now_ns - estimate->met_ns) /
		     (ESTIMATE_MEETINGS * ((double)estimate->cost_ns + 1));

	return estimated * (1 + estimate->excess * exp2(-age));
}

/* A meeting from begin_ns to end_ns found the exact norm. */
static inline void estimate_learn(struct estimate *estimate, double estimated, double exact,
	uint64_t begin_ns, uint64_t end_ns)
{
	double excess = exact / estimated - 1;

	*estimate = (struct estimate){
		.excess = excess > 0 && isfinite(excess) ? excess : 0,
		.met_ns = end_ns,
		.cost_ns = end_ns - begin_ns,
	};
}

#endif
