/* SPDX-License-Identifier: MIT */
/* Balancing by the program's own threads. */
#include "libprogress/instance.h"

/* Returns whether this process may balance now; then sets *mine. */
static bool win_claim(struct progress *p, uint64_t now_ns, uint64_t *mine)
{
	struct segment_header *h = p->header;
	uint64_t found = atomic_load_explicit(&h->claim, memory_order_acquire);

	if ((uint32_t)found != SEGMENT_CLAIM_NONE) {
		uint64_t beat_ns = atomic_load_explicit(&h->beat_ns, memory_order_relaxed);
		if (segment_is_fresh(beat_ns, now_ns))
			return false;
	}
	*mine = segment_claim(found, (uint32_t)p->pid);
	uint64_t before = found;
	/* The beat first (release), or the new claim would look old, and juggle would take it over.
	 * If somebody else is quicker, that claim is new, too. */
	atomic_store_explicit(&h->beat_ns, now_ns, memory_order_relaxed);
	if (!atomic_compare_exchange_strong_explicit(
		    &h->claim, &found, *mine, memory_order_acq_rel, memory_order_relaxed))
		return false;
	if (before != p->given_back)
		p->point.state.away = true;
	return true;
}

static void give_back(struct progress *p, uint64_t mine)
{
	uint64_t none = segment_claim(mine, SEGMENT_CLAIM_NONE);

	p->given_back = none;
	atomic_compare_exchange_strong_explicit(
		&p->header->claim, &mine, none, memory_order_acq_rel, memory_order_relaxed);
}

/* Read the counters, and flag holders again that have not passed a subdomain on yet. */
static void read_counters(struct progress *p)
{
	for (uint32_t k = 0; k < p->workers; k++) {
		const struct segment_worker *worker = &p->worker[k];
		bool here = atomic_load_explicit(&worker->tid, memory_order_relaxed) != 0;
		p->point.worker[k].domain =
			here ? atomic_load_explicit(&worker->node, memory_order_relaxed)
			     : POINT_ABSENT;
		p->point.worker[k].updates =
			atomic_load_explicit(&worker->updates, memory_order_relaxed);
	}
	for (uint32_t s = 0; s < p->subdomains; s++) {
		const struct segment_subdomain *subdomain = &p->subdomain[s];
		uint32_t owner = atomic_load_explicit(&subdomain->owner, memory_order_relaxed);
		/* Acquire: the updates must not be older than the holder. */
		uint32_t holder = atomic_load_explicit(&subdomain->holder, memory_order_acquire);
		uint64_t updates = atomic_load_explicit(&subdomain->updates, memory_order_relaxed);
		if (point_fill(&p->point, s, updates, owner, holder) &&
			atomic_load_explicit(&p->worker[holder].dirty, memory_order_relaxed) == 0)
			instance_set_dirty(p, holder);
	}
}

static uint32_t balance(struct progress *p, uint64_t mine)
{
	struct segment_header *h = p->header;

	read_counters(p);
	size_t moves = point_run(&p->point);
	/* juggle may have taken over while this thread stood still. */
	if (atomic_load_explicit(&h->claim, memory_order_relaxed) != mine)
		return 0;
	for (size_t i = 0; i < moves; i++) {
		const struct policy_plb_move *move = &p->point.move[i];
		atomic_store_explicit(
			&p->subdomain[move->subdomain].owner, move->to, memory_order_relaxed);
		instance_set_dirty(p, move->from);
	}
	atomic_fetch_add_explicit(&h->points, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->moves, moves, memory_order_relaxed);
	return (uint32_t)moves;
}

static bool is_due(const struct progress *p, uint64_t now_ns)
{
	return now_ns >= atomic_load_explicit(&p->header->due_ns, memory_order_relaxed);
}

uint32_t progress_balance(struct progress *p, uint32_t worker)
{
	uint32_t moves = 0;
	uint64_t now_ns, mine;

	if (!p->balances || worker >= p->workers)
		return 0;
	now_ns = instance_clock_ns();
	if (!is_due(p, now_ns) ||
		atomic_exchange_explicit(&p->balancing, true, memory_order_acquire))
		return 0;
	/* Check again: another thread may have been quicker. */
	if (is_due(p, now_ns)) {
		atomic_store_explicit(
			&p->header->due_ns, now_ns + p->period_ns, memory_order_relaxed);
		if (win_claim(p, now_ns, &mine)) {
			moves = balance(p, mine);
			give_back(p, mine);
		}
	}
	atomic_store_explicit(&p->balancing, false, memory_order_release);
	return moves;
}
