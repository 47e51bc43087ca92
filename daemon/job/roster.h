/* SPDX-License-Identifier: MIT */
/*
 * All threads of the job that have been met, sorted by tid, so that a scan finds quickly which
 * are new. For the scanner's thread alone; owns no worker.
 */
#ifndef JUGGLE_ROSTER_H
#define JUGGLE_ROSTER_H

#include "daemon/job/thread.h"
#include "daemon/proc/proc.h"

struct roster {
	struct roster_entry {
		pid_t tid;
		struct job_thread *thread;
	} * entry;
	size_t count, capacity;
};

/* Accepts a zeroed one. */
void roster_deinit(struct roster *roster);

bool roster_has(const struct roster *roster, const struct proc_thread *thread);
/* Returns 0 or -ENOMEM. */
int roster_add(struct roster *roster, struct job_thread *thread);
void roster_remove(struct roster *roster, const struct job_thread *thread);

/* The processes that the threads belong to, ascending, none twice. Sets *out to memory for the
 * caller to free, NULL for none or without memory. Returns how many there are. */
size_t roster_processes(const struct roster *roster, pid_t **out);

#endif
