/* SPDX-License-Identifier: MIT */
/*
 * What threads of the job tell of themselves through libprogress: who is a worker, and how many
 * updates it has made. The host of segments (progress_host.h) writes it, the leaders of teams
 * read it.
 *
 * Threads that come and go replace the whole table; counters are stored in place, without
 * a lock. The lock is held for a look-up in memory or a swap of two pointers, never longer.
 */
#ifndef JUGGLE_PUBLISHED_H
#define JUGGLE_PUBLISHED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/policy/policy.h"

struct published_thread {
	pid_t pid;
	pid_t tid;
	bool balanced; /* subdomains move between the workers of its process */
	_Atomic uint64_t updates;
};

struct published {
	pthread_mutex_t lock; /* of what follows */
	struct published_thread *thread; /* sorted by pid, then tid */
	_Atomic size_t n; /* written under the lock, too */
	/* CLOCK_MONOTONIC: until then counters of every balancing point are wanted, not only
	 * who is there. */
	_Atomic uint64_t wanted_until_ns;
};

void published_init(struct published *published);
void published_deinit(struct published *published);

/* For the host alone: replace the table by n threads, in any order, and sort them.
 * Takes over the memory, which malloc() gave. */
void published_replace(struct published *published, struct published_thread *thread, size_t n);
/* For the host alone: the entry of a thread, to store its counter; NULL when it has none. Valid until
 * the table is replaced. */
struct published_thread *published_entry(struct published *published, pid_t pid, pid_t tid);

/* For anybody, without the lock: is there any worker? */
bool published_any(const struct published *published);
/* For anybody: what a thread is, and, of a worker, its updates. The caller holds the lock, over as many
 * look-ups as it likes. */
enum policy_role published_look(
	const struct published *published, pid_t pid, pid_t tid, uint64_t *updates);

#endif
