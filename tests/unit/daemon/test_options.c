// SPDX-License-Identifier: MIT
/*
 * Times and lists of CPUs on the command line: what is misread here would balance on the
 * wrong CPUs, or a thousand times too often, without a word.
 */
#undef NDEBUG
#include "daemon/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UNTOUCHED UINT64_C(0x5555)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_times(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ns; /* when r is 0 */
	} examples[] = {
		{"100ms", 0, 100000000},
		{"0.01s", 0, 10000000},
		{"500us", 0, 500000},
		{"20ns", 0, 20},
		{"0s", 0, 0},
		{"007ms", 0, 7000000},
		{"0.1s", 0, 100000000},
		{"0.3us", 0, 300},
		{"1.6ns", 0, 2},
		{".5s", 0, 500000000},
		{"5.s", 0, UINT64_C(5000000000)},
		{"0.0000000001s", 0, 0},
		{"3600s", 0, UINT64_C(3600000000000)},
		{"3600000000000ns", 0, UINT64_C(3600000000000)},
		{"3600.1s", -ERANGE, 0},
		{"3600000000001ns", -ERANGE, 0},
		{"18446744073709551616ns", -ERANGE, 0},
		{"18446744073709551617s", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"5", -EINVAL, 0},
		{"0", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{".", -EINVAL, 0},
		{".s", -EINVAL, 0},
		{"..5s", -EINVAL, 0},
		{"1.2.3s", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"+1s", -EINVAL, 0},
		{" 1s", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1s ", -EINVAL, 0},
		{"1s\n", -EINVAL, 0},
		{"1ss", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"1Ms", -EINVAL, 0},
		{"1m", -EINVAL, 0},
		{"1min", -EINVAL, 0},
		{"1,5s", -EINVAL, 0},
		{"0x10s", -EINVAL, 0},
		{"0x1p4s", -EINVAL, 0},
		{"1e3s", -EINVAL, 0},
		{"1e-3s", -EINVAL, 0},
		{"1e999s", -EINVAL, 0},
		{"infs", -EINVAL, 0},
		{"nans", -EINVAL, 0},
		{"%ns", -EINVAL, 0},
		{"1\xc2\xb5s", -EINVAL, 0},
		{"\xff\xfe", -EINVAL, 0},
	};
	(void)state;

	for (size_t i = 0; i < COUNT(examples); i++) {
		uint64_t ns = UNTOUCHED;
		int r = options_parse_time(examples[i].text, &ns);
		if (r != examples[i].r || ns != (r < 0 ? UNTOUCHED : examples[i].ns))
			fail_msg("\"%s\" gave %d, %llu", examples[i].text, r,
				(unsigned long long)ns);
	}
}

/* More digits than a double, or a buffer, has room for. */
static void test_long_times(void **state)
{
	enum { DIGITS = 100000 };
	char *text = malloc(DIGITS + 3);
	uint64_t ns = UNTOUCHED;
	(void)state;

	assert_non_null(text);
	memset(text, '9', DIGITS);
	strcpy(text + DIGITS, "s");
	assert_int_equal(options_parse_time(text, &ns), -ERANGE);
	text[DIGITS] = '\0';
	assert_int_equal(options_parse_time(text, &ns), -EINVAL);
	assert_int_equal(ns, UNTOUCHED);
	memset(text, '0', DIGITS);
	strcpy(text + DIGITS - 1, "7ms");
	assert_int_equal(options_parse_time(text, &ns), 0);
	assert_int_equal(ns, 7000000);
	text[1] = '.';
	assert_int_equal(options_parse_time(text, &ns), 0);
	assert_int_equal(ns, 0);
	free(text);
}

static void assert_cpus(const char *text, const int *cpus, size_t count)
{
	struct act_mask mask, expected = {{0}};

	memset(&mask, 0xa5, sizeof mask);
	for (size_t i = 0; i < count; i++)
		act_mask_add(&expected, cpus[i]);
	int r = options_parse_cpus(text, &mask);
	if (r != 0 || memcmp(&mask, &expected, sizeof mask) != 0)
		fail_msg("\"%s\" gave %d and %d CPUs", text, r, act_mask_count(&mask));
}

static void test_cpus(void **state)
{
	(void)state;
	assert_cpus("0", (int[]){0}, 1);
	assert_cpus("0-5,8", (int[]){0, 1, 2, 3, 4, 5, 8}, 7);
	assert_cpus("8,0-5", (int[]){0, 1, 2, 3, 4, 5, 8}, 7);
	assert_cpus("3-3", (int[]){3}, 1);
	assert_cpus("1,1,0-2,1-3", (int[]){0, 1, 2, 3}, 4);
	assert_cpus("63,64,127-128", (int[]){63, 64, 127, 128}, 4);
	assert_cpus("007", (int[]){7}, 1);
	assert_cpus("8191", (int[]){8191}, 1);

	struct act_mask mask;
	assert_int_equal(options_parse_cpus("0-8191", &mask), 0);
	assert_int_equal(act_mask_count(&mask), ACT_CPUS_MAX);
}

static void test_bad_cpus(void **state)
{
	static const char *const bad[] = {"", ",", "0,", ",0", "0,,1", "-", "-1", "1-", "0--1",
		"0-1-2", "3-1", "0-3:2", "0-3/2", " 0", "0 ", "0, 1", "0 1", "0\n", "+1", "1-+2",
		"1- 2", "0x1", "1e1", "1.5", "all", "0-5,x", "0;1", "\xff", "0,\xc2\xb2", "%d"};
	static const char *const large[] = {"8192", "0-8192", "0,8192", "2147483648", "4294967296",
		"9223372036854775808", "18446744073709551616",
		"99999999999999999999999999999999999999", "0-99999999999999999999"};
	struct act_mask mask;
	(void)state;

	for (size_t i = 0; i < COUNT(bad); i++)
		if (options_parse_cpus(bad[i], &mask) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
	for (size_t i = 0; i < COUNT(large); i++)
		if (options_parse_cpus(large[i], &mask) != -ERANGE)
			fail_msg("\"%s\" was not out of range", large[i]);
}

static void test_long_cpus(void **state)
{
	enum { ITEMS = 100000 };
	char *text = malloc(2 * ITEMS + 1);
	struct act_mask mask;
	(void)state;

	assert_non_null(text);
	for (size_t i = 0; i < ITEMS; i++)
		memcpy(text + 2 * i, "5,", 2);
	text[2 * ITEMS] = '\0';
	assert_int_equal(options_parse_cpus(text, &mask), -EINVAL);
	text[2 * ITEMS - 1] = '\0';
	assert_int_equal(options_parse_cpus(text, &mask), 0);
	assert_int_equal(act_mask_count(&mask), 1);
	assert_int_equal(act_mask_first(&mask), 5);
	free(text);
}

static void test_policy_names(void **state)
{
	(void)state;
	assert_string_equal(options_policy_name(POLICY_NAME_JUGGLE), "juggle");
	assert_string_equal(options_policy_name(POLICY_NAME_STATIC), "static");
	assert_string_equal(options_policy_name(POLICY_NAME_OBSERVE), "observe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_long_times),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_bad_cpus),
		cmocka_unit_test(test_long_cpus),
		cmocka_unit_test(test_policy_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
