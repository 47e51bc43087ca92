/* SPDX-License-Identifier: MIT */
/*
 * The workloads' helpers: a time or a CPU list that is misread would spoil a benchmark
 * without a word, so the refusals count as much as the values.
 */
#undef NDEBUG
#include "daemon/base/cpuset.h"
#include "daemon/base/json_file.h"
#include "daemon/base/parse.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define UNTOUCHED UINT64_C(0x5555)

struct example {
	const char *text;
	int rc;
	uint64_t value; /* when rc is 0 */
};

static void check(
	const struct example *examples, size_t count, int (*parse)(const char *text, uint64_t *out))
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;
		int rc = parse(examples[i].text, &value);

		if (rc != examples[i].rc || value != (rc ? UNTOUCHED : examples[i].value))
			fail_msg("\"%s\" gave %d, %llu", examples[i].text, rc,
				(unsigned long long)value);
	}
}

static void times(void **state)
{
	static const struct example examples[] = {
		{"20ms", 0, 20000000},
		{"0.5s", 0, 500000000},
		{"500us", 0, 500000},
		{"7ns", 0, 7},
		{"2min", 0, UINT64_C(120000000000)},
		{"0", 0, 0},
		{"0s", 0, 0},
		{"007s", 0, UINT64_C(7000000000)},
		{"0.1us", 0, 100},
		{"0.1s", 0, 100000000},
		{"0.3s", 0, 300000000},
		{"1.6ns", 0, 2},
		{"0.0000000004s", 0, 0},
		{"0.333333333333333333333333s", 0, 333333333},
		{"9223372036s", 0, UINT64_C(9223372036000000000)},
		{"9223372037s", -ERANGE, 0},
		{"9223372036854775807ns", -ERANGE, 0}, /* one digit of reserve */
		{"99999999999999999999999999s", -ERANGE, 0},
		{"200000000min", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"20", -EINVAL, 0},
		{"ms", -EINVAL, 0},
		{"-5ms", -EINVAL, 0},
		{"+5ms", -EINVAL, 0},
		{" 5ms", -EINVAL, 0},
		{"5ms ", -EINVAL, 0},
		{"5 ms", -EINVAL, 0},
		{"5m", -EINVAL, 0},
		{"5MS", -EINVAL, 0},
		{".5s", -EINVAL, 0},
		{"5.s", -EINVAL, 0},
		{"1.2.3s", -EINVAL, 0},
		{"1e3s", -EINVAL, 0},
		{"0x10s", -EINVAL, 0},
		{"infs", -EINVAL, 0},
		{"nan", -EINVAL, 0},
		{"1,5s", -EINVAL, 0},
	};

	(void)state;
	check(examples, sizeof(examples) / sizeof(examples[0]), parse_time_ns);
}

static void sizes(void **state)
{
	static const struct example examples[] = {
		{"0", 0, 0},
		{"4096", 0, 4096},
		{"64K", 0, 65536},
		{"64KiB", 0, 65536},
		{"64KB", 0, 65536},
		{"1.5M", 0, 1572864},
		{"2G", 0, UINT64_C(2147483648)},
		{"8388607T", 0, UINT64_C(8388607) << 40},
		{"8388608T", -ERANGE, 0},
		{"-1", -EINVAL, 0},
		{"K", -EINVAL, 0},
		{"4X", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	check(examples, sizeof(examples) / sizeof(examples[0]), parse_size_bytes);
}

static void integers(void **state)
{
	static const struct {
		const char *text;
		int rc;
		int64_t value;
	} examples[] = {
		{"-20", 0, -20},
		{"19", 0, 19},
		{"0", 0, 0},
		{"-0", 0, 0},
		{"-21", -ERANGE, 0},
		{"20", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"-99999999999999999999", -ERANGE, 0},
		{"--1", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"1.0", -EINVAL, 0},
		{"1k", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		int64_t value = 77;
		int rc = parse_integer(examples[i].text, -20, 19, &value);

		if (rc != examples[i].rc || value != (rc ? 77 : examples[i].value))
			fail_msg("\"%s\" gave %d, %lld", examples[i].text, rc, (long long)value);
	}
}

static void fractions(void **state)
{
	double value = -1;

	(void)state;
	assert_int_equal(parse_fraction("12.5", 100, &value), 0);
	assert_true(value == 12.5);
	assert_int_equal(parse_fraction("100", 100, &value), 0);
	assert_true(value == 100);
	assert_int_equal(parse_fraction("100.01", 100, &value), -ERANGE);
	assert_int_equal(parse_fraction("-1", 100, &value), -EINVAL);
	assert_int_equal(parse_fraction("5%", 100, &value), -EINVAL);
	assert_int_equal(parse_fraction("nan", 100, &value), -EINVAL);
	assert_true(value == 100);
}

/* The set as text, "0 1 2", by way of cpuset_nth(). */
static void format(const struct cpuset *set, char *out, size_t bytes)
{
	*out = '\0';
	for (int i = 0; i < cpuset_count(set); i++)
		snprintf(out + strlen(out), bytes - strlen(out), "%s%d", i ? " " : "",
			cpuset_nth(set, i));
}

static void cpu_lists(void **state)
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
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct cpuset set = {.word[3] = 1};
		char cpus[128];
		int rc = cpuset_parse(examples[i].text, &set);

		format(&set, cpus, sizeof(cpus));
		if (rc != examples[i].rc || strcmp(cpus, rc ? "192" : examples[i].cpus) != 0)
			fail_msg("\"%s\" gave %d, %s", examples[i].text, rc, cpus);
	}
}

static void cpu_nth(void **state)
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
}

/* Pins this process; the last test that cares. */
static void cpu_pin(void **state)
{
	struct cpuset before, after;

	(void)state;
	assert_int_equal(cpuset_of_caller(&before), 0);
	assert_true(cpuset_count(&before) >= 1);
	assert_int_equal(cpuset_pin_caller(-1), -EINVAL);
	assert_int_equal(cpuset_pin_caller(CPUSET_CPUS_MAX), -EINVAL);
	assert_int_equal(cpuset_pin_caller(CPUSET_CPUS_MAX - 1), -EINVAL);
	assert_int_equal(cpuset_pin_caller(cpuset_nth(&before, 0)), 0);
	assert_int_equal(cpuset_of_caller(&after), 0);
	assert_int_equal(cpuset_count(&after), 1);
	assert_int_equal(cpuset_nth(&after, 0), cpuset_nth(&before, 0));
}

static void reports(void **state)
{
	char path[] = "/tmp/test_apps_common.XXXXXX";
	char text[64] = "";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(report_write(path, json_pack("{s:i}", "a", 1)), 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "{\"a\": 1}\n");
	close(fd);
	unlink(path);
	assert_int_equal(report_write(path, NULL), -ENOMEM);
	assert_int_equal(report_write("/nonexistent/x", json_object()), -ENOENT);
	assert_int_equal(report_write("/dev/full", json_object()), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),
		cmocka_unit_test(sizes),
		cmocka_unit_test(integers),
		cmocka_unit_test(fractions),
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(cpu_nth),
		cmocka_unit_test(cpu_pin),
		cmocka_unit_test(reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
