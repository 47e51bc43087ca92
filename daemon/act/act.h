/* SPDX-License-Identifier: MIT */
/*
 * Carrying decisions out: the one place that sets affinity masks (and its own time slice).
 * Functions return 0 or a negative errno and are thread-safe.
 */
#ifndef JUGGLE_ACT_H
#define JUGGLE_ACT_H

#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"

/* Give a thread a mask. Returns 0; -ESRCH when it is gone; -EINVAL when none of the
 * CPUs can be used now (offline, or outside the cpuset); -EPERM for another user's. */
int act_set_mask(pid_t tid, const struct cpuset *mask);
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
