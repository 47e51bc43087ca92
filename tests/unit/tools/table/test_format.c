/* SPDX-License-Identifier: MIT */
/* Numbers that fit their columns, whatever they are. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/table/format.h"

struct example {
	double number;
	const char *text;
};

static void check(struct format (*format)(double), const struct example *example, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_string_equal(format(example[i].number).text, example[i].text);
}

static void test_numbers(void **state)
{
	static const struct example examples[] = {{0, "0"}, {-0.0, "0"}, {1e-9, "0.000"},
		{0.0123, "0.012"}, {0.0994, "0.099"}, {0.0996, "0.10"}, {0.5, "0.50"}, {1, "1.00"},
		{9.994, "9.99"}, {9.996, "10.0"}, {99.94, "99.9"}, {99.96, "100"}, {999.6, "1000"},
		{9999.4, "9999"}, {9999.6, "10.0k"}, {99960, "100k"}, {999400, "999k"},
		{999600, "1.00M"}, {1.2e6, "1.20M"}, {1.234e9, "1.23G"}, {5e12, "5.00T"},
		{6e15, "6.00P"}, {1.8e19, "18.0E"}, {DBL_MAX, ">999E"}, {INFINITY, ">999E"},
		{NAN, "-"}, {-1.5, "-1.50"}, {-1234, "-1234"}, {-1.2e6, "-1.20M"}};

	(void)state;
	check(format_number, examples, sizeof examples / sizeof *examples);
}

static void test_signs(void **state)
{
	static const struct example examples[] = {{0, "0"}, {1.5, "+1.50"}, {-1.5, "-1.50"},
		{-4e-4, "0.000"}, {12345, "+12.3k"}, {NAN, "-"}};

	(void)state;
	check(format_signed, examples, sizeof examples / sizeof *examples);
}

static void test_percent(void **state)
{
	static const struct example examples[] = {
		{0, "0"}, {0.00042, "0.042"}, {0.6667, "66.7"}, {1, "100"}, {NAN, "-"}};

	(void)state;
	check(format_percent, examples, sizeof examples / sizeof *examples);
}

static void test_times(void **state)
{
	static const struct example examples[] = {{0, "0 s"}, {8.5e-7, "850 ns"},
		{12.34e-6, "12.3 us"}, {0.004, "4 ms"}, {4000000 * 1e-9, "4 ms"}, {1, "1 s"},
		{0.9996, "1.00 s"}, {1.5, "1.50 s"}, {1000, "1000 s"}, {-0.002, "-2 ms"},
		{NAN, "-"}};
	static const struct example ages[] = {{0.9, "0s"}, {59.9, "59s"}, {60, "1m00s"},
		{725, "12m05s"}, {12000, "3h20m"}, {187200, "2d04h"}, {INFINITY, "-"}, {-1, "-"},
		{NAN, "-"}};

	(void)state;
	check(format_time, examples, sizeof examples / sizeof *examples);
	check(format_age, ages, sizeof ages / sizeof *ages);
}

static void test_counts(void **state)
{
	static const struct {
		uint64_t count;
		const char *text;
	} examples[] = {
		{0, "0"}, {7, "7"}, {999999, "999999"}, {1000000, "1.00M"}, {UINT64_MAX, "18.4E"}};

	(void)state;
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
		assert_string_equal(format_count(examples[i].count).text, examples[i].text);
}

static void test_text(void **state)
{
	(void)state;
	assert_int_equal(format_columns(""), 0);
	assert_int_equal(format_columns("a\xc3\xa4"), 2);
	assert_int_equal(format_cut("abc", 5), 3);
	assert_int_equal(format_cut("a\xc3\xa4z", 2), 3);
	assert_int_equal(format_cut("a\xc3\xa4z", 1), 1);
	assert_int_equal(format_cut("abc", 0), 0);
}

/* Numbers of random bits. */
static void test_widths(void **state)
{
	unsigned short random[3] = {1, 2, 3};

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t bits =
			(uint64_t)(uint32_t)jrand48(random) << 32 | (uint32_t)jrand48(random);
		double number;
		memcpy(&number, &bits, sizeof(number));
		assert_in_range(strlen(format_number(number).text), 1, 6);
		assert_in_range(strlen(format_signed(number).text), 1, 6);
		assert_in_range(strlen(format_percent(number).text), 1, 6);
		assert_in_range(strlen(format_count(bits >> (i % 64)).text), 1, 6);
		assert_in_range(strlen(format_time(number).text), 1, 9);
		assert_in_range(strlen(format_age(number).text), 1, 12);
	}
	for (double number = 1e-12; number < 1e20; number *= 1.0137) {
		assert_in_range(strlen(format_number(number).text), 1, 5);
		assert_in_range(strlen(format_signed(-number).text), 1, 6);
		assert_in_range(strlen(format_time(number).text), 1, 9);
		assert_in_range(strlen(format_age(number).text), 1, 12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_signs),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_widths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
