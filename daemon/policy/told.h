/* SPDX-License-Identifier: MIT */
/*
 * Phases that the program's own runtime tells (beyond the paper, which only knows CPU time): when
 * threads arrive at barriers and depart from them.
 *
 * From that follows the need of each thread: its progress from one barrier to the next. Needs tell how
 * long a phase takes, whether threads differ in their work by design, and how fast CPUs are. ends.h has
 * the balancing point that goes by them.
 */
#ifndef JUGGLE_POLICY_TOLD_H
#define JUGGLE_POLICY_TOLD_H

#include "daemon/policy/policy.h"

/* Take in what was told of a thread, after its times and gain: thread->told and what goes with it. What it gained
 * in waits is not part of its need. */
void policy_take_told(
	struct policy *policy, struct policy_thread *thread, const struct policy_sight *sight);

/* Sum up what was told of all threads: policy->needs. */
void policy_sum_up_told(struct policy *policy);

/* policy_wall_ns() of the phases that are told. */
double policy_told_wall_ns(const struct policy *policy);

/* Take the CPUs' speeds from the time that phases took on them. Returns whether any has changed. */
bool policy_told_speeds(struct policy *policy);

/* What perfect turns gain over an even distribution whose threads keep to their CPUs, where threads' needs
 * differ. */
double policy_told_gain(const struct policy *policy);

#endif
