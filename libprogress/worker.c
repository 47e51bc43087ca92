/* SPDX-License-Identifier: MIT */
/*
 * What workers do in each of their iterations.
 *
 * The hand-over rests on three rules: only the holder writes `holder`; whoever wants something from
 * a worker, or gives it something, writes that first and the worker's flag afterwards (release); the
 * worker clears its flag first (acquire) and looks afterwards. So what comes too late for
 * a look sets the flag for the next one. tests/model/handover.pml proves it.
 */
#include "instance.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HELD_MIN 16u

/* For counters that have one writer: cheaper than an atomic addition. */
static void count(_Atomic uint64_t *counter)
{
	uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, value + 1, memory_order_relaxed);
}

int progress_register(struct progress *p, uint32_t worker)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	uint32_t before = 0;
	unsigned node = 0;

	if (worker >= p->workers)
		return -EINVAL;
	struct segment_worker *shared = &p->worker[worker];
	/* Acquire: what another thread did as this worker, up to its leave. */
	if (!atomic_compare_exchange_strong_explicit(
		    &shared->tid, &before, tid, memory_order_acquire, memory_order_relaxed) &&
		before != tid)
		return -EBUSY;
	if (getcpu(NULL, &node) < 0)
		node = 0;
	atomic_store_explicit(&shared->node, node, memory_order_relaxed);
	return 0;
}

/* Makes room for one more. On failure all stays as it is. */
static bool grow(struct instance_worker *local)
{
	uint32_t capacity = local->capacity < HELD_MIN ? HELD_MIN : 2 * local->capacity;
	uint32_t *held = aligned_alloc(SEGMENT_LINE, capacity * sizeof *held);

	if (held == NULL)
		return false;
	if (local->count > 0)
		memcpy(held, local->held, local->count * sizeof *held);
	free(local->held);
	local->held = held;
	local->capacity = capacity;
	return true;
}

/* Steps 3 and 4 of the hand-over: pass on what others should have, and list the rest. */
static void look(struct progress *p, uint32_t worker)
{
	struct instance_worker *local = &p->local[worker];

	local->count = 0;
	for (uint32_t s = 0; s < p->subdomains; s++) {
		struct segment_subdomain *subdomain = &p->subdomain[s];
		if (atomic_load_explicit(&subdomain->holder, memory_order_acquire) != worker)
			continue;
		uint32_t owner = atomic_load_explicit(&subdomain->owner, memory_order_relaxed);
		if (owner != worker && owner < p->workers) {
			atomic_store_explicit(&subdomain->holder, owner, memory_order_release);
			instance_tell(p, owner);
			count(&p->worker[worker].handed);
		} else if (local->count < local->capacity || grow(local)) {
			local->held[local->count++] = s;
		} else {
			/* Without memory it has to wait for the next look. */
			instance_tell(p, worker);
		}
	}
}

static void end_iteration(struct progress *p, uint32_t worker)
{
	if (p->local[worker].iterating)
		count(&p->worker[worker].iterations);
}

uint32_t progress_begin(struct progress *p, uint32_t worker, const uint32_t **subdomains)
{
	*subdomains = NULL;
	if (worker >= p->workers)
		return 0;
	struct instance_worker *local = &p->local[worker];
	_Atomic uint32_t *dirty = &p->worker[worker].dirty;

	end_iteration(p, worker);
	if (atomic_load_explicit(dirty, memory_order_relaxed) != 0 &&
		atomic_exchange_explicit(dirty, 0, memory_order_acquire) != 0)
		look(p, worker);
	local->iterating = local->count > 0;
	*subdomains = local->held;
	return local->count;
}

void progress_update(struct progress *p, uint32_t worker, uint32_t subdomain, uint64_t iteration,
	double residual)
{
	uint64_t bits;

	if (worker >= p->workers || subdomain >= p->subdomains)
		return;
	struct segment_subdomain *s = &p->subdomain[subdomain];
	uint32_t sequence = atomic_load_explicit(&s->sequence, memory_order_relaxed);
	uint64_t updates = atomic_load_explicit(&s->updates, memory_order_relaxed);
	memcpy(&bits, &residual, sizeof bits);
	/* Release, so that who sees a new value sees the odd number, too. */
	atomic_store_explicit(&s->sequence, sequence + 1, memory_order_relaxed);
	atomic_store_explicit(&s->updates, updates + 1, memory_order_release);
	atomic_store_explicit(&s->residual, bits, memory_order_release);
	atomic_store_explicit(&s->iteration, iteration, memory_order_release);
	atomic_store_explicit(&s->sequence, sequence + 2, memory_order_release);
	count(&p->worker[worker].updates);
}

void progress_leave(struct progress *p, uint32_t worker)
{
	if (worker >= p->workers)
		return;
	end_iteration(p, worker);
	p->local[worker].iterating = false;
	atomic_store_explicit(&p->worker[worker].tid, 0, memory_order_release);
}

uint64_t progress_iteration(const struct progress *p, uint32_t subdomain)
{
	if (subdomain >= p->subdomains)
		return 0;
	return atomic_load_explicit(&p->subdomain[subdomain].iteration, memory_order_acquire);
}

uint64_t progress_updates(const struct progress *p, uint32_t subdomain)
{
	if (subdomain >= p->subdomains)
		return 0;
	return atomic_load_explicit(&p->subdomain[subdomain].updates, memory_order_relaxed);
}

uint32_t progress_holder(const struct progress *p, uint32_t subdomain)
{
	if (subdomain >= p->subdomains)
		return PROGRESS_NOBODY;
	return atomic_load_explicit(&p->subdomain[subdomain].holder, memory_order_acquire);
}

uint64_t progress_spread(const struct progress *p)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t s = 0; s < p->subdomains; s++) {
		uint64_t updates = progress_updates(p, s);
		least = updates < least ? updates : least;
		most = updates > most ? updates : most;
	}
	return most - least;
}
