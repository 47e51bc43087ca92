/* SPDX-License-Identifier: MIT */
/*
 * Distributed progressive load balancing: whether a rank should send a subdomain to another. All
 * functions are pure: no I/O, clock, allocation or static state. Section numbers are those of
 * Zarins & Weiland (2020), "Progressive load balancing in distributed memory".
 */
#ifndef JUGGLE_DPLB_H
#define JUGGLE_DPLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The defaults of jacobi and of the simulator. */
#define POLICY_DPLB_DEFAULT_PERIOD_MS 500
#define POLICY_DPLB_DEFAULT_PERIOD_NS (POLICY_DPLB_DEFAULT_PERIOD_MS * UINT64_C(1000000))
#define POLICY_DPLB_DEFAULT_REACH 4 /* of neighbourhoods */

#define POLICY_DPLB_THRESHOLD_NONE (-1.0) /* below 0, as PROGRESS_THRESHOLD_NONE */

/* What ranks know of each other: Section 3.1, step 1. */
struct policy_dplb_rank {
	double average; /* mean number of updates of its subdomains */
	/* Not in the paper: updates that each of its subdomains would get in a period if the rank
	 * never waited for others; 0: not known. */
	double rate;
	double doubt; /* standard error of the rate: turns and interruptions make it uncertain */
	uint32_t rank;
	uint32_t subdomains; /* how many it has; with 0 the average means nothing */
	uint32_t room; /* how many more it would take */
};

struct policy_dplb_params {
	/* Step 2: a gap up to this, in updates, moves nothing. 0: a good one for the rank's rate.
	 * POLICY_DPLB_THRESHOLD_NONE: as in the paper, any gap moves, and rates don't count. */
	double threshold;
	uint64_t period_ns; /* between balancing points */
	/* Not in the paper: the staleness is bounded, so all ranks are equally far, up to the bound,
	 * and the faster ones wait. They are compared by their rates, unless there is no threshold. */
	bool bounded;
	/* A rank with this many subdomains gives none away: see policy_dplb_keep(). */
	uint32_t keep;
	/* Not in the paper, for neighbourhoods: in step 3 all ranks that are that far behind send,
	 * not only the least advanced. */
	bool all_behind;
};

/* A good threshold, as a fraction of the updates that a subdomain gets in a period, which each rank
 * knows for itself. In a simulation (64 ranks, 10 % of them 40 % slower, neighbourhoods of full
 * reach, PLB on each rank), 0.1 makes three to nine times as many moves for the same spread; with 2
 * the spread is 1.5 to 3.5 times as large. Equal ranks move nothing in any case. */
#define POLICY_DPLB_THRESHOLD 0.5

/* The threshold that counts for a rank of that rate: the given one; 0 for none; or that part of the
 * rate, but at least 30 ms of updates, because ranks that share CPUs get ahead by turns; or, where
 * rates are compared, one twentieth of the rate. While the rate is not known these two are infinite:
 * nothing moves. */
double policy_dplb_threshold(const struct policy_dplb_params *params, double rate);

/* A good `keep`: as many subdomains as PLB between the rank's workers needs (plb.h). A slow rank
 * that catches up gives away more than its share. At `low` subdomains per worker none of its
 * workers could give any more, and the subdomains of the slower workers would stay behind. So a
 * rank keeps some to spare: in a simulation with 2 of 15 ranks 40 % slower, the spread after 120
 * periods was 15 times as large without them. `workers` is at least 1. Returns 0, and the rank may
 * give away all it has, for a single worker with low 0, or when low and pairs are 0. */
static inline uint32_t policy_dplb_keep(uint32_t workers, uint32_t low, uint32_t pairs)
{
	uint32_t spare = pairs < workers ? pairs : workers - 1;
	uint64_t keep = (uint64_t)low * workers + spare;

	return keep < UINT32_MAX ? (uint32_t)keep : UINT32_MAX;
}

/* Kept from call to call; zeroed at first, but for the seed. */
struct policy_dplb_state {
	uint64_t random; /* any seed, a different one on each rank */
	uint64_t points, updates, busy_ns; /* when it last learnt */
	double speed; /* updates of a period in which the rank never waits, smoothed */
	double variance; /* of that, from point to point */
	double error; /* standard error of the speed; 0: nothing has been learnt */
};

/* At each balancing point: learn the speed of this rank. updates: of all its workers so far.
 * busy_ns: for how long, on average, they have not waited for other ranks. While they hardly do
 * anything else, nothing is learnt: what is measured then is how late they note that they wait. */
void policy_dplb_learn(
	struct policy_dplb_state *state, uint64_t updates, uint64_t busy_ns, uint64_t period_ns);

/* Set the rate of a rank with that many subdomains, and its doubt, from what was learnt; where rates
 * are compared, it is what the rank shows as its average, too. */
static inline void policy_dplb_rate(const struct policy_dplb_params *params,
	const struct policy_dplb_state *state, struct policy_dplb_rank *rank)
{
	rank->rate = rank->subdomains > 0 ? state->speed / rank->subdomains : 0;
	rank->doubt = rank->subdomains > 0 ? state->error / rank->subdomains : 0;
	if (params->bounded && params->threshold >= 0)
		rank->average = rank->rate;
}

struct policy_dplb_move {
	uint32_t to; /* rank */
	uint32_t pick; /* a random one of its subdomains, from 0 to subdomains - 1: step 3 */
};

/* What a place for a subdomain has. */
struct policy_dplb_place {
	/* How many halos fewer would pass between ranks if it moved: its neighbours there, less those
	 * here. POLICY_DPLB_EMPTY: there is none. */
	int32_t halos_saved;
	uint64_t updates; /* how far it is */
};
#define POLICY_DPLB_EMPTY INT32_MIN

/* Not in the paper: in which of n places to take the subdomain to send, instead of the random one's,
 * which is below n. The one that saves most halos, so that few pass, and what came from there goes
 * back; among equal ones the least advanced, because that is one of a worker that is behind, and gets
 * on there; among these the random one comes first, and then those after it, in a ring. By halos
 * alone, and else at random, a rank with one slow socket gives away those of the fast one as well: in a
 * simulation (15 ranks of 36 workers, 120 periods) the spread was 796 instead of 24. */
uint32_t policy_dplb_pick(uint32_t random, uint32_t n,
	struct policy_dplb_place (*look)(const void *arg, uint32_t place), const void *arg);

/* A balancing point of the rank `self`, steps 2 and 3. It compares itself with the `known` ranks:
 * all (global knowledge; the least and the most advanced of all are enough), or those of a
 * neighbourhood. If self is the least advanced (of equal ones, the lower number is), and is behind
 * the most advanced one with room by more than the threshold, it sends that rank a subdomain.
 * Returns whether it does. `known` may contain self.
 *
 * Not in the paper, where the rates of both are known: it sends nothing while the gap may well close
 * by itself, within four periods and two seconds; nor if that would make the rates less even, and the
 * gap would be closed, and then grow the other way, within that time. So with few subdomains, each of
 * which is a large part of a rank's work, the moves don't make the gaps that the next ones close.
 * Rates that differ by less than they are uncertain count as equal, and a gap that such a difference
 * would close may close. So ranks that share CPUs, where gaps come and go with the turns that they
 * take, are known by that, and left alone; until they drift apart for longer than turns explain.
 *
 * With global knowledge there is one move per period: with 26 slow ranks of 256, the spread takes
 * 400 periods to fall again. In neighbourhoods it is not enough that the least advanced sends: what
 * a rank knows of others is older than what it knows of itself. So each of two neighbours can take
 * the other for the slower one, and a slow rank with a slower neighbour gets no help. The spread
 * then grows without bound; with all_behind it does not, for 1,024 ranks at least. With global
 * knowledge, all_behind would have all of them send to the same rank. */
bool policy_dplb(const struct policy_dplb_params *params, struct policy_dplb_state *state,
	const struct policy_dplb_rank *self, const struct policy_dplb_rank *known, size_t n,
	struct policy_dplb_move *move);

/* A move without regard to progress, to test moves: any subdomain, to any other of `ranks` ranks.
 * Returns false when there is nothing to give, or no other rank. */
bool policy_dplb_random(const struct policy_dplb_params *params, struct policy_dplb_state *state,
	const struct policy_dplb_rank *self, uint32_t ranks, struct policy_dplb_move *move);

/* The less (more) advanced of two ranks, for a reduction in any order and grouping. A rank without
 * subdomains loses; of equal ones the lower number wins. The most advanced rank is to receive a
 * subdomain, so there one without room loses, too. */
struct policy_dplb_rank policy_dplb_least(struct policy_dplb_rank a, struct policy_dplb_rank b);
struct policy_dplb_rank policy_dplb_most(struct policy_dplb_rank a, struct policy_dplb_rank b);

/* The neighbourhood of a rank: the offsets +-1, +-2, +-4 ... up to `reach`, modulo ranks, each rank
 * once and never itself, ascending. It is symmetric: my neighbours have me as a neighbour. Writes
 * at most POLICY_DPLB_NEIGHBOURS_MAX and returns how many. */
#define POLICY_DPLB_NEIGHBOURS_MAX 64
size_t policy_dplb_neighbours(uint32_t rank, uint32_t ranks, uint32_t reach, uint32_t *out);

#endif
