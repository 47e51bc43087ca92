/* SPDX-License-Identifier: MIT */
/*
 * The known threads of the job, sorted by tid, so that a scan quickly finds which are new. Not
 * thread-safe; does not own the threads.
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
/* NULL: none. */
struct job_thread *roster_find(const struct roster *roster, pid_t tid);
/* Returns 0 or -ENOMEM. */
int roster_add(struct roster *roster, struct job_thread *thread);
void roster_remove(struct roster *roster, const struct job_thread *thread);

/* The processes of the threads, in ascending order, each once. Sets *out to an array for the caller
 * to free; NULL when there are none, or no memory. Returns its length. */
size_t roster_processes(const struct roster *roster, pid_t **out);

#endif
