/* SPDX-License-Identifier: MIT */
/*
 * Trials: what can't be seen from outside, whether the job gets more while it is balanced or while it is left to the
 * kernel, is found out by one window of the other regime now and then. They may cost the job a small part of its time.
 * Like a step of policy.h, all functions here are pure but for the chooser.
 */
#ifndef JUGGLE_POLICY_TRIALS_H
#define JUGGLE_POLICY_TRIALS_H

#include "daemon/policy/regime.h"

/* What perfect turns gain over threads that keep to their CPUs, as a share of time: Section 3 of the paper. With a CPU
 * for each thread it depends on other work, which can't be known here: 1. */
double policy_trials_turns_gain(
	const struct policy_chooser *chooser, uint32_t threads, uint32_t cpus);

/* Forget what trials have shown, and that one is under way: no trial has to decide. */
void policy_trials_forget(struct policy_chooser *chooser);

/* Another part of the program has begun: try again soon. A trial under way shows nothing. */
void policy_trials_anew(struct policy_chooser *chooser);

/* What trials may still cost by now, in ns; negative: they have cost more. */
double policy_trials_budget_ns(const struct policy_chooser *chooser);

/* Do threads, of a job that begins in that regime and tells no phases, use so much of the CPUs' time, in a window in
 * which it was the share `busy`, that trials could show nothing, though turns gain? */
bool policy_trials_vain(const struct policy_chooser *chooser, const struct policy_window *window,
	double busy, enum policy_regime first);

/* Go on with trials, from the regime `first` on: the window's outcome, as a share of the CPUs' time, goes to the regime
 * under way. Returns true when the regime changed. */
bool policy_trials_next(struct policy_chooser *chooser, const struct policy_window *window,
	double busy, enum policy_regime first);

#endif
