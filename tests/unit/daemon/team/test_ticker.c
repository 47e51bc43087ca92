/* SPDX-License-Identifier: MIT */
/* Tickers: from their start until they end. */
#undef NDEBUG
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/base/cpuset.h"
#include "daemon/team/ticker.h"

#define MS UINT64_C(1000000)

static struct ticker ticker;

static int begin(void **unused)
{
	struct cpuset mask;
	(void)unused;

	return cpuset_of_thread(0, &mask) < 0 ? -1 : ticker_init(&ticker, cpuset_nth(&mask, 0));
}

static int end(void **unused)
{
	(void)unused;
	ticker_deinit(&ticker);
	return 0;
}

/* Nobody has waited for it to run. Ends by a timeout if it never does. */
static void place(void)
{
	assert_true(ticker_ran(&ticker));
	while (!ticker.placed) {
		sched_yield();
		assert_true(ticker_ran(&ticker)); /* as long as nothing is known */
	}
}

static void test_ticks(void **unused)
{
	struct cpuset mask;
	(void)unused;

	place();
	assert_int_equal(cpuset_of_thread(ticker.tid, &mask), 0);
	assert_int_equal(cpuset_count(&mask), 1);
	assert_true(cpuset_has(&mask, ticker.os_cpu));
	assert_false(ticker_ran(&ticker)); /* it is off */
	ticker_run(&ticker, MS);
	while (!ticker_ran(&ticker))
		sched_yield();
	ticker_run_at(&ticker, 0, 0);
}

/* Perhaps before it has run. */
static void test_ends_at_once(void **unused)
{
	(void)unused;
	ticker_deinit(&ticker);
	assert_int_equal(ticker_init(&ticker, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ticks, begin, end),
		cmocka_unit_test_setup_teardown(test_ends_at_once, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
