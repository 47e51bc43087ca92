/* SPDX-License-Identifier: MIT */
/* The theory of the Juggle paper against its idealised algorithm: bounds are never exceeded, and
 * averages are met. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef NDEBUG
#include "tools/sim/ideal.h"
#include "tools/sim/threads.h"
#include "tools/theory/theory.h"

#include <math.h>

static struct ideal_result run(const struct theory_case *c, double first)
{
	const struct ideal_case ideal = {.threads = c->threads,
		.cpus = c->cpus,
		.phase = c->phase,
		.period = c->period,
		.phases = (uint64_t)c->phases,
		.first = first};
	struct ideal_result result;

	assert_int_equal(ideal_run(&ideal, &result), 0);
	return result;
}

static void assert_at_most(const struct theory_case *c, double a, double b)
{
	if (!(a <= b * (1 + 1e-9)))
		fail_msg("n %u, m %u, period %g, phases %g: %.15g above %.15g", c->threads, c->cpus,
			c->period, c->phases, a, b);
}

/* Lemma 1: until the first thread completes, threads differ by theory_lag(), or not at all. */
static void test_lag(void **unused)
{
	struct theory_case c = {.period = 1, .phases = 1};
	(void)unused;

	for (c.threads = 3; c.threads < 40; c.threads++)
		for (c.cpus = 2; c.cpus < c.threads; c.cpus++) {
			/* One of three points is at the end of the phase of a thread that was fast
			 * all along. */
			c.phase = 2.5 / (c.threads / c.cpus);
			if (theory_unbalanced(&c) && c.threads / c.cpus == 1)
				assert_float_equal(run(&c, 0).lag, theory_lag(&c), 1e-9);
			else
				assert_at_most(&c, theory_lag(&c), run(&c, 0).lag);
		}
}

/* The bound holds for any period and number of phases, and static placement is never better than
 * balancing. */
static void test_bound(void **unused)
{
	struct theory_case c = {.phase = 1};
	(void)unused;

	for (c.threads = 1; c.threads <= 26; c.threads++)
		for (c.cpus = 1; c.cpus <= 27; c.cpus += 1 + c.cpus / 8)
			for (c.phases = 1; c.phases < 30; c.phases *= 5)
				for (c.period = 0.11; c.period < 40; c.period *= 1.37) {
					double time = run(&c, 0).time;
					assert_at_most(&c, theory_juggle_bound(&c), time);
					assert_at_most(&c, time, theory_static(&c));
				}
}

/* Fig. 11: with one CPU more than half the number of threads, a phase takes as long as the bound,
 * to within an incomplete period. */
static void test_bound_is_close(void **unused)
{
	struct theory_case c = {.phase = 1, .phases = 1};
	(void)unused;

	for (c.threads = 3; c.threads <= 32; c.threads++)
		for (c.cpus = c.threads / 2 + 1; c.cpus < c.threads; c.cpus++)
			for (c.period = 0.01; c.period < 2; c.period *= 1.37)
				assert_true(run(&c, 0).time <=
					    theory_juggle_bound(&c) + 0.5 * c.period + 1e-9);
}

/* Theorem 2, where it is a bound: the only balancing point is better at no other moment. */
static void test_balanced_once(void **unused)
{
	struct theory_case c = {.phase = 1, .period = 100, .phases = 1};
	(void)unused;

	for (c.cpus = 3; c.cpus < 30; c.cpus++)
		for (c.threads = c.cpus + 1; c.threads <= c.cpus * 4 / 3; c.threads++) {
			for (double point = 0.01; point < 2; point += 0.01)
				assert_at_most(&c, theory_balanced_once(&c), run(&c, point).time);
			/* Eq. 23, with 2 threads and 1 on a CPU */
			assert_float_equal(
				run(&c, c.phase * 2 / 3).time, theory_balanced_once(&c), 1e-9);
		}
}

/* Where it is not a bound (theory.h), Eq. 14 is one, and is reached. */
static void test_no_theorem(void **unused)
{
	struct theory_case c = {.threads = 3, .cpus = 2, .phase = 1, .period = 100, .phases = 1};
	(void)unused;

	assert_float_equal(theory_balanced_once(&c), 2, 1e-12);
	assert_float_equal(run(&c, 1).time, 1.5, 1e-9);
	c.threads = 9;
	c.cpus = 4;
	assert_float_equal(theory_balanced_once(&c), 2.4, 1e-12);
	assert_float_equal(run(&c, 1.5).time, 2.25, 1e-9);
}

/* Eq. 27, with the point at any moment; compared with the paper's estimate, which is rough. */
static void test_balanced_once_mean(void **unused)
{
	static const uint32_t pair[][2] = {{3, 2}, {4, 3}, {8, 7}, {5, 2}, {7, 3}, {10, 7}};
	const int points = 400;
	(void)unused;

	for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
		struct theory_case c = {.threads = pair[i][0],
			.cpus = pair[i][1],
			.phase = 1,
			.period = 100,
			.phases = 1};
		double sum = 0;
		for (int at = 0; at < points; at++)
			sum += run(&c, theory_static(&c) * (at + 0.5) / points).time;
		double mean = theory_balanced_once_mean(&c);
		assert_float_equal(sum / points, mean, 0.1 * mean);
	}
}

/* Of the mean over first points; 0.01: theory is one percent short. */
static double deviation(const struct theory_case *c)
{
	const int points = 10;
	double sum = 0;

	for (int at = 0; at < points; at++)
		sum += run(c, c->period * (at + 0.5) / points).time;
	return sum / points / theory_juggle(c) - 1;
}

/* Eqs. 25 and 26 for many phases: close where periods are short or long, rough in between. */
static void test_approximation(void **unused)
{
	static const uint32_t pair[][2] = {{3, 2}, {4, 3}, {8, 7}, {5, 2}, {7, 2}, {10, 7}};
	static const struct {
		double period, limit;
	} row[] = {{0.002, 0.005}, {0.01, 0.005}, {0.05, 0.02}, {0.2, 0.06}, {0.47, 0.08},
		{4.2, 0.02}, {9.1, 0.02}, {30.1, 0.01}};
	(void)unused;

	for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
		for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
			struct theory_case c = {.threads = pair[i][0],
				.cpus = pair[i][1],
				.phase = 1,
				.period = row[k].period,
				.phases = 100};
			assert_float_equal(deviation(&c), 0, row[k].limit);
		}
}

/* Unequal CPUs: the paper's algorithm moves threads by the work that they have done. */
static double unequal_time(const struct theory_case *c, double jitter)
{
	struct threads_cpu cpu[24] = {{0}};
	const struct threads_params params = {.threads = c->threads,
		.domains = 1,
		.cpu = cpu,
		.cpus = c->cpus,
		.phase_ns = (uint64_t)(c->phase * 1e9),
		.phases = (uint64_t)c->phases,
		.balancer = THREADS_POLICY,
		.kind = &policy_kind_juggle2012,
		.period_ns = (uint64_t)(c->period * 1e9),
		.jitter = jitter,
		.by_work = true,
		.always = true,
		.seed = 1};
	struct threads_result result;
	struct threads_sim *sim;

	for (uint32_t j = 0; j < c->cpus; j++)
		cpu[j].speed = c->speed[j];
	assert_int_equal(threads_new(&sim, &params), 0);
	assert_true(threads_run(sim, UINT64_MAX / 4));
	threads_get(sim, &result);
	threads_free(sim);
	return (double)result.time_ns * 1e-9;
}

static void test_unequal(void **unused)
{
	static const struct {
		uint32_t n, fast, slow;
		double speed;
	} row[] = {{2, 1, 1, 0.55}, {2, 1, 1, 0.8}, {24, 8, 16, 0.55}, {12, 8, 16, 0.55},
		{20, 10, 10, 0.28}, {2, 1, 2, 0.55}};
	double speed[24];
	(void)unused;

	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		for (double share = 0.01; share < 0.5; share *= 1.7) {
			struct theory_case c = {.threads = row[i].n,
				.cpus = row[i].fast + row[i].slow,
				.speed = speed,
				.phase = 0.1,
				.phases = 200};
			for (uint32_t j = 0; j < c.cpus; j++)
				speed[j] = j < row[i].fast ? 1 : row[i].speed;
			c.period = share * theory_static(&c) / c.phases;
			/* Without jitter, phases and periods can be in step for long. */
			double time = unequal_time(&c, 0.3);
			assert_at_most(&c, theory_juggle_bound(&c), time);
			assert_at_most(&c, time, theory_static(&c));
			assert_float_equal(time / theory_juggle(&c), 1, share < 0.2 ? 0.012 : 0.07);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lag),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bound_is_close),
		cmocka_unit_test(test_balanced_once),
		cmocka_unit_test(test_no_theorem),
		cmocka_unit_test(test_balanced_once_mean),
		cmocka_unit_test(test_approximation),
		cmocka_unit_test(test_unequal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
