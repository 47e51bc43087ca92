/* SPDX-License-Identifier: MIT */
/*
 * What -P names. A policy is an object of this type in a file of its own, kind_NAME.c, and a row in
 * the table of kinds.c. All share the step (step.c): who computes, how far each thread has come, and how
 * decisions are put together. What differs is when threads are placed, and which are moved.
 */
#ifndef JUGGLE_POLICY_KIND_H
#define JUGGLE_POLICY_KIND_H

#include "daemon/policy/policy.h"

struct policy_kind {
	const char *name;
	const char *summary; /* for --help: a clause */
	/* Choose the regime, by policy_enter(). Called when members were looked at. */
	void (*choose)(struct policy *policy, const struct policy_observation *observation);
	/* A balancing point: give threads other CPUs, never more than one thread apart. Returns how many
	 * move. NULL: threads stay where they were placed, also when others leave. */
	size_t (*balance)(struct policy *policy);
	/* The period that the user asked for is kept where nothing is moved, too: people watch with it. */
	bool keeps_period;
};

extern const struct policy_kind policy_kind_juggle;
extern const struct policy_kind policy_kind_static;
extern const struct policy_kind policy_kind_observe;

/* The nth of the table, from 0; NULL beyond its end. */
const struct policy_kind *policy_kind_at(size_t nth);
/* NULL: there is none of that name. */
const struct policy_kind *policy_kind_find(const char *name);

#endif
