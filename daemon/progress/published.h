/* SPDX-License-Identifier: MIT */
/*
 * What programs of the job publish of their threads through libprogress: which are workers, and how
 * many updates each has made. The host of segments (host.h) writes it, the teams read it.
 *
 * When threads come or go, the host replaces the whole table. Counters are stored in place, without
 * the lock. The lock is held for look-ups in memory or a swap of two pointers, never longer.
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
	pthread_mutex_t lock; /* guards the table */
	struct published_thread *thread; /* sorted by pid, then tid */
	_Atomic size_t n; /* written under the lock */
	/* Until this time of CLOCK_MONOTONIC the counters are wanted at every balancing point, not
	 * only the list of workers. */
	_Atomic uint64_t wanted_until_ns;
};

void published_init(struct published *published);
void published_deinit(struct published *published);

/* Only for the host: replace the table by n threads, in any order. Takes over the array, which must
 * come from malloc(). */
void published_replace(struct published *published, struct published_thread *thread, size_t n);
/* Only for the host: the entry of a thread, to store its counter; NULL when it has none. Valid
 * until the table is replaced. */
struct published_thread *published_entry(struct published *published, pid_t pid, pid_t tid);

/* For all threads, without the lock: is there any worker? */
bool published_any(const struct published *published);
/* For all threads: the role of a thread, and, if it is a worker, its updates, at most as many as a
 * trace can hold. The caller holds the lock, for as many look-ups as it likes. */
enum policy_role published_look(
	const struct published *published, pid_t pid, pid_t tid, uint64_t *updates);

#endif
