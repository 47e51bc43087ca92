/* SPDX-License-Identifier: MIT */
/*
 * Sets of CPUs by their OS numbers, and lists such as 0-5,8 that people write for them.
 *
 * This type exists because glibc's cpu_set_t ends at 1,024 CPUs. Its layout is that of the masks of
 * sched_getaffinity(2). Nothing here sets the affinity of a thread; daemon/act does. All functions
 * are thread-safe.
 */
#ifndef BASE_CPUSET_H
#define BASE_CPUSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CPUSET_CPUS_MAX 8192 /* the largest NR_CPUS of any Linux */
#define CPUSET_WORDS (CPUSET_CPUS_MAX / 64)

struct cpuset {
	uint64_t word[CPUSET_WORDS];
};

/* Is the CPU in the set? False for numbers that no CPU can have. */
static inline bool cpuset_has(const struct cpuset *set, int os_cpu)
{
	return os_cpu >= 0 && os_cpu < CPUSET_CPUS_MAX &&
	       (set->word[os_cpu / 64] >> (os_cpu % 64) & 1);
}

/* Numbers that no CPU can have are ignored. */
static inline void cpuset_add(struct cpuset *set, int os_cpu)
{
	if (os_cpu >= 0 && os_cpu < CPUSET_CPUS_MAX)
		set->word[os_cpu / 64] |= UINT64_C(1) << (os_cpu % 64);
}

static inline void cpuset_remove(struct cpuset *set, int os_cpu)
{
	if (os_cpu >= 0 && os_cpu < CPUSET_CPUS_MAX)
		set->word[os_cpu / 64] &= ~(UINT64_C(1) << (os_cpu % 64));
}

/* Add all CPUs of another set. */
void cpuset_or(struct cpuset *set, const struct cpuset *other);
/* Does the set have all CPUs of another one? */
bool cpuset_contains(const struct cpuset *set, const struct cpuset *other);

/* A list as taskset(1) takes it: "0-5,8", "0-10:2" (every second). Order and repetition do not
 * matter. Returns 0, -EINVAL (not a list, an empty one, a range that runs backwards) or -ERANGE (a
 * number that no CPU can have); then *out is untouched. */
int cpuset_parse(const char *text, struct cpuset *out);

/* The reverse: "0-5,8", or "" for an empty set. A list that does not fit ends in "...". bytes has
 * to be at least 8. */
void cpuset_format(const struct cpuset *set, char *out, size_t bytes);

/* The number of CPUs in the set. */
int cpuset_count(const struct cpuset *set);

/* The OS number of the nth CPU of the set, counted from 0, modulo its size; -1 when the set is
 * empty or nth is negative. */
int cpuset_nth(const struct cpuset *set, int nth);

/* The reverse: how many CPUs of the set have smaller numbers. */
int cpuset_rank(const struct cpuset *set, int os_cpu);

/* The affinity mask of a thread (0: the caller). Returns 0, -ESRCH or -EPERM. */
int cpuset_of_thread(pid_t tid, struct cpuset *out);

#endif
