/* SPDX-License-Identifier: MIT */
/*
 * The quota on CPU time of a process's control groups, and for how long they were throttled by it.
 *
 * The kernel gives a group a quota in each period of, mostly, 100 ms. When its threads have used it up,
 * they stand still until the next period, on all CPUs. Groups above have quotas of their own, and the
 * least counts. Not thread-safe.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cgroup.h"

struct quota {
	const char *root; /* of the file system; not owned */
	double cpus; /* the quota, by the last look; INFINITY: none */
	/* Since the first look: throttled time, summed over CPUs, of the groups where the process was. */
	uint64_t throttled_ns;
	/* By the last look: */
	uint64_t total_ns; /* what these groups count */
	char groups[CGROUP_TEXT_BYTES]; /* the text of /proc/PID/cgroup */
	char mounts[CGROUP_TEXT_BYTES];
};

/* Without any look: no quota. root: "" for this machine's own file system, or the folder of a recorded
 * one; it has to stay. Nothing is to be freed. */
void quota_init(struct quota *quota, const char *root);

/* Look at the groups of a process (0: the caller's). It may have changed groups. Reads two or
 * three small files for each level of groups. Returns 0; or, with everything as it was,
 * the negative errno of reading /proc/PID/cgroup, or -ESRCH if the process is about to end. */
int quota_look(struct quota *quota, pid_t pid);

/* How many of that many CPUs may be used at a time? At least 1, unless there are none. */
int quota_cpus_of(double quota_cpus, int cpus);

#endif
