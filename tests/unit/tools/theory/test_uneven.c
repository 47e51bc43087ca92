/* SPDX-License-Identifier: MIT */
/* The theory of unequal work, unequal CPUs and costs of moves against the simulators, over a seeded
 * sample. Prints the greatest difference of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef NDEBUG
#include "tests/unit/sanitized.h"
#include "tools/sim/jitter.h"
#include "tools/sim/threads.h"
#include "tools/theory/theory.h"
#include "tools/theory/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MAX 6
#define THREADS_MAX 16
#define PHASE_NS 1e8

enum { SAMPLES = SANITIZED ? 50 : 200 };

static int largest_first(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one < *other) - (*one > *other);
}

static void test_known(void **unused)
{
	const double work[] = {3, 1, 1}, equal[] = {2, 2, 2}, two[] = {1, 1}, speed[] = {1, 0.5};
	struct uneven_case c = {.threads = 3, .cpus = 2, .work = work};
	(void)unused;

	assert_float_equal(uneven_bound(&c), 3, 1e-12);
	assert_float_equal(uneven_by_rest(&c), 3, 1e-12);
	/* 1 of each at a rate of 2/3, then 2 alone */
	assert_float_equal(uneven_by_progress(&c), 3.5, 1e-12);
	c.work = equal;
	assert_float_equal(uneven_bound(&c), 3, 1e-12);
	assert_float_equal(uneven_by_rest(&c), 3, 1e-12);
	assert_float_equal(uneven_by_progress(&c), 3, 1e-12);
	c = (struct uneven_case){.threads = 2, .cpus = 2, .work = two, .speed = speed};
	assert_float_equal(uneven_bound(&c), 4.0 / 3, 1e-12);
	assert_float_equal(uneven_by_rest(&c), 4.0 / 3, 1e-12);
	assert_float_equal(uneven_by_progress(&c), 4.0 / 3, 1e-12);
	assert_float_equal(uneven_static(&c), 2, 1e-12);
	c = (struct uneven_case){.threads = 3, .cpus = 2, .work = work, .speed = speed};
	assert_float_equal(uneven_static(&c), 4, 1e-12);
	assert_true(
		uneven_moves_known(3, 2) && uneven_moves_known(8, 6) && uneven_moves_known(10, 5));
	assert_false(uneven_moves_known(9, 5) || uneven_moves_known(7, 2));
	assert_float_equal(uneven_moves(3, 2), 2, 0);
	assert_float_equal(uneven_moves(4, 2), 0, 0);
	assert_float_equal(uneven_moves_cost(3, 2, 1, 0.1), 1 / 0.9, 1e-12);
	assert_true(isinf(uneven_moves_cost(3, 2, 1, 1)));
}

/* Equal threads: Eq. 14, also on unequal CPUs. And no balancer is better than the bound. */
static void test_order(void **unused)
{
	struct jitter random = jitter_begin(1, 0);
	double work[THREADS_MAX], speed[CPUS_MAX];
	(void)unused;

	for (int i = 0; i < 2000; i++) {
		struct uneven_case c = {.threads = 1 + (uint32_t)(i % THREADS_MAX),
			.cpus = 1 + (uint32_t)(i / THREADS_MAX % CPUS_MAX),
			.work = work,
			.speed = speed};
		for (uint32_t k = 0; k < c.threads; k++)
			work[k] = jitter_next(&random, i % 4 * 0.3);
		for (uint32_t j = 0; j < c.cpus; j++)
			speed[j] = jitter_next(&random, i % 3 * 0.4);
		qsort(work, c.threads, sizeof *work, largest_first);
		qsort(speed, c.cpus, sizeof *speed, largest_first);
		assert_true(uneven_bound(&c) <= uneven_by_rest(&c) * (1 + 1e-9));
		assert_true(uneven_by_rest(&c) <= uneven_by_progress(&c) * (1 + 1e-9));
		assert_true(uneven_bound(&c) <= uneven_static(&c) * (1 + 1e-9));
		if (i % 4 == 0 && c.threads >= c.cpus) {
			const struct theory_case equal = {.threads = c.threads,
				.cpus = c.cpus,
				.speed = speed,
				.phase = 1,
				.period = 1,
				.phases = 1};
			if (theory_unbalanced(&equal))
				assert_float_equal(
					uneven_by_rest(&c), theory_perfect(&equal), 1e-9);
		}
	}
}

static uint64_t simulate(const struct threads_params *params)
{
	struct threads_result result;
	struct threads_sim *sim;

	assert_int_equal(threads_new(&sim, params), 0);
	assert_true(threads_run(sim, UINT64_MAX / 4));
	threads_get(sim, &result);
	threads_free(sim);
	return result.time_ns;
}

/* The works that the simulator draws in each phase. */
static double sum_of_phases(
	const struct threads_params *params, double (*time)(const struct uneven_case *c))
{
	struct jitter draw = jitter_begin(params->seed, 1);
	double work[THREADS_MAX], speed[CPUS_MAX], sum = 0;

	for (size_t j = 0; j < params->cpus; j++)
		speed[j] = params->cpu[j].speed;
	for (uint64_t p = 0; p < params->phases; p++) {
		for (uint32_t i = 0; i < params->threads; i++)
			work[i] = PHASE_NS * jitter_next(&draw, params->imbalance) *
				  (i == 0 ? 1 + params->heavier : 1);
		qsort(work, params->threads, sizeof *work, largest_first);
		const struct uneven_case c = {.threads = params->threads,
			.cpus = (uint32_t)params->cpus,
			.work = work,
			.speed = speed};
		sum += time(&c);
	}
	return sum;
}

static struct threads_params sample(struct jitter *random, struct threads_cpu *cpu, int i)
{
	uint32_t m = 2 + (uint32_t)i % (CPUS_MAX - 1);
	uint32_t n = m + (uint32_t)(erand48(random->state) * (THREADS_MAX - m));

	for (uint32_t j = 0; j < m; j++)
		cpu[j] = (struct threads_cpu){.speed = 1};
	return (struct threads_params){.threads = n,
		.domains = 1,
		.cpu = cpu,
		.cpus = m,
		.phase_ns = (uint64_t)PHASE_NS,
		.phases = 20,
		.balancer = THREADS_IDEAL,
		.period_ns = (uint64_t)(PHASE_NS / 200),
		.jitter = 0.1,
		.seed = (uint64_t)i};
}

/* Fig. 4, which deals by the work that is left. */
static void test_unequal_work(void **unused)
{
	struct jitter random = jitter_begin(2, 0);
	struct threads_cpu cpu[CPUS_MAX];
	double most = 0;
	(void)unused;

	for (int i = 0; i < SAMPLES; i++) {
		struct threads_params params = sample(&random, cpu, i);
		params.imbalance = 0.9 * erand48(random.state);
		params.heavier = i % 2 * 2 * erand48(random.state);
		double time = (double)simulate(&params);
		assert_true(time >= sum_of_phases(&params, uneven_bound) * (1 - 1e-9));
		double off = fabs(time / sum_of_phases(&params, uneven_by_rest) - 1);
		most = fmax(most, off);
		if (off > 0.02)
			fail_msg("sample %d: n %u, m %zu: %.3f off", i, params.threads, params.cpus,
				off);
	}
	print_message("work left: at most %.2f %% from the simulator\n", 100 * most);
}

/* One CPU with two threads, or no more slow threads than fast ones. */
static void test_cost_of_moves(void **unused)
{
	struct jitter random = jitter_begin(3, 0);
	struct threads_cpu cpu[CPUS_MAX];
	double most = 0;
	(void)unused;

	for (int i = 0; i < SAMPLES; i++) {
		struct threads_params params = sample(&random, cpu, i);
		params.period_ns = (uint64_t)(PHASE_NS / 100);
		params.threads =
			(uint32_t)params.cpus + 1 + (params.cpus >= 6 ? (uint32_t)i / 5 % 2 : 0);
		double free_time = (double)simulate(&params);
		double cost = 0.1 * erand48(random.state) * (double)params.period_ns;
		params.migration_ns = (uint64_t)cost;
		double found = (double)simulate(&params) / free_time;
		double times = uneven_moves_cost(
			params.threads, (uint32_t)params.cpus, (double)params.period_ns, cost);
		double off = fabs(found / times - 1);
		most = fmax(most, off);
		if (off > 0.02)
			fail_msg("sample %d: n %u, m %zu: %.3f times as long, not %.3f", i,
				params.threads, params.cpus, found, times);
	}
	print_message("cost of moves: at most %.2f %% from the simulator\n", 100 * most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_unequal_work),
		cmocka_unit_test(test_cost_of_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
