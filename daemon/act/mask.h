/* SPDX-License-Identifier: MIT */
/*
 * Affinity masks as data, and reading them: for those too who may set none.
 *
 * Masks are those of sched_setaffinity(2), sized for any number of CPUs the kernel
 * was built for. All functions are thread-safe.
 */
#ifndef JUGGLE_ACT_MASK_H
#define JUGGLE_ACT_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ACT_CPUS_MAX 8192 /* the largest NR_CPUS of any Linux */
#define ACT_MASK_WORDS (ACT_CPUS_MAX / 64)

struct act_mask {
	uint64_t word[ACT_MASK_WORDS];
};

static inline bool act_mask_has(const struct act_mask *mask, int os_cpu)
{
	return os_cpu >= 0 && os_cpu < ACT_CPUS_MAX &&
	       (mask->word[os_cpu / 64] >> (os_cpu % 64) & 1);
}

static inline void act_mask_add(struct act_mask *mask, int os_cpu)
{
	if (os_cpu >= 0 && os_cpu < ACT_CPUS_MAX)
		mask->word[os_cpu / 64] |= UINT64_C(1) << (os_cpu % 64);
}

/* How many CPUs a mask holds. */
int act_mask_count(const struct act_mask *mask);
/* The first CPU of a mask, -1 when it is empty. */
int act_mask_first(const struct act_mask *mask);

/* The mask of a thread (0: the caller). Returns 0, -ESRCH, or -EPERM. */
int act_get_mask(pid_t tid, struct act_mask *out);

#endif
