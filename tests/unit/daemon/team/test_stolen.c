/* SPDX-License-Identifier: MIT */
/* What the hypervisor takes of CPUs: from totals to the shares that decisions go by. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/team/stolen.h"

static struct stolen stolen; /* large */

/* So many looks, half a second apart, in each of which that share of CPU 3 is stolen, in percent. */
static void look(struct proc_cpu_times *times, int looks, uint32_t percent)
{
	for (int k = 0; k < looks; k++) {
		times->total_ticks += 50;
		times->stolen_ticks += percent / 2;
		stolen_take(&stolen, 3, times);
	}
}

static void test_share(void **unused)
{
	struct proc_cpu_times times = {.total_ticks = 100000};
	(void)unused;

	stolen = (struct stolen){0};
	/* What was before does not count. */
	stolen_take(&stolen, 3, &times);
	look(&times, 10, 0);
	assert_int_equal(stolen_of(&stolen, 3), 0);
	assert_false(stolen.any);
	look(&times, 40, 40);
	assert_true(stolen.any);
	assert_in_range(stolen_of(&stolen, 3), 380, 400);
	/* Nor do small changes show: policies would plan anew each time. */
	int changes = 0;
	for (int k = 0; k < 20; k++) {
		uint32_t before = stolen_of(&stolen, 3);
		look(&times, 1, k % 2 == 0 ? 38 : 42);
		changes += stolen_of(&stolen, 3) != before;
	}
	assert_in_range(changes, 0, 1);
	look(&times, 20, 40);
	/* One look is little evidence. */
	look(&times, 1, 0);
	assert_in_range(stolen_of(&stolen, 3), 280, 320);
	look(&times, 60, 0);
	assert_int_equal(stolen_of(&stolen, 3), 0);
	/* Less than a step never shows. */
	for (int k = 0; k < 100; k++) {
		look(&times, 1, k % 25 == 0 ? 2 : 0);
		assert_int_equal(stolen_of(&stolen, 3), 0);
	}
	assert_int_equal(stolen_of(&stolen, 2), 0);
}

/* Counters that go back, stand still, or contradict each other change nothing. */
static void test_odd_counters(void **unused)
{
	struct proc_cpu_times times = {.total_ticks = 1000, .stolen_ticks = 100};
	(void)unused;

	stolen = (struct stolen){0};
	stolen_take(&stolen, 3, &times);
	look(&times, 20, 50);
	uint32_t before = stolen_of(&stolen, 3);
	assert_in_range(before, 450, 500);
	stolen_take(&stolen, 3, &times);
	times = (struct proc_cpu_times){.total_ticks = 10};
	stolen_take(&stolen, 3, &times);
	times = (struct proc_cpu_times){.total_ticks = 20, .stolen_ticks = 5000};
	stolen_take(&stolen, 3, &times);
	assert_int_equal(stolen_of(&stolen, 3), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_odd_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
