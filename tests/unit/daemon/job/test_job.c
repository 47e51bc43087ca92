/* SPDX-License-Identifier: MIT */
/* When the job is scanned for new threads. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/job/job.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define NOW_NS (1000000 * MS)

static uint64_t pause_ns(uint64_t scan_ns, enum job_scan_reason reason)
{
	struct job job = {.scanned_ns = NOW_NS, .scan_ns = scan_ns};

	return job_next_scan_ns(&job, reason) - NOW_NS;
}

static void test_first(void **state)
{
	const struct job job = {0};

	(void)state;
	assert_int_equal(job_next_scan_ns(&job, JOB_SCAN_EAGER), 0);
}

/* Births are looked for as soon as they are noticed, for 2 % of a CPU; for more while the job starts. */
static void test_births(void **state)
{
	(void)state;
	assert_int_equal(pause_ns(100 * US, JOB_SCAN_WANTED), 5 * MS);
	assert_int_equal(pause_ns(4 * MS, JOB_SCAN_WANTED), 200 * MS);
	assert_int_equal(pause_ns(4 * MS, JOB_SCAN_EAGER), 16 * MS);
}

/* A scan of 160 busy processes takes 4 ms and more, and costs them as much time. */
static void test_nothing_noticed(void **state)
{
	(void)state;
	assert_int_equal(pause_ns(0, JOB_SCAN_ANYWAY), 1000 * MS);
	assert_int_equal(pause_ns(2 * MS, JOB_SCAN_ANYWAY), 1000 * MS);
	assert_int_equal(pause_ns(4 * MS, JOB_SCAN_ANYWAY), 2000 * MS);
	assert_int_equal(pause_ns(50 * MS, JOB_SCAN_ANYWAY), 5000 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_births),
		cmocka_unit_test(test_nothing_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
