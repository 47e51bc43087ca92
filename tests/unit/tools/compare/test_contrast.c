/* SPDX-License-Identifier: MIT */
/* jugglectl compare: how two ways differ, by times that are made up. */
#undef NDEBUG
#include "tools/compare/contrast.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/random.h"

static bool is_near(double value, double expected)
{
	return fabs(value - expected) < 1e-9;
}

static double random_share(uint64_t *seed)
{
	return (double)random_int(seed, 0, 1000000) * 1e-6;
}

static void test_quantiles(void **state)
{
	double four[] = {4, 1, 3, 2}, one[] = {7};

	(void)state;
	assert_true(is_near(contrast_quantile(four, 4, 0.5), 2.5));
	assert_true(is_near(contrast_quantile(four, 4, 0.25), 1.75));
	assert_true(is_near(contrast_quantile(four, 4, 0), 1));
	assert_true(is_near(contrast_quantile(four, 4, 1), 4));
	assert_true(is_near(contrast_quantile(one, 1, 0.75), 7));
}

/* The confidences are those of printed tables of the signed-rank test: with 6 pairs none is left out,
 * and with 10 pairs 8 of 55 sums at each end (P(T <= 8) = 25/1024). */
static void test_confidence(void **state)
{
	static const struct {
		size_t n;
		double confidence;
	} rows[] = {{1, 0}, {2, 0.5}, {4, 0.875}, {5, 0.9375}, {6, 0.96875}, {8, 1 - 2 * 5.0 / 256},
		{10, 1 - 2 * 25.0 / 1024}};
	double base[CONTRAST_PAIRS_MAX], times[CONTRAST_PAIRS_MAX];
	struct contrast c;

	(void)state;
	for (size_t i = 0; i < CONTRAST_PAIRS_MAX; i++) {
		base[i] = 1;
		times[i] = 1;
	}
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		contrast_take(base, times, rows[r].n, &c);
		assert_true(is_near(c.confidence, rows[r].confidence));
		assert_int_equal(c.verdict, rows[r].n < 5 ? CONTRAST_UNKNOWN : CONTRAST_SAME);
		assert_true(c.speedup == 1 && c.least == 1 && c.most == 1);
	}
	for (size_t n = 6; n <= CONTRAST_PAIRS_MAX; n++) {
		contrast_take(base, times, n, &c);
		assert_true(c.confidence >= 0.95 && c.confidence < 0.97);
	}
}

/* What slows both of a pair does not count. */
static void test_pairs(void **state)
{
	const double base[] = {1, 2, 5, 1, 3}, faster[] = {0.5, 1, 2.5, 0.5, 1.5};
	struct contrast c;

	(void)state;
	contrast_take(base, faster, 5, &c);
	assert_int_equal(c.verdict, CONTRAST_FASTER);
	assert_true(is_near(c.speedup, 2));
	assert_true(is_near(c.least, 2));
	assert_true(is_near(c.most, 2));
	contrast_take(faster, base, 5, &c);
	assert_int_equal(c.verdict, CONTRAST_SLOWER);
	assert_true(is_near(c.speedup, 0.5));
}

/* One pair of five that says otherwise is enough to be unsure. With ten, it is not. */
static void test_a_pair_that_differs(void **state)
{
	const double base[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const double times[] = {1.05, 0.8, 0.8, 0.8, 0.8, 0.81, 0.79, 0.8, 0.8, 0.8};
	struct contrast c;

	(void)state;
	contrast_take(base, times, 5, &c);
	assert_int_equal(c.verdict, CONTRAST_SAME);
	assert_true(is_near(c.least, 1 / 1.05));
	assert_true(is_near(c.most, 1 / 0.8));
	contrast_take(base, times, 10, &c);
	assert_int_equal(c.verdict, CONTRAST_FASTER);
	assert_true(c.least > 1 && c.speedup > 1.2 && c.most < 1.27);
}

/* By chance alone, not more than as many differences show as the confidence allows; and the true
 * speedup is as rarely out of the range. */
static void test_it_is_right_as_often_as_it_says(void **state)
{
	enum { TRIALS = 4000, PAIRS = 8 };
	uint64_t seed = 1;
	int differ = 0, outside = 0;

	(void)state;
	for (int trial = 0; trial < TRIALS; trial++) {
		double base[PAIRS], same[PAIRS], faster[PAIRS];
		struct contrast c;
		for (int i = 0; i < PAIRS; i++) {
			/* Long tails, as of runs that something else disturbed. */
			base[i] = 1 + 0.1 / (0.02 + random_share(&seed));
			same[i] = 1 + 0.1 / (0.02 + random_share(&seed));
			faster[i] = same[i] / 1.3;
		}
		contrast_take(base, same, PAIRS, &c);
		differ += c.verdict != CONTRAST_SAME;
		contrast_take(base, faster, PAIRS, &c);
		outside += c.least > 1.3 || c.most < 1.3;
	}
	/* 3.9 % are expected; the deviation of the count is 0.3 %. */
	assert_in_range(differ, TRIALS * 0.025, TRIALS * 0.053);
	assert_in_range(outside, TRIALS * 0.025, TRIALS * 0.053);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_confidence),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_a_pair_that_differs),
		cmocka_unit_test(test_it_is_right_as_often_as_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
