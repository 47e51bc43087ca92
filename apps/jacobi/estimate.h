/* SPDX-License-Identifier: MIT */
/*
 * Whether the residual may be small enough, while the workers run.
 *
 * The norm known then is a sum of parts that were computed at different times, with halos of
 * different age. It is usually too small, because a subdomain between old halos comes to rest. Only
 * a meeting of all workers shows the exact norm, and thereby the error of the estimate. That error
 * is remembered, to avoid another useless meeting. It is also forgotten, at a pace at which
 * useless meetings take a small part of the time, however long they are.
 *
 * Two meetings also show how fast the exact norm falls. It falls more and more slowly, so the next
 * one can wait until this pace would have been enough.
 */
#ifndef JACOBI_ESTIMATE_H
#define JACOBI_ESTIMATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define ESTIMATE_MEETINGS                                                                          \
	16.0 /* half of the error is forgotten in the time of this many meetings */
#define ESTIMATE_PAUSE 4.0 /* meetings, at least, from one that was in vain to the next */
/* The pace is uncertain, because the norm depends on what the meeting interrupted. So the time from
 * meeting to meeting grows by this at most. */
#define ESTIMATE_GROWTH 1.0

struct estimate {
	double excess; /* exact norm over the estimated one, less 1; 0 before the first meeting */
	double exact; /* norm at the last meeting; 0: there was none, and no beginning */
	uint64_t met_ns, cost_ns; /* when the last meeting ended, and how long it was */
	uint64_t due_ns; /* when the next one is worth its time */
};

/* The run begins: by definition with the norm 1. */
static inline struct estimate estimate_begin(uint64_t now_ns)
{
	return (struct estimate){.exact = 1, .met_ns = now_ns};
}

/* A guess of the exact norm. NAN stays NAN. */
static inline double estimate_exact(
	const struct estimate *estimate, double estimated, uint64_t now_ns)
{
	double age = (double)(now_ns - estimate->met_ns) /
		     (ESTIMATE_MEETINGS * ((double)estimate->cost_ns + 1));

	return estimated * (1 + estimate->excess * exp2(-age));
}

/* Is it time to meet, because the norm may be down to the threshold? */
static inline bool estimate_is_small(
	const struct estimate *estimate, double estimated, double threshold, uint64_t now_ns)
{
	return now_ns >= estimate->due_ns &&
	       estimate_exact(estimate, estimated, now_ns) <= threshold;
}

/* How long the norm takes from here to the threshold, at the pace since the last meeting; as far as
 * that can be trusted. */
static inline double estimate_pause_ns(
	const struct estimate *before, double exact, double threshold, uint64_t now_ns)
{
	double gone_ns = (double)(now_ns - before->met_ns);

	if (!(exact > threshold && threshold > 0 && before->exact > 0))
		return 0;
	if (!(exact < before->exact))
		return ESTIMATE_GROWTH * gone_ns;
	return fmin(log(exact / threshold) / log(before->exact / exact), ESTIMATE_GROWTH) * gone_ns;
}

/* A meeting from begin_ns to end_ns found the exact norm, and that the run goes on. */
static inline void estimate_learn(struct estimate *estimate, double estimated, double exact,
	double threshold, uint64_t begin_ns, uint64_t end_ns)
{
	double excess = exact / estimated - 1;
	double pause_ns = fmax(ESTIMATE_PAUSE * (double)(end_ns - begin_ns),
		estimate_pause_ns(estimate, exact, threshold, end_ns));

	*estimate = (struct estimate){
		.excess = excess > 0 && isfinite(excess) ? excess : 0,
		.exact = exact,
		.met_ns = end_ns,
		.cost_ns = end_ns - begin_ns,
		.due_ns = end_ns + (uint64_t)pause_ns,
	};
}

#endif
