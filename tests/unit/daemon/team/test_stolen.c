/* SPDX-License-Identifier: MIT */
/* What the hypervisor takes of CPUs, from lines of /proc/stat to shares that decisions go by. */
#undef NDEBUG
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/team/stolen.h"

static void test_parse(void **unused)
{
	static const char *const damaged[] = {"", "cpu  1 2 3 4 5 6 7 8 9 10", "cpu", "cpu1",
		"cpu1 ", "cpu1 1 2 3 4 5 6 7", "cpu1 1 2 3 x 5 6 7 8", "cpu-1 1 2 3 4 5 6 7 8",
		"cpu9999 1 2 3 4 5 6 7 8", "cpu99999 1 2 3 4 5 6 7 8", "intr 1 2 3 4 5 6 7 8 9",
		"cpu1x 1 2 3 4 5 6 7 8", "cpu1 1 2 3 4 5 6 7 9999999999999999999"};
	struct proc_cpu_times times = {.os_cpu = 77};
	(void)unused;

	assert_int_equal(proc_parse_cpu_times("cpu12 100 2 30 4000 5 0 7 800 90 1\n", &times), 0);
	assert_int_equal(times.os_cpu, 12);
	assert_int_equal(times.all, 4944);
	assert_int_equal(times.stolen, 800);
	for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
		times.os_cpu = 77;
		if (proc_parse_cpu_times(damaged[i], &times) != -EBADMSG || times.os_cpu != 77)
			fail_msg("\"%s\" is taken", damaged[i]);
	}
}

static struct stolen stolen; /* large */

/* So many looks, half a second apart, in each of which that share of CPU 3 is stolen, in percent. */
static void look(struct proc_cpu_times *times, int looks, uint32_t percent)
{
	for (int k = 0; k < looks; k++) {
		times->all += 50;
		times->stolen += percent / 2;
		stolen_take(&stolen, times);
	}
}

static void test_share(void **unused)
{
	struct proc_cpu_times times = {.os_cpu = 3, .all = 100000};
	(void)unused;

	stolen = (struct stolen){0};
	/* What was before does not count. */
	stolen_take(&stolen, &times);
	look(&times, 10, 0);
	assert_int_equal(stolen_of(&stolen, 3), 0);
	assert_false(stolen.any);
	look(&times, 40, 40);
	assert_true(stolen.any);
	assert_in_range(stolen_of(&stolen, 3), 380, 400);
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
	struct proc_cpu_times times = {.os_cpu = 0, .all = 1000, .stolen = 100};
	(void)unused;

	stolen = (struct stolen){0};
	stolen_take(&stolen, &times);
	look(&times, 20, 50);
	uint32_t before = stolen_of(&stolen, 0);
	assert_in_range(before, 450, 500);
	stolen_take(&stolen, &times);
	times = (struct proc_cpu_times){.os_cpu = 0, .all = 10};
	stolen_take(&stolen, &times);
	times = (struct proc_cpu_times){.os_cpu = 0, .all = 20, .stolen = 5000};
	stolen_take(&stolen, &times);
	assert_int_equal(stolen_of(&stolen, 0), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_odd_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
