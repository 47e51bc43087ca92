/* SPDX-License-Identifier: MIT */
/*
 * Times, sizes and numbers on a command line. A misread value would silently balance a thousand
 * times too often, or spoil a benchmark. So refusals matter as much as values.
 */
#undef NDEBUG
#include "daemon/base/parse.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
		{".5s", 0, 500000000},
		{".s", -EINVAL, 0},
		{".", -EINVAL, 0},
		{"..5s", -EINVAL, 0},
		{"5.s", -EINVAL, 0},
		{"1.2.3s", -EINVAL, 0},
		{"1e3s", -EINVAL, 0},
		{"0x10s", -EINVAL, 0},
		{"infs", -EINVAL, 0},
		{"nan", -EINVAL, 0},
		{"1,5s", -EINVAL, 0},
		{"1s\n", -EINVAL, 0},
		{"1ss", -EINVAL, 0},
		{"%ns", -EINVAL, 0},
		{"1\xc2\xb5s", -EINVAL, 0},
		{"\xff\xfe", -EINVAL, 0},
	};

	(void)state;
	check(examples, sizeof(examples) / sizeof(examples[0]), parse_time_ns);
}

/* More digits than any number, or a buffer, has room for. */
static void long_times(void **state)
{
	enum { DIGITS = 100000 };
	char *text = malloc(DIGITS + 3);
	uint64_t ns = UNTOUCHED;

	(void)state;
	assert_non_null(text);
	memset(text, '9', DIGITS);
	strcpy(text + DIGITS, "s");
	assert_int_equal(parse_time_ns(text, &ns), -ERANGE);
	text[DIGITS] = '\0';
	assert_int_equal(parse_time_ns(text, &ns), -ERANGE);
	assert_int_equal(ns, UNTOUCHED);
	memset(text, '0', DIGITS);
	strcpy(text + DIGITS - 1, "7ms");
	assert_int_equal(parse_time_ns(text, &ns), 0);
	assert_int_equal(ns, 7000000);
	text[1] = '.';
	assert_int_equal(parse_time_ns(text, &ns), 0);
	assert_int_equal(ns, 0);
	free(text);
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
		{"1.", -EINVAL, 0},
		{".5", -EINVAL, 0},
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

static void named_integers(void **state)
{
	int64_t value = 77;

	(void)state;
	assert_int_equal(parse_named_integer("ssync:30", "ssync", 0, 100, &value), 0);
	assert_int_equal(value, 30);
	assert_int_equal(parse_named_integer("ssync:101", "ssync", 0, 100, &value), -ERANGE);
	assert_int_equal(parse_named_integer("ssync:", "ssync", 0, 100, &value), -EINVAL);
	assert_int_equal(parse_named_integer("ssync", "ssync", 0, 100, &value), -EINVAL);
	assert_int_equal(parse_named_integer("ssyncs:1", "ssync", 0, 100, &value), -EINVAL);
	assert_int_equal(parse_named_integer("sync:1", "ssync", 0, 100, &value), -EINVAL);
	assert_int_equal(value, 30);
}

static void positive_numbers(void **state)
{
	static const char *const refused[] = {
		"", "-1", "+1", " 1", "1 ", "0x1p-4", "inf", "nan", "1e", "1e-4s", ".", "1,5"};
	static const char *const outside[] = {"0", "0e5", "1.5", "1e300", "1e999"};
	double value = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (parse_positive(refused[i], 1, &value) != -EINVAL || value != 77)
			fail_msg("\"%s\" is taken", refused[i]);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		if (parse_positive(outside[i], 1, &value) != -ERANGE || value != 77)
			fail_msg("\"%s\" is taken", outside[i]);
	assert_int_equal(parse_positive("1e-4", 1, &value), 0);
	assert_true(value == 1e-4);
	assert_int_equal(parse_positive("1", 1, &value), 0);
	assert_true(value == 1);
	assert_int_equal(parse_positive("2.5E+1", 100, &value), 0);
	assert_true(value == 25);
}

static void speeds(void **state)
{
	static const char *const refused[] = {"", ",", "1,", ",1", "1,,1", "x1", "2x", "2x2x1",
		"1.5x1", "1 ", "1,-1", "1;1", "2x 1", "00000000000000000000000000000000001"};
	static const char *const outside[] = {
		"0", "0.009", "101", "1,0", "0x1", "-1x1", "25x1", "8x1,17x1", "99999999999x1"};
	double speed[24];
	size_t count = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (parse_speeds(refused[i], 24, speed, &count) != -EINVAL || count != 77)
			fail_msg("\"%s\" is taken", refused[i]);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		if (parse_speeds(outside[i], 24, speed, &count) != -ERANGE || count != 77)
			fail_msg("\"%s\" is taken", outside[i]);
	assert_int_equal(parse_speeds("8x1,15x0.55,0.5", 24, speed, &count), 0);
	assert_int_equal(count, 24);
	assert_true(speed[0] == 1 && speed[7] == 1 && speed[8] == 0.55 && speed[22] == 0.55);
	assert_true(speed[23] == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speeds),
		cmocka_unit_test(times),
		cmocka_unit_test(long_times),
		cmocka_unit_test(sizes),
		cmocka_unit_test(integers),
		cmocka_unit_test(fractions),
		cmocka_unit_test(named_integers),
		cmocka_unit_test(positive_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
