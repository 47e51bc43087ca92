/* SPDX-License-Identifier: MIT */
/*
 * What workers do in each of their iterations.
 *
 * The hand-over rests on three rules. Only the holder writes `holder`. Whoever wants something from
 * a worker, or gives it something, first writes that and then sets the worker's flag (release). The
 * worker first clears its flag (acquire) and then looks. So whatever comes too late for a look sets
 * the flag for the next one. tests/model/handover.pml proves it.
 *
 * Nobody holds an empty place, so no worker touches it; the thread that fills it is the next to
 * write `holder`. A balancer that looked before the place was emptied may still write its owner.
 * That does no harm: nobody reads the owner of an empty place, and the thread that fills it
 * overwrites it. A write after that is a wish like any other, for which the next balancing point
 * flags the holder again.
 */
#include "libprogress/instance.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HELD_MIN 16u
#define NODE_EVERY 64 /* iterations: juggle may have given the thread a CPU of another node */

/* For counters with one writer: cheaper than an atomic addition. */
static void count(_Atomic uint64_t *counter)
{
	uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, value + 1, memory_order_relaxed);
}

static void publish_node(struct segment_worker *shared)
{
	unsigned node = 0;

	if (getcpu(NULL, &node) < 0)
		node = 0;
	if (atomic_load_explicit(&shared->node, memory_order_relaxed) != node)
		atomic_store_explicit(&shared->node, node, memory_order_relaxed);
}

int progress_register(struct progress *p, uint32_t worker)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	uint32_t before = 0;

	if (worker >= p->workers)
		return -EINVAL;
	struct segment_worker *shared = &p->worker[worker];
	/* Acquire, from the thread that was this worker before, and left. */
	if (!atomic_compare_exchange_strong_explicit(
		    &shared->tid, &before, tid, memory_order_acquire, memory_order_relaxed) &&
		before != tid)
		return -EBUSY;
	publish_node(shared);
	return 0;
}

/* Make room for one more. On failure nothing changes. */
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

/* Pass subdomains on to their owners, and list the rest. */
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
			instance_set_dirty(p, owner);
			count(&p->worker[worker].handed);
		} else if (local->count < local->capacity || grow(local)) {
			local->held[local->count++] = s;
		} else {
			/* No memory: it waits for the next look. */
			instance_set_dirty(p, worker);
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
	struct segment_worker *shared = &p->worker[worker];
	_Atomic uint32_t *dirty = &shared->dirty;

	end_iteration(p, worker);
	if (atomic_load_explicit(&shared->iterations, memory_order_relaxed) % NODE_EVERY == 0)
		publish_node(shared);
	if (atomic_load_explicit(dirty, memory_order_relaxed) != 0 &&
		atomic_exchange_explicit(dirty, 0, memory_order_acquire) != 0)
		look(p, worker);
	local->iterating = local->count > 0;
	local->knows_least = false;
	*subdomains = local->held;
	return local->count;
}

void progress_update(struct progress *p, uint32_t worker, uint32_t subdomain, uint64_t iteration,
	double residual)
{
	if (worker >= p->workers || subdomain >= p->subdomains)
		return;
	struct segment_subdomain *s = &p->subdomain[subdomain];
	uint64_t updates = atomic_load_explicit(&s->updates, memory_order_relaxed);
	instance_publish(s, updates + 1, iteration, residual);
	count(&p->worker[worker].updates);
}

static uint64_t load_updates(const struct progress *p, uint32_t subdomain)
{
	return atomic_load_explicit(&p->subdomain[subdomain].updates, memory_order_relaxed);
}

int progress_rests(struct progress *p, uint32_t worker, uint32_t subdomain)
{
	if (!p->balances || worker >= p->workers || subdomain >= p->subdomains)
		return 0;
	struct instance_worker *local = &p->local[worker];

	if (!local->knows_least) {
		local->least = UINT64_MAX;
		for (uint32_t i = 0; i < local->count; i++) {
			uint64_t updates = load_updates(p, local->held[i]);
			local->least = updates < local->least ? updates : local->least;
		}
		local->knows_least = true;
	}
	return policy_plb_rests(&p->point.params, load_updates(p, subdomain), local->least,
		atomic_load_explicit(&p->worker[worker].iterations, memory_order_relaxed));
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
	if (progress_holder(p, subdomain) == PROGRESS_NOBODY)
		return 0;
	return atomic_load_explicit(&p->subdomain[subdomain].iteration, memory_order_acquire);
}

uint64_t progress_updates(const struct progress *p, uint32_t subdomain)
{
	if (progress_holder(p, subdomain) == PROGRESS_NOBODY)
		return 0;
	return load_updates(p, subdomain);
}

uint32_t progress_holder(const struct progress *p, uint32_t subdomain)
{
	if (subdomain >= p->subdomains)
		return PROGRESS_NOBODY;
	uint32_t holder =
		atomic_load_explicit(&p->subdomain[subdomain].holder, memory_order_acquire);
	return holder < p->workers ? holder : PROGRESS_NOBODY;
}

uint64_t progress_spread(const struct progress *p)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t s = 0; s < p->subdomains; s++) {
		if (progress_holder(p, s) == PROGRESS_NOBODY)
			continue;
		uint64_t updates = load_updates(p, s);
		least = updates < least ? updates : least;
		most = updates > most ? updates : most;
	}
	return most >= least ? most - least : 0;
}
