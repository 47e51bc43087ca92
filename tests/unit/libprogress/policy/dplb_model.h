/* SPDX-License-Identifier: MIT */
/*
 * Ranks that update subdomains in virtual time, each at its own speed, and balance by dplb.h. A
 * rank of speed 1 with its initial number of subdomains updates each once in a unit of work; only
 * the number of these units in a period matters. Include after cmocka.h.
 */
#ifndef TEST_DPLB_MODEL_H
#define TEST_DPLB_MODEL_H

#include "libprogress/policy/dplb.h"
#include "tests/unit/random.h"

#include <math.h>

enum {
	MODEL_TICKS = 20, /* in a period */
	MODEL_STALE_TICKS = 2, /* the age of what a rank knows of others */
	MODEL_MOVE_TICKS = 1, /* how long a subdomain is under way, and not updated */
};

enum model_knowledge { MODEL_NOTHING, MODEL_GLOBAL, MODEL_NEIGHBOURS };

struct model_params {
	enum model_knowledge knowledge;
	struct policy_dplb_params policy;
	uint32_t ranks, each; /* subdomains of each rank at first */
	uint32_t most; /* that a rank accepts */
	uint32_t reach;
	double work; /* units in a period */
	double jitter; /* relative random part of the work of a tick */
	uint32_t
		turn; /* ticks: two ranks share a CPU by turns, each this long at most; 0: they don't */
	uint64_t seed;
};

struct model_subdomain {
	double updates;
	uint32_t rank, ready; /* where it is, and from which tick on */
};

struct model_rank {
	double speed;
	double average[MODEL_STALE_TICKS + 1]; /* by tick, as a ring */
	uint32_t subdomains; /* including those under way to it */
	uint32_t present;
	uint32_t phase; /* the tick of its points */
	uint32_t turn, turn_ends; /* in ticks; of the first of two that share a CPU */
	bool waits; /* for its turn */
	double updates; /* that it has made */
	struct policy_dplb_state state;
};

struct model {
	struct model_params params;
	struct model_rank *rank;
	struct model_subdomain *subdomain;
	struct policy_dplb_rank *known;
	uint32_t tick;
	uint64_t moves;
};

static inline void model_init(struct model *m, const struct model_params *params)
{
	size_t n = (size_t)params->ranks * params->each;

	*m = (struct model){.params = *params,
		.rank = calloc(params->ranks, sizeof *m->rank),
		.subdomain = calloc(n, sizeof *m->subdomain),
		.known = calloc(params->ranks, sizeof *m->known)};
	assert_true(m->rank != NULL && m->subdomain != NULL && m->known != NULL);
	for (uint32_t r = 0; r < params->ranks; r++)
		m->rank[r] = (struct model_rank){.speed = 1,
			.subdomains = params->each,
			.phase = (uint32_t)random_int(&m->params.seed, 0, MODEL_TICKS - 1),
			.state.random = random_word(&m->params.seed)};
	for (size_t s = 0; s < n; s++)
		m->subdomain[s].rank = (uint32_t)(s / params->each);
}

static inline void model_deinit(struct model *m)
{
	free(m->rank);
	free(m->subdomain);
	free(m->known);
}

static inline size_t model_subdomains(const struct model *m)
{
	return (size_t)m->params.ranks * m->params.each;
}

/* Ranks 2k and 2k + 1 take turns on a CPU, at twice the speed. The scheduler is fair: each gets a
 * turn as long as that of the other before. */
static inline void model_take_turns(struct model *m)
{
	for (uint32_t r = 0; m->params.turn > 0 && r < m->params.ranks; r += 2) {
		struct model_rank *first = &m->rank[r];
		if (m->tick >= first->turn_ends) {
			first->waits = !first->waits;
			if (!first->waits)
				first->turn = (uint32_t)random_int(
					&m->params.seed, 1, (int)m->params.turn);
			first->turn_ends = m->tick + first->turn;
		}
		if (r + 1 < m->params.ranks)
			m->rank[r + 1].waits = !first->waits;
	}
}

/* The present subdomains share the work of a tick. PLB among the workers of the rank gives more of
 * it to those that are behind. */
static inline void model_work(struct model *m)
{
	const struct model_params *p = &m->params;
	size_t now = m->tick % (MODEL_STALE_TICKS + 1);
	size_t last = (m->tick + MODEL_STALE_TICKS) % (MODEL_STALE_TICKS + 1);

	model_take_turns(m);
	for (uint32_t r = 0; r < p->ranks; r++) {
		m->rank[r].present = 0;
		m->rank[r].average[now] = 0;
	}
	for (size_t s = 0; s < model_subdomains(m); s++)
		if (m->subdomain[s].ready <= m->tick)
			m->rank[m->subdomain[s].rank].present++;
	for (size_t s = 0; s < model_subdomains(m); s++) {
		struct model_rank *rank = &m->rank[m->subdomain[s].rank];
		if (m->subdomain[s].ready > m->tick)
			continue;
		double lag = (rank->average[last] - m->subdomain[s].updates) / p->work;
		double part = 1 + fmax(-0.4, fmin(0.4, 2 * lag)) +
			      p->jitter * (double)random_int(&m->params.seed, -100, 100) / 100;
		double speed = rank->speed * (p->turn == 0 ? 1 : rank->waits ? 0 : 2);
		double done = p->work * p->each / MODEL_TICKS * speed * part / rank->present;
		m->subdomain[s].updates += done;
		rank->updates += done;
		rank->average[now] += m->subdomain[s].updates / rank->present;
	}
}

static inline struct policy_dplb_rank model_view(const struct model *m, uint32_t r, uint32_t age)
{
	const struct model_rank *rank = &m->rank[r];

	struct policy_dplb_rank view = {.rank = r,
		.average = rank->average[(m->tick - age) % (MODEL_STALE_TICKS + 1)],
		.subdomains = rank->present,
		.room = rank->subdomains < m->params.most ? m->params.most - rank->subdomains : 0};

	policy_dplb_rate(&m->params.policy, &rank->state, &view);
	return view;
}

/* A rank that is full by then refuses. */
static inline void model_send(struct model *m, uint32_t from, const struct policy_dplb_move *move)
{
	uint32_t left = move->pick;

	assert_true(move->to < m->params.ranks && move->to != from);
	assert_true(left < m->rank[from].present);
	assert_true(m->rank[from].present > m->params.policy.keep);
	assert_true(m->rank[move->to].subdomains < m->params.most);
	for (size_t s = 0; s < model_subdomains(m); s++) {
		struct model_subdomain *subdomain = &m->subdomain[s];
		if (subdomain->rank != from || subdomain->ready > m->tick || left-- > 0)
			continue;
		subdomain->rank = move->to;
		subdomain->ready = m->tick + MODEL_MOVE_TICKS;
		m->rank[from].subdomains--;
		m->rank[from].present--;
		m->rank[move->to].subdomains++;
		m->moves++;
		return;
	}
	fail_msg("no subdomain %u on rank %u", (unsigned)move->pick, (unsigned)from);
}

static inline size_t model_known(struct model *m, uint32_t self)
{
	uint32_t list[POLICY_DPLB_NEIGHBOURS_MAX];
	size_t n = policy_dplb_neighbours(self, m->params.ranks, m->params.reach, list);

	for (size_t k = 0; k < n; k++)
		m->known[k] = model_view(m, list[k], MODEL_STALE_TICKS);
	return n;
}

/* All ranks whose points come at one tick get the same result. */
static inline void model_reduce(struct model *m, struct policy_dplb_rank ends[2])
{
	ends[0] = ends[1] = model_view(m, 0, MODEL_STALE_TICKS);
	for (uint32_t r = 1; r < m->params.ranks; r++) {
		struct policy_dplb_rank view = model_view(m, r, MODEL_STALE_TICKS);
		ends[0] = policy_dplb_least(ends[0], view);
		ends[1] = policy_dplb_most(ends[1], view);
	}
}

static inline void model_balance(struct model *m)
{
	struct policy_dplb_rank ends[2];

	if (m->params.knowledge == MODEL_NOTHING || m->tick < MODEL_TICKS)
		return;
	if (m->params.knowledge == MODEL_GLOBAL)
		model_reduce(m, ends);
	for (uint32_t r = 0; r < m->params.ranks; r++) {
		struct policy_dplb_move move;
		if (m->tick % MODEL_TICKS != m->rank[r].phase)
			continue;
		policy_dplb_learn(&m->rank[r].state, (uint64_t)m->rank[r].updates,
			m->params.policy.period_ns * (m->tick + 1) / MODEL_TICKS,
			m->params.policy.period_ns);
		struct policy_dplb_rank self = model_view(m, r, 0);
		bool global = m->params.knowledge == MODEL_GLOBAL;
		size_t n = global ? 2 : model_known(m, r);
		if (policy_dplb(&m->params.policy, &m->rank[r].state, &self,
			    global ? ends : m->known, n, &move) &&
			m->rank[move.to].subdomains < m->params.most)
			model_send(m, r, &move);
	}
}

static inline double model_spread(const struct model *m)
{
	double least = INFINITY, most = -INFINITY;

	for (uint32_t r = 0; r < m->params.ranks; r++) {
		if (m->rank[r].present == 0)
			continue;
		double average = m->rank[r].average[m->tick % (MODEL_STALE_TICKS + 1)];
		least = fmin(least, average);
		most = fmax(most, average);
	}
	return most - least;
}

/* Runs for that many periods. Returns the largest spread of averages. */
static inline double model_run(struct model *m, uint32_t periods)
{
	double worst = 0;

	for (uint32_t end = m->tick + periods * MODEL_TICKS; m->tick < end; m->tick++) {
		model_work(m);
		worst = fmax(worst, model_spread(m));
		model_balance(m);
	}
	return worst;
}

#endif
