/* SPDX-License-Identifier: MIT */
/* The rules of DPLB by hand and on random input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#undef NDEBUG
#include "dplb.h"
#include "random.h"

static const struct policy_dplb_params params = {.threshold = 10, .keep = 2};

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

/* Step 3: the least advanced sends, to the most advanced, and of two that to the first. */
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

/* Not to one without room; and to the next only if that is far enough ahead. */
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

/* The average of a rank without subdomains counts neither as far behind nor as far ahead. */
static void test_empty_rank(void **unused)
{
	struct ranks ranks = begin();
	(void)unused;

	ranks.rank[0] = (struct policy_dplb_rank){.rank = 0, .average = 0, .room = 8};
	assert_int_equal(target(&ranks, 2), 1);
	ranks.rank[0].average = 1000;
	assert_int_equal(target(&ranks, 2), 1);
}

/* Nobody known, or nobody but oneself. */
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

/* Any subdomain, and for the random rule any rank but oneself; all of them about as often. */
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

/* Reductions: in whatever order and grouping, with ties, one rank comes out; and a rank that knows
 * only these two does what it does when it knows all. */
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

/* Symmetric, nobody twice, nobody oneself; no further than the reach, and somebody where there is
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_empty_rank),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_random_choice),
		cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_neighbours_by_hand),
		cmocka_unit_test(test_neighbours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
