/* SPDX-License-Identifier: MIT */
/* A balancing point where there are many NUMA nodes: more than are told apart. */
#undef NDEBUG
#include "libprogress/point.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libprogress/progress.h"

#define WORKERS (POINT_DOMAINS_MAX + 6)
#define EACH 3 /* subdomains of a worker */

/* Each worker on a node of its own, and all subdomains equally far. */
static void make(struct point *point, uint32_t workers)
{
	const struct segment_header header = {.workers = workers,
		.subdomains = EACH * workers,
		.balancing = PROGRESS_BALANCE_SPLIT,
		.pairs = 6,
		.low = 1,
		.high = EACH + 1};

	assert_int_equal(point_init(point, &header), 0);
	for (uint32_t w = 0; w < workers; w++)
		point->worker[w].domain = 1000 + w; /* the kernel's number */
	for (uint32_t s = 0; s < EACH * workers; s++)
		point_fill(point, s, 100, s / EACH, s / EACH);
}

/* Set the updates of a worker's subdomains. */
static void put(struct point *point, uint32_t worker, uint64_t updates)
{
	for (uint32_t s = EACH * worker; s < EACH * (worker + 1); s++)
		point->subdomain[s].updates = updates;
}

/* Workers that are alone on their node have nobody to exchange subdomains with. */
static void test_alone(void **state)
{
	struct point point;
	(void)state;

	make(&point, POINT_DOMAINS_MAX);
	put(&point, 0, 200);
	put(&point, POINT_DOMAINS_MAX - 1, 1);
	assert_int_equal(point_run(&point), 0);
	point_deinit(&point);
}

/* The nodes from the last one on that can be told apart are one. */
static void test_beyond(void **state)
{
	struct point point;
	(void)state;

	make(&point, WORKERS);
	put(&point, 3, 300);
	put(&point, WORKERS - 1, 200);
	put(&point, POINT_DOMAINS_MAX - 1, 1);
	size_t moves = point_run(&point);
	assert_in_range(moves, 1, policy_plb_moves_max(&point.params, POINT_DOMAINS_MAX));
	for (size_t i = 0; i < moves; i++) {
		assert_in_range(point.move[i].from, POINT_DOMAINS_MAX - 1, WORKERS - 1);
		assert_in_range(point.move[i].to, POINT_DOMAINS_MAX - 1, WORKERS - 1);
	}
	assert_int_equal(point.move[0].from, POINT_DOMAINS_MAX - 1);
	assert_int_equal(point.move[0].to, WORKERS - 1);
	point_deinit(&point);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_beyond),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
