// SPDX-License-Identifier: MIT
/*
 * libprogress in the workers: each step of the hand-over, the counters, and balancing by the
 * program's own threads.
 */
#undef NDEBUG
#include "libprogress/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/libprogress/segment_of.h"

static void test_hand_over(void **state)
{
	(void)state;

	NEED_SHM();
	struct progress *p = create(3, 6);
	struct view v = view_open();
	assert_begins(p, 0, 0, 1, -1);
	assert_begins(p, 1, 2, 3, -1);
	assert_begins(p, 2, 4, 5, -1);
	assert_int_equal(v.worker[0].dirty, 0);

	/* Without the flag nothing is seen. */
	atomic_store(&v.subdomain[1].owner, 2);
	assert_begins(p, 0, 0, 1, -1);
	assert_int_equal(progress_holder(p, 1), 0);
	/* With it, the holder passes on at its next begin, and not before. */
	give(&v, 1, 0, 2);
	assert_begins(p, 2, 4, 5, -1);
	assert_int_equal(progress_holder(p, 1), 0);
	assert_begins(p, 0, 0, -1);
	assert_int_equal(progress_holder(p, 1), 2);
	assert_int_equal(v.worker[0].dirty, 0);
	assert_int_equal(v.worker[0].handed, 1);
	assert_int_equal(v.worker[2].dirty, 1);
	/* The new owner takes it, in order. */
	assert_begins(p, 2, 1, 4, 5, -1);
	assert_int_equal(v.worker[2].dirty, 0);

	/* A flag for a worker with nothing to pass on does no harm. */
	atomic_store(&v.worker[1].dirty, 77);
	assert_begins(p, 1, 2, 3, -1);

	/* Changed again before it is taken: it is passed on at once. */
	give(&v, 4, 2, 0);
	assert_begins(p, 2, 1, 5, -1);
	give(&v, 4, 0, 1);
	assert_begins(p, 0, 0, -1);
	assert_begins(p, 1, 2, 3, 4, -1);
	view_close(&v);
	progress_close(p);
}

static void test_owner_out_of_range(void **state)
{
	static const uint32_t wrong[] = {2, 3, 0x7fffffff, UINT32_MAX};
	(void)state;

	NEED_SHM();
	struct progress *p = create(2, 4);
	struct view v = view_open();
	assert_begins(p, 0, 0, 1, -1);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		give(&v, 0, 0, wrong[i]);
		assert_begins(p, 0, 0, 1, -1);
		assert_int_equal(progress_holder(p, 0), 0);
	}
	/* The numbers in the header are not trusted, either. */
	v.header->workers = 1000;
	v.header->subdomains = 100000;
	give(&v, 0, 0, 999);
	assert_begins(p, 0, 0, 1, -1);
	assert_int_equal(progress_spread(p), 0);
	v.header->workers = 2;
	give(&v, 0, 0, 1);
	assert_begins(p, 0, 1, -1);
	assert_begins(p, 1, 0, 2, 3, -1);
	view_close(&v);
	progress_close(p);
}

/* From nothing to everything, over all sizes of the list. */
static void test_one_takes_all(void **state)
{
	const uint32_t *mine;
	(void)state;

	NEED_SHM();
	struct progress *p = create(2, 2000);
	struct view v = view_open();
	for (uint32_t s = 0; s < 1000; s++) {
		give(&v, s, 0, 1);
		assert_int_equal(progress_begin(p, 0, &mine), 999 - s);
		assert_int_equal(progress_begin(p, 1, &mine), 1001 + s);
		for (uint32_t i = 0; i <= s; i++)
			assert_int_equal(mine[i], i);
	}
	assert_int_equal(mine[2000 - 1], 1999);
	view_close(&v);
	progress_close(p);
}

static void test_counters(void **state)
{
	const uint32_t *mine;
	(void)state;

	NEED_SHM();
	struct progress *p = create_with(&(struct progress_options){
		.workers = 2, .subdomains = 3, .owner = (const uint32_t[]){0, 0, 0}});
	struct view v = view_open();
	assert_int_equal(progress_register(p, 0), 0);
	for (uint64_t i = 1; i <= 10; i++) {
		assert_int_equal(progress_begin(p, 0, &mine), 3);
		assert_int_equal(v.worker[0].iterations, i - 1);
		progress_update(p, 0, 0, i, 1 / (double)i);
		if (i % 2 == 0)
			progress_update(p, 0, 2, 100 + i, 0);
	}
	progress_leave(p, 0);
	assert_int_equal(v.worker[0].iterations, 10);
	progress_leave(p, 0);
	assert_int_equal(v.worker[0].iterations, 10);
	assert_int_equal(v.worker[0].updates, 15);
	assert_int_equal(progress_updates(p, 0), 10);
	assert_int_equal(progress_updates(p, 1), 0);
	assert_int_equal(progress_updates(p, 2), 5);
	assert_int_equal(progress_spread(p), 10);
	assert_int_equal(progress_iteration(p, 0), 10);
	assert_int_equal(progress_iteration(p, 1), 0);
	assert_int_equal(progress_iteration(p, 2), 110);
	assert_int_equal(v.subdomain[0].sequence, 20);
	double residual;
	memcpy(&residual, &v.subdomain[0].residual, sizeof residual);
	assert_true(residual == 0.1);

	/* An iteration without subdomains does not count. */
	for (int i = 0; i < 5; i++)
		assert_begins(p, 1, -1);
	assert_int_equal(v.worker[1].iterations, 0);

	/* Numbers out of range do no harm. */
	progress_update(p, 0, 3, 1, 0);
	progress_update(p, 2, 0, 99, 0);
	assert_int_equal(progress_iteration(p, 0), 10);
	assert_int_equal(progress_iteration(p, 3), 0);
	assert_int_equal(progress_updates(p, UINT32_MAX), 0);
	assert_int_equal(progress_holder(p, 3), PROGRESS_NOBODY);
	assert_int_equal(progress_begin(p, 2, &mine), 0);
	assert_int_equal(progress_balance(p, 2), 0);
	view_close(&v);
	progress_close(p);
}

/* Three workers, of which 0 has done most and 2 least, so that one subdomain of 2 should go to 0.
 * Any other worker is absent. */
static struct progress *create_uneven(uint32_t balancing)
{
	static const uint32_t owner[] = {0, 0, 1, 1, 2, 2, 2, 2};
	static const uint64_t updates[] = {30, 29, 20, 20, 10, 11, 12, 11};
	struct progress *p = create_with(&(struct progress_options){.workers = 4,
		.subdomains = 8,
		.owner = owner,
		.pairs = 1,
		.dead_band = PROGRESS_DEAD_BAND_NONE,
		.balancing = balancing});

	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(progress_register(p, k), 0);
	for (uint32_t s = 0; s < 8; s++)
		for (uint64_t i = 0; i < updates[s]; i++)
			progress_update(p, owner[s], s, i, 0);
	return p;
}

static void make_due(struct view *view)
{
	atomic_store(&view->header->due_ns, 0);
}

static void test_balance(void **state)
{
	const uint32_t *mine;
	(void)state;

	NEED_SHM();
	struct progress *p = create_uneven(PROGRESS_BALANCE_JOINT);
	struct view v = view_open();
	for (uint32_t k = 0; k < 4; k++)
		progress_begin(p, k, &mine);
	/* Not due. */
	atomic_store(&v.header->due_ns, UINT64_MAX);
	assert_int_equal(progress_balance(p, 1), 0);
	assert_int_equal(v.header->points, 0);
	make_due(&v);
	assert_int_equal(progress_balance(p, 1), 1);
	assert_true(v.header->due_ns >= v.header->beat_ns + 1000000);
	assert_true(v.header->beat_ns > v.header->created_ns);
	assert_int_equal(v.header->points, 1);
	assert_int_equal(v.header->moves, 1);
	assert_int_equal((uint32_t)v.header->claim, 0);
	assert_int_equal(v.subdomain[6].owner, 0);
	assert_int_equal(v.worker[2].dirty, 1);
	assert_int_equal(v.worker[0].dirty, 0); /* that is up to the holder */
	assert_begins(p, 2, 4, 5, 7, -1);
	assert_begins(p, 0, 0, 1, 6, -1);
	view_close(&v);
	progress_close(p);
}

/* A worker that has left, or never came, gets nothing, even if it is the most advanced. */
static void test_balance_leaves_the_absent_alone(void **state)
{
	(void)state;

	NEED_SHM();
	struct progress *p = create_uneven(PROGRESS_BALANCE_JOINT);
	struct view v = view_open();
	progress_leave(p, 0);
	make_due(&v);
	assert_int_equal(progress_balance(p, 1), 1);
	assert_int_equal(v.subdomain[6].owner, 1);
	progress_leave(p, 1);
	make_due(&v);
	assert_int_equal(progress_balance(p, 2), 0);
	view_close(&v);
	progress_close(p);
}

/* Nor between nodes, even if an absent worker has the fewest. */
static void test_hybrid_leaves_the_absent_alone(void **state)
{
	uint32_t owned[4] = {0};
	(void)state;

	NEED_SHM();
	struct progress *p = create_uneven(PROGRESS_BALANCE_HYBRID);
	struct view v = view_open();
	atomic_store(&v.worker[0].node, 0);
	atomic_store(&v.worker[1].node, 0);
	atomic_store(&v.worker[2].node, 1);
	for (uint32_t i = 0; i < v.header->hybrid_every; i++) {
		assert_int_equal(v.header->moves, 0);
		make_due(&v);
		progress_balance(p, 1);
	}
	assert_int_equal(v.header->moves, 1);
	for (uint32_t s = 0; s < 8; s++)
		owned[v.subdomain[s].owner]++;
	assert_int_equal(owned[0], 3);
	assert_int_equal(owned[1], 2);
	assert_int_equal(owned[2], 3);
	assert_int_equal(owned[3], 0);
	view_close(&v);
	progress_close(p);
}

static void test_balance_by_node(void **state)
{
	(void)state;

	NEED_SHM();
	struct progress *p = create_uneven(PROGRESS_BALANCE_SPLIT);
	struct view v = view_open();
	atomic_store(&v.worker[0].node, 4000000000u);
	atomic_store(&v.worker[2].node, 7);
	make_due(&v);
	assert_int_equal(progress_balance(p, 0), 0);
	atomic_store(&v.worker[0].node, 7);
	make_due(&v);
	assert_int_equal(progress_balance(p, 0), 1);
	assert_int_equal(v.subdomain[6].owner, 0);
	view_close(&v);
	progress_close(p);
}

static void test_balance_none(void **state)
{
	(void)state;

	NEED_SHM();
	struct progress *p = create_uneven(PROGRESS_BALANCE_NONE);
	struct view v = view_open();
	make_due(&v);
	assert_int_equal(progress_balance(p, 0), 0);
	assert_int_equal(v.header->points, 0);
	view_close(&v);
	progress_close(p);
}

/* While another balancer is at work, the program's threads don't balance; when it stops they take
 * over. */
static void test_claim(void **state)
{
	struct timespec now;
	(void)state;

	NEED_SHM();
	struct progress *p = create_uneven(PROGRESS_BALANCE_JOINT);
	struct view v = view_open();
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	atomic_store(&v.header->claim, UINT64_C(9) << 32 | 12345);
	/* In the future, since this test may be stopped for long. */
	atomic_store(&v.header->beat_ns, now_ns + SEGMENT_STALE_NS / 2);
	make_due(&v);
	assert_int_equal(progress_balance(p, 0), 0);
	assert_true(v.header->claim == (UINT64_C(9) << 32 | 12345));
	assert_true(v.header->due_ns > 0); /* not looked at again at once */
	atomic_store(&v.header->beat_ns, now_ns - SEGMENT_STALE_NS);
	make_due(&v);
	assert_int_equal(progress_balance(p, 0), 1);
	assert_int_equal((uint32_t)v.header->claim, 0);
	assert_true(v.header->claim >> 32 > 9);
	view_close(&v);
	progress_close(p);
}

/* A flag that was set for the wrong worker, because two balancers met, is set again. */
static void test_balance_reminds(void **state)
{
	const uint32_t *mine;
	(void)state;

	NEED_SHM();
	struct progress *p = create_uneven(PROGRESS_BALANCE_JOINT);
	struct view v = view_open();
	for (uint32_t k = 0; k < 4; k++)
		progress_begin(p, k, &mine);
	atomic_store(&v.subdomain[2].owner, 0);
	make_due(&v);
	progress_balance(p, 0);
	assert_int_equal(v.worker[1].dirty, 1);
	assert_begins(p, 1, 3, -1);
	view_close(&v);
	progress_close(p);
}

/* Which of the worker's three subdomains sit its next iteration out: a bit for each. */
static unsigned rests(struct progress *p)
{
	const uint32_t *mine;
	unsigned bits = 0;

	assert_int_equal(progress_begin(p, 0, &mine), 3);
	for (uint32_t i = 0; i < 3; i++)
		bits |= (unsigned)progress_rests(p, 0, mine[i]) << i;
	return bits;
}

static struct progress *create_apart(struct progress_options options)
{
	const uint32_t owner[] = {0, 0, 0, 1};

	options.workers = 2;
	options.subdomains = 4;
	options.owner = owner;
	struct progress *p = create_with(&options);
	assert_int_equal(progress_register(p, 0), 0);
	for (uint64_t i = 1; i <= 10; i++) {
		progress_update(p, 0, 0, i, 0);
		if (i <= 4)
			progress_update(p, 0, 1, i, 0);
		else
			progress_update(p, 0, 2, i, 0);
	}
	return p;
}

/* With 10, 4 and 6 updates the first one sits out every other iteration, until it leads by four. What
 * another worker holds does not count. */
static void test_rests(void **state)
{
	(void)state;

	struct progress *p = create_apart((struct progress_options){0});
	assert_int_equal(rests(p), 0);
	assert_int_equal(rests(p), 1);
	/* The iteration goes on as it began. */
	progress_update(p, 0, 1, 5, 0);
	progress_update(p, 0, 1, 6, 0);
	assert_int_equal(progress_rests(p, 0, 0), 1);
	assert_int_equal(rests(p), 0);
	assert_int_equal(rests(p), 0);
	progress_update(p, 0, 0, 11, 0);
	assert_int_equal(rests(p), 0);
	assert_int_equal(rests(p), 1);
	assert_int_equal(progress_rests(p, 2, 0), 0);
	assert_int_equal(progress_rests(p, 0, 4), 0);
	progress_close(p);
}

/* Nor where workers wait, by the paper's algorithm, or where nothing is balanced. */
static void test_nothing_rests(void **state)
{
	static const struct progress_options options[] = {{.bound = 100},
		{.dead_band = PROGRESS_DEAD_BAND_NONE}, {.balancing = PROGRESS_BALANCE_NONE}};
	(void)state;

	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		struct progress *p = create_apart(options[i]);
		for (int k = 0; k < 4; k++)
			assert_int_equal(rests(p), 0);
		progress_close(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hand_over),
		cmocka_unit_test(test_owner_out_of_range),
		cmocka_unit_test(test_one_takes_all),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_balance),
		cmocka_unit_test(test_balance_leaves_the_absent_alone),
		cmocka_unit_test(test_hybrid_leaves_the_absent_alone),
		cmocka_unit_test(test_balance_by_node),
		cmocka_unit_test(test_balance_none),
		cmocka_unit_test(test_claim),
		cmocka_unit_test(test_balance_reminds),
		cmocka_unit_test(test_rests),
		cmocka_unit_test(test_nothing_rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
