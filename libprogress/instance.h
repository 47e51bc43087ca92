/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps for an open segment in the program's own memory. It takes counts from
 * here, never from the segment, which other processes of the user can write to.
 */
#ifndef PROGRESS_INSTANCE_H
#define PROGRESS_INSTANCE_H

#include "libprogress/point.h"
#include "libprogress/policy/dplb.h"
#include "libprogress/progress.h"
#include "libprogress/segment.h"

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#define INSTANCE_NAME_BYTES 40

/* Only the worker's own thread uses this, except `tally`. */
struct instance_worker {
	alignas(SEGMENT_LINE) uint32_t *held; /* ascending */
	uint32_t count;
	uint32_t capacity;
	bool iterating; /* in an iteration, with subdomains to update */
	bool knows_least; /* `least` is that of this iteration */
	uint64_t least; /* updates, when the iteration began, of the least advanced that it holds */
	uint32_t tally; /* scratch of progress_insert(), which is too rare to disturb */
};

/* For points between ranks. */
struct instance_rank {
	uint32_t rank;
	uint32_t most; /* subdomains that it takes */
	uint32_t random_ranks;
	bool started; /* the state has the origin of what it learns */
	struct policy_dplb_params params;
	struct policy_dplb_state state;
	int32_t (*halos_saved)(void *arg, uint32_t subdomain, uint32_t to); /* or NULL */
	void *arg;
};

struct progress {
	struct segment_header *header;
	struct segment_worker *worker;
	struct segment_subdomain *subdomain;
	struct instance_worker *local; /* one for each worker */
	uint32_t workers, subdomains;
	uint64_t size_bytes;
	uint64_t period_ns;
	bool balances;
	int hidden; /* 0; or why there is no segment: a negative errno */
	int fd; /* of the segment: its lock shows that it is in use. -1: there is none */
	pid_t pid; /* the process that created it */
	char name[INSTANCE_NAME_BYTES]; /* for shm_open(3); "": it has none */
	/* Written while the fields above are read: */
	alignas(SEGMENT_LINE) _Atomic bool balancing; /* guards what follows */
	struct point point;
	uint64_t given_back; /* the claim after its last point; now another: juggle has balanced */
	/* One thread at a time, at points between ranks: */
	alignas(SEGMENT_LINE) struct instance_rank rank;
};

/* The defaults of points between ranks, from the options that the header has. */
void instance_rank_init(struct progress *p, const struct segment_header *header);

/* CLOCK_MONOTONIC in ns. */
uint64_t instance_clock_ns(void);

/* Make a worker look at the segment, after what it should see was written. This is an exchange, not
 * a store, because that continues the release sequences of earlier calls: the worker sees what all
 * callers wrote. */
static inline void instance_set_dirty(struct progress *p, uint32_t worker)
{
	atomic_exchange_explicit(&p->worker[worker].dirty, 1, memory_order_release);
}

/* Write the counters of a subdomain as one, for readers that compare `sequence` before and after.
 * Only for its holder, or for the thread that fills the place. */
static inline void instance_publish(
	struct segment_subdomain *s, uint64_t updates, uint64_t iteration, double residual)
{
	uint32_t sequence = atomic_load_explicit(&s->sequence, memory_order_relaxed);
	uint64_t bits;

	memcpy(&bits, &residual, sizeof bits);
	/* Release: a thread that sees a new value sees the odd number, too. */
	atomic_store_explicit(&s->sequence, sequence + 1, memory_order_relaxed);
	atomic_store_explicit(&s->updates, updates, memory_order_release);
	atomic_store_explicit(&s->residual, bits, memory_order_release);
	atomic_store_explicit(&s->iteration, iteration, memory_order_release);
	atomic_store_explicit(&s->sequence, sequence + 2, memory_order_release);
}

#endif
