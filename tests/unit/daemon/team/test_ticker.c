/* SPDX-License-Identifier: MIT */
/* Tickers: from their start until they end. */
#undef NDEBUG
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "daemon/base/cpuset.h"
#include "daemon/team/ticker.h"

#define MS UINT64_C(1000000)

static struct ticker ticker;

static int begin(void **unused)
{
	struct cpuset mask;
	(void)unused;

	if (cpuset_of_thread(0, &mask) < 0)
		return -1;
	ticker_init(&ticker, cpuset_nth(&mask, 0));
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	ticker_deinit(&ticker);
	return 0;
}

/* Whether it has run yet or not, it has its CPU. Ends by a timeout if it never runs. */
static void test_ticks(void **unused)
{
	struct cpuset own, mask;
	(void)unused;

	assert_int_equal(cpuset_of_thread(0, &own), 0);
	ticker_run_at(&ticker, 0, 0);
	assert_false(ticker.started); /* it is off */
	assert_false(ticker_ran(&ticker));
	ticker_run(&ticker, MS);
	assert_true(ticker.started);
	assert_int_equal(
		pthread_getaffinity_np(ticker.thread, sizeof mask, (cpu_set_t *)mask.word), 0);
	assert_int_equal(cpuset_count(&mask), 1);
	assert_true(cpuset_has(&mask, cpuset_nth(&own, 0)));
	while (!ticker_ran(&ticker))
		sched_yield();
	ticker_run_at(&ticker, 0, 0);
}

/* Perhaps before it has run. */
static void test_ends_at_once(void **unused)
{
	(void)unused;
	ticker_run(&ticker, MS);
	ticker_deinit(&ticker);
	assert_false(ticker.started);
	ticker_deinit(&ticker);
}

/* Where no thread can be started, no CPU seems to be taken. */
static void test_none_can_be_started(void **unused)
{
	struct rlimit before, none;
	(void)unused;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0; /* not even its timer */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ticker_run(&ticker, MS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_false(ticker.started);
	assert_true(ticker_ran(&ticker));
	assert_true(ticker_ran(&ticker));
	ticker_run(&ticker, 2 * MS); /* it is not tried again */
	assert_false(ticker.started);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ticks, begin, end),
		cmocka_unit_test_setup_teardown(test_ends_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_none_can_be_started, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
