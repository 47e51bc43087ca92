/* SPDX-License-Identifier: MIT */
/*
 * Distributed progressive load balancing: whether a rank should send a subdomain to another.
 * Pure, as policy.h has it. Section numbers are those of Zarins & Weiland (2020),
 * "Progressive load balancing in distributed memory".
 */
#ifndef JUGGLE_DPLB_H
#define JUGGLE_DPLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The defaults of jacobi and of the simulator. */
#define POLICY_DPLB_DEFAULT_PERIOD_MS 500
#define POLICY_DPLB_DEFAULT_PERIOD_NS (POLICY_DPLB_DEFAULT_PERIOD_MS * UINT64_C(1000000))
#define POLICY_DPLB_DEFAULT_REACH 4 /* of a neighbourhood */

/* What ranks know of each other: Section 3.1, step 1. */
struct policy_dplb_rank {
	double average; /* number of updates of its subdomains, in the mean */
	uint32_t rank;
	uint32_t subdomains; /* that it has; with 0 the average says nothing */
	uint32_t room; /* how many more it would take */
};

struct policy_dplb_params {
	double threshold; /* step 2: the largest gap of averages that is let be, in updates */
	/* A rank with so many subdomains gives none away; not 0: see policy_dplb_keep(). */
	uint32_t keep;
	/* Step 3 beyond the paper, for neighbourhoods: all that are so far behind send, not only the
	 * least advanced. */
	bool all_behind;
};

/* A good threshold, as a part of the updates that a subdomain gets in a period, which each rank can
 * tell for itself. In virtual time (64 ranks, 10 % of them 40 % slower, neighbourhoods of all reach,
 * PLB on each rank) 0.1 makes three to nine times as many moves for the same spread; with 2 the
 * spread is 1.5 to 3.5 times as large. Equal ranks move nothing in any case. */
#define POLICY_DPLB_THRESHOLD 0.5

/* That threshold, in updates, for a rank whose subdomains got `advance` updates in the last period. What
 * ranks that share CPUs get ahead in turn is let be, too: no less than 30 ms of updates. Where staleness
 * is bounded the gap is, too, and says only how long the faster one waits: no more than that part of `bound`,
 * in updates; UINT64_MAX: there is none. 0 when nothing was updated. */
double policy_dplb_threshold(double advance, uint64_t period_ns, uint64_t bound);

/* A good `keep`: as many as PLB among the workers of the rank needs to go on (plb.h). A slow rank that
 * catches up gives away more than its share; down to `low` subdomains for each worker none of them may
 * give any more, and those of its slower workers are left behind. In virtual time, 2 of 15 ranks 40 %
 * slower, the spread after 120 periods was 15 times as large without the spare ones. workers: 1 at
 * least. 0 for a single worker with low 0, or where neither low nor pairs asks for any: then a rank
 * may give away all it has. */
static inline uint32_t policy_dplb_keep(uint32_t workers, uint32_t low, uint32_t pairs)
{
	uint32_t spare = pairs < workers ? pairs : workers - 1;
	uint64_t keep = (uint64_t)low * workers + spare;

	return keep < UINT32_MAX ? (uint32_t)keep : UINT32_MAX;
}

/* Kept from call to call. */
struct policy_dplb_state {
	uint64_t random; /* any seed, ranks different ones */
};

struct policy_dplb_move {
	uint32_t to; /* rank */
	uint32_t pick; /* which one, from 0 to subdomains - 1: a random choice, step 3 */
};

/* One balancing point of the rank `self`, steps 2 and 3. `known` are the ranks it compares itself
 * with: all (global knowledge; the least and the most advanced of all are enough), or those of a
 * neighbourhood. When self is the least advanced of them, with the lower number where two are
 * equal, and behind the most advanced that has room by more than the threshold, it sends a
 * subdomain there. Returns whether it does. known may hold self.
 *
 * With global knowledge that is one move a period: 26 slow ranks of 256 take 400 periods until
 * the spread falls again. In neighbourhoods the least advanced alone is not enough: what a rank
 * knows of others is older than what it knows of itself, so that of two side by side each can take
 * the other for the slower, and a slow rank with a slower neighbour gets no help. There the
 * spread grows without bound; with all_behind it does not, to 1,024 ranks at least. With global
 * knowledge all_behind would have all of them send to the same rank. */
bool policy_dplb(const struct policy_dplb_params *params, struct policy_dplb_state *state,
	const struct policy_dplb_rank *self, const struct policy_dplb_rank *known, size_t n,
	struct policy_dplb_move *move);

/* A move without regard to progress: any subdomain, to any other of `ranks` ranks. To try moving
 * itself. Returns false where there is nothing to give, or nobody to give it to. */
bool policy_dplb_random(const struct policy_dplb_params *params, struct policy_dplb_state *state,
	const struct policy_dplb_rank *self, uint32_t ranks, struct policy_dplb_move *move);

/* For a reduction over ranks, in any order and grouping: the less (more) advanced of two. One
 * without subdomains loses; of equal ones the lower number wins. As the most advanced is asked for to
 * send it something, there one without room loses, too. */
struct policy_dplb_rank policy_dplb_least(struct policy_dplb_rank a, struct policy_dplb_rank b);
struct policy_dplb_rank policy_dplb_most(struct policy_dplb_rank a, struct policy_dplb_rank b);

/* The neighbourhood of a rank: the offsets +-1, +-2, +-4 ... up to `reach`, modulo ranks, each
 * rank once and never itself, ascending. Symmetric: who is in mine has me in his. Writes at most
 * POLICY_DPLB_NEIGHBOURS_MAX and returns how many. */
#define POLICY_DPLB_NEIGHBOURS_MAX 64
size_t policy_dplb_neighbours(uint32_t rank, uint32_t ranks, uint32_t reach, uint32_t *out);

#endif
