/* SPDX-License-Identifier: MIT */
/* Sets of CPUs. A misread list would balance, or measure, on the wrong ones. */
#undef NDEBUG
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The set as text, "0 1 2", using cpuset_nth(). */
static void spell(const struct cpuset *set, char *out, size_t bytes)
{
	*out = '\0';
	for (int i = 0; i < cpuset_count(set); i++)
		snprintf(out + strlen(out), bytes - strlen(out), "%s%d", i ? " " : "",
			cpuset_nth(set, i));
}

static void lists(void **state)
{
	static const struct {
		const char *text;
		int rc;
		const char *cpus;
	} examples[] = {
		{"0", 0, "0"},
		{"0-5,8", 0, "0 1 2 3 4 5 8"},
		{"8,0-2", 0, "0 1 2 8"},
		{"1,1,0-1", 0, "0 1"},
		{"63-65", 0, "63 64 65"},
		{"0-10:4", 0, "0 4 8"},
		{"8191", 0, "8191"},
		{"8192", -ERANGE, NULL},
		{"0-8192", -ERANGE, NULL},
		{"4294967296", -ERANGE, NULL},
		{"99999999999999999999", -ERANGE, NULL},
		{"", -EINVAL, NULL},
		{",", -EINVAL, NULL},
		{"1,", -EINVAL, NULL},
		{",1", -EINVAL, NULL},
		{"1,,2", -EINVAL, NULL},
		{"3-1", -EINVAL, NULL},
		{"-1", -EINVAL, NULL},
		{"1-", -EINVAL, NULL},
		{"1-2-3", -EINVAL, NULL},
		{"0-4:0", -EINVAL, NULL},
		{"0:2", -EINVAL, NULL},
		{"a", -EINVAL, NULL},
		{"1 2", -EINVAL, NULL},
		{"0x1", -EINVAL, NULL},
		{" 0", -EINVAL, NULL},
		{"0 ", -EINVAL, NULL},
		{"0\n", -EINVAL, NULL},
		{"+1", -EINVAL, NULL},
		{"0-3/2", -EINVAL, NULL},
		{"0-5,x", -EINVAL, NULL},
		{"\xff", -EINVAL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct cpuset set = {.word[3] = 1};
		char cpus[128];
		int rc = cpuset_parse(examples[i].text, &set);

		spell(&set, cpus, sizeof(cpus));
		if (rc != examples[i].rc || strcmp(cpus, rc ? "192" : examples[i].cpus) != 0)
			fail_msg("\"%s\" gave %d, %s", examples[i].text, rc, cpus);
	}
}

static void long_list(void **state)
{
	enum { ITEMS = 100000 };
	char *text = malloc(2 * ITEMS + 1);
	struct cpuset set;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < ITEMS; i++)
		memcpy(text + 2 * i, "5,", 2);
	text[2 * ITEMS] = '\0';
	assert_int_equal(cpuset_parse(text, &set), -EINVAL);
	text[2 * ITEMS - 1] = '\0';
	assert_int_equal(cpuset_parse(text, &set), 0);
	assert_int_equal(cpuset_count(&set), 1);
	free(text);
	assert_int_equal(cpuset_parse("0-8191", &set), 0);
	assert_int_equal(cpuset_count(&set), CPUSET_CPUS_MAX);
}

static void nth(void **state)
{
	struct cpuset set = {0};

	(void)state;
	assert_int_equal(cpuset_count(&set), 0);
	assert_int_equal(cpuset_nth(&set, 0), -1);
	assert_int_equal(cpuset_parse("2,70", &set), 0);
	assert_int_equal(cpuset_nth(&set, 0), 2);
	assert_int_equal(cpuset_nth(&set, 1), 70);
	assert_int_equal(cpuset_nth(&set, 2), 2);
	assert_int_equal(cpuset_nth(&set, 5), 70);
	assert_int_equal(cpuset_nth(&set, -1), -1);
	assert_int_equal(cpuset_rank(&set, 0), 0);
	assert_int_equal(cpuset_rank(&set, 2), 0);
	assert_int_equal(cpuset_rank(&set, 3), 1);
	assert_int_equal(cpuset_rank(&set, 70), 1);
	assert_int_equal(cpuset_rank(&set, CPUSET_CPUS_MAX), 2);
	assert_int_equal(cpuset_rank(&set, -1), 0);
}

/* What is printed reads back as the same set, unless it was cut, which shows. */
static void printed(void **state)
{
	static const char *const lists[] = {"0", "0-5,8", "63-65", "1,3,5,7", "0-8191", "8191"};
	struct cpuset set, again;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		assert_int_equal(cpuset_parse(lists[i], &set), 0);
		cpuset_format(&set, text, sizeof(text));
		assert_string_equal(text, lists[i]);
		assert_int_equal(cpuset_parse(text, &again), 0);
		assert_memory_equal(&set, &again, sizeof(set));
	}
	set = (struct cpuset){0};
	cpuset_format(&set, text, sizeof(text));
	assert_string_equal(text, "");
	assert_int_equal(cpuset_parse("0-8190:2", &set), 0);
	for (size_t bytes = 8; bytes <= sizeof(text); bytes++) {
		cpuset_format(&set, text, bytes);
		assert_true(strlen(text) < bytes && strlen(text) + 6 > bytes - 2);
		assert_string_equal(text + strlen(text) - 4, ",...");
	}
	assert_int_equal(cpuset_parse("8000-8100,8110", &set), 0);
	cpuset_format(&set, text, 8);
	assert_string_equal(text, "...");
}

static void of_thread(void **state)
{
	struct cpuset mine;

	(void)state;
	assert_int_equal(cpuset_of_thread(0, &mine), 0);
	assert_true(cpuset_count(&mine) >= 1);
	assert_int_equal(cpuset_of_thread(INT32_MAX, &mine), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(long_list),
		cmocka_unit_test(nth),
		cmocka_unit_test(printed),
		cmocka_unit_test(of_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
