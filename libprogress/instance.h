/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps for an open segment in the program's own memory. Counts are taken from
 * here, never from the segment, which other processes of the user can write to.
 */
#ifndef PROGRESS_INSTANCE_H
#define PROGRESS_INSTANCE_H

#include "libprogress/point.h"
#include "libprogress/progress.h"
#include "libprogress/segment.h"

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#define INSTANCE_NAME_BYTES 40

/* Touched by the worker's own thread only, but for the last. */
struct instance_worker {
	alignas(SEGMENT_LINE) uint32_t *held; /* ascending */
	uint32_t count;
	uint32_t capacity;
	bool iterating; /* in an iteration that has something to do */
	uint32_t tally; /* scratch of progress_insert(), which comes too seldom to disturb */
};

struct progress {
	struct segment_header *header;
	struct segment_worker *worker;
	struct segment_subdomain *subdomain;
	struct instance_worker *local; /* of each worker */
	uint32_t workers, subdomains;
	uint64_t size_bytes;
	uint64_t period_ns;
	bool balances;
	int fd; /* its lock shows that the segment is in use */
	pid_t pid; /* that created it */
	char name[INSTANCE_NAME_BYTES]; /* for shm_open(3) */
	/* Written while the others are read: */
	alignas(SEGMENT_LINE) _Atomic bool balancing; /* guards `point` */
	struct point point;
};

/* CLOCK_MONOTONIC in ns. */
uint64_t instance_clock_ns(void);

/* Make a worker look, after what it is to see was written. An exchange, not a store: it continues the
 * release sequences of those who told the worker before, so that it sees what they all wrote. */
static inline void instance_tell(struct progress *p, uint32_t worker)
{
	atomic_exchange_explicit(&p->worker[worker].dirty, 1, memory_order_release);
}

/* Write a subdomain's counters as one, for readers that compare `sequence` before and after. To be
 * called by its holder, or by who fills the place before it has one. */
static inline void instance_publish(
	struct segment_subdomain *s, uint64_t updates, uint64_t iteration, double residual)
{
	uint32_t sequence = atomic_load_explicit(&s->sequence, memory_order_relaxed);
	uint64_t bits;

	memcpy(&bits, &residual, sizeof bits);
	/* Release, so that who sees a new value sees the odd number, too. */
	atomic_store_explicit(&s->sequence, sequence + 1, memory_order_relaxed);
	atomic_store_explicit(&s->updates, updates, memory_order_release);
	atomic_store_explicit(&s->residual, bits, memory_order_release);
	atomic_store_explicit(&s->iteration, iteration, memory_order_release);
	atomic_store_explicit(&s->sequence, sequence + 2, memory_order_release);
}

#endif
