/* SPDX-License-Identifier: MIT */
/*
 * Phases that the program's own runtime tells (beyond the paper, which only knows CPU time): when
 * threads arrive at barriers and depart from them.
 *
 * From that follows the need of each thread, its CPU time from one barrier to the next, and how much
 * of it remains. A CPU runs dry after what remains to its threads. So a balancing point does not
 * compare what threads have done, but evens out when CPUs run dry: threads with more work get more.
 */
#ifndef JUGGLE_POLICY_TOLD_H
#define JUGGLE_POLICY_TOLD_H

#include "daemon/policy/policy.h"

/* Take in what was told of a thread, after its times and gain: thread->told and what goes with it. What it gained
 * in waits is no progress. */
void policy_take_told(
	struct policy *policy, struct policy_thread *thread, const struct policy_sight *sight);

/* Sum up what was told of all threads: policy->told. */
void policy_sum_up_told(struct policy *policy);

/* Take the CPUs' speeds from the time that phases took on them. Returns whether any has changed. */
bool policy_told_speeds(struct policy *policy);

/* What perfect turns gain over an even distribution whose threads keep to their CPUs, where threads' needs
 * differ. */
double policy_told_gain(const struct policy *policy);

/* A balancing point: move and swap threads from the CPU that runs dry last to others, as long as it then
 * runs dry earlier, by more than moves cost. CPUs may differ by any number of threads afterwards.
 * Returns how many threads move; POLICY_UNTOLD where too little is known. */
#define POLICY_UNTOLD SIZE_MAX
size_t policy_end_together(struct policy *policy);

#endif
