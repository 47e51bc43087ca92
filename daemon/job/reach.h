/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs do the job's cpusets leave it? Nothing but a thread's own affinity mask shows that to
 * everybody, and only of CPUs that it asks for. So these ask for them, for a moment. Not thread-safe.
 */
#ifndef JUGGLE_REACH_H
#define JUGGLE_REACH_H

#include "daemon/job/ledger.h"
#include "daemon/job/roster.h"

/* The thread may use all of juggle's CPUs, or nobody knows. */
#define REACH_ALL (-1)

/* How many CPUs of `own` does its cpuset leave a thread that is confined, if not all? The caller has to
 * set its mask again. Returns 0, -ESRCH when the thread is gone, or -EPERM. */
int reach_of_confined(pid_t tid, const struct cpuset *own, int *reach);

/* The same for a thread that is not confined. It has the mask again afterwards that it had before, also one that it has
 * set by itself since it was met; one that juggle had changed is restored, cut down to `within` (NULL: without
 * limit). */
int reach_of_free(struct ledger *ledger, const struct job_thread *thread, const struct cpuset *own,
	const struct cpuset *within, int *reach);

/* Set *usable to those CPUs of `own` that any process with a thread that computes may use; to `own`
 * when there are none. Sets reach and outside of all threads, which must not be confined, and leaves
 * their masks as reach_of_free() does. */
void reach_find(const struct roster *roster, struct ledger *ledger, const struct cpuset *own,
	const struct cpuset *within, struct cpuset *usable);

/* A new thread is in the cpuset of its process, or of its parent: take over what is known of it. */
void reach_inherit(
	const struct roster *roster, const struct proc_thread *found, struct job_thread *thread);

#endif
