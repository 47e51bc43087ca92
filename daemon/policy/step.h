/* SPDX-License-Identifier: MIT */
/* What the files of a step share: see policy.h for the step as a whole. */
#ifndef JUGGLE_POLICY_STEP_H
#define JUGGLE_POLICY_STEP_H

#include "daemon/policy/policy.h"

/* ---- step.c ---- */

/* Go over to a regime: place all threads, or give them all back. */
void policy_enter(struct policy *policy, enum policy_regime regime, uint64_t now_ns);
/* How many threads compute. */
uint32_t policy_computing(const struct policy *policy);
/* Mean progress of those. */
int64_t policy_mean_progress_ns(const struct policy *policy);

/* ---- progress.c ---- */

/* Take in what was seen: what each thread did since it was last looked at, and how far that brings
 * it. Threads that have ended stop to compute. Returns whether any did that computed. */
bool policy_take_in(struct policy *policy, const struct policy_observation *observation);

/* ---- members.c ---- */

/* Who computes, from now on? Threads that begin to are placed if there is balancing, those that stop
 * are given back. */
void policy_take_members(struct policy *policy, const struct policy_observation *observation);
/* Have the compute threads that were announced been there? */
bool policy_is_complete(struct policy *policy);
/* Does every compute thread work on subdomains that move between them? */
bool policy_subdomains_move(
	const struct policy *policy, const struct policy_observation *observation);

/* ---- window.c ---- */

/* A window begins with this interval. */
void policy_window_open(struct policy *policy, const struct policy_observation *observation);
/* It ends: what was seen in it. */
struct policy_window policy_window_close(
	struct policy *policy, const struct policy_observation *observation);
/* None is open; the next may begin when things have settled after a change of regime. */
void policy_window_reset(struct policy *policy, uint64_t now_ns);
/* Ask for what the next interval needs, if a window is to begin or end there. */
void policy_window_ask(struct policy *policy, uint64_t next_ns);

/* ---- period.c ---- */

/* Work out policy->decision.period_ns and wait_ns, and which CPUs are to tick. */
void policy_set_period(struct policy *policy, uint64_t now_ns);

/* Between looks at members, and at anything where nothing is moved. */
uint64_t policy_slow_ns(const struct policy *policy, uint64_t now_ns);

#endif
