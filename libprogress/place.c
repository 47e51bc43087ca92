/* SPDX-License-Identifier: MIT */
/*
 * Places that are emptied and filled, for subdomains that come from other processes and go there.
 * Why balancers do no harm meanwhile is said in worker.c.
 */
#include "libprogress/instance.h"

#include <errno.h>
#include <math.h>

int progress_remove(struct progress *p, uint32_t subdomain)
{
	if (subdomain >= p->subdomains)
		return -EINVAL;
	/* Acquire: whoever passed it on to a holder that has not begun since. */
	uint32_t holder = progress_holder(p, subdomain);
	if (holder == PROGRESS_NOBODY)
		return -ENOENT;
	/* The counters stay as they are: who has just seen the holder is not to take zeros for the
	 * subdomain's. Release: for who fills the place. */
	atomic_store_explicit(
		&p->subdomain[subdomain].holder, PROGRESS_NOBODY, memory_order_release);
	instance_tell(p, holder);
	return 0;
}

/* The registered worker that holds the fewest subdomains, or PROGRESS_NOBODY. Of several, which of
 * them depends on the place: if it were always the first, its domain would get more than others. */
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
	/* Acquire: what was done to the place until it was emptied. */
	if (progress_holder(p, subdomain) != PROGRESS_NOBODY)
		return -EEXIST;
	if (worker == PROGRESS_NOBODY)
		worker = find_idlest(p, subdomain);
	if (worker >= p->workers)
		return -EINVAL;
	struct segment_subdomain *s = &p->subdomain[subdomain];
	instance_publish(s, iteration, iteration, NAN);
	/* Before the holder, which would else pass the place on to a stale owner. */
	atomic_store_explicit(&s->owner, worker, memory_order_relaxed);
	/* Release: from here on all is the holder's. */
	atomic_store_explicit(&s->holder, worker, memory_order_release);
	instance_tell(p, worker);
	return 0;
}
