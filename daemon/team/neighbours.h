/* SPDX-License-Identifier: MIT */
/*
 * Other juggles on the same CPUs, as their telemetry shows them. Each makes way for those that began
 * before it, so that their extra threads end up on different CPUs, and no two dodge each other for
 * ever. Each finds out by itself whether all of them together can be spread evenly.
 */
#ifndef JUGGLE_TEAM_NEIGHBOURS_H
#define JUGGLE_TEAM_NEIGHBOURS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"
#include "daemon/base/folder_watch.h"
#include "daemon/telemetry/reader.h"

#define NEIGHBOURS_MAX 256 /* more don't count */

struct neighbours {
	struct folder_watch folder; /* of their segments */
	uint64_t read_ns; /* when the folder was read */
	pid_t pid[NEIGHBOURS_MAX]; /* other juggles of this user, at the last look */
	size_t count;
	/* By OS number: threads of older juggles of the same user that are on that CPU, where those that they leave to
	 * the kernel count as spread evenly; and of all other juggles, all spread evenly over the CPUs of theirs, so
	 * that the number does not change with moves. One thread writes, any may read; counts of several CPUs may be
	 * of different moments. */
	_Atomic uint32_t older[CPUSET_CPUS_MAX], all[CPUSET_CPUS_MAX];
};

/* The same of one moment. */
struct neighbours_counts {
	uint32_t older[CPUSET_CPUS_MAX], all[CPUSET_CPUS_MAX];
};

void neighbours_init(struct neighbours *neighbours);

/* Count anew, if there may be anything to count. A juggle without an interval for a second and for
 * three periods, whose segment is damaged, or that is not this user's, does not count. own: this
 * juggle's segment. */
void neighbours_look(struct neighbours *neighbours, const struct telemetry *own, uint64_t now_ns);

/* Add the threads of one of them to the counts. Returns whether they count, now or later. */
bool neighbours_count(struct telemetry_reader *reader, const struct telemetry *own, uint64_t now_ns,
	struct neighbours_counts *counts);

#endif
