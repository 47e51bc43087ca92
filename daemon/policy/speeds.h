/* SPDX-License-Identifier: MIT */
/*
 * CPUs of unequal speed (Section 7 of the paper leaves them to future work): how fast a CPU is for one
 * more thread, and what turns gain where speeds differ.
 *
 * Speeds are those that the caller knows beforehand (policy_describe()), less what the hypervisor takes.
 * CPUs of one core share it: when all of them have threads, the core does a quarter more for each
 * CPU beyond the first, so that two of them run at 0.625 of its speed.
 */
#ifndef JUGGLE_POLICY_SPEEDS_H
#define JUGGLE_POLICY_SPEEDS_H

#include "daemon/policy/policy.h"

/* What perfect turns gain over threads that keep to their CPUs (Section 3), by what is known of the
 * CPUs: n threads, evenly spread, on the fastest CPUs if there are fewer threads than CPUs. 0: nothing;
 * beside other work, which can't be known beforehand, it may be more. O(CPUs * threads) at most. Uses
 * and clears the counts of threads; policy_count() brings them back. */
double policy_turns_gain(struct policy_cpu *cpus, size_t m, uint32_t n);

/* Take what CPUs gave their threads, at the last balancing points, for their speeds; for those that have
 * threads, once all of these have been used for long enough. Where the work that is done is counted,
 * it tells more than what is known beforehand: it is that of this very program. Returns whether that
 * is so. */
bool policy_learn_speeds(struct policy_cpu *cpus, size_t m);

/* The progress of a thread on that CPU in a ns of CPU time: its speed while so many CPUs of its core
 * have threads. */
double policy_rate_of(const struct policy_cpu *cpus, size_t j);

/* What one more thread would get of that CPU, if those there and those of other jobs share it evenly.
 * To compare CPUs with equal numbers of threads. */
double policy_room(const struct policy_cpu *cpus, size_t j);

/* Is the slowest one slower than the fastest by more than this share of its speed? */
bool policy_speeds_differ(const struct policy_cpu *cpus, size_t m, double share);

/* A thread comes to a CPU, or leaves it: count it. */
void policy_occupy(struct policy_cpu *cpus, size_t j);
void policy_vacate(struct policy_cpu *cpus, size_t j);

#endif
