// SPDX-License-Identifier: MIT
/*
 * Placement: CPUs never differ by more than one thread, and nothing is lost, whatever the numbers;
 * swaps keep it so.
 */
#undef NDEBUG
#include "daemon/policy/distribute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/daemon/policy/domain.h"

static void test_place_even(void **state)
{
	uint64_t seed = 1;
	(void)state;

	for (int round = 0; round < 3000; round++) {
		struct domain d = domain_of(
			(size_t)random_int(&seed, 0, N_MAX), (size_t)random_int(&seed, 1, M_MAX));
		/* In two steps, as threads are found. */
		size_t all = d.n, first = (size_t)random_int(&seed, 0, (int64_t)all);
		for (size_t i = 0; i < all; i++)
			d.thread[i] = (struct policy_thread){
				.cpu = POLICY_NO_CPU, .computes = random_int(&seed, 0, 9) > 0};
		for (d.n = first;; d.n = all) {
			note_cpus(&d);
			policy_place(d.thread, d.n, d.cpu, d.m);
			for (size_t i = 0; i < d.n; i++) {
				if (!d.thread[i].computes)
					assert_int_equal(d.thread[i].cpu, POLICY_NO_CPU);
				else if (d.thread[i].cpu_before != POLICY_NO_CPU)
					assert_false(has_moved(&d, i));
				else
					assert_in_range(d.thread[i].cpu, 0, d.m - 1);
			}
			assert_true(apart(&d) <= 1);
			if (d.n == all)
				break;
		}
	}
}

static void test_place_lowest_first(void **state)
{
	struct domain d = domain_of(5, 3);
	(void)state;

	for (size_t i = 0; i < d.n; i++)
		d.thread[i] = (struct policy_thread){.cpu = POLICY_NO_CPU, .computes = true};
	d.thread[1].cpu = 0;
	policy_place(d.thread, d.n, d.cpu, d.m);
	assert_int_equal(d.thread[0].cpu, 1);
	assert_int_equal(d.thread[1].cpu, 0);
	assert_int_equal(d.thread[2].cpu, 2);
	assert_int_equal(d.thread[3].cpu, 0);
	assert_int_equal(d.thread[4].cpu, 1);
	note_cpus(&d);
	policy_place(d.thread, d.n, d.cpu, d.m);
	policy_place(d.thread, 0, d.cpu, d.m);
	assert_int_equal(count_moved(&d), 0);
}

/* Among CPUs with as few threads, the one with fewer neighbours. */
static void test_place_by_neighbours(void **state)
{
	struct domain d = domain_of(5, 3);
	const int32_t expected[] = {1, 2, 0, 1, 2};
	(void)state;

	d.cpu[0].neighbours = 2;
	d.cpu[2].neighbours = 1;
	for (size_t i = 0; i < d.n; i++)
		d.thread[i] = (struct policy_thread){.cpu = POLICY_NO_CPU, .computes = true};
	policy_place(d.thread, d.n, d.cpu, d.m);
	for (size_t i = 0; i < d.n; i++)
		assert_int_equal(d.thread[i].cpu, expected[i]);
}

/* Afterwards, no CPU with an extra thread has more neighbours than one without, and a second
 * call moves nothing. With fewer threads than CPUs none is extra. */
static void test_make_way(void **state)
{
	uint64_t seed = 4;
	(void)state;

	for (int round = 0; round < 3000; round++) {
		struct domain d = domain_of(
			(size_t)random_int(&seed, 0, N_MAX), (size_t)random_int(&seed, 1, M_MAX));
		uint32_t count[M_MAX];
		for (size_t i = 0; i < d.n; i++)
			d.thread[i] =
				(struct policy_thread){.cpu = POLICY_NO_CPU, .computes = true};
		policy_place(d.thread, d.n, d.cpu, d.m);
		for (size_t j = 0; j < d.m; j++)
			d.cpu[j].neighbours = (uint32_t)random_int(&seed, 0, 5);
		note_cpus(&d);
		size_t moves = policy_make_way(d.thread, d.n, d.cpu, d.m);
		assert_int_equal(count_moved(&d), moves);
		assert_true(moves <= (d.n < d.m ? 0 : d.n % d.m));
		assert_true(apart(&d) <= 1);
		count_threads(&d, count);
		for (size_t a = 0; a < d.m; a++)
			for (size_t b = 0; b < d.m; b++)
				if (count[a] > count[b] && count[b] > 0)
					assert_true(d.cpu[a].neighbours <= d.cpu[b].neighbours);
		assert_int_equal(policy_make_way(d.thread, d.n, d.cpu, d.m), 0);
	}
}

/* The fewest moves that can make it even: the fullest CPUs keep one more thread. */
static size_t moves_needed(const struct domain *d)
{
	uint32_t count[M_MAX];
	size_t placed = 0, needed = 0;

	count_threads(d, count);
	for (size_t j = 0; j < d->m; j++)
		placed += count[j];
	size_t rest = placed % d->m;
	for (size_t j = 0; j < d->m; j++) {
		size_t above = count[j] > placed / d->m ? count[j] - placed / d->m : 0;
		needed += above;
		if (above > 0 && rest > 0) {
			needed--;
			rest--;
		}
	}
	return needed;
}

static void test_even_out(void **state)
{
	uint64_t seed = 2;
	(void)state;

	for (int round = 0; round < 3000; round++) {
		struct domain d = domain_of(
			(size_t)random_int(&seed, 0, N_MAX), (size_t)random_int(&seed, 1, M_MAX));
		for (size_t i = 0; i < d.n; i++) {
			d.thread[i].cpu = (int32_t)random_int(&seed, -1, (int64_t)d.m - 1);
			d.thread[i].progress_ns = random_int(&seed, -100, 100);
		}
		size_t needed = moves_needed(&d);
		note_cpus(&d);
		policy_even_out(d.thread, d.n, d.cpu, d.m);
		assert_true(apart(&d) <= 1);
		assert_int_equal(count_moved(&d), needed);
		for (size_t i = 0; i < d.n; i++)
			assert_true((d.thread[i].cpu_before == POLICY_NO_CPU) ==
				    (d.thread[i].cpu == POLICY_NO_CPU));
		/* Of the threads of one CPU, those furthest behind went. */
		for (size_t k = 0; k < d.n; k++)
			for (size_t i = 0; i < d.n && has_moved(&d, k); i++)
				if (d.thread[i].cpu == d.thread[k].cpu_before)
					assert_true(
						d.thread[i].progress_ns >= d.thread[k].progress_ns);
	}
}

static void test_pick_domain(void **state)
{
	uint64_t seed = 3;
	(void)state;

	for (int round = 0; round < 1000; round++) {
		struct policy_domain domain[8] = {0};
		size_t domains = (size_t)random_int(&seed, 1, 8);
		bool same = random_word(&seed) & 1;
		for (size_t d = 0; d < domains; d++)
			domain[d].cpus = same ? 4 : (uint32_t)random_int(&seed, 1, 64);
		for (int i = 0; i < 200; i++) {
			size_t pick = policy_pick_domain(domain, domains);
			assert_true(pick < domains);
			uint32_t threads = ++domain[pick].threads;
			/* In proportion: no domain has more threads per CPU than another would have
			 * with one more thread. */
			for (size_t d = 0; d < domains; d++) {
				assert_true((uint64_t)threads * domain[d].cpus <=
					    (uint64_t)(domain[d].threads + 1) * domain[pick].cpus);
				if (same)
					assert_true(threads <= domain[d].threads + 1);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place_even),
		cmocka_unit_test(test_place_lowest_first),
		cmocka_unit_test(test_place_by_neighbours),
		cmocka_unit_test(test_make_way),
		cmocka_unit_test(test_even_out),
		cmocka_unit_test(test_pick_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
