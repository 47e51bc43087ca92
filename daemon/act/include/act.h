/* SPDX-License-Identifier: MIT */
/*
 * Carrying decisions out: the one place that sets affinity masks (and its own time slice).
 *
 * Masks are those of sched_setaffinity(2), sized for any number of CPUs the kernel
 * was built for. Functions return 0 or a negative errno and are thread-safe.
 */
#ifndef JUGGLE_ACT_H
#define JUGGLE_ACT_H

#include <sched.h>
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
/* Give a thread a mask. Returns 0; -ESRCH when it is gone; -EINVAL when none of the
 * CPUs can be used now (offline, or outside the cpuset); -EPERM for another user's. */
int act_set_mask(pid_t tid, const struct act_mask *mask);
/* May we set a thread's mask? Asks the kernel, and changes nothing. Returns 0; -EPERM (another
 * user's); -ESRCH when it is gone. Of the kernel's own threads some pass that cannot be moved. */
int act_may_set_mask(pid_t tid);
/* Confine a thread to one CPU. As act_set_mask; the kernel accepts a mask only if all
 * that is left of it in the cpuset is not empty, so for one CPU success needs no
 * reading back. */
int act_pin(pid_t tid, int os_cpu);

/* Ask for a time slice (Linux 6.12 and later) for the calling thread, in ns; 0 asks for the
 * scheduler's default. A short slice makes a thread run sooner when it wakes. Needs no
 * privilege. Returns 0, or -ENOTSUP for threads of other scheduling classes than SCHED_OTHER;
 * older kernels accept it without effect. */
int act_set_own_slice(uint64_t slice_ns);

#endif
