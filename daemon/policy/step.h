/* SPDX-License-Identifier: MIT */
/* What the files that make up policy_step() share. */
#ifndef JUGGLE_POLICY_STEP_H
#define JUGGLE_POLICY_STEP_H

#include "daemon/policy/policy.h"

/* ---- step.c ---- */

/* Enter a regime: place all compute threads, or release them all. */
void policy_enter(struct policy *policy, enum policy_regime regime, uint64_t now_ns);
/* The number of compute threads. */
uint32_t policy_computing(const struct policy *policy);
/* Their mean total progress. */
int64_t policy_mean_progress_ns(const struct policy *policy);

/* ---- progress.c ---- */

/* Take in the samples: what each thread did since its last sample, and what progress that is.
 * Threads that have ended no longer compute. Returns whether a compute thread has ended. */
bool policy_take_in(struct policy *policy, const struct policy_observation *observation);

/* See by their context switches whether compute threads yield. Those that have only just begun to
 * compute are included, as the first decision on them follows. */
void policy_look_for_yields(struct policy *policy, uint64_t now_ns);

/* ---- members.c ---- */

/* Find out which threads compute. While balancing, those that begin to compute are placed, and
 * those that stop are released. */
void policy_take_members(struct policy *policy, const struct policy_observation *observation);
/* Were all expected compute threads there, now or earlier? */
bool policy_is_complete(struct policy *policy);
/* Are all compute threads workers between whom subdomains move? */
bool policy_subdomains_move(
	const struct policy *policy, const struct policy_observation *observation);

/* ---- taken.c ---- */

/* Do without CPUs that others have taken, and use them again when they are back. Returns whether
 * threads have moved for that. */
bool policy_leave_taken(struct policy *policy, const struct policy_observation *observation);
/* All CPUs count as free. */
void policy_forget_taken(struct policy *policy, uint64_t now_ns);
/* Aside: was a thread just seen that is ready, and has not run? So look again soon. */
bool policy_may_starve(const struct policy *policy);
/* Has such a thread still not run, so that something should be done? */
bool policy_starves_aside(const struct policy *policy, uint64_t now_ns);
/* Ask for the states of threads that may starve. */
void policy_ask_states(struct policy *policy, uint64_t now_ns);

/* ---- window.c ---- */

/* A window opens with this interval. */
void policy_window_open(struct policy *policy, const struct policy_observation *observation);
/* The window closes: what the job did in it. */
struct policy_window policy_window_close(
	struct policy *policy, const struct policy_observation *observation);
/* Close the window without a result. The next may open when a change of regime has settled. */
void policy_window_reset(struct policy *policy, uint64_t now_ns);
/* Ask for the samples that the next interval needs, should a window open or close there. */
void policy_window_ask(struct policy *policy, uint64_t next_ns);

/* ---- period.c ---- */

/* A balancing point took that much CPU time; 0: unknown. */
void policy_measure_point(struct policy *policy, uint64_t cost_ns);
/* What a point costs, as far as that is known. */
double policy_point_ns(const struct policy *policy);

/* Set decision.period_ns and wait_ns, and which CPUs get a ticker. */
void policy_set_period(struct policy *policy, uint64_t now_ns);

/* Time between member intervals, and between all intervals while nothing is moved. */
uint64_t policy_slow_ns(const struct policy *policy, uint64_t now_ns);
/* The length of the window under way. */
uint64_t policy_window_ns(const struct policy *policy, uint64_t now_ns);

#endif
