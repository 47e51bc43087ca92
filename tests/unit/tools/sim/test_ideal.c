/* SPDX-License-Identifier: MIT */
/* The fluid model of the Juggle paper: by hand, against its equations, and its bounds in many
 * cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef NDEBUG
#include "tools/sim/ideal.h"

#include <errno.h>
#include <math.h>

static struct ideal_result run(const struct ideal_case *c)
{
	struct ideal_result result;

	assert_int_equal(ideal_run(c, &result), 0);
	return result;
}

static double ceiling(const struct ideal_case *c)
{
	return ceil((double)c->threads / c->cpus);
}

/* Fig. 1: three threads on two CPUs, a point each second. After three periods all have done two
 * seconds of work. */
static void test_three_on_two(void **unused)
{
	struct ideal_case c = {.threads = 3, .cpus = 2, .phase = 2, .period = 1, .phases = 1};
	(void)unused;

	struct ideal_result result = run(&c);
	assert_float_equal(result.time, 3, 1e-12);
	assert_int_equal(result.points, 2);
	assert_int_equal(result.migrations, 4); /* a swap at each */
	assert_float_equal(result.lag, 0.5, 1e-12); /* Lemma 1: 1 / (2 * 1) */
	/* No point before the end: Eq. 1. */
	c.period = 4;
	result = run(&c);
	assert_float_equal(result.time, 4, 1e-12);
	assert_int_equal(result.points, 0);
	/* As many fast as slow threads, and one point: Eqs. 20 and 22, whichever is longer. */
	c.threads = 4;
	c.cpus = 3;
	for (double first = 0.1; first < 2; first += 0.1) {
		c.first = first;
		double fast_first = 2 * c.phase - first, slow_first = c.phase + first / 2;
		assert_float_equal(
			run(&c).time, fast_first > slow_first ? fast_first : slow_first, 1e-12);
	}
}

/* A thread that completes between points leaves its share to those beside it, and nobody moves: 5
 * on 3, so 2 2 1, e = 3. The single one goes to a slow CPU at 2, with 1 left to do; the others have
 * done 1. One of them is alone now and completes at 4, those with it at 2 + 2 * 1 + 1. */
static void test_completion_between_points(void **unused)
{
	const struct ideal_case c = {
		.threads = 5, .cpus = 3, .phase = 3, .period = 2.5, .first = 2, .phases = 1};
	(void)unused;

	struct ideal_result result = run(&c);
	/* At 4.5 one has done 3; two were slow, with 1 + 2.5 / 2 = 2.25; one fast, with 3; the one
	 * beside the completed, 1 + 1 + 0.5 = 2.5. Now each has a CPU. */
	assert_int_equal(result.points, 2);
	assert_float_equal(result.time, 4.5 + 0.75, 1e-12);
}

/* Fig. 5, Section 3: the moves in a steady state. n = 8, m = 7: of four points three have two
 * swaps, and at one all are equal (Section 5.5 reports 28 a second with a period of 100 ms). */
static void test_migrations(void **unused)
{
	struct ideal_case c = {.threads = 8, .cpus = 7, .phase = 30, .period = 0.1, .phases = 1};
	(void)unused;

	struct ideal_result result = run(&c);
	assert_float_equal((double)result.migrations / result.time, 30, 0.5);
	assert_float_equal(result.time, 30 * 8 / 7.0, 0.1);
	/* By hand, n = 7 and m = 5: 6, 2, 4, 4, 2, 6, 0, if among equal threads those move that
	 * must. */
	c.threads = 7;
	c.cpus = 5;
	result = run(&c);
	assert_float_equal((double)result.migrations / (double)result.points, 24 / 7.0, 0.02);
}

/* Bounds, in many cases: Eqs. 1 and 14 always, Eq. 2 where it applies, and Lemma 1. */
static void test_bounds(void **unused)
{
	struct ideal_case c = {.phase = 1, .phases = 1};
	(void)unused;

	for (c.threads = 1; c.threads <= 40; c.threads++)
		for (c.cpus = 1; c.cpus <= 42; c.cpus += 1 + c.cpus / 5)
			for (c.period = 0.013; c.period < 6; c.period *= 1.9) {
				struct ideal_result result = run(&c);
				double high = ceiling(&c), low = floor((double)c.threads / c.cpus);
				double ratio = (double)c.threads / c.cpus;
				assert_true(result.time <= high * (1 + 1e-9));
				assert_true(result.time >= fmax(ratio, 1) * (1 - 1e-9));
				if (high == low || low == 0) {
					assert_float_equal(result.time, high, 1e-9);
					assert_int_equal(result.migrations, 0);
				} else if (c.period < low) {
					double behind = c.period / (low * high);
					assert_true(result.time >= low + behind - 1e-9);
					assert_true(result.lag >= behind - 1e-9);
				}
				assert_int_equal(result.points,
					(uint64_t)ceil(result.time / c.period - 1e-9) - 1);
			}
}

/* Lemma 1: before anybody completes, the difference is 0 or lambda / (ceil floor). */
static void test_lemma_1(void **unused)
{
	struct ideal_case c = {.phase = 1e4, .period = 1, .phases = 1};
	(void)unused;

	for (c.threads = 3; c.threads < 30; c.threads++)
		for (c.cpus = 2; c.cpus < c.threads; c.cpus++) {
			if (c.threads % c.cpus == 0)
				continue;
			double high = ceiling(&c), low = high - 1;
			double lag = c.period / (low * high);
			/* While some complete, those beside them gain. */
			c.phase = 50 * high;
			struct ideal_result result = run(&c);
			assert_true(result.lag >= lag - 1e-9);
			assert_true(result.lag <= c.period);
			assert_true(result.time <= c.phase * c.threads / c.cpus + 2 * c.period);
		}
}

/* Fig. 4 line by line, one event at a time, simple and slow. */
enum { NAIVE_MAX = 24 };

struct naive {
	uint32_t order[NAIVE_MAX], cpu[NAIVE_MAX];
	double progress[NAIVE_MAX];
};

static uint32_t naive_deal(struct naive *naive, uint32_t n, uint32_t m, double phase)
{
	uint32_t left = 0;

	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k > 0; k--) {
			uint32_t a = naive->order[k - 1], b = naive->order[k];
			if (naive->progress[b] > naive->progress[a] - 1e-9)
				break;
			naive->order[k - 1] = b;
			naive->order[k] = a;
		}
	for (uint32_t i = 0; i < n; i++)
		left += naive->progress[i] < phase - 1e-9;
	uint32_t slow = left > m ? left % m : 0, fast = m - slow;
	uint32_t n_slow = slow * (left / m + 1);
	for (uint32_t j = 0, f = 0, s = 0; j < left; j++)
		if (j < left - n_slow)
			naive->cpu[naive->order[j]] = f++ % fast;
		else
			naive->cpu[naive->order[j]] = fast + s++ % slow;
	return left;
}

/* Advance until the next thread completes, but at most for that time. Returns how long that
 * took. */
static double naive_step(struct naive *naive, uint32_t n, double phase, double time)
{
	uint32_t sharing[NAIVE_MAX] = {0};

	for (uint32_t i = 0; i < n; i++)
		sharing[naive->cpu[i]] += naive->progress[i] < phase - 1e-9;
	for (uint32_t i = 0; i < n; i++)
		if (naive->progress[i] < phase - 1e-9)
			time = fmin(time, (phase - naive->progress[i]) * sharing[naive->cpu[i]]);
	for (uint32_t i = 0; i < n; i++)
		if (naive->progress[i] < phase - 1e-9)
			naive->progress[i] += time / sharing[naive->cpu[i]];
	return time;
}

static double naive_run(const struct ideal_case *c)
{
	struct naive naive = {0};
	double now = 0;

	for (uint32_t i = 0; i < c->threads; i++)
		naive.order[i] = i;
	for (uint64_t point = 0;; point++) {
		double until = (double)(point + 1) * c->period;
		uint32_t left = naive_deal(&naive, c->threads, c->cpus, c->phase);
		while (left > 0 && now < until - 1e-9) {
			now += naive_step(&naive, c->threads, c->phase, until - now);
			left = 0;
			for (uint32_t i = 0; i < c->threads; i++)
				left += naive.progress[i] < c->phase - 1e-9;
		}
		if (left == 0)
			return now;
	}
}

static void test_line_by_line(void **unused)
{
	struct ideal_case c = {.phase = 1, .phases = 1};
	(void)unused;

	for (c.threads = 2; c.threads <= NAIVE_MAX; c.threads++)
		for (c.cpus = 1; c.cpus < c.threads; c.cpus++)
			for (c.period = 0.031; c.period < 5; c.period *= 1.37)
				assert_float_equal(run(&c).time, naive_run(&c), 1e-7);
}

/* Section 3.2: phases follow each other, and the points are independent of them. */
static void test_phases(void **unused)
{
	struct ideal_case c = {.threads = 8, .cpus = 7, .phase = 1, .period = 2, .phases = 50};
	(void)unused;

	/* Each point coincides with the end of a phase: Eq. 16. */
	assert_float_equal(run(&c).time, 100, 1e-9);
	/* At the best moment of each phase: Theorem 2. The error doubles each time. */
	c = (struct ideal_case){.threads = 4,
		.cpus = 3,
		.phase = 1,
		.period = 4 / 3.0,
		.first = 2 / 3.0,
		.phases = 15};
	assert_float_equal(run(&c).time, 15 * 4 / 3.0, 1e-9);
	/* Short periods: Eq. 15, nearly. */
	c = (struct ideal_case){.threads = 8, .cpus = 7, .phase = 1, .period = 0.001, .phases = 20};
	assert_float_equal(run(&c).time, 20 * 8 / 7.0, 20 * 0.002);
	/* A long period: many phases are done at once, one of them with one point. */
	c.period = 1e6 + 0.5;
	c.phases = 600000;
	struct ideal_result result = run(&c);
	assert_int_equal(result.points, 1);
	assert_float_equal(result.time, 2.0 * 600000 - 0.5, 1e-6);
}

/* The same seed gives the same run; jitter undoes the effect of points at the ends of phases. */
static void test_jitter(void **unused)
{
	struct ideal_case c = {.threads = 8,
		.cpus = 7,
		.phase = 1,
		.period = 2,
		.phases = 200,
		.jitter = 0.1,
		.seed = 3};
	(void)unused;

	double time = run(&c).time;
	assert_true(time < 0.95 * 400 && time > 200 * 8 / 7.0);
	assert_true(time == run(&c).time);
	c.seed = 4;
	assert_true(time != run(&c).time);
}

static void test_invalid(void **unused)
{
	const struct ideal_case good = {
		.threads = 3, .cpus = 2, .phase = 1, .period = 1, .phases = 1};
	struct ideal_case bad[9];
	struct ideal_result result;
	(void)unused;

	for (size_t i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].threads = 0;
	bad[1].cpus = 0;
	bad[2].phase = 0;
	bad[3].period = 0;
	bad[4].phases = 0;
	bad[5].period = NAN;
	bad[6].phase = INFINITY;
	bad[7].first = -1;
	bad[8].jitter = 1;
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(ideal_run(&bad[i], &result), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_on_two),
		cmocka_unit_test(test_completion_between_points),
		cmocka_unit_test(test_migrations),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_lemma_1),
		cmocka_unit_test(test_line_by_line),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
