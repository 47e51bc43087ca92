// SPDX-License-Identifier: MIT
/*
 * Places of libprogress that are emptied and filled: each step, and balancers that act on what was
 * there before.
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

static void begin_all(struct progress *p, uint32_t workers)
{
	const uint32_t *mine;

	for (uint32_t k = 0; k < workers; k++)
		progress_begin(p, k, &mine);
}

static void test_remove(void **state)
{
	(void)state;

	NEED_SHM();
	struct progress *p = create(2, 4);
	struct view v = view_open();
	begin_all(p, 2);
	progress_update(p, 0, 0, 3, 0);
	progress_update(p, 0, 1, 8, 0);
	assert_int_equal(progress_remove(p, 1), 0);
	assert_int_equal(progress_holder(p, 1), PROGRESS_NOBODY);
	assert_int_equal(progress_iteration(p, 1), 0);
	assert_int_equal(progress_updates(p, 1), 0);
	/* Only its holder has to look. */
	assert_int_equal(v.worker[0].dirty, 1);
	assert_int_equal(v.worker[1].dirty, 0);
	assert_begins(p, 0, 0, -1);
	assert_int_equal(v.worker[0].handed, 0);

	assert_int_equal(progress_remove(p, 1), -ENOENT);
	assert_int_equal(progress_remove(p, 4), -EINVAL);
	assert_int_equal(progress_remove(p, PROGRESS_NOBODY), -EINVAL);
	/* Garbage from somebody else is neither a worker nor an index. */
	atomic_store(&v.subdomain[2].holder, 2);
	assert_int_equal(progress_holder(p, 2), PROGRESS_NOBODY);
	assert_int_equal(progress_remove(p, 2), -ENOENT);

	/* Down to the last. */
	assert_int_equal(progress_remove(p, 0), 0);
	assert_begins(p, 0, -1);
	assert_int_equal(v.worker[0].iterations, 2);
	assert_begins(p, 0, -1);
	assert_int_equal(v.worker[0].iterations, 2);
	view_close(&v);
	progress_close(p);
}

static void test_insert(void **state)
{
	double residual;
	(void)state;

	NEED_SHM();
	struct progress *p = create(3, 6);
	struct view v = view_open();
	begin_all(p, 3);
	progress_update(p, 0, 1, 5, 0.5);
	assert_int_equal(progress_insert(p, 1, 1, 7), -EEXIST);
	assert_int_equal(progress_remove(p, 1), 0);
	assert_int_equal(progress_insert(p, 6, 0, 7), -EINVAL);
	assert_int_equal(progress_insert(p, 1, 3, 7), -EINVAL);
	assert_int_equal(progress_holder(p, 1), PROGRESS_NOBODY);
	begin_all(p, 3);

	assert_int_equal(progress_insert(p, 1, 2, 1000), 0);
	assert_int_equal(progress_holder(p, 1), 2);
	assert_int_equal(v.subdomain[1].owner, 2);
	assert_int_equal(progress_iteration(p, 1), 1000);
	assert_int_equal(progress_updates(p, 1), 1000);
	assert_int_equal(v.subdomain[1].sequence, 4);
	memcpy(&residual, &v.subdomain[1].residual, sizeof residual);
	assert_true(isnan(residual));
	assert_int_equal(v.worker[0].dirty, 0);
	assert_int_equal(v.worker[1].dirty, 0);
	assert_int_equal(v.worker[2].dirty, 1);
	assert_begins(p, 0, 0, -1);
	assert_begins(p, 2, 1, 4, 5, -1);
	progress_update(p, 2, 1, 1001, 0);
	assert_int_equal(progress_updates(p, 1), 1001);
	assert_int_equal(v.worker[2].updates, 1); /* of its own */
	assert_int_equal(progress_insert(p, 1, 2, 1), -EEXIST);
	assert_int_equal(progress_iteration(p, 1), 1001);
	view_close(&v);
	progress_close(p);
}

static void test_insert_for_the_idlest(void **state)
{
	static const uint32_t owner[] = {
		0, 0, 1, 2, 2, PROGRESS_NOBODY, PROGRESS_NOBODY, PROGRESS_NOBODY, PROGRESS_NOBODY};
	(void)state;

	NEED_SHM();
	struct progress *p = create_with(&(struct progress_options){
		.workers = 4, .subdomains = sizeof owner / sizeof owner[0], .owner = owner});
	assert_int_equal(progress_insert(p, 5, PROGRESS_NOBODY, 1), -EINVAL); /* for whom? */
	assert_int_equal(progress_register(p, 2), 0);
	assert_int_equal(progress_insert(p, 5, PROGRESS_NOBODY, 1), 0);
	assert_int_equal(progress_holder(p, 5), 2);
	/* Worker 3, which is absent, has the fewest all the time. */
	assert_int_equal(progress_register(p, 0), 0);
	assert_int_equal(progress_register(p, 1), 0);
	for (uint32_t s = 6; s < 9; s++)
		assert_int_equal(progress_insert(p, s, PROGRESS_NOBODY, 1), 0);
	assert_int_equal(progress_holder(p, 6), 1);
	assert_int_equal(progress_holder(p, 7), 0);
	assert_int_equal(progress_holder(p, 8), 1);
	progress_leave(p, 1);
	assert_int_equal(progress_remove(p, 8), 0);
	assert_int_equal(progress_remove(p, 6), 0);
	/* 0 and 2 have three each. */
	assert_int_equal(progress_insert(p, 6, PROGRESS_NOBODY, 1), 0);
	assert_int_equal(progress_holder(p, 6), 2);
	assert_int_equal(progress_remove(p, 6), 0);
	assert_int_equal(progress_insert(p, 8, PROGRESS_NOBODY, 1), 0);
	assert_int_equal(progress_holder(p, 8), 0);
	progress_close(p);
}

/* Passed on and not taken yet: its holder is the one it was passed on to. */
static void test_remove_on_the_way(void **state)
{
	(void)state;

	NEED_SHM();
	struct progress *p = create(2, 4);
	struct view v = view_open();
	begin_all(p, 2);
	give(&v, 0, 0, 1);
	assert_begins(p, 0, 1, -1);
	assert_int_equal(progress_remove(p, 0), 0);
	assert_begins(p, 1, 2, 3, -1);
	/* Wanted from its holder, and removed before the holder looked. */
	give(&v, 2, 1, 0);
	assert_int_equal(progress_remove(p, 2), 0);
	assert_begins(p, 1, 3, -1);
	assert_begins(p, 0, 1, -1);
	assert_int_equal(progress_holder(p, 2), PROGRESS_NOBODY);
	assert_int_equal(v.worker[1].handed, 0);
	view_close(&v);
	progress_close(p);
}

/* A balancer that looked before the place was emptied writes afterwards. */
static void test_late_owner(void **state)
{
	(void)state;

	NEED_SHM();
	struct progress *p = create(3, 6);
	struct view v = view_open();
	begin_all(p, 3);
	/* While it is empty: nobody reads the owner, and an insertion overwrites it. */
	assert_int_equal(progress_remove(p, 0), 0);
	give(&v, 0, 0, 1);
	assert_begins(p, 0, 1, -1);
	assert_begins(p, 1, 2, 3, -1);
	assert_int_equal(progress_insert(p, 0, 2, 9), 0);
	assert_begins(p, 0, 1, -1);
	assert_begins(p, 2, 0, 4, 5, -1);
	assert_int_equal(progress_holder(p, 0), 2);
	/* After an insertion, flagging the previous holder: the next point puts the owner right. */
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(progress_register(p, k), 0);
	give(&v, 0, 0, 1);
	assert_begins(p, 0, 1, -1);
	assert_begins(p, 2, 0, 4, 5, -1);
	atomic_store(&v.header->due_ns, 0);
	progress_balance(p, 0);
	assert_begins(p, 2, 4, 5, -1);
	assert_begins(p, 1, 0, 2, 3, -1);
	/* Before its new holder has looked: passed on at once. */
	assert_int_equal(progress_remove(p, 0), 0);
	assert_int_equal(progress_insert(p, 0, 0, 9), 0);
	give(&v, 0, 1, 2);
	assert_begins(p, 1, 2, 3, -1);
	assert_begins(p, 0, 1, -1);
	assert_begins(p, 2, 0, 4, 5, -1);
	assert_int_equal(progress_iteration(p, 0), 9);
	view_close(&v);
	progress_close(p);
}

/* Even though it would be furthest behind, and its owner has too many. */
static void test_balance_leaves_empty_places_out(void **state)
{
	static const uint32_t owner[] = {0, 0, 1, 1, 2, 2, 2, 2};
	(void)state;

	NEED_SHM();
	struct progress *p = create_with(&(struct progress_options){.workers = 3,
		.subdomains = 8,
		.owner = owner,
		.pairs = 1,
		.dead_band = PROGRESS_DEAD_BAND_NONE,
		.balancing = PROGRESS_BALANCE_JOINT});
	struct view v = view_open();
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(progress_register(p, k), 0);
	for (uint32_t i = 1; i <= 30; i++)
		for (uint32_t s = 0; s < (i <= 10 ? 8 : i <= 20 ? 4 : 2); s++)
			progress_update(p, owner[s], s, i, 0);
	assert_int_equal(progress_spread(p), 20);
	for (uint32_t s = 4; s < 8; s++)
		assert_int_equal(progress_remove(p, s), 0);
	assert_int_equal(progress_spread(p), 10);
	begin_all(p, 3);
	atomic_store(&v.subdomain[6].owner, 0); /* and nobody is asked to pass it on */
	atomic_store(&v.header->due_ns, 0);
	assert_int_equal(progress_balance(p, 0), 0);
	assert_int_equal(v.header->points, 1);
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(v.worker[k].dirty, 0);
	/* Inserted again, it counts. */
	for (uint32_t s = 4; s < 7; s++)
		assert_int_equal(progress_insert(p, s, 2, 10 + s), 0);
	assert_int_equal(progress_spread(p), 16);
	atomic_store(&v.header->due_ns, 0);
	assert_int_equal(progress_balance(p, 0), 1);
	assert_int_equal(v.subdomain[6].owner, 0);
	view_close(&v);
	progress_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remove),
		cmocka_unit_test(test_insert),
		cmocka_unit_test(test_insert_for_the_idlest),
		cmocka_unit_test(test_remove_on_the_way),
		cmocka_unit_test(test_late_owner),
		cmocka_unit_test(test_balance_leaves_empty_places_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
