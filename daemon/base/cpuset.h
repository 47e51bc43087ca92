/* SPDX-License-Identifier: MIT */
/*
 * Sets of CPUs for the workloads: read from a list, from the kernel, and given to it.
 *
 * Here because glibc's cpu_set_t ends at 1,024 CPUs, and because a static baseline is
 * only as good as its pinning: the same code places the threads of every workload.
 * The daemon has its own (daemon/act): the workloads must not depend on what they test.
 */
#ifndef APPS_CPUSET_H
#define APPS_CPUSET_H

#include <stdbool.h>
#include <stdint.h>

#define CPUSET_CPUS_MAX 8192 /* the largest NR_CPUS of any Linux */
#define CPUSET_WORDS (CPUSET_CPUS_MAX / 64)

struct cpuset {
	uint64_t word[CPUSET_WORDS];
};

/* A list as taskset(1) has it: "0-5,8", "0-10:2" (every second). Order and repetition do
 * not matter. Pure. Returns 0, -EINVAL (not a list, an empty one, a range that runs
 * backwards) or -ERANGE (a number that no CPU can have); then *out is untouched. */
int cpuset_parse(const char *text, struct cpuset *out);

/* How many CPUs the set holds. Pure. */
int cpuset_count(const struct cpuset *set);

/* Does the set hold that CPU? Of other numbers it has none. Pure. */
bool cpuset_has(const struct cpuset *set, int os_cpu);

/* The OS number of the nth CPU of the set, from 0, modulo its size; -1 when the set is
 * empty or nth is negative. Pure. */
int cpuset_nth(const struct cpuset *set, int nth);

/* The affinity mask of the calling thread. Returns 0 or a negative errno. */
int cpuset_of_caller(struct cpuset *out);

/* Pin the calling thread to one CPU. Returns 0, -EINVAL when the CPU isn't there or not
 * allowed, or another negative errno. */
int cpuset_pin_caller(int os_cpu);

#endif
