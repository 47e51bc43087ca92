/* SPDX-License-Identifier: MIT */
/* The rules of DPLB by hand, on random input, and in whole runs in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#undef NDEBUG
#include "libprogress/policy/dplb.h"
#include "tests/unit/libprogress/policy/dplb_model.h"
#include "tests/unit/random.h"
#include "tests/unit/sanitized.h"

/* Of the longest runs in virtual time. */
enum { RANKS_MAX = SANITIZED ? 16 : 64, TURNS_RANKS_MAX = SANITIZED ? 4 : 16 };

static const struct policy_dplb_params params = {
	.threshold = 10, .period_ns = POLICY_DPLB_DEFAULT_PERIOD_NS, .keep = 2};

/* Four ranks with room for all: 2 is furthest behind, 1 and 3 are furthest ahead. */
struct ranks {
	struct policy_dplb_rank rank[4];
};

static struct ranks begin(void)
{
	const double average[] = {50, 90, 20, 90};
	struct ranks ranks;

	for (uint32_t r = 0; r < 4; r++)
		ranks.rank[r] = (struct policy_dplb_rank){
			.average = average[r], .rank = r, .subdomains = 4, .room = 4};
	return ranks;
}

/* What rank `self` does when it knows all of them, itself included; -1 for nothing. */
static int64_t target(const struct ranks *ranks, uint32_t self)
{
	struct policy_dplb_state state = {.random = self + 1};
	struct policy_dplb_move move;

	if (!policy_dplb(&params, &state, &ranks->rank[self], ranks->rank, 4, &move))
		return -1;
	assert_true(move.pick < ranks->rank[self].subdomains);
	return move.to;
}

/* Step 3: the least advanced rank sends to the most advanced; of two such ranks, to the first. */
static void test_who(void **unused)
{
	struct ranks ranks = begin();
	(void)unused;

	assert_int_equal(target(&ranks, 2), 1);
	assert_int_equal(target(&ranks, 0), -1);
	assert_int_equal(target(&ranks, 1), -1);
	assert_int_equal(target(&ranks, 3), -1);
	ranks.rank[0].average = 20; /* as far behind: the lower number sends */
	assert_int_equal(target(&ranks, 0), 1);
	assert_int_equal(target(&ranks, 2), -1);
	ranks.rank[3].average = 90.5;
	assert_int_equal(target(&ranks, 0), 3);
}

/* All ranks that are far enough behind send, whoever is further behind. */
static void test_all_behind(void **unused)
{
	const struct policy_dplb_params all = {.threshold = 10, .keep = 2, .all_behind = true};
	struct ranks ranks = begin();
	struct policy_dplb_state state = {.random = 1};
	struct policy_dplb_move move;
	(void)unused;

	ranks.rank[1].average = 80;
	for (uint32_t r = 0; r < 4; r++) {
		bool moved = policy_dplb(&all, &state, &ranks.rank[r], ranks.rank, 4, &move);
		assert_int_equal(moved, r == 0 || r == 2);
		assert_true(!moved || move.to == 3);
	}
}

/* Step 2: the gap has to be larger than the threshold. */
static void test_threshold(void **unused)
{
	struct ranks ranks = begin();
	(void)unused;

	ranks.rank[2].average = 80;
	ranks.rank[0].average = 85;
	assert_int_equal(target(&ranks, 2), -1);
	ranks.rank[2].average = 79.5;
	assert_int_equal(target(&ranks, 2), 1);
}

static void test_keep(void **unused)
{
	struct ranks ranks = begin();
	(void)unused;

	ranks.rank[2].subdomains = 3;
	assert_int_equal(target(&ranks, 2), 1);
	ranks.rank[2].subdomains = 2;
	assert_int_equal(target(&ranks, 2), -1);
	ranks.rank[2].subdomains = 0;
	assert_int_equal(target(&ranks, 2), -1);
}

/* Never to a rank without room; and to the next one only if that is far enough ahead. */
static void test_room(void **unused)
{
	struct ranks ranks = begin();
	(void)unused;

	ranks.rank[1].room = 0;
	assert_int_equal(target(&ranks, 2), 3);
	ranks.rank[3].room = 0;
	assert_int_equal(target(&ranks, 2), 0);
	ranks.rank[0].average = 30;
	assert_int_equal(target(&ranks, 2), -1);
	ranks.rank[0].average = 50;
	ranks.rank[0].room = 0;
	assert_int_equal(target(&ranks, 2), -1);
}

/* A rank without subdomains is neither behind nor ahead, whatever its average. */
static void test_empty_rank(void **unused)
{
	struct ranks ranks = begin();
	(void)unused;

	ranks.rank[0] = (struct policy_dplb_rank){.rank = 0, .average = 0, .room = 8};
	assert_int_equal(target(&ranks, 2), 1);
	ranks.rank[0].average = 1000;
	assert_int_equal(target(&ranks, 2), 1);
}

/* No other rank is known. */
static void test_alone(void **unused)
{
	struct ranks ranks = begin();
	struct policy_dplb_state state = {.random = 1};
	struct policy_dplb_move move;
	(void)unused;

	assert_false(policy_dplb(&params, &state, &ranks.rank[2], NULL, 0, &move));
	assert_false(policy_dplb(&params, &state, &ranks.rank[2], &ranks.rank[2], 1, &move));
	assert_false(policy_dplb_random(&params, &state, &ranks.rank[0], 1, &move));
	ranks.rank[0].subdomains = 2;
	assert_false(policy_dplb_random(&params, &state, &ranks.rank[0], 4, &move));
}

/* Any subdomain, and for the random rule any other rank; all of them about equally often. */
static void test_random_choice(void **unused)
{
	enum { ROUNDS = 4000 };
	struct ranks ranks = begin();
	struct policy_dplb_state state = {.random = 0}, other = {.random = 3};
	struct policy_dplb_move move;
	int pick[4] = {0}, to[4] = {0};
	(void)unused;

	for (int round = 0; round < ROUNDS; round++) {
		assert_true(policy_dplb(&params, &state, &ranks.rank[2], ranks.rank, 4, &move));
		assert_true(move.pick < 4);
		pick[move.pick]++;
		assert_true(policy_dplb_random(&params, &other, &ranks.rank[2], 4, &move));
		assert_true(move.pick < 4 && move.to < 4);
		to[move.to]++;
	}
	for (int k = 0; k < 4; k++) {
		assert_in_range(pick[k], ROUNDS / 4 - ROUNDS / 20, ROUNDS / 4 + ROUNDS / 20);
		if (k == 2)
			assert_int_equal(to[k], 0);
		else
			assert_in_range(to[k], ROUNDS / 3 - ROUNDS / 20, ROUNDS / 3 + ROUNDS / 20);
	}
}

static struct policy_dplb_rank any_rank(uint64_t *seed, uint32_t rank)
{
	return (struct policy_dplb_rank){.average = (double)random_int(seed, 0, 3),
		.rank = rank,
		.subdomains = (uint32_t)random_int(seed, 0, 3),
		.room = (uint32_t)random_int(seed, 0, 2)};
}

/* Reductions give the same rank in any order and grouping, with ties; and a rank that knows only
 * these two acts as if it knew all. */
static void test_reductions(void **unused)
{
	enum { RANKS = 6 };
	const struct policy_dplb_params low = {.threshold = 1, .keep = 1};
	uint64_t seed = 11;
	(void)unused;

	for (int round = 0; round < 5000; round++) {
		struct policy_dplb_rank rank[RANKS], least[RANKS], most[RANKS];
		for (uint32_t r = 0; r < RANKS; r++)
			rank[r] = least[r] = most[r] = any_rank(&seed, r);
		for (size_t left = RANKS; left > 1; left--) {
			size_t a = (size_t)random_int(&seed, 0, (int64_t)left - 1);
			size_t b = (size_t)random_int(&seed, 0, (int64_t)left - 2);
			b += b >= a;
			least[a] = policy_dplb_least(least[a], least[b]);
			least[b] = least[left - 1];
			most[a] = policy_dplb_most(most[a], most[b]);
			most[b] = most[left - 1];
			if (a == left - 1) {
				least[b] = least[a];
				most[b] = most[a];
			}
		}
		struct policy_dplb_rank ends[] = {rank[0], rank[0]};
		for (uint32_t r = 1; r < RANKS; r++) {
			ends[0] = policy_dplb_least(ends[0], rank[r]);
			ends[1] = policy_dplb_most(rank[r], ends[1]);
		}
		assert_int_equal(least[0].rank, ends[0].rank);
		assert_int_equal(most[0].rank, ends[1].rank);
		for (uint32_t r = 0; r < RANKS; r++) {
			if (rank[r].subdomains > 0 && ends[0].subdomains > 0)
				assert_true(ends[0].average <= rank[r].average);
			if (rank[r].subdomains > 0 && rank[r].room > 0)
				assert_true(ends[1].room > 0 && ends[1].average >= rank[r].average);
			struct policy_dplb_state all = {.random = 5}, two = all;
			struct policy_dplb_move by_all = {0}, by_two = {0};
			bool moved = policy_dplb(&low, &all, &rank[r], rank, RANKS, &by_all);
			assert_int_equal(
				policy_dplb(&low, &two, &rank[r], ends, 2, &by_two), moved);
			assert_int_equal(by_all.to, by_two.to);
			assert_int_equal(by_all.pick, by_two.pick);
			assert_true(!moved || by_all.to != r);
		}
	}
}

static void assert_neighbours(
	uint32_t rank, uint32_t ranks, uint32_t reach, const uint32_t *expected, size_t n)
{
	uint32_t list[POLICY_DPLB_NEIGHBOURS_MAX];

	assert_int_equal(policy_dplb_neighbours(rank, ranks, reach, list), n);
	for (size_t k = 0; k < n; k++)
		assert_int_equal(list[k], expected[k]);
}

static void test_neighbours_by_hand(void **unused)
{
	(void)unused;

	assert_neighbours(0, 1, 4, NULL, 0);
	assert_neighbours(0, 2, 4, (uint32_t[]){1}, 1);
	assert_neighbours(1, 3, 4, (uint32_t[]){0, 2}, 2);
	assert_neighbours(5, 100, 0, NULL, 0);
	assert_neighbours(5, 100, 1, (uint32_t[]){4, 6}, 2);
	assert_neighbours(5, 100, 3, (uint32_t[]){3, 4, 6, 7}, 4);
	assert_neighbours(0, 100, 4, (uint32_t[]){1, 2, 4, 96, 98, 99}, 6);
	assert_neighbours(0, 8, UINT32_MAX, (uint32_t[]){1, 2, 4, 6, 7}, 5);
	uint32_t list[POLICY_DPLB_NEIGHBOURS_MAX];
	size_t n = policy_dplb_neighbours(UINT32_MAX - 1, UINT32_MAX, UINT32_MAX, list);
	assert_int_equal(n, POLICY_DPLB_NEIGHBOURS_MAX);
}

/* Symmetric, without duplicates or oneself; no further than the reach, and somebody where there is
 * anybody. */
static void test_neighbours(void **unused)
{
	(void)unused;

	for (uint32_t ranks = 1; ranks <= 40; ranks++)
		for (uint32_t reach = 0; reach <= 40; reach++)
			for (uint32_t rank = 0; rank < ranks; rank++) {
				uint32_t mine[POLICY_DPLB_NEIGHBOURS_MAX];
				size_t n = policy_dplb_neighbours(rank, ranks, reach, mine);
				for (size_t k = 0; k < n; k++) {
					assert_true(mine[k] < ranks && mine[k] != rank);
					assert_true(k == 0 || mine[k - 1] < mine[k]);
					uint32_t apart = (mine[k] + ranks - rank) % ranks;
					assert_true(apart <= reach || ranks - apart <= reach);
					uint32_t his[POLICY_DPLB_NEIGHBOURS_MAX];
					size_t m =
						policy_dplb_neighbours(mine[k], ranks, reach, his);
					size_t at = 0;
					while (at < m && his[at] != rank)
						at++;
					assert_true(at < m);
				}
				assert_true(n >= (ranks > 1 && reach > 0));
			}
}

/* ---- Runs in virtual time: balanced by what a rank can know ---- */

static struct model_params model_begin(enum model_knowledge knowledge, uint32_t ranks)
{
	return (struct model_params){.knowledge = knowledge,
		.policy = {.threshold = POLICY_DPLB_THRESHOLD * 1000,
			.period_ns = POLICY_DPLB_DEFAULT_PERIOD_NS,
			.keep = 2,
			.all_behind = knowledge == MODEL_NEIGHBOURS},
		.ranks = ranks,
		.each = 16,
		.most = 32,
		.reach = UINT32_MAX,
		.work = 1000,
		.jitter = 0.02,
		.seed = ranks};
}

/* The bounds hold all the time (model_send() checks them), and no subdomain is lost. */
static void assert_all_there(const struct model *m)
{
	uint32_t sum = 0;

	for (uint32_t r = 0; r < m->params.ranks; r++) {
		assert_in_range(m->rank[r].subdomains, m->params.policy.keep, m->params.most);
		sum += m->rank[r].subdomains;
	}
	assert_int_equal(sum, model_subdomains(m));
}

/* The largest spread in the first half of a run, and in the second, in updates of a period. */
struct halves {
	double first, second;
};

static struct halves run_speeds(const struct model_params *model, const double *speed)
{
	struct model m;
	struct halves spread;

	model_init(&m, model);
	for (uint32_t r = 0; r < model->ranks; r++)
		m.rank[r].speed = speed[r];
	spread.first = model_run(&m, 250) / model->work;
	spread.second = model_run(&m, 250) / model->work;
	assert_all_there(&m);
	model_deinit(&m);
	return spread;
}

/* Section 5: whatever the speeds, the spread of averages stays where it was; without balancing it
 * grows. With global knowledge this holds for few ranks, as only one sends at a time. */
static void test_spread_is_bounded(void **unused)
{
	const uint32_t counts[] = {2, 3, 5, 8, 16, 33, 64};
	uint64_t seed = 3;
	(void)unused;

	for (size_t i = 0; i < sizeof counts / sizeof *counts && counts[i] <= RANKS_MAX; i++)
		for (int round = 0; round < 3; round++) {
			double speed[64];
			for (uint32_t r = 0; r < counts[i]; r++)
				speed[r] = 0.01 * (double)random_int(&seed, 30, 100);
			speed[0] = 0.3;
			speed[1] = 1;
			struct model_params model = model_begin(MODEL_NOTHING, counts[i]);
			struct halves alone = run_speeds(&model, speed);
			assert_true(alone.second > 1.9 * alone.first);
			for (int k = MODEL_GLOBAL; k <= MODEL_NEIGHBOURS; k++) {
				if (k == MODEL_GLOBAL && counts[i] > 16)
					continue;
				model = model_begin((enum model_knowledge)k, counts[i]);
				struct halves spread = run_speeds(&model, speed);
				printf("%u ranks, %s: %.2f, then %.2f periods; unbalanced %.0f, "
				       "%.0f\n",
					counts[i], k == MODEL_GLOBAL ? "global" : "neighbours",
					spread.first, spread.second, alone.first, alone.second);
				assert_true(spread.second < 1.25 * spread.first);
				assert_true(spread.second < 0.05 * alone.second);
			}
		}
}

/* Why neighbourhoods need all_behind: of adjacent ranks, none may seem to be the least advanced. */
static void test_least_is_not_enough(void **unused)
{
	struct model_params model = model_begin(MODEL_NEIGHBOURS, 16);
	double speed[16];
	(void)unused;

	for (uint32_t r = 0; r < 16; r++)
		speed[r] = r < 4 ? 0.6 : 1;
	struct halves all = run_speeds(&model, speed);
	model.policy.all_behind = false;
	struct halves least = run_speeds(&model, speed);
	assert_true(least.second > 1.5 * least.first);
	assert_true(all.second < 0.1 * least.second);
}

/* Equal ranks, and a little jitter: nothing to do. */
static void test_quiet(void **unused)
{
	(void)unused;

	for (int k = MODEL_GLOBAL; k <= MODEL_NEIGHBOURS; k++)
		for (uint32_t ranks = 2; ranks <= 32; ranks *= 2) {
			struct model_params model = model_begin((enum model_knowledge)k, ranks);
			struct model m;
			model_init(&m, &model);
			(void)model_run(&m, 200);
			assert_int_equal(m.moves, 0);
			model_deinit(&m);
		}
}

/* Ranks that share CPUs, by turns of up to 60 ms. */
static struct model_params model_with_turns(
	enum model_knowledge knowledge, uint32_t ranks, uint64_t period_ms)
{
	struct model_params model = model_begin(knowledge, ranks);

	model.policy.period_ns = period_ms * 1000000;
	model.policy.threshold = 0;
	model.policy.threshold = policy_dplb_threshold(&model.policy, model.work);
	model.turn = (uint32_t)(60 * MODEL_TICKS / period_ms);
	return model;
}

/* However short the period, there is nothing to do, or hardly anything. */
static void test_turns(void **unused)
{
	enum { PERIODS = 1000 };
	const uint64_t periods_ms[] = {20, 50, 100, 500};
	(void)unused;

	for (size_t i = 0; i < sizeof periods_ms / sizeof *periods_ms; i++)
		for (int k = MODEL_GLOBAL; k <= MODEL_NEIGHBOURS; k++)
			for (uint32_t ranks = 2; ranks <= TURNS_RANKS_MAX; ranks *= 2) {
				struct model_params model = model_with_turns(
					(enum model_knowledge)k, ranks, periods_ms[i]);
				struct model m;
				model_init(&m, &model);
				(void)model_run(&m, PERIODS);
				assert_in_range(m.moves, 0, ranks * PERIODS / 1000);
				model_deinit(&m);
			}
}

/* That turns are known hides nothing: one that is slower for good gets help. */
static void test_slow_with_turns(void **unused)
{
	const double speed[] = {0.6, 1, 1, 1};
	(void)unused;

	for (uint64_t period_ms = 20; period_ms <= 500; period_ms *= 5) {
		struct model_params model = model_with_turns(MODEL_NOTHING, 4, period_ms);
		struct halves alone = run_speeds(&model, speed);
		model.knowledge = MODEL_GLOBAL;
		struct halves spread = run_speeds(&model, speed);
		printf("points every %d ms: %.1f, then %.1f periods; unbalanced %.0f, %.0f\n",
			(int)period_ms, spread.first, spread.second, alone.first, alone.second);
		assert_true(spread.second < 1.25 * spread.first);
		assert_true(spread.second < 0.2 * alone.second);
	}
}

/* A slow rank that would have to give up more than allowed still keeps its share. */
static void test_few_subdomains(void **unused)
{
	struct model_params model = model_begin(MODEL_NEIGHBOURS, 8);
	double speed[] = {0.05, 1, 1, 1, 0.05, 1, 1, 1};
	(void)unused;

	model.each = 3;
	model.most = 4;
	(void)run_speeds(&model, speed);
	model.knowledge = MODEL_GLOBAL;
	model.policy.all_behind = false;
	(void)run_speeds(&model, speed);
}

/* As many as PLB needs for its pairs; a worker that is alone needs no spare ones. */
static void test_good_keep(void **unused)
{
	(void)unused;
	assert_int_equal(policy_dplb_keep(36, 2, 6), 78);
	assert_int_equal(policy_dplb_keep(4, 2, 6), 11);
	assert_int_equal(policy_dplb_keep(1, 2, 6), 2);
	assert_int_equal(policy_dplb_keep(1, 0, 6), 0);
	assert_int_equal(policy_dplb_keep(4, 0, 0), 0);
	assert_int_equal(policy_dplb_keep(4, 0, 6), 3);
	assert_int_equal(policy_dplb_keep(65536, 65536, 6), UINT32_MAX);
}

static void test_good_threshold(void **unused)
{
	struct policy_dplb_params own = {.period_ns = 500000000};
	(void)unused;

	assert_float_equal(policy_dplb_threshold(&own, 100), 50, 1e-9);
	/* Not known yet: nothing moves. */
	assert_true(isinf(policy_dplb_threshold(&own, 0)));
	/* Short periods: 30 ms of updates. */
	own.period_ns = 60000000;
	assert_float_equal(policy_dplb_threshold(&own, 100), 50, 1e-9);
	own.period_ns = 10000000;
	assert_float_equal(policy_dplb_threshold(&own, 100), 300, 1e-9);
	own.bounded = true;
	assert_float_equal(policy_dplb_threshold(&own, 100), 5, 1e-9);
	assert_true(isinf(policy_dplb_threshold(&own, 0)));
	own.threshold = 7;
	assert_float_equal(policy_dplb_threshold(&own, 100), 7, 0);
	own.threshold = POLICY_DPLB_THRESHOLD_NONE;
	assert_float_equal(policy_dplb_threshold(&own, 0), 0, 0);
	assert_float_equal(policy_dplb_threshold(&own, 100), 0, 0);
}

/* Speeds in updates of a period in which the rank doesn't wait. */
static void test_speed(void **unused)
{
	struct policy_dplb_state state = {0};
	(void)unused;

	policy_dplb_learn(&state, 50, 100, 200);
	assert_float_equal(state.speed, 100, 1e-9);
	policy_dplb_learn(&state, 50, 100, 200); /* it has only waited */
	assert_float_equal(state.speed, 100, 1e-9);
	policy_dplb_learn(&state, 250, 200, 200);
	assert_float_equal(state.speed, 250, 1e-9); /* the mean of the first */
	for (uint64_t i = 1; i <= 100; i++)
		policy_dplb_learn(&state, 250 + 10 * i, 200 + 10 * i, 200);
	assert_float_equal(state.speed, 200, 1);
}

/* A rank waits for many periods. It notes late that it does, so it seems to work for a moment; then
 * that moment is taken back. */
static void test_speed_of_one_that_waits(void **unused)
{
	struct policy_dplb_state state = {0};
	(void)unused;

	policy_dplb_learn(&state, 1000, 1000, 1000);
	for (uint64_t i = 0; i < 20; i++)
		policy_dplb_learn(&state, 1000, 1000 - 10 + 25 * (i % 2), 1000);
	assert_float_equal(state.speed, 1000, 1e-9);
	policy_dplb_learn(&state, 1100, 1100, 1000); /* of all that it did since */
	assert_float_equal(state.speed, 1000, 1e-9);
}

static bool sends_unsure(
	double rate, uint32_t n, double other, uint32_t m, double gap, double doubt)
{
	const struct policy_dplb_rank ranks[] = {
		{.average = 1000, .rate = rate, .rank = 0, .subdomains = n, .room = 9},
		{.average = 1000 + gap,
			.rate = other,
			.doubt = doubt,
			.rank = 1,
			.subdomains = m,
			.room = 9}};
	struct policy_dplb_state state = {.random = 1};
	struct policy_dplb_move move;

	return policy_dplb(&params, &state, &ranks[0], ranks, 2, &move);
}

static bool sends(double rate, uint32_t n, double other, uint32_t m, double gap)
{
	return sends_unsure(rate, n, other, m, gap, 0);
}

/* Of what rates say: with a threshold of 10. */
static void test_rates(void **unused)
{
	(void)unused;
	assert_true(sends(15, 4, 25, 4, 11)); /* 20 and 20 then */
	assert_false(sends(15, 4, 25, 4, 9));
	/* Equally fast, in large parts: 33 and 20 then. The gap would be closed within a period. */
	assert_false(sends(25, 4, 25, 4, 11));
	assert_false(sends(25, 4, 25, 4, 53));
	assert_true(sends(25, 4, 25, 4, 54));
	/* In small parts: 25.2 and 24.8. */
	assert_true(sends(25, 128, 25, 128, 11));
	/* It closes by itself, but not soon. */
	assert_false(sends(25, 128, 20, 128, 19));
	assert_true(sends(25, 128, 24, 128, 19));
	/* Not known: by the gap alone. */
	assert_true(sends(0, 4, 25, 4, 11));
	assert_true(sends(25, 4, 0, 4, 11));
}

/* With a standard error of 5, rates may be off by 15. */
static void test_uncertain_rates(void **unused)
{
	(void)unused;
	assert_true(sends_unsure(15, 4, 31, 4, 11, 5)); /* 20 and 25 then, but for that */
	assert_false(sends_unsure(15, 4, 25, 4, 11, 5)); /* they may be equal */
	/* It may close by up to 5 in each period, and then to 20 and 20; or they are equal, 27 and
	 * 16. */
	assert_false(sends_unsure(15, 4, 25, 4, 42, 5));
	assert_true(sends_unsure(15, 4, 25, 4, 43, 5));
	/* Small parts: 25.2 and 24.8 then, but it may close by up to 15. */
	assert_false(sends_unsure(25, 128, 25, 128, 59, 5));
	assert_true(sends_unsure(25, 128, 25, 128, 61, 5));
}

/* Equal speeds, and others, from point to point. */
static void test_standard_error(void **unused)
{
	const uint64_t ms = 1000000;
	struct policy_dplb_state even = {0}, uneven = {0};
	uint64_t updates = 0;
	(void)unused;

	/* After one period a turn of 30 ms may be in it, or not. */
	policy_dplb_learn(&even, 1000, 500 * ms, 500 * ms);
	assert_float_equal(even.error, 60, 1e-9);
	for (uint64_t i = 2; i <= 10; i++)
		policy_dplb_learn(&even, 1000 * i, 500 * ms * i, 500 * ms);
	assert_float_equal(even.error, 15, 1e-9); /* of two seconds */
	for (uint64_t i = 1; i <= 100; i++) {
		updates += 1000 + (i % 2 ? 200 : -200);
		policy_dplb_learn(&uneven, updates, 500 * ms * i, 500 * ms);
	}
	assert_float_equal(uneven.speed, 1000, 60);
	assert_float_equal(uneven.error, 200 / sqrt(3), 40);
	const struct policy_dplb_state *state = &uneven;
	struct policy_dplb_params how = {0};
	struct policy_dplb_rank rank = {.subdomains = 4, .average = 9};
	policy_dplb_rate(&how, state, &rank);
	assert_float_equal(rank.rate, state->speed / 4, 1e-9);
	assert_float_equal(rank.doubt, state->error / 4, 1e-9);
	assert_float_equal(rank.average, 9, 0);
	/* With bounded staleness this is what others see, but not as in the paper. */
	how.bounded = true;
	policy_dplb_rate(&how, state, &rank);
	assert_float_equal(rank.average, rank.rate, 0);
	how.threshold = POLICY_DPLB_THRESHOLD_NONE;
	rank = (struct policy_dplb_rank){.average = 9};
	policy_dplb_rate(&how, state, &rank);
	assert_float_equal(rank.average, 9, 0);
	assert_float_equal(rank.rate, 0, 0);
}

static struct policy_dplb_place place_in(const void *list, uint32_t place)
{
	return ((const struct policy_dplb_place *)list)[place];
}

/* The one that saves most; among equal ones the random one, or the first after it in the ring. */
static void test_pick(void **unused)
{
	const struct policy_dplb_place places[] = {{-1, 0}, {0, 0}, {2, 9}, {-3, 0}, {2, 9}},
				       empty[] = {{POLICY_DPLB_EMPTY, 0}, {-4, 7}},
				       behind[] = {{1, 8}, {1, 7}, {0, 1}, {1, 7}};
	(void)unused;

	assert_int_equal(policy_dplb_pick(0, 5, place_in, places), 2);
	assert_int_equal(policy_dplb_pick(3, 5, place_in, places), 4);
	assert_int_equal(policy_dplb_pick(4, 5, place_in, places), 4);
	assert_int_equal(policy_dplb_pick(1, 2, place_in, places), 1);
	assert_int_equal(policy_dplb_pick(0, 1, place_in, places), 0);
	assert_int_equal(policy_dplb_pick(1, 2, place_in, empty), 1);
	assert_int_equal(policy_dplb_pick(0, 4, place_in, behind), 1);
	assert_int_equal(policy_dplb_pick(2, 4, place_in, behind), 3);
}

/* Whatever there is, none saves more, and none that saves as much is less advanced. */
static void test_pick_is_best(void **unused)
{
	struct policy_dplb_place places[12];
	uint64_t seed = 1;
	(void)unused;

	for (int round = 0; round < 10000; round++) {
		uint32_t n = (uint32_t)random_int(&seed, 1, 12);
		for (uint32_t k = 0; k < n; k++) {
			bool empty = random_int(&seed, 0, 3) == 0;
			places[k] = (struct policy_dplb_place){
				.halos_saved = empty ? POLICY_DPLB_EMPTY
						     : (int32_t)random_int(&seed, -2, 1),
				.updates = (uint64_t)random_int(&seed, 0, 4)};
		}
		uint32_t first = (uint32_t)random_int(&seed, 0, n - 1);
		const struct policy_dplb_place *best =
			&places[policy_dplb_pick(first, n, place_in, places)];
		for (uint32_t k = 0; k < n; k++)
			assert_true(places[k].halos_saved < best->halos_saved ||
				    (places[k].halos_saved == best->halos_saved &&
					    places[k].updates >= best->updates));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pick),
		cmocka_unit_test(test_pick_is_best),
		cmocka_unit_test(test_who),
		cmocka_unit_test(test_all_behind),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_good_keep),
		cmocka_unit_test(test_good_threshold),
		cmocka_unit_test(test_speed),
		cmocka_unit_test(test_speed_of_one_that_waits),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_uncertain_rates),
		cmocka_unit_test(test_standard_error),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_empty_rank),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_random_choice),
		cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_neighbours_by_hand),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_spread_is_bounded),
		cmocka_unit_test(test_least_is_not_enough),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_slow_with_turns),
		cmocka_unit_test(test_few_subdomains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
