/* SPDX-License-Identifier: MIT */
/*
 * Emptying and filling places, for subdomains that move between processes. worker.c says why
 * balancers do no harm meanwhile.
 */
#include "libprogress/instance.h"

#include <errno.h>
#include <math.h>

int progress_remove(struct progress *p, uint32_t subdomain)
{
	if (subdomain >= p->subdomains)
		return -EINVAL;
	/* Acquire, from the thread that passed it on to a holder that has not begun since. */
	uint32_t holder = progress_holder(p, subdomain);
	if (holder == PROGRESS_NOBODY)
		return -ENOENT;
	/* Keep the counters: a thread that has just seen the holder must not take zeros for the
	 * subdomain's. Release, to the thread that fills the place. */
	atomic_store_explicit(
		&p->subdomain[subdomain].holder, PROGRESS_NOBODY, memory_order_release);
	instance_set_dirty(p, holder);
	return 0;
}

/* The registered worker that holds the fewest subdomains, or PROGRESS_NOBODY. The choice among
 * several depends on the place: the first of them would give its domain more than others. */
static uint32_t find_idlest(struct progress *p, uint32_t place)
{
	uint32_t idlest = PROGRESS_NOBODY;

	for (uint32_t k = 0; k < p->workers; k++)
		p->local[k].tally = 0;
	for (uint32_t s = 0; s < p->subdomains; s++) {
		uint32_t holder = progress_holder(p, s);
		if (holder != PROGRESS_NOBODY)
			p->local[holder].tally++;
	}
	for (uint32_t i = 0; i < p->workers; i++) {
		uint32_t k = (place + i) % p->workers;
		if (atomic_load_explicit(&p->worker[k].tid, memory_order_relaxed) != 0 &&
			(idlest == PROGRESS_NOBODY || p->local[k].tally < p->local[idlest].tally))
			idlest = k;
	}
	return idlest;
}

int progress_insert(struct progress *p, uint32_t subdomain, uint32_t worker, uint64_t iteration)
{
	if (subdomain >= p->subdomains)
		return -EINVAL;
	/* Acquire, from the thread that emptied the place. */
	if (progress_holder(p, subdomain) != PROGRESS_NOBODY)
		return -EEXIST;
	if (worker == PROGRESS_NOBODY)
		worker = find_idlest(p, subdomain);
	if (worker >= p->workers)
		return -EINVAL;
	struct segment_subdomain *s = &p->subdomain[subdomain];
	instance_publish(s, iteration, iteration, NAN);
	/* Set the owner before the holder, which could otherwise pass the place on to a stale
	 * owner. */
	atomic_store_explicit(&s->owner, worker, memory_order_relaxed);
	/* Release, to the holder. */
	atomic_store_explicit(&s->holder, worker, memory_order_release);
	instance_set_dirty(p, worker);
	return 0;
}
