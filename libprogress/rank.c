/* SPDX-License-Identifier: MIT */
/*
 * Balancing between ranks: the record of this one, from its counters, and the policy. Records of
 * others come from the network. They decide who gets a subdomain, and nothing here is indexed by
 * them.
 */
#include "libprogress/instance.h"

#include <errno.h>
#include <math.h>

#define PERIOD_MIN_NS 1000000

/* 0 means the default of each. */
static void set_options(struct instance_rank *rank, const struct progress_rank_options *o)
{
	rank->params.period_ns = o->period_ns != 0 ? o->period_ns : POLICY_DPLB_DEFAULT_PERIOD_NS;
	rank->params.threshold = o->threshold;
	rank->params.all_behind = o->all_behind != 0;
	rank->random_ranks = o->random_ranks;
	rank->state.random = o->seed != 0 ? o->seed : (uint64_t)rank->rank + 1;
	rank->halos_saved = o->halos_saved;
	rank->arg = o->arg;
}

void instance_rank_init(struct progress *p, const struct segment_header *header)
{
	uint64_t most = (uint64_t)header->high * p->workers;

	p->rank = (struct instance_rank){
		.rank = (uint32_t)header->rank,
		.most = most < p->subdomains ? (uint32_t)most : p->subdomains,
		.params = {.bounded = header->bound > 0,
			.keep = policy_dplb_keep(p->workers, header->low, header->pairs)},
	};
	set_options(&p->rank, &(struct progress_rank_options){0});
}

static bool in_range(const struct progress_rank_options *o)
{
	static const uint32_t zeros[sizeof o->reserved / sizeof o->reserved[0]];

	return (o->period_ns == 0 || o->period_ns >= PERIOD_MIN_NS) &&
	       ((o->threshold >= 0 && isfinite(o->threshold)) ||
		       o->threshold == PROGRESS_THRESHOLD_NONE) &&
	       memcmp(o->reserved, zeros, sizeof zeros) == 0;
}

int progress_rank_setup(struct progress *p, const struct progress_rank_options *options)
{
	if (!in_range(options))
		return -EINVAL;
	set_options(&p->rank, options);
	return 0;
}

static double sane(double value)
{
	return isfinite(value) && value >= 0 ? value : 0;
}

/* Comparisons with NAN would depend on the order of the ranks: without an average it is a rank that
 * has nothing. */
static struct policy_dplb_rank from_public(const struct progress_rank *rank)
{
	bool known = isfinite(rank->average);

	return (struct policy_dplb_rank){
		.average = known ? rank->average : 0,
		.rate = sane(rank->rate),
		.doubt = sane(rank->doubt),
		.rank = rank->rank,
		.subdomains = known ? rank->subdomains : 0,
		.room = rank->room,
	};
}

static struct progress_rank to_public(struct policy_dplb_rank rank)
{
	return (struct progress_rank){
		.average = rank.average,
		.rate = rank.rate,
		.doubt = rank.doubt,
		.rank = rank.rank,
		.subdomains = rank.subdomains,
		.room = rank.room,
	};
}

void progress_rank_reduce(struct progress_rank ends[2], const struct progress_rank other[2])
{
	ends[0] = to_public(policy_dplb_least(from_public(&ends[0]), from_public(&other[0])));
	ends[1] = to_public(policy_dplb_most(from_public(&ends[1]), from_public(&other[1])));
}

static struct policy_dplb_rank read_counters(const struct progress *p)
{
	struct policy_dplb_rank own = {.rank = p->rank.rank};
	double updates = 0;

	for (uint32_t s = 0; s < p->subdomains; s++) {
		if (progress_holder(p, s) == PROGRESS_NOBODY)
			continue;
		updates += (double)progress_updates(p, s);
		own.subdomains++;
	}
	own.average = own.subdomains > 0 ? updates / own.subdomains : 0;
	own.room = own.subdomains < p->rank.most ? p->rank.most - own.subdomains : 0;
	policy_dplb_rate(&p->rank.params, &p->rank.state, &own);
	return own;
}

void progress_rank_read(const struct progress *p, struct progress_rank *out)
{
	*out = to_public(read_counters(p));
}

/* The first time there is only an origin: the clock may have run, and updates been made, long
 * before. */
static void learn(struct progress *p, uint64_t busy_ns)
{
	struct instance_rank *rank = &p->rank;
	uint64_t updates = 0;

	for (uint32_t w = 0; w < p->workers; w++)
		updates += atomic_load_explicit(&p->worker[w].updates, memory_order_relaxed);
	if (rank->started) {
		policy_dplb_learn(&rank->state, updates, busy_ns, rank->params.period_ns);
		return;
	}
	rank->started = true;
	rank->state.updates = updates;
	rank->state.busy_ns = busy_ns;
}

struct choice {
	const struct progress *p;
	uint32_t to;
};

static struct policy_dplb_place look(const void *arg, uint32_t place)
{
	const struct choice *choice = arg;
	const struct progress *p = choice->p;

	if (progress_holder(p, place) == PROGRESS_NOBODY)
		return (struct policy_dplb_place){.halos_saved = POLICY_DPLB_EMPTY};
	return (struct policy_dplb_place){
		.halos_saved = p->rank.halos_saved != NULL
				       ? p->rank.halos_saved(p->rank.arg, place, choice->to)
				       : 0,
		.updates = progress_updates(p, place),
	};
}

/* The place of the subdomain that goes; PROGRESS_NOBODY if somebody has damaged the segment since
 * they were counted. */
static uint32_t choose(const struct progress *p, const struct policy_dplb_move *move)
{
	const struct choice choice = {.p = p, .to = move->to};
	uint32_t place = 0, left = move->pick;

	while (place < p->subdomains &&
		(progress_holder(p, place) == PROGRESS_NOBODY || left-- > 0))
		place++;
	if (place == p->subdomains)
		return PROGRESS_NOBODY;
	if (p->rank.random_ranks > 0)
		return place;
	return policy_dplb_pick(place, p->subdomains, look, &choice);
}

/* The policy needs the ends of the others alone. */
static bool decide(struct progress *p, const struct progress_rank *known, uint32_t n,
	struct policy_dplb_move *move)
{
	struct policy_dplb_rank self = read_counters(p);
	struct policy_dplb_rank ends[2] = {0};
	uint32_t others = 0;

	if (p->rank.random_ranks > 0)
		return policy_dplb_random(
			&p->rank.params, &p->rank.state, &self, p->rank.random_ranks, move);
	for (uint32_t i = 0; i < n; i++) {
		struct policy_dplb_rank one = from_public(&known[i]);

		if (one.rank == self.rank) {
			self.average = one.subdomains > 0 ? one.average : self.average;
			continue;
		}
		ends[0] = others > 0 ? policy_dplb_least(ends[0], one) : one;
		ends[1] = others > 0 ? policy_dplb_most(ends[1], one) : one;
		others++;
	}
	return policy_dplb(&p->rank.params, &p->rank.state, &self, ends, others > 0 ? 2 : 0, move);
}

int progress_rank_balance(struct progress *p, uint64_t busy_ns, const struct progress_rank *known,
	uint32_t n, struct progress_rank_move *move)
{
	struct policy_dplb_move decided;

	learn(p, busy_ns);
	if (!decide(p, known, n, &decided))
		return 0;
	uint32_t subdomain = choose(p, &decided);
	if (subdomain == PROGRESS_NOBODY)
		return 0;
	*move = (struct progress_rank_move){.subdomain = subdomain, .to = decided.to};
	return 1;
}
