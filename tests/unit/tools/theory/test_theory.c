/* SPDX-License-Identifier: MIT */
/* The equations of the Juggle paper: the values that its text gives, and what must hold for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef NDEBUG
#include "tools/theory/theory.h"

#include <math.h>

#define EPSILON 1e-12

static struct theory_case threads_on(uint32_t threads, uint32_t cpus)
{
	return (struct theory_case){
		.threads = threads, .cpus = cpus, .phase = 1, .period = 1e-6, .phases = 1};
}

static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) <= EPSILON * fabs(expected)))
		fail_msg("%.17g, not %.17g", value, expected);
}

/* a <= b, except for rounding */
static void assert_at_most(double a, double b)
{
	if (!(a <= b * (1 + EPSILON)))
		fail_msg("%.17g above %.17g", a, b);
}

static double perfect_speedup(uint32_t threads, uint32_t cpus)
{
	const struct theory_case c = threads_on(threads, cpus);

	return theory_speedup(&c, theory_perfect(&c));
}

/* Sections 5.1, 5.3 and 6. */
static void test_ideal_speedups(void **unused)
{
	(void)unused;
	assert_near(perfect_speedup(16, 12), 1.5);
	assert_near(perfect_speedup(13, 12), 2 / (13 / 12.0));
	assert_float_equal(perfect_speedup(13, 12), 1.85, 0.005);
	assert_float_equal(perfect_speedup(25, 24), 1.92, 0.005);
	struct theory_case c = threads_on(8, 7);
	assert_near(theory_perfect(&c), 8 / 7.0);
	c = threads_on(4, 3);
	assert_near(theory_perfect(&c), 4 / 3.0);
	/* Fig. 10: the possible gain falls as more threads share a CPU. */
	for (uint32_t m = 2; m < 40; m++)
		for (uint32_t n = m + 1; n < 10 * m; n += m)
			assert_true(perfect_speedup(n, m) > perfect_speedup(n + m, m));
}

/* Table 4, its column e ceil(n/m): the work is fixed, so that e is 68 s for 8 threads. */
static void test_static(void **unused)
{
	static const struct {
		uint32_t n, m;
		double time;
	} row[] = {{8, 8, 68}, {16, 8, 68}, {32, 8, 68}, {8, 7, 136}, {16, 7, 102}, {32, 7, 85}};
	(void)unused;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct theory_case c = threads_on(row[i].n, row[i].m);
		c.phase = 68 * 8.0 / row[i].n;
		assert_near(theory_static(&c), row[i].time);
		c.phases = 3; /* Eq. 16 */
		assert_near(theory_static(&c), 3 * row[i].time);
	}
}

/* Eq. 2 and Theorem 1: 5 on 2, so 3 and 2; and where Eq. 2 ends. */
static void test_lag(void **unused)
{
	struct theory_case c = threads_on(5, 2);
	(void)unused;

	c.period = 0.6;
	assert_near(theory_lag(&c), 0.1);
	assert_near(theory_lag_bound(&c), 2.1);
	assert_near(theory_juggle(&c), 2.5); /* Eq. 14 is larger */
	c.period = 2.999;
	assert_near(theory_lag_bound(&c), 2 + 2.999 / 6);
	c.period = 3;
	assert_true(isnan(theory_lag_bound(&c)));
	c = threads_on(8, 7);
	c.period = 1;
	assert_near(theory_lag_bound(&c), 1.5);
	assert_near(theory_juggle(&c), 1.5);
	assert_near(theory_juggle_bound(&c), 1.5);
	c.phases = 10;
	assert_near(theory_juggle(&c), 15); /* Eq. 25 */
	assert_near(theory_juggle_bound(&c), 1.5 + 9 * 8 / 7.0);
}

/* Theorem 2, by hand: 8 on 7 have 2 slow threads and 6 fast ones. */
static void test_balanced_once(void **unused)
{
	struct theory_case c = threads_on(8, 7);
	(void)unused;

	assert_near(theory_balanced_once(&c), 4 / 3.0);
	c = threads_on(4, 3); /* as many fast as slow */
	assert_near(theory_balanced_once(&c), 4 / 3.0);
	c = threads_on(5, 3); /* 4 slow, 1 fast: Section 3.2.1 */
	assert_near(theory_balanced_once(&c), 2);
	c = threads_on(9, 4); /* 3 slow, 6 fast */
	c.phase = 10;
	assert_near(theory_balanced_once(&c), 24);
	/* Eqs. 20 and 22 meet at 12, the best point (Eq. 23). */
	assert_near(3 * c.phase - 12 / 2.0, 24);
	assert_near(2 * c.phase + 12 / 3.0, 24);
	assert_near(theory_balanced_once_mean(&c), 27.5); /* Eq. 27 */
	c = threads_on(29, 10); /* 2.9 e: the average can't be shorter */
	assert_near(theory_balanced_once_mean(&c), 2.9);
}

/* Eqs. 17 and 26: 8 on 7, with a point in every third phase at most. */
static void test_long_period(void **unused)
{
	struct theory_case c = threads_on(8, 7);
	(void)unused;

	c.period = 6;
	c.phases = 12;
	assert_near(theory_balanced_phases(&c), 4);
	assert_near(theory_juggle_bound(&c), 8 * 2 + 4 * 4 / 3.0);
	assert_near(theory_juggle(&c), 8 * 2 + 4 * 1.75);
	c.phases = 2; /* over before the first point */
	assert_near(theory_balanced_phases(&c), 0);
	assert_near(theory_juggle(&c), 4);
	assert_near(theory_speedup_bound(&c), 1);
	c.period = 2; /* the limit: a point in each phase but the first */
	c.phases = 5;
	assert_near(theory_balanced_phases(&c), 4);
	c.phases = 1;
	assert_near(theory_balanced_phases(&c), 0);
	/* More slow than fast: Theorem 2 is no bound then. */
	c = threads_on(3, 2);
	c.period = 4;
	c.phases = 4;
	assert_near(theory_juggle_bound(&c), 2 * 2 + 2 * 1.5);
}

/* Eq. 30 in whole numbers: 2^k (2 m - n) >= m. */
static double eq_30(uint32_t n, uint32_t m)
{
	unsigned k = 0;

	while (((uint64_t)(2 * m - n) << k) < m)
		k++;
	return 2 - 1 / (double)(UINT64_C(1) << k);
}

static void test_reactive(void **unused)
{
	struct theory_case c;
	(void)unused;

	for (uint32_t n = 2; n <= 128; n++)
		for (uint32_t m = n / 2 + 1; m < n; m++) {
			c = threads_on(n, m);
			assert_near(theory_reactive(&c), eq_30(n, m));
		}
	/* Where the logarithm is whole, Fig. 9: 12 on 8, 14 on 8, 15 on 8. */
	c = threads_on(12, 8);
	assert_near(theory_reactive(&c), 1.5);
	c = threads_on(14, 8);
	assert_near(theory_reactive(&c), 1.75);
	c = threads_on(15, 8);
	assert_near(theory_reactive(&c), 1.875);
	c = threads_on(16, 12);
	assert_near(theory_reactive(&c), 1.5);
	/* By hand: 5 on 2 are 3 and 2. At 2 the two have done all, the three 2/3: then 2 and 1. At
	 * 2 1/3 the one is done, and the two have a sixth left, each on its own CPU. */
	c = threads_on(5, 2);
	assert_near(theory_reactive(&c), 2.5);
	/* 7 on 2: 4 and 3. At 3 four have 1/4 left, two on each CPU. */
	c = threads_on(7, 2);
	assert_near(theory_reactive(&c), 3.5);
	/* 8 on 3: 3, 3 and 2. At 2 six have 1/3 left. */
	c = threads_on(8, 3);
	assert_near(theory_reactive(&c), 2 + 2 / 3.0);
	c.phases = 7;
	c.phase = 3;
	assert_near(theory_reactive(&c), 56);
	/* About the largest possible number of steps. */
	c = threads_on(999999, 1000);
	assert_true(theory_reactive(&c) > 999.999 - 1e-6 && theory_reactive(&c) < 1000);
}

/* A multiple of the CPUs, or fewer threads: nothing makes a difference. */
static void test_balanced(void **unused)
{
	static const uint32_t pair[][2] = {{1, 1}, {1, 4}, {3, 4}, {4, 4}, {8, 4}, {12, 4}, {9, 1}};
	(void)unused;

	for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
		for (double period = 0.01; period < 100; period *= 3) {
			struct theory_case c = threads_on(pair[i][0], pair[i][1]);
			c.period = period;
			c.phases = 5;
			assert_false(theory_unbalanced(&c));
			double each = c.threads > c.cpus ? c.threads / c.cpus : 1;
			assert_near(theory_static(&c), 5 * each);
			assert_near(theory_perfect(&c), 5 * each);
			assert_near(theory_reactive(&c), 5 * each);
			assert_near(theory_juggle(&c), 5 * each);
			assert_near(theory_juggle_bound(&c), 5 * each);
			assert_near(theory_lag_bound(&c), each);
			assert_near(theory_balanced_once(&c), each);
			assert_near(theory_balanced_once_mean(&c), each);
			assert_near(theory_speedup_bound(&c), 1);
			assert_true(theory_lag(&c) == 0);
			assert_true(theory_balanced_phases(&c) == 0);
		}
}

/* Check which times are never longer than others. */
static void check_order(const struct theory_case *c)
{
	assert_at_most(theory_perfect(c), theory_juggle_bound(c));
	assert_at_most(theory_juggle_bound(c), theory_juggle(c));
	assert_at_most(theory_juggle(c), theory_static(c));
	assert_at_most(theory_perfect(c), theory_reactive(c));
	assert_at_most(theory_reactive(c), theory_static(c));
	assert_at_most(1, theory_speedup_bound(c));
	assert_at_most(theory_balanced_phases(c), c->phases);
}

/* Times scale with their unit. */
static void check_unit(struct theory_case c)
{
	const double juggle = theory_juggle(&c), bound = theory_juggle_bound(&c);

	c.phase *= 1024;
	c.period *= 1024;
	assert_near(theory_juggle(&c), 1024 * juggle);
	assert_near(theory_juggle_bound(&c), 1024 * bound);
}

/* l phases take l times as long, except for balancing points that only some phases contain. */
static void check_phases(struct theory_case c)
{
	struct theory_case one = c;

	one.phases = 1;
	assert_near(theory_static(&c), c.phases * theory_static(&one));
	assert_near(theory_perfect(&c), c.phases * theory_perfect(&one));
	assert_near(theory_reactive(&c), c.phases * theory_reactive(&one));
	if (!isnan(theory_lag_bound(&c)))
		assert_near(theory_juggle(&c), c.phases * theory_juggle(&one));
	assert_at_most(theory_juggle_bound(&c), c.phases * theory_juggle_bound(&one));
}

static void test_properties(void **unused)
{
	(void)unused;
	for (uint32_t n = 1; n <= 48; n++)
		for (uint32_t m = 1; m <= 50; m++)
			for (double phases = 1; phases < 2000; phases *= 11) {
				struct theory_case c = threads_on(n, m);
				double bound = 0;
				c.phase = 0.3;
				c.phases = phases;
				for (c.period = 0.002; c.period < 900; c.period *= 1.7) {
					check_order(&c);
					check_unit(c);
					check_phases(c);
					/* The longer the period, the later the end. */
					assert_at_most(bound, theory_juggle_bound(&c));
					bound = theory_juggle_bound(&c);
				}
			}
}

/* ---- Unequal CPUs ---- */

/* So many CPUs of speed 1, then so many of speed `slow`. */
static struct theory_case threads_on_unequal(
	uint32_t threads, uint32_t fast_cpus, uint32_t slow_cpus, double slow, double *speed)
{
	struct theory_case c = threads_on(threads, fast_cpus + slow_cpus);

	for (uint32_t j = 0; j < c.cpus; j++)
		speed[j] = j < fast_cpus ? 1 : slow;
	c.speed = speed;
	return c;
}

/* Mean speed over slowest, of the CPUs in use; by hand. */
static void test_unequal_bounds(void **unused)
{
	static const struct {
		uint32_t n, fast, slow;
		double speed, bound;
	} row[] = {{2, 1, 1, 0.55, 0.775 / 0.55}, {2, 1, 1, 0.8, 1.125},
		{24, 8, 16, 0.55, 16.8 / 24 / 0.55}, {12, 8, 16, 0.55, 10.2 / 12 / 0.55},
		{20, 10, 10, 0.28, 0.64 / 0.28}, {48, 8, 16, 0.55, 16.8 / 24 / 0.55},
		{3, 1, 1, 0.55, 2 / (3 / 1.55)}};
	double speed[24];
	(void)unused;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct theory_case c =
			threads_on_unequal(row[i].n, row[i].fast, row[i].slow, row[i].speed, speed);
		assert_true(theory_unequal(&c) && theory_unbalanced(&c));
		assert_near(theory_speedup(&c, theory_perfect(&c)), row[i].bound);
		assert_near(theory_speedup_bound(&c), row[i].bound);
		assert_float_equal(theory_speedup(&c, theory_juggle(&c)), row[i].bound, 1e-5);
		/* Halfway between the two where a period is as long as a phase. */
		c.period = theory_static(&c);
		assert_true(theory_long_period(&c));
		c.period *= 1 - 1e-13;
		assert_near(theory_juggle(&c), (theory_static(&c) + theory_perfect(&c)) / 2);
		assert_near(theory_juggle(&c), theory_balanced_once_mean(&c));
	}
}

/* The slowest place decides. */
static void test_unequal_static(void **unused)
{
	double speed[24];
	struct theory_case c = threads_on_unequal(12, 8, 16, 0.55, speed);
	(void)unused;

	assert_near(theory_static(&c), 1 / 0.55);
	assert_near(theory_best_static(&c), 1 / 0.55); /* two on a fast one: 2 */
	c.threads = 25; /* a fast one has two */
	assert_near(theory_static(&c), 2);
	c.threads = 40; /* 8 of either have two; best, fast ones have three */
	assert_near(theory_static(&c), 2 / 0.55);
	assert_near(theory_best_static(&c), 3);
	c = threads_on_unequal(20, 10, 10, 0.28, speed);
	assert_near(theory_static(&c), 1 / 0.28);
	assert_near(theory_best_static(&c), 2);
	/* The slow CPU stays empty. */
	c = threads_on_unequal(2, 1, 1, 0.3, speed);
	assert_near(theory_best_static(&c), 2);
	c.phases = 7;
	c.phase = 3;
	assert_near(theory_best_static(&c), 42);
	assert_near(theory_static(&c), 70);
}

/* By hand: the fast one completes at 1, and what is left of the other goes there. */
static void test_unequal_reactive(void **unused)
{
	double speed[24];
	struct theory_case c = threads_on_unequal(2, 1, 1, 0.55, speed);
	(void)unused;

	assert_near(theory_reactive(&c), 1.45);
	/* 0.45 left of 16: half of them do 0.2475 on slow CPUs while the others complete. */
	c = threads_on_unequal(24, 8, 16, 0.55, speed);
	assert_float_equal(theory_reactive(&c), 1.45 + 0.2025, 1e-9);
	c.phases = 10;
	assert_float_equal(theory_reactive(&c), 16.525, 1e-8);
	/* The one with 0.6 left goes to the fastest, the one with 0.4 to the next, then there. */
	const double three[] = {1, 0.6, 0.4};
	c = threads_on(3, 3);
	c.speed = three;
	assert_near(theory_reactive(&c), 1.64);
	/* No CPU is left idle, however slow it is: 0.9 are left for the fast one. */
	c = threads_on_unequal(2, 1, 1, 0.1, speed);
	assert_near(theory_reactive(&c), 1.9);
	/* Two share the fast CPU until 2. Then the third, with 0.2 left, goes there. */
	c = threads_on_unequal(3, 1, 1, 0.4, speed);
	assert_near(theory_reactive(&c), 2.2);
}

/* The best distribution, by trying all. */
static double best_of_all(const struct theory_case *c, uint32_t cpu, uint32_t left)
{
	double best = INFINITY;

	if (cpu + 1 == c->cpus)
		return left * c->phase / c->speed[cpu];
	for (uint32_t k = 0; k <= left; k++)
		best = fmin(best,
			fmax(k * c->phase / c->speed[cpu], best_of_all(c, cpu + 1, left - k)));
	return best;
}

static void test_unequal_properties(void **unused)
{
	double speed[] = {3, 1.9, 1, 1, 0.3};
	struct theory_case c = {.phase = 0.3, .speed = speed};
	(void)unused;

	for (c.threads = 2; c.threads <= 13; c.threads++)
		for (c.cpus = 2; c.cpus <= 5; c.cpus++)
			for (c.phases = 1; c.phases < 300; c.phases *= 11) {
				double bound = 0;
				for (c.period = 0.002; c.period < 90; c.period *= 1.7) {
					assert_at_most(theory_best_static(&c), theory_static(&c));
					assert_at_most(theory_perfect(&c), theory_juggle_bound(&c));
					assert_at_most(theory_juggle_bound(&c), theory_juggle(&c));
					assert_at_most(theory_juggle(&c), theory_static(&c));
					/* It forgets a thread within 1e-9 of its end. */
					assert_at_most(theory_perfect(&c),
						theory_reactive(&c) * (1 + 1e-8));
					assert_at_most(theory_reactive(&c), theory_best_static(&c));
					check_unit(c);
					assert_at_most(bound, theory_juggle_bound(&c));
					bound = theory_juggle_bound(&c);
				}
				assert_near(theory_best_static(&c),
					c.phases * best_of_all(&c, 0, c.threads));
			}
}

/* Equal CPUs in use, whatever their speed, are those of the paper with shorter phases. */
static void test_one_speed(void **unused)
{
	double speed[] = {2, 2, 2, 2, 0.5};
	(void)unused;

	for (uint32_t n = 1; n < 9; n++)
		for (double period = 0.01; period < 30; period *= 3) {
			struct theory_case c = threads_on(n, n < 5 ? 5 : 4), own = c;
			c.speed = speed;
			c.phase = 2;
			c.period = own.period = period;
			c.phases = own.phases = 3;
			assert_false(theory_unequal(&c));
			assert_near(theory_static(&c), theory_static(&own));
			assert_near(theory_best_static(&c), theory_static(&own));
			assert_near(theory_perfect(&c), theory_perfect(&own));
			assert_near(theory_reactive(&c), theory_reactive(&own));
			assert_near(theory_juggle(&c), theory_juggle(&own));
			assert_near(theory_juggle_bound(&c), theory_juggle_bound(&own));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ideal_speedups),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_lag),
		cmocka_unit_test(test_balanced_once),
		cmocka_unit_test(test_long_period),
		cmocka_unit_test(test_reactive),
		cmocka_unit_test(test_balanced),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_unequal_bounds),
		cmocka_unit_test(test_unequal_static),
		cmocka_unit_test(test_unequal_reactive),
		cmocka_unit_test(test_unequal_properties),
		cmocka_unit_test(test_one_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
