/* SPDX-License-Identifier: MIT */
/*
 * Progressive load balancing: which subdomains should change their worker. All functions are pure:
 * no I/O, clock, allocation or static state. Section numbers and Algorithm 1 are those of Zarins &
 * Weiland (2017), "Progressive load balancing of asynchronous algorithms".
 */
#ifndef JUGGLE_PLB_H
#define JUGGLE_PLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_PLB_NOBODY UINT32_MAX
#define POLICY_PLB_NOWHERE UINT32_MAX

/* The defaults of libprogress, of jacobi and of the simulator. The first three are the paper's,
 * Section 4.2. */
#define POLICY_PLB_DEFAULT_PAIRS 6
#define POLICY_PLB_DEFAULT_LOW 2
#define POLICY_PLB_DEFAULT_HIGH 6
#define POLICY_PLB_DEFAULT_HYBRID_EVERY 500
#define POLICY_PLB_DEFAULT_DEAD_BAND 4 /* with periods of 1 ms about a time slice of the kernel */
#define POLICY_PLB_DEFAULT_PERIOD_MS 1
#define POLICY_PLB_DEFAULT_PERIOD_NS (POLICY_PLB_DEFAULT_PERIOD_MS * UINT64_C(1000000))

enum policy_plb_mode {
	POLICY_PLB_JOINT, /* between all workers */
	POLICY_PLB_SPLIT, /* between the workers of each domain */
	POLICY_PLB_HYBRID, /* split; every hybrid_every points one subdomain changes its domain */
};

/* Section 3.3's parameters. */
struct policy_plb_params {
	enum policy_plb_mode mode;
	uint32_t pairs; /* nPairs: how many of the most, and of the least updated to consider */
	uint32_t low; /* lowThresh: a worker with this many gives none away */
	uint32_t high; /* highThresh: a worker with this many takes none */
	uint32_t hybrid_every; /* points between moves to another domain; not 0 */
	/* Not in the paper: gaps up to the updates that a subdomain gets in so many periods move
	 * nothing. 0: Algorithm 1 to the letter. */
	uint32_t dead_band;
	/* The program itself lets nothing get further ahead of its neighbours than so many updates,
	 * and makes workers wait. So they would wait before a wider dead band is left: gaps of more
	 * than half of it count. 0: it does not. */
	uint32_t bound;
};

/* Kept from call to call; zeroed at first. */
struct policy_plb_state {
	uint64_t points;
	uint64_t random; /* seeds the choices of the hybrid mode */
	/* Set it when others have balanced since the last point: what workers did meanwhile, perhaps
	 * in hours, says nothing of a period. policy_plb() clears it. */
	bool away;
};

struct policy_subdomain {
	uint64_t updates;
	uint32_t worker; /* its owner; if POLICY_PLB_NOBODY or out of range, it is left alone */
	uint32_t
		home; /* kept from call to call: its first owner, in whose cache and memory it is */
};

struct policy_worker {
	/* The domain of its CPU, below `domains`; or POLICY_PLB_NOWHERE: other domains give it
	 * nothing. */
	uint32_t domain;
	uint64_t updates; /* that it has made, of any subdomains */
	/* Set by policy_plb(): */
	uint32_t subdomains; /* how many it owns, after the moves */
	double mean; /* updates of those that it owned before the moves */
	/* Likewise, of one of those: UINT64_MAX and 0 where there were none. */
	uint64_t least, most;
	/* Kept from call to call; zeroed at first: */
	uint64_t before; /* updates at the last point */
	double speed; /* updates from point to point, smoothed */
};

struct policy_plb_move {
	uint32_t subdomain, from, to;
};

/* The largest number of moves of one call. */
static inline size_t policy_plb_moves_max(const struct policy_plb_params *params, uint32_t domains)
{
	size_t each = (size_t)params->pairs * (params->dead_band > 0 ? 2 : 1); /* some go home */

	return each * (params->mode == POLICY_PLB_JOINT ? 1 : domains) + 1;
}

/* A balancing point: Algorithm 1 for all workers (joint), or for those of each domain.
 *
 * For each i below `pairs`, the owner of the i-th most updated subdomain takes a subdomain from the
 * owner of the i-th least updated one: that owner's most updated. It does so if it has fewer than
 * `high` and the other has more than `low`. So giving leaves a worker at least `low`, and taking at
 * most `high`. A subdomain moves at most once.
 *
 * Not in the paper: it stops in the middle of the list. With fewer subdomains than twice the pairs,
 * later pairs would undo the first, and the spread would grow without bound.
 *
 * Nor is the dead band. A moved subdomain has to be fetched from another cache, so none moves while
 * the two are no further apart than `dead_band` periods without a CPU put them, and a move in its
 * first iterations (or, with a bound, while workers are not about to wait), nor while the gap closes
 * by itself: workers' speeds are known from their updates, and with them the rates of their
 * subdomains.
 * Of those that could move, the one whose home is there goes first, and else one whose neighbours are
 * there: edges between workers go from cache to cache. Those with numbers before and after its own are
 * taken for neighbours. Subdomains go home when the gap
 * is closed, if that makes the rates more even.
 *
 * scratch has room for 2 * pairs indices, moves for policy_plb_moves_max(). Updates
 * subdomains[].worker. Returns the number of moves; O(n * pairs * domains). */
size_t policy_plb(const struct policy_plb_params *params, struct policy_plb_state *state,
	struct policy_subdomain *subdomains, size_t n, struct policy_worker *workers, size_t w,
	uint32_t domains, uint32_t *scratch, struct policy_plb_move *moves);

/* Between points: should a worker leave a subdomain out of this round? It has that many updates, and
 * the least advanced of those that the worker holds has `least`.
 *
 * Not in the paper. A subdomain that comes from another worker keeps its lead over the others, or its
 * lag, for as long as all are updated in turn, and only further moves end it. So those that lead by more
 * than the smallest dead band sit out every other round: gaps within a worker close there, and only those
 * between workers need moves. None sits out where workers wait, since it might be the only one that could be
 * updated; nor by Algorithm 1 to the letter. */
bool policy_plb_rests(
	const struct policy_plb_params *params, uint64_t updates, uint64_t least, uint64_t round);

#endif
