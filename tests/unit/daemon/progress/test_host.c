// SPDX-License-Identifier: MIT
/* How the host of segments limits its use of CPU time, and what it publishes. */
#undef NDEBUG
#include "daemon/progress/host.h"

#include "libprogress/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* The share of a CPU that points use when each costs that much, with at most one per period. */
static double share(uint64_t cost_ns, uint64_t period_ns, uint64_t *points)
{
	uint64_t mean_ns = 0, now = 1000 * MS, used = 0, begin = now;

	*points = 0;
	while (now < begin + 10000 * MS) {
		used += cost_ns;
		++*points;
		now = progress_host_pace(&mean_ns, cost_ns, now, now + period_ns);
	}
	return (double)used / (double)(now - begin);
}

static void test_cheap(void **state)
{
	uint64_t points;
	(void)state;

	assert_true(share(5 * US, MS, &points) < 0.0051);
	assert_int_equal(points, 10000); /* nothing is stretched */
}

static void test_dear(void **state)
{
	uint64_t points;
	(void)state;

	assert_true(share(50 * US, MS, &points) < 0.0101);
	assert_in_range(points, 1990, 2010);
	assert_true(share(20 * MS, MS, &points) < 0.0101);
	assert_in_range(points, 4, 6);
}

/* The cost of one expensive point among cheap ones is spread over several, and paid in full. */
static void test_smoothed(void **state)
{
	uint64_t mean_ns = 0, now = 0, used = 0, longest = 0;
	(void)state;

	for (int i = 0; i < 100000; i++) {
		uint64_t cost_ns = i % 100 == 50 ? 100 * US : 8 * US;
		uint64_t next = progress_host_pace(&mean_ns, cost_ns, now, now + MS);
		used += cost_ns;
		longest = next - now > longest ? next - now : longest;
		now = next;
	}
	assert_true((double)used / (double)now < 0.0101);
	assert_true(longest < 3 * MS);
}

/* Nothing is due ever again: no overflow. */
static void test_never(void **state)
{
	uint64_t mean_ns = 0;
	(void)state;

	assert_true(progress_host_pace(&mean_ns, 10 * US, MS, UINT64_MAX) == UINT64_MAX);
}

static void assert_held(
	struct progress_host_held found, uint64_t held, uint64_t least, uint64_t most)
{
	assert_int_equal(found.held, held);
	assert_int_equal(found.least, least);
	assert_int_equal(found.most, most);
}

static void test_held(void **state)
{
	struct progress_subdomain_view view[] = {{.updates = 7, .holder = 1},
		{.updates = 0, .holder = PROGRESS_NOBODY}, {.updates = 12, .holder = 0},
		{.updates = 99, .holder = PROGRESS_NOBODY}};
	(void)state;

	assert_held(progress_host_held(view, 4), 2, 7, 12);
	assert_held(progress_host_held(view, 2), 1, 7, 7);
	assert_held(progress_host_held(view + 1, 1), 0, 0, 0);
	assert_held(progress_host_held(view, 0), 0, 0, 0);
}

/* With a trace, a look is due when it wants a sample. However many subdomains there are: a look at
 * 65,536 of them that costs 1.35 ms must leave most of 1 % of a CPU for balancing. */
static void test_looks(void **state)
{
	(void)state;

	assert_int_equal(progress_host_next_look(5, 8, UINT64_MAX), 100 * MS + 5);
	assert_int_equal(progress_host_next_look(5, 8, 50 * MS), 50 * MS);
	assert_int_equal(progress_host_next_look(5, 8, 200 * MS), 100 * MS + 5);
	uint64_t many = progress_host_next_look(0, 65536, UINT64_MAX);
	assert_in_range(many, 500 * MS, 1000 * MS);
	assert_int_equal(progress_host_next_look(0, 65536, 65536 * 100 * US), many);
	assert_true(progress_host_next_look(0, UINT32_MAX, UINT64_MAX) > many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cheap),
		cmocka_unit_test(test_dear),
		cmocka_unit_test(test_smoothed),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
