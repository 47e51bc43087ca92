/* SPDX-License-Identifier: MIT */
/*
 * The layout of a segment, which the library and its readers share: a header, then the workers,
 * then the subdomains. Version 2.
 *
 * Version 1 has the same layout, but each of its subdomains has a holder. In version 2 a place may
 * be empty, without a holder, and readers ignore it. A balancer that knows only version 1 refuses
 * version 2, and the program's own threads balance. Otherwise it would count an empty place for its
 * last owner, always find it the least updated, and take all other subdomains from that worker.
 *
 * Readers trust nothing in a segment. They check counts and offsets against the size of the file,
 * and numbers of workers and subdomains against these counts, each time that they use them.
 */
#ifndef PROGRESS_SEGMENT_H
#define PROGRESS_SEGMENT_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_MAGIC UINT64_C(0x53534552474f5250) /* "PROGRESS", little endian */
#define SEGMENT_VERSION 2
#define SEGMENT_VERSION_MIN 1 /* the oldest that readers understand */
#define SEGMENT_LINE 64 /* bytes; different writers use different lines */
#define SEGMENT_STALE_NS UINT64_C(500000000) /* without a beat for this long, a balancer is gone */

enum segment_state {
	SEGMENT_NEW, /* being filled in: do not read */
	SEGMENT_OPEN,
	SEGMENT_CLOSED, /* about to be removed */
};

/* Who balances. The low 32 bits of `claim` are 0 when nobody does: */
#define SEGMENT_CLAIM_NONE UINT32_C(0)
/* ... or the pid of the process that balances: the program's own while one of its threads is at it,
 * or juggle's balancer for as long as it watches. The high 32 bits count changes, so that a new
 * claim never looks like an old one. The program claims and gives back with compare-and-swap. A
 * balancer with a descriptor writes its claim, and reads it back. Anyone may take over a claim
 * whose `beat_ns` is old, so a balancer writes the beat before the claim, and reads it after. A
 * balancer that has lost its claim stops. It does no harm when two act for a moment
 * (tests/model/handover.pml), and it does not go on (tests/model/claim.pml). */

struct segment_header {
	/* Set at creation: */
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* sizeof of this */
	uint64_t size_bytes; /* of the file */
	uint32_t workers;
	uint32_t subdomains;
	uint32_t worker_bytes; /* sizeof of struct segment_worker */
	uint32_t subdomain_bytes;
	uint32_t pid;
	int32_t rank;
	uint64_t created_ns; /* CLOCK_MONOTONIC */
	uint32_t balancing; /* enum progress_balancing, never the default */
	uint32_t pairs;
	uint32_t low;
	uint32_t high;
	uint32_t hybrid_every;
	uint32_t dead_band; /* in periods; 0: none */
	uint64_t period_ns;
	_Atomic uint32_t state; /* enum segment_state */
	uint32_t bound; /* in updates; 0: none, also where an older library wrote this */
	/* Written by the balancer: */
	alignas(SEGMENT_LINE) _Atomic uint64_t claim;
	_Atomic uint64_t beat_ns; /* CLOCK_MONOTONIC at the last balancing point */
	_Atomic uint64_t points; /* balancing points */
	_Atomic uint64_t moves; /* changes of owners */
	alignas(SEGMENT_LINE) _Atomic uint64_t due_ns; /* the next point of the program's threads */
};

struct segment_worker {
	/* Set by whoever gives the worker a subdomain, or wants one from it; cleared by the
	 * worker. */
	alignas(SEGMENT_LINE) _Atomic uint32_t dirty;
	/* Written by the worker: */
	alignas(SEGMENT_LINE) _Atomic uint32_t tid; /* 0: no thread is this worker */
	_Atomic uint32_t node; /* NUMA node where it ran lately */
	_Atomic uint64_t iterations; /* completed */
	_Atomic uint64_t updates; /* of all subdomains */
	_Atomic uint64_t handed; /* subdomains passed on */
};

struct segment_subdomain {
	/* Written by the holder. Odd while it writes: */
	alignas(SEGMENT_LINE) _Atomic uint32_t sequence;
	/* The worker that may update it; out of range: none, the place is empty. Written only by
	 * the holder, or by the thread that fills an empty place. */
	_Atomic uint32_t holder;
	_Atomic uint64_t updates;
	_Atomic uint64_t iteration;
	_Atomic uint64_t residual; /* the bits of a double */
	/* Written by the balancer, and by the thread that fills the place. Untrusted: ignored when
	 * out of range. Meaningless for an empty place. */
	_Atomic uint32_t owner; /* the worker that should update it */
};

static_assert(offsetof(struct segment_header, state) == 88, "layout");
static_assert(offsetof(struct segment_header, bound) == 92, "layout");
static_assert(offsetof(struct segment_header, claim) == 128, "layout");
static_assert(offsetof(struct segment_header, due_ns) == 192, "layout");
static_assert(sizeof(struct segment_header) == 256, "layout");
static_assert(offsetof(struct segment_worker, tid) == 64, "layout");
static_assert(sizeof(struct segment_worker) == 128, "layout");
static_assert(offsetof(struct segment_subdomain, updates) == 8, "layout");
static_assert(offsetof(struct segment_subdomain, owner) == 32, "layout");
static_assert(sizeof(struct segment_subdomain) == 64, "layout");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared by processes");

/* The claim that follows `before`; with pid 0, the end of one. */
static inline uint64_t segment_claim(uint64_t before, uint32_t pid)
{
	return ((before >> 32) + 1) << 32 | pid;
}

/* Is a balancer with this last beat still there? A beat far in the future does not count. */
static inline bool segment_is_fresh(uint64_t beat_ns, uint64_t now_ns)
{
	return (now_ns > beat_ns ? now_ns - beat_ns : beat_ns - now_ns) < SEGMENT_STALE_NS;
}

static inline uint64_t segment_worker_offset(uint32_t worker)
{
	return sizeof(struct segment_header) + (uint64_t)worker * sizeof(struct segment_worker);
}

static inline uint64_t segment_subdomain_offset(uint32_t workers, uint32_t subdomain)
{
	return segment_worker_offset(workers) +
	       (uint64_t)subdomain * sizeof(struct segment_subdomain);
}

static inline uint64_t segment_size(uint32_t workers, uint32_t subdomains)
{
	return segment_subdomain_offset(workers, subdomains);
}

#endif
