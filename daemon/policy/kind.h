/* SPDX-License-Identifier: MIT */
/*
 * The policies of -P. Each is a struct policy_kind in a file of its own, kind_NAME.c, and a row in
 * the table of kinds.c. They share the step (step.c), which finds the compute threads, counts their
 * progress, and puts decisions together. They differ in when they place threads, and in which
 * threads they move.
 */
#ifndef JUGGLE_POLICY_KIND_H
#define JUGGLE_POLICY_KIND_H

#include "daemon/policy/policy.h"
#include "daemon/policy/swap.h"

struct policy_kind {
	const char *name;
	const char *summary; /* a clause for --help */
	/* choose() goes by windows (window.c), for which the sleeps of threads are sampled. */
	bool windows;
	/* With --period auto: the period; 0: as suits the job (period.h). */
	uint64_t period_ns;
	/* Choose the regime, and enter it by policy_enter(). Called at member intervals. */
	void (*choose)(struct policy *policy, const struct policy_observation *observation);
	/* A balancing point: give threads other CPUs, with CPUs never more than one thread apart,
	 * but for those that were taken. Returns the number of threads that move. NULL: threads
	 * stay where they were placed, even when others leave. */
	size_t (*balance)(struct policy *policy);
	/* Threads go to CPUs that run dry: dry.h. */
	bool fills_dry;
	/* Move extra threads out of the way of other jobs', and heed how many those have. */
	bool makes_way;
	/* Progress is CPU time times the speed of the CPU, and threads go to the fastest CPUs. */
	bool weighs_speeds;
	/* Do without CPUs that others have taken; needs tickers. */
	bool leaves_taken;
	/* Without random variation of the period, unless the user wants it. */
	bool regular;
	/* Keep to the user's period even while nothing moves, because it is how often users
	 * watch. */
	bool keeps_period;
};

extern const struct policy_kind policy_kind_juggle;
extern const struct policy_kind policy_kind_juggle2012;
extern const struct policy_kind policy_kind_static;
extern const struct policy_kind policy_kind_observe;

/* For choose(): balance once there is a compute thread for each CPU, and from then on. */
void policy_choose_once(struct policy *policy, const struct policy_observation *observation);

/* The balancing point of -P juggle, by these parameters: its own, or for measurements what others would do. */
struct policy_swap_params policy_juggle_params(const struct policy *policy);
size_t policy_juggle_balance(struct policy *policy, const struct policy_swap_params *params);

/* The nth row of the table, from 0; NULL beyond its end. */
const struct policy_kind *policy_kind_at(size_t nth);
/* Returns NULL for an unknown name. */
const struct policy_kind *policy_kind_find(const char *name);

#endif
