/* SPDX-License-Identifier: MIT */
/*
 * Balancing between ranks as programs see it: records of this rank, and what it sends to others that
 * the test makes up.
 */
#undef NDEBUG
#include "libprogress/progress.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/libprogress/segment_of.h"
#include "tests/unit/random.h"

#define PERIOD_NS UINT64_C(500000000)
#define PLACES 12u
#define RANKS 5u
#define MINE 2 /* number of this rank */

/* One worker that has the first `held` places; the others are empty. Up to 10 are taken. */
static struct progress *begin(uint32_t held, uint32_t bound)
{
	uint32_t owner[PLACES];
	const uint32_t *mine;

	for (uint32_t s = 0; s < PLACES; s++)
		owner[s] = s < held ? 0 : PROGRESS_NOBODY;
	struct progress *p = create_with(&(struct progress_options){.workers = 1,
		.subdomains = PLACES,
		.owner = owner,
		.high = 10,
		.rank = MINE,
		.bound = bound});
	assert_int_equal(progress_register(p, 0), 0);
	progress_begin(p, 0, &mine);
	return p;
}

static void update(struct progress *p, uint32_t subdomain, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		progress_update(p, 0, subdomain, progress_iteration(p, subdomain) + 1, 0);
}

static void set_threshold(struct progress *p, double threshold)
{
	assert_int_equal(
		progress_rank_setup(p, &(struct progress_rank_options){.threshold = threshold}), 0);
}

static void test_record(void **state)
{
	struct progress *p = begin(4, 0);
	struct progress_rank own;
	(void)state;

	memset(&own, 0xff, sizeof own);
	update(p, 0, 3);
	update(p, 3, 7);
	progress_rank_read(p, &own);
	assert_float_equal(own.average, 2.5, 0);
	assert_int_equal(own.rank, MINE);
	assert_int_equal(own.subdomains, 4);
	assert_int_equal(own.room, 6);
	assert_float_equal(own.rate, 0, 0);
	assert_int_equal(own.reserved, 0);

	progress_remove(p, 3);
	progress_insert(p, 11, 0, 9);
	progress_insert(p, 10, 0, 9);
	progress_rank_read(p, &own);
	assert_float_equal(own.average, (3 + 0 + 0 + 9 + 9) / 5.0, 0);
	assert_int_equal(own.subdomains, 5);
	assert_int_equal(own.room, 5);
	for (uint32_t s = 0; s < PLACES; s++)
		progress_remove(p, s);
	progress_rank_read(p, &own);
	assert_float_equal(own.average, 0, 0);
	assert_int_equal(own.subdomains, 0);
	assert_int_equal(own.room, 10);
	progress_close(p);
}

/* No more than there are places, however much the workers take. */
static void test_room(void **state)
{
	struct progress *p = create(3, 7);
	struct progress_rank own;
	(void)state;

	progress_remove(p, 5);
	progress_rank_read(p, &own);
	assert_int_equal(own.subdomains, 6);
	assert_int_equal(own.room, 1);
	progress_close(p);
}

static void test_setup(void **state)
{
	const struct progress_rank_options good[] = {{0}, {.period_ns = 1000000},
		{.threshold = PROGRESS_THRESHOLD_NONE}, {.threshold = 0.5}, {.seed = UINT64_MAX}};
	const struct progress_rank_options bad[] = {{.period_ns = 999999}, {.threshold = NAN},
		{.threshold = -2}, {.threshold = INFINITY}, {.reserved = {0, 0, 0, 1}}};
	struct progress *p = begin(4, 0);
	(void)state;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_int_equal(progress_rank_setup(p, &good[i]), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(progress_rank_setup(p, &bad[i]), -EINVAL);
	progress_close(p);
}

/* Zeros stand for the defaults in a second call, too. */
static void test_second_setup(void **state)
{
	const struct progress_rank other = {.average = 100, .rank = 3, .subdomains = 1, .room = 1};
	struct progress_rank_move move;
	uint32_t first[8];
	(void)state;

	for (int again = 0; again <= 1; again++) {
		struct progress *p = begin(8, 0);
		if (again)
			assert_int_equal(
				progress_rank_setup(p, &(struct progress_rank_options){.seed = 77,
							       .random_ranks = RANKS,
							       .period_ns = 1000000}),
				0);
		set_threshold(p, 1);
		for (size_t i = 0; i < 8; i++) { /* which one goes is random */
			assert_int_equal(progress_rank_balance(p, 0, &other, 1, &move), 1);
			assert_int_equal(move.to, 3);
			assert_true(again == 0 || move.subdomain == first[i]);
			first[i] = move.subdomain;
		}
		/* It does not know how fast it is: nothing moves. */
		set_threshold(p, 0);
		assert_int_equal(progress_rank_balance(p, 0, &other, 1, &move), 0);
		progress_close(p);
	}
}

/* The other rank is far ahead. Nothing moves before this one knows how fast it is itself. */
static void test_rates_are_learnt(void **state)
{
	struct progress *p = begin(8, 0);
	struct progress_rank own, other = {.average = 1e6, .subdomains = 4, .room = 4};
	struct progress_rank_move move = {.subdomain = 99, .to = 99};
	(void)state;

	assert_int_equal(progress_rank_balance(p, 0, &other, 1, &move), 0);
	for (uint32_t s = 0; s < 8; s++)
		update(p, s, 50);
	/* No time, no rate. */
	assert_int_equal(progress_rank_balance(p, 0, &other, 1, &move), 0);
	progress_rank_read(p, &own);
	assert_float_equal(own.rate, 0, 0);
	assert_int_equal(move.to, 99);
	/* Half of a period it has waited. */
	assert_int_equal(progress_rank_balance(p, PERIOD_NS / 2, &other, 1, &move), 1);
	assert_in_range(move.subdomain, 0, 7);
	assert_int_equal(move.to, 0);
	progress_rank_read(p, &own);
	assert_float_equal(own.rate, 100, 1e-9);
	assert_true(own.doubt > 0);
	/* It was there itself when the other one was: then it is not behind. */
	assert_int_equal(progress_rank_balance(p, PERIOD_NS,
				 (struct progress_rank[]){
					 other, {.average = 1e6, .subdomains = 8, .rank = MINE}},
				 2, &move),
		0);
	progress_close(p);
}

/* With a bound, ranks show their rates, and 5 % counts; not so in the paper. */
static void test_bound(void **state)
{
	struct progress_rank own, other = {.subdomains = 8, .room = 4};
	struct progress_rank_move move;
	(void)state;

	for (int paper = 0; paper <= 1; paper++) {
		struct progress *p = begin(8, 30);
		if (paper)
			set_threshold(p, PROGRESS_THRESHOLD_NONE);
		assert_int_equal(progress_rank_balance(p, 0, NULL, 0, &move), 0);
		for (uint32_t s = 0; s < 8; s++)
			update(p, s, 200);
		assert_int_equal(progress_rank_balance(p, 2 * PERIOD_NS, NULL, 0, &move), 0);
		progress_rank_read(p, &own);
		assert_float_equal(own.rate, 100, 1e-9);
		assert_float_equal(own.average, paper ? 200 : 100, 1e-9);
		other.average = paper ? 200 : 104;
		assert_int_equal(progress_rank_balance(p, 2 * PERIOD_NS, &other, 1, &move), 0);
		other.average += 2;
		assert_int_equal(progress_rank_balance(p, 2 * PERIOD_NS, &other, 1, &move), 1);
		progress_close(p);
	}
}

/* ---- Any records ---- */

static struct progress_rank any_rank(uint64_t *seed, uint32_t rank)
{
	return (struct progress_rank){.average = (double)random_int(seed, 0, 6),
		.rank = rank,
		.subdomains = (uint32_t)random_int(seed, 0, 2),
		.room = (uint32_t)random_int(seed, 0, 2)};
}

/* The rule of the paper, with keep 2: `low`, and nothing to spare for a single worker. Returns the
 * rank to send to, or -1. */
static int expected(const struct progress_rank *own, const struct progress_rank *known,
	double threshold, bool all_behind)
{
	int to = -1;

	for (uint32_t r = 0; r < RANKS; r++) {
		const struct progress_rank *k = &known[r];
		bool before = k->average < own->average || (k->average == own->average && r < MINE);
		if (r == MINE || k->subdomains == 0)
			continue;
		if (before && !all_behind)
			return -1;
		if (k->room > 0 && k->average - own->average > threshold &&
			(to < 0 || k->average > known[to].average))
			to = (int)r;
	}
	return own->subdomains > 2 ? to : -1;
}

static void fill_at_random(struct progress *p, uint64_t *seed)
{
	for (uint32_t s = 0; s < PLACES; s++) {
		progress_remove(p, s);
		if (random_int(seed, 0, 2) == 0)
			progress_insert(p, s, 0, (uint64_t)random_int(seed, 0, 6));
	}
}

static void test_decision(void **state)
{
	uint64_t seed = 1;
	uint32_t moves = 0;
	(void)state;

	for (int run = 0; run < 200; run++) {
		bool all_behind = random_int(&seed, 0, 1);
		double threshold = (double)random_int(&seed, 1, 3);
		struct progress *p = begin(4, 0);
		assert_int_equal(progress_rank_setup(
					 p, &(struct progress_rank_options){.threshold = threshold,
						    .all_behind = all_behind}),
			0);
		for (int i = 0; i < 50; i++) {
			struct progress_rank known[RANKS], ends[2], own;
			struct progress_rank_move move = {0}, by_ends = {0};
			fill_at_random(p, &seed);
			for (uint32_t r = 0; r < RANKS; r++)
				known[r] = any_rank(&seed, r);
			progress_rank_read(p, &own);
			known[MINE] = own;
			int to = expected(&own, known, threshold, all_behind);
			int n = progress_rank_balance(p, 0, known, RANKS, &move);
			assert_int_equal(n, to >= 0);
			ends[0] = ends[1] = known[RANKS - 1];
			for (uint32_t r = RANKS - 1; r-- > 0;)
				progress_rank_reduce(
					ends, (struct progress_rank[2]){known[r], known[r]});
			/* The two ends are enough, if only the least advanced one sends. */
			if (!all_behind)
				assert_int_equal(progress_rank_balance(p, 0, ends, 2, &by_ends), n);
			if (n == 0)
				continue;
			moves++;
			assert_int_equal(move.to, to);
			assert_int_equal(progress_holder(p, move.subdomain), 0);
			assert_true(all_behind || by_ends.to == move.to);
		}
		progress_close(p);
	}
	assert_in_range(moves, 500, 9000);
}

/* Whatever others send: a subdomain that is here, for a rank that they named. */
static void test_garbage(void **state)
{
	const double odd[] = {0, -0.0, 1, -1, 1e308, -1e308, NAN, -NAN, INFINITY, -INFINITY};
	struct progress *p = begin(8, 0);
	uint64_t seed = 2;
	uint32_t moves = 0;
	(void)state;

	for (int i = 0; i < 20000; i++) {
		struct progress_rank known[RANKS];
		struct progress_rank_move move;
		for (uint32_t r = 0; r < RANKS; r++)
			known[r] = (struct progress_rank){.average = odd[random_int(&seed, 0, 9)],
				.rate = odd[random_int(&seed, 0, 9)],
				.doubt = odd[random_int(&seed, 0, 9)],
				.rank = (uint32_t)random_int(&seed, -3, 5),
				.subdomains = (uint32_t)random_int(&seed, -1, 2),
				.room = (uint32_t)random_int(&seed, -1, 2)};
		update(p, (uint32_t)random_int(&seed, 0, 7), 1);
		if (progress_rank_balance(p, (uint64_t)random_int(&seed, -1, 1) * PERIOD_NS, known,
			    (uint32_t)random_int(&seed, 0, RANKS), &move) == 0)
			continue;
		bool named = false;
		for (uint32_t r = 0; r < RANKS; r++)
			named = named || known[r].rank == move.to;
		assert_true(named && move.to != MINE);
		assert_int_equal(progress_holder(p, move.subdomain), 0);
		moves++;
	}
	assert_true(moves > 100);
	progress_close(p);
}

/* Reduce records that come in that order: each to those before it; or halves, each by itself. */
static void reduce(const struct progress_rank *known, const uint32_t *order, bool halves,
	struct progress_rank ends[2])
{
	struct progress_rank right[2];

	ends[0] = ends[1] = known[order[0]];
	for (uint32_t i = 1; i < (halves ? 2 : RANKS); i++)
		progress_rank_reduce(
			ends, (struct progress_rank[2]){known[order[i]], known[order[i]]});
	if (!halves)
		return;
	right[0] = right[1] = known[order[2]];
	for (uint32_t i = 3; i < RANKS; i++)
		progress_rank_reduce(
			right, (struct progress_rank[2]){known[order[i]], known[order[i]]});
	progress_rank_reduce(ends, right);
}

static void shuffle(uint64_t *seed, uint32_t *order)
{
	for (uint32_t i = RANKS - 1; i > 0; i--) {
		uint32_t k = (uint32_t)random_int(seed, 0, i), was = order[i];
		order[i] = order[k];
		order[k] = was;
	}
}

/* A record without a number is one of a rank that has nothing: it wins nowhere, and the others are
 * reduced as ever. */
static void test_reduce_without_numbers(void **state)
{
	const double odd[] = {NAN, -NAN, INFINITY, -INFINITY};
	uint32_t order[RANKS] = {0, 1, 2, 3, 4};
	uint64_t seed = 3;
	(void)state;

	for (int i = 0; i < 2000; i++) {
		struct progress_rank known[RANKS], ends[2], again[2];
		for (uint32_t r = 0; r < RANKS; r++) {
			known[r] = any_rank(&seed, r);
			known[r].rate = random_int(&seed, 0, 1) ? NAN : 5;
			known[r].doubt = random_int(&seed, 0, 1) ? -1 : 5;
			if (random_int(&seed, 0, 2) == 0)
				known[r].average = odd[random_int(&seed, 0, 3)];
		}
		reduce(known, order, false, ends);
		for (int end = 0; end <= 1; end++) {
			assert_true(isfinite(ends[end].average));
			assert_true(ends[end].rate == 0 || ends[end].rate == 5);
			assert_true(ends[end].doubt == 0 || ends[end].doubt == 5);
		}
		for (int k = 0; k < 4; k++) {
			shuffle(&seed, order);
			reduce(known, order, k % 2, again);
			assert_memory_equal(again, ends, sizeof ends);
		}
	}
}

static void test_moves_beside_one_without_numbers(void **state)
{
	const double odd[] = {NAN, INFINITY, -INFINITY};
	struct progress *p = begin(8, 0);
	struct progress_rank_move move;
	(void)state;

	set_threshold(p, 1);
	for (uint32_t bad = 0; bad < RANKS; bad++) {
		struct progress_rank known[RANKS], ends[2];
		const uint32_t order[RANKS] = {0, 1, 2, 3, 4};
		uint32_t to = bad == 4 ? 3 : 4;
		for (uint32_t r = 0; r < RANKS; r++)
			known[r] = (struct progress_rank){.average = r == MINE ? 0 : 10 * (r + 1),
				.rank = r,
				.subdomains = 8,
				.room = 2};
		for (int i = 0; i < 3; i++) {
			known[bad].average = odd[i];
			assert_int_equal(progress_rank_balance(p, 0, known, RANKS, &move), 1);
			assert_int_equal(move.to, to);
			reduce(known, order, false, ends);
			assert_int_equal(progress_rank_balance(p, 0, ends, 2, &move), 1);
			assert_int_equal(move.to, to);
		}
	}
	progress_close(p);
}

/* ---- Which one goes ---- */

static int32_t saved(void *arg, uint32_t subdomain, uint32_t to)
{
	const int32_t *list = arg;

	assert_int_equal(to, 3);
	return list[subdomain];
}

static void test_which(void **state)
{
	const struct progress_rank other = {.average = 100, .rank = 3, .subdomains = 1, .room = 1};
	int32_t list[PLACES] = {-9, -2, -9, -2, -9, -9, 5, 5, 5, 5, 5, 5};
	uint32_t times[2][PLACES] = {{0}};
	struct progress_rank_move move;
	(void)state;

	for (int by_halos = 0; by_halos <= 1; by_halos++) {
		struct progress *p = begin(6, 0);
		assert_int_equal(
			progress_rank_setup(p, &(struct progress_rank_options){.threshold = 1,
						       .halos_saved = by_halos ? saved : NULL,
						       .arg = list}),
			0);
		for (int i = 0; i < 600; i++) {
			assert_int_equal(progress_rank_balance(p, 0, &other, 1, &move), 1);
			times[by_halos][move.subdomain]++;
		}
		progress_close(p);
	}
	for (uint32_t s = 0; s < PLACES; s++) {
		assert_in_range(times[0][s], s < 6 ? 50 : 0, s < 6 ? 150 : 0);
		if (s != 1 && s != 3)
			assert_int_equal(times[1][s], 0);
	}
	assert_true(times[1][1] > 50 && times[1][3] > 50);
}

/* To test moves: any, from any rank to any other, without a look at who is behind. */
static void test_random(void **state)
{
	const struct progress_rank_options options = {.random_ranks = RANKS, .halos_saved = saved};
	struct progress *p = begin(6, 0);
	uint32_t to[RANKS] = {0}, times[PLACES] = {0};
	struct progress_rank_move move;
	(void)state;

	assert_int_equal(progress_rank_setup(p, &options), 0);
	for (int i = 0; i < 1200; i++) {
		assert_int_equal(progress_rank_balance(p, 0, NULL, 0, &move), 1);
		assert_true(move.to < RANKS && move.subdomain < 6);
		to[move.to]++;
		times[move.subdomain]++;
	}
	for (uint32_t r = 0; r < RANKS; r++)
		assert_in_range(to[r], r == MINE ? 0 : 200, r == MINE ? 0 : 400);
	for (uint32_t s = 0; s < 6; s++)
		assert_in_range(times[s], 100, 300);
	/* Two stay. */
	for (uint32_t s = 0; s < 4; s++)
		assert_int_equal(progress_remove(p, s), 0);
	assert_int_equal(progress_rank_balance(p, 0, NULL, 0, &move), 0);
	progress_close(p);
}

/* ---- Periods on end ---- */

#define PERIODS 200

struct beside {
	uint32_t moves; /* how much this rank sent */
	uint32_t sent[PERIODS]; /* in each period; PROGRESS_NOBODY: nothing */
	double gap; /* by which it is behind at the end, in periods of the other one */
};

/* This rank beside another one: it makes so many updates in each period, and the other one 8000. What
 * it sends is gone, and comes from there. base_ns: when it starts, by its clock. */
static void run_beside(uint32_t speed, uint64_t base_ns, struct beside *out)
{
	struct progress *p = begin(8, 0);
	struct progress_rank other = {.rank = 0, .subdomains = 8, .room = 2}, own;
	double updates = 0; /* of all that the other one has */

	out->moves = 0;
	for (uint32_t period = 0; period < PERIODS; period++) {
		struct progress_rank_move move;
		const uint32_t *mine;
		uint32_t n = progress_begin(p, 0, &mine);
		for (uint32_t i = 0; i < n; i++)
			update(p, mine[i], speed / n);
		updates += 8000;
		other.average = updates / other.subdomains;
		other.rate = 8000.0 / other.subdomains;
		other.doubt = other.rate / 100;
		out->sent[period] = PROGRESS_NOBODY;
		if (progress_rank_balance(
			    p, base_ns + (period + 1) * PERIOD_NS, &other, 1, &move) == 0)
			continue;
		out->sent[period] = move.subdomain;
		updates += (double)progress_updates(p, move.subdomain);
		assert_int_equal(progress_remove(p, move.subdomain), 0);
		other.subdomains++;
		other.room--;
		out->moves++;
	}
	progress_rank_read(p, &own);
	out->gap = (other.average - own.average) / other.rate;
	progress_close(p);
}

static void test_equal_ranks_are_left_alone(void **state)
{
	struct beside run;
	(void)state;

	run_beside(8000, 0, &run);
	assert_int_equal(run.moves, 0);
	assert_float_equal(run.gap, 0, 1e-9);
	/* Nor a faster one. */
	run_beside(12000, 0, &run);
	assert_int_equal(run.moves, 0);
}

static void test_slow_rank_gets_rid_of_work(void **state)
{
	struct beside run;
	(void)state;

	/* 6 and 10 would be even, but the other one takes no more than 2. */
	run_beside(4800, 0, &run);
	assert_int_equal(run.moves, 2);
	assert_in_range((int)(run.gap * 100), 0, 500);
	/* Far too slow: all that there is room for. */
	run_beside(800, 0, &run);
	assert_int_equal(run.moves, 2);
	assert_true(run.gap > 100);
}

/* busy_ns counts since any moment, such as the machine's start, ten days ago. */
static void test_clock_starts_anywhere(void **state)
{
	struct beside fresh, old;
	(void)state;

	for (uint32_t speed = 800; speed <= 12000; speed += 800) {
		run_beside(speed, 0, &fresh);
		run_beside(speed, UINT64_C(864000000000000), &old);
		assert_memory_equal(old.sent, fresh.sent, sizeof old.sent);
		assert_float_equal(old.gap, fresh.gap, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_setup),
		cmocka_unit_test(test_second_setup),
		cmocka_unit_test(test_rates_are_learnt),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_decision),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_reduce_without_numbers),
		cmocka_unit_test(test_moves_beside_one_without_numbers),
		cmocka_unit_test(test_which),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_equal_ranks_are_left_alone),
		cmocka_unit_test(test_slow_rank_gets_rid_of_work),
		cmocka_unit_test(test_clock_starts_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
