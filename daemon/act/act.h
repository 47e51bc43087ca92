/* SPDX-License-Identifier: MIT */
/*
 * Carrying decisions out: the only code that sets affinity masks and time slices. Functions return 0 or
 * a negative errno and are thread-safe.
 */
#ifndef JUGGLE_ACT_H
#define JUGGLE_ACT_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"

/* Set the affinity mask of a thread. Returns 0; -ESRCH when the thread is gone; -EINVAL when none
 * of the CPUs is usable now (offline, or outside the cpuset); -EPERM for a thread of another
 * user. */
int act_set_mask(pid_t tid, const struct cpuset *mask);
/* May we set the mask of a thread? Asks the kernel without changing anything. Returns 0; -EPERM for
 * a thread of another user; -ESRCH when it is gone. Some kernel threads pass although they can't be
 * moved. */
int act_may_set_mask(pid_t tid);
/* Confine a thread to one CPU. Returns as act_set_mask(). The kernel refuses a mask that has no CPU
 * in the cpuset, so there is no need to read a mask of one CPU back. */
int act_pin(pid_t tid, int os_cpu);
/* The same for a thread that the calling process has created and not joined, and that has not ended. It need not have
 * run yet. Returns 0 or a negative errno. */
int act_pin_own(pthread_t thread, int os_cpu);

/* Ask for a time slice for the calling thread, in ns (Linux 6.12 and later; older kernels ignore
 * it). 0 asks for the scheduler's default. A thread with a short slice runs sooner when it wakes.
 * Needs no privilege. Returns 0, or -ENOTSUP for scheduling classes other than SCHED_OTHER and
 * SCHED_BATCH. */
int act_set_own_slice(uint64_t slice_ns);
#define ACT_SLICE_LEAST_NS 100000 /* the shortest that the kernel grants */

/* The time slice of threads that nobody gave one of their own, in ns; 0: this kernel has no slices of single threads,
 * or does not tell. For callers of SCHED_OTHER or SCHED_BATCH; their own slice is the default for a moment. */
uint64_t act_default_slice(void);
#define ACT_SLICE_SHORT_NS 100001 /* no round number, so that hardly anybody chooses the same */
/* Give a thread a short slice, if it has the default one. Keeps its nice value and flags. Returns 0; -ENOTSUP where
 * its slice is its own choice, or its scheduling class has none (or is SCHED_IDLE); -ESRCH; -EPERM. */
int act_shorten_slice(pid_t tid, uint64_t default_ns);
/* Give a thread that has this short slice the default one. Another one is left alone. Returns as above. */
int act_restore_slice(pid_t tid);
/* Has the thread this short slice? */
bool act_has_short_slice(pid_t tid);

#endif
