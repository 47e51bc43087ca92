/* SPDX-License-Identifier: MIT */
/*
 * The even distribution that all else relies on (Section 2: "distributes them uniformly ... never
 * more than one"). These functions set policy_thread.cpu of threads that compute, and
 * policy_cpu.threads.
 */
#ifndef JUGGLE_POLICY_DISTRIBUTE_H
#define JUGGLE_POLICY_DISTRIBUTE_H

#include "daemon/policy/policy.h"

/* Count the threads that are confined to each CPU, and link them, from policy_cpu.first on by
 * policy_thread.next, in the order of rows. Moves do not bring the links up to date. */
void policy_count(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m);

/* Put every compute thread without a CPU on the CPU with the fewest threads, of those on the one with
 * the most room (policy_room()), the lowest index first. Threads that have a CPU keep it. */
void policy_place(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m);

/* After threads have ended or left: move as few threads as needed from the fullest CPUs to the
 * emptiest, until no two CPUs differ by more than one. The furthest behind move first, as they gain
 * by it. */
void policy_even_out(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m);

/* Where a CPU has one thread more than another, and less room for one (it is slower, or has more threads
 * of other jobs), move a thread from that to this, the furthest behind first. So the extra threads of
 * all jobs are spread evenly, and are on the fastest CPUs. No two CPUs that differed by at most one
 * differ by more afterwards. Unused CPUs are left to policy_take_places(). Returns how many threads
 * move. */
size_t policy_make_way(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m);

/* With fewer threads than CPUs: move threads that are alone from CPUs that have become slower to unused
 * ones that promise more. Returns how many threads move. */
size_t policy_take_places(
	struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m);

/* The domain for a new thread, such that domains hold threads in proportion to their CPUs, and
 * domains of one size never differ by more than one thread (Section 2.4). count > 0. Returns an
 * index. */
size_t policy_pick_domain(const struct policy_domain *domains, size_t count);

#endif
