// SPDX-License-Identifier: MIT
/*
 * The balancing point: cases made by hand from Section 2 of the paper, the promises of policy.h as
 * properties of random domains, and runs in virtual time whose spread is compared with Lemma 1.
 */
#undef NDEBUG
#include "daemon/policy/distribute.h"
#include "daemon/policy/swap.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/daemon/policy/domain.h"

#define LAMBDA_NS INT64_C(10000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- The balancing point, by hand ---- */

/* A thread that always had work: it ran, or waited for its CPU. */
static void add_thread(struct domain *d, int32_t cpu, int64_t progress_ns, int64_t gain_ns)
{
	d->thread[d->n++] = (struct policy_thread){.cpu = cpu,
		.progress_ns = progress_ns,
		.gain_ns = (uint64_t)gain_ns,
		.run_ns = (uint64_t)gain_ns,
		.wait_ns = (uint64_t)(LAMBDA_NS - gain_ns)};
}

static size_t swap(struct domain *d, struct policy_swap_params params)
{
	note_cpus(d);
	return policy_swap(&params, LAMBDA_NS, d->thread, d->n, d->cpu, d->m, d->order);
}

static void assert_move(const struct domain *d, uint32_t thread, int32_t from, int32_t to)
{
	assert_int_equal(d->thread[thread].cpu_before, from);
	assert_int_equal(d->thread[thread].cpu, to);
}

static double idle_ns(const struct policy_cpu *cpu)
{
	return (double)LAMBDA_NS * (1 - cpu->runnable);
}

static void test_three_on_two(void **state)
{
	struct domain d = domain_of(0, 2);
	(void)state;

	add_thread(&d, 0, LAMBDA_NS / 2, LAMBDA_NS / 2);
	add_thread(&d, 0, LAMBDA_NS / 2, LAMBDA_NS / 2);
	add_thread(&d, 1, LAMBDA_NS, LAMBDA_NS);
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 2);
	assert_move(&d, 0, 0, 1);
	assert_move(&d, 2, 1, 0);
	assert_false(d.cpu[0].fast);
	assert_true(d.cpu[1].fast);
	assert_true(d.thread[0].behind && d.thread[1].behind && !d.thread[2].behind);
	assert_true(d.thread[0].moved && !d.thread[1].moved && d.thread[2].moved);
}

/* Section 2.3: rho_1 has one thread ahead and one behind, rho_2 two behind, and there is one fast
 * slot: rho_2 gives, although the thread furthest behind is on rho_1. */
static void test_slowest_cpu_first(void **state)
{
	struct domain d = domain_of(0, 3);
	(void)state;

	add_thread(&d, 0, 12, LAMBDA_NS / 2);
	add_thread(&d, 0, 1, LAMBDA_NS / 2);
	add_thread(&d, 1, 4, LAMBDA_NS / 2);
	add_thread(&d, 1, 4, LAMBDA_NS / 2);
	add_thread(&d, 2, 10, LAMBDA_NS);
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 2);
	assert_move(&d, 2, 1, 2);
	assert_move(&d, 4, 2, 1);
}

static void test_fastest_cpu_first(void **state)
{
	struct domain d = domain_of(0, 3);
	(void)state;

	add_thread(&d, 0, 2, LAMBDA_NS / 2);
	add_thread(&d, 0, 18, LAMBDA_NS / 2);
	add_thread(&d, 1, 20, LAMBDA_NS);
	add_thread(&d, 2, 30, LAMBDA_NS);
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 2);
	assert_move(&d, 0, 0, 2);
	assert_move(&d, 3, 2, 0);
}

/* Two slow CPUs and two fast slots: each slow CPU gives one thread; not one CPU two. */
static void test_cyclic(void **state)
{
	struct domain d = domain_of(0, 4);
	(void)state;

	for (int32_t j = 0; j < 4; j++)
		for (int32_t i = 0; i < 2 - j / 2; i++)
			add_thread(&d, j, j < 2 ? 5 + j : 10 + j, LAMBDA_NS / (2 - j / 2));
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 4);
	assert_move(&d, 0, 0, 3);
	assert_move(&d, 5, 3, 0);
	assert_move(&d, 2, 1, 2);
	assert_move(&d, 4, 2, 1);
}

/* A CPU with nothing left to give does not stop the others. */
static void test_exhausted_cpus(void **state)
{
	struct domain d = domain_of(0, 4);
	(void)state;

	add_thread(&d, 0, 1, LAMBDA_NS / 4); /* 0: three behind */
	add_thread(&d, 0, 2, LAMBDA_NS / 4);
	add_thread(&d, 0, 3, LAMBDA_NS / 4);
	add_thread(&d, 1, 1000, LAMBDA_NS / 4); /* 1: slow, but all ahead */
	add_thread(&d, 1, 1000, LAMBDA_NS / 4);
	add_thread(&d, 2, 1000, LAMBDA_NS / 2); /* 2: two fast slots */
	add_thread(&d, 2, 1001, LAMBDA_NS / 2);
	add_thread(&d, 3, 4, LAMBDA_NS * 3 / 5); /* 3: fast, but its thread is behind */
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 4);
	assert_move(&d, 0, 0, 2);
	assert_move(&d, 6, 2, 0);
	assert_move(&d, 1, 0, 2);
	assert_move(&d, 5, 2, 0);
	assert_int_equal(d.thread[2].cpu, 0);
	assert_int_equal(d.thread[7].cpu, 3);
}

/* Fig. 3, line 9: where a fast CPU has no slot left, the paper passes over the slow CPU. */
static void test_to_the_letter(void **state)
{
	(void)state;
	for (int letter = 0; letter <= 1; letter++) {
		struct domain d = domain_of(0, 4);
		add_thread(&d, 0, 1, LAMBDA_NS / 4); /* 0 and 1: slow */
		add_thread(&d, 1, 2, LAMBDA_NS / 4);
		add_thread(&d, 2, 3, LAMBDA_NS); /* 2: fast, the furthest, but one behind */
		add_thread(&d, 2, 3, LAMBDA_NS);
		d.thread[2].progress_ns = d.thread[3].progress_ns = 500;
		add_thread(&d, 3, 1300, LAMBDA_NS); /* 3: fast, with one slot, as the mean shows */
		add_thread(&d, 3, -400, LAMBDA_NS);
		const struct policy_swap_params params = {
			.to_the_letter = letter ? POLICY_PAPER : 0, .margin_ns = 300};
		assert_int_equal(swap(&d, params), 2);
		assert_move(&d, letter ? 1 : 0, letter, 3);
		assert_move(&d, 4, 3, letter);
	}
}

/* Section 2.1: threads that slept for half of the period are not on a slow CPU. */
static void test_idle_discount(void **state)
{
	struct domain d = domain_of(0, 2);
	(void)state;

	for (int32_t j = 0; j < 2; j++)
		for (int i = 0; i < 2; i++)
			add_thread(&d, j, j == 0 ? 0 : LAMBDA_NS, LAMBDA_NS / (j == 0 ? 4 : 2));
	d.thread[0].wait_ns = d.thread[1].wait_ns = LAMBDA_NS / 4;
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 0);
	assert_float_equal(idle_ns(&d.cpu[0]), LAMBDA_NS / 2, 1);
	assert_float_equal(idle_ns(&d.cpu[1]), 0, 1);
	assert_float_equal(d.cpu[0].speed, LAMBDA_NS / 2, 1);
	assert_float_equal(d.cpu[1].speed, LAMBDA_NS / 2, 1);

	/* If they had waited for that time, something else would have run: CPU 0 is slow. */
	d.thread[0].wait_ns = d.thread[1].wait_ns = LAMBDA_NS * 3 / 4;
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 4);
	assert_float_equal(d.cpu[0].speed, LAMBDA_NS / 4, 1);

	/* Two that took turns, never both awake, left it no idle time either. */
	d.thread[0].wait_ns = d.thread[1].wait_ns = 0;
	d.thread[0].cpu = d.thread[1].cpu = 0;
	d.thread[0].run_ns = d.thread[1].run_ns = LAMBDA_NS / 2;
	d.thread[2].cpu = d.thread[3].cpu = 1;
	(void)swap(&d, (struct policy_swap_params){0});
	assert_float_equal(idle_ns(&d.cpu[0]), 0, 1);

	/* All asleep: fast, since it could have given each of two threads half. */
	for (size_t i = 0; i < d.n; i++)
		if (d.thread[i].cpu == 0)
			d.thread[i].gain_ns = d.thread[i].run_ns = d.thread[i].wait_ns = 0;
	(void)swap(&d, (struct policy_swap_params){0});
	assert_float_equal(d.cpu[0].speed, LAMBDA_NS / 2, 1);
	assert_float_equal(idle_ns(&d.cpu[0]), LAMBDA_NS, 1);
}

/* The kernel credits a running thread only at ticks: too little in one period, too much in the
 * next. Smoothed over both, the CPUs are equal; a real difference still shows. */
static void test_speed_is_smoothed(void **state)
{
	const struct policy_swap_params params = {.speed_margin = 0.02, .speed_periods = 16};
	struct domain d = domain_of(0, 2);
	(void)state;

	for (int32_t j = 0; j < 2; j++)
		for (int i = 0; i < 2; i++)
			add_thread(&d, j, i * LAMBDA_NS, LAMBDA_NS / 2);
	for (int period = 0; period < 64; period++) {
		int64_t late = period < 16 ? 0 : LAMBDA_NS / (period % 2 == 0 ? 4 : -4);
		d.thread[0].run_ns = d.thread[0].gain_ns = (uint64_t)(LAMBDA_NS / 2 - late);
		assert_int_equal(swap(&d, params), 0);
	}
	for (int i = 0; i < 2; i++) { /* now something else takes half of CPU 0 */
		d.thread[i].run_ns = d.thread[i].gain_ns = LAMBDA_NS / 4;
		d.thread[i].wait_ns = LAMBDA_NS * 3 / 4;
	}
	size_t moves = 0;
	for (int period = 0; period < 3; period++)
		moves += swap(&d, params);
	assert_true(moves > 0);
	assert_true(d.cpu[1].fast);
}

/* What a thread ran before its move counts for the CPU that it left. */
static void test_run_before_move(void **state)
{
	struct domain d = domain_of(0, 2);
	(void)state;

	for (int32_t j = 0; j < 2; j++)
		for (int i = 0; i < 2; i++)
			add_thread(&d, j, 0, LAMBDA_NS / 2);
	/* Thread 0 came from CPU 1, whose thread 3 came from CPU 0 without having run. */
	d.thread[0].run_ns = d.thread[0].gain_ns = LAMBDA_NS;
	d.thread[0].left_ns = LAMBDA_NS / 2;
	d.thread[0].left_cpu = 1;
	d.thread[3].run_ns = d.thread[3].gain_ns = 0;
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 0);
	assert_float_equal(d.cpu[0].speed, LAMBDA_NS / 2, 1);
	assert_float_equal(d.cpu[1].speed, LAMBDA_NS / 2, 1);

	/* If CPU 0 gave its threads nothing else, it is the slow one. */
	d.thread[1].run_ns = d.thread[1].gain_ns = 0;
	d.thread[1].wait_ns = LAMBDA_NS;
	(void)swap(&d, (struct policy_swap_params){0});
	assert_float_equal(d.cpu[0].speed, LAMBDA_NS / 4, 1);
}

/* P < mean + xi is behind, P = mean + xi is not. Progress 0, 0, 30: the mean is 10. */
static void test_margin(void **state)
{
	(void)state;
	for (int64_t margin = 19; margin <= 21; margin++) {
		struct domain d = domain_of(0, 2);
		add_thread(&d, 0, 0, LAMBDA_NS / 2);
		add_thread(&d, 0, 0, LAMBDA_NS / 2);
		add_thread(&d, 1, 30, LAMBDA_NS);
		size_t moves = swap(&d, (struct policy_swap_params){.margin_ns = margin});
		assert_int_equal(moves, margin <= 20 ? 2 : 0);
		assert_true(d.thread[2].behind == (margin > 20));
		assert_int_equal(d.cpu[1].fast_slots, 0); /* all taken, or none at all */
	}
}

static void test_nothing_to_swap(void **state)
{
	(void)state;
	/* No fast slots: the thread on the fast CPU is the one behind. */
	struct domain d = domain_of(0, 2);
	add_thread(&d, 0, 100, LAMBDA_NS / 2);
	add_thread(&d, 0, 100, LAMBDA_NS / 2);
	add_thread(&d, 1, 10, LAMBDA_NS);
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 0);
	assert_true(d.cpu[1].fast);

	/* No thread behind on a slow CPU: the fast CPU has the one behind, and a slot. */
	d = domain_of(0, 2);
	add_thread(&d, 0, 100, LAMBDA_NS / 3);
	add_thread(&d, 0, 100, LAMBDA_NS / 3);
	add_thread(&d, 1, 10, LAMBDA_NS / 2);
	add_thread(&d, 1, 100, LAMBDA_NS / 2);
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 0);
	assert_int_equal(d.cpu[1].fast_slots, 1);

	/* An empty CPU takes no part, and does not make the others fast. */
	d = domain_of(0, 3);
	add_thread(&d, 0, 10, LAMBDA_NS);
	add_thread(&d, 1, 100, LAMBDA_NS);
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 0);
	for (size_t j = 0; j < d.m; j++)
		assert_false(d.cpu[j].fast);
}

static void test_degenerate(void **state)
{
	struct policy_swap_params params = {0};
	struct domain d = domain_of(0, 2);
	(void)state;

	assert_int_equal(swap(&d, params), 0); /* no threads */
	add_thread(&d, 0, 0, LAMBDA_NS / 2);
	add_thread(&d, 0, 0, LAMBDA_NS / 2);
	add_thread(&d, 1, 10, LAMBDA_NS);
	assert_int_equal(policy_swap(&params, 0, d.thread, d.n, d.cpu, d.m, d.order), 0);
	for (size_t i = 0; i < d.n; i++)
		d.thread[i].cpu = POLICY_NO_CPU;
	assert_int_equal(swap(&d, params), 0);
	d.m = 1;
	for (size_t i = 0; i < d.n; i++)
		d.thread[i].cpu = 0;
	assert_int_equal(swap(&d, params), 0);
}

/* n = m: a CPU shared with other work is slow, and its thread swaps with another. */
static void test_foreign_load(void **state)
{
	struct domain d = domain_of(0, 2);
	(void)state;

	add_thread(&d, 0, LAMBDA_NS / 2, LAMBDA_NS / 2);
	add_thread(&d, 1, LAMBDA_NS, LAMBDA_NS);
	assert_int_equal(swap(&d, (struct policy_swap_params){0}), 2);
	assert_move(&d, 0, 0, 1);
	assert_move(&d, 1, 1, 0);
}

/* Two slow CPUs among many. One thread happens to lead by more than the margin: that must not hide
 * the others. */
static void test_margin_of_many(void **state)
{
	const struct policy_swap_params params = {.margin_ns = 100000, .speed_margin = 0.02};
	struct domain d = domain_of(0, 16);
	(void)state;

	for (int32_t cpu = 0; cpu < 16; cpu++)
		add_thread(&d, cpu, cpu == 15 ? 9750000 : 9350000, LAMBDA_NS / (1 + (cpu < 2)));
	for (int32_t cpu = 0; cpu < 2; cpu++) {
		d.thread[cpu].progress_ns = 9000000;
		add_thread(&d, cpu, 9000000, LAMBDA_NS / 2);
	}
	assert_int_equal(swap(&d, params), 8);
}

/* Equal speeds, or speeds that differ within the margin, leave a perfect balance alone. */
static void test_even_stays(void **state)
{
	uint64_t seed = 4;
	(void)state;

	for (int round = 0; round < 500; round++) {
		int64_t each = random_int(&seed, 1, 4), noise = round % 2 ? LAMBDA_NS / 100 : 0;
		struct domain d = domain_of(0, (size_t)random_int(&seed, 1, M_MAX));
		for (size_t j = 0; j < d.m; j++) {
			int64_t gain = (LAMBDA_NS - random_int(&seed, 0, noise)) / each;
			for (int64_t i = 0; i < each; i++)
				add_thread(&d, (int32_t)j, random_int(&seed, 0, LAMBDA_NS), gain);
		}
		assert_int_equal(
			swap(&d, (struct policy_swap_params){.speed_margin = noise ? 0.02 : 0}), 0);
	}
}

/* One slow CPU among many: the mean is nearly the speed of the others. The margin must not hide
 * that they are fast, and noise must not make some of them slow. */
static void test_one_slow_of_many(void **state)
{
	uint64_t seed = 6;
	struct domain d = domain_of(0, 13);
	(void)state;

	for (int32_t j = 0; j < 13; j++)
		for (int i = 0; i < (j == 4 ? 4 : 3); i++)
			add_thread(&d, j, j == 4 ? 0 : LAMBDA_NS,
				(LAMBDA_NS - random_int(&seed, 0, LAMBDA_NS / 50)) /
					(j == 4 ? 4 : 3));
	assert_int_equal(swap(&d, policy_swap_defaults(0, LAMBDA_NS)), 8);
	for (size_t j = 0; j < d.m; j++)
		assert_int_equal(d.cpu[j].fast, j != 4);
}

/* A part of each lead and lag is forgotten, before the comparison. */
static void test_forgets(void **state)
{
	struct domain d = domain_of(0, 2);
	(void)state;

	add_thread(&d, 0, -1000, LAMBDA_NS / 2);
	add_thread(&d, 0, 10, LAMBDA_NS / 2);
	add_thread(&d, 1, 1050, LAMBDA_NS); /* the mean is 20 */
	(void)swap(&d, (struct policy_swap_params){.forget_periods = 10});
	assert_int_equal(d.thread[0].progress_ns, -898);
	assert_int_equal(d.thread[1].progress_ns, 11);
	assert_int_equal(d.thread[2].progress_ns, 947);

	d.thread[2].progress_ns = 1000000;
	(void)swap(&d, (struct policy_swap_params){.forget_periods = 0});
	assert_int_equal(d.thread[2].progress_ns, 1000000);
}

/* A thread without a CPU is left out: it keeps its whole lead. */
static void test_forgets_unplaced(void **state)
{
	struct domain d = domain_of(0, 2);
	(void)state;

	add_thread(&d, 0, 10, LAMBDA_NS / 2);
	add_thread(&d, POLICY_NO_CPU, 5000, 0);
	add_thread(&d, 1, 30, LAMBDA_NS);
	(void)swap(&d, (struct policy_swap_params){.forget_periods = 10});
	assert_int_equal(d.thread[1].progress_ns, 5000);
	assert_int_equal(d.thread[1].cpu, POLICY_NO_CPU);
	assert_false(d.thread[1].behind || d.thread[1].moved);
}

/* ---- The balancing point, as properties ---- */

static struct domain random_domain(uint64_t *seed)
{
	struct domain d = domain_of(0, (size_t)random_int(seed, 1, M_MAX));
	size_t n = (size_t)random_int(seed, 0, N_MAX);
	/* Narrow ranges make ties, which wide ones never do. */
	int64_t progress = random_word(seed) & 1 ? 10 : 100 * LAMBDA_NS;

	for (size_t j = 0; j < d.m; j++)
		d.cpu[j].os_cpu = (int32_t)(100 + j);
	for (size_t i = 0; i < n; i++) {
		int32_t cpu = random_int(seed, 0, 9) == 0
				      ? POLICY_NO_CPU
				      : (int32_t)random_int(seed, 0, (int64_t)d.m - 1);
		add_thread(&d, cpu, random_int(seed, -progress, progress),
			random_int(seed, 0, 3) == 0 ? 0 : random_int(seed, 0, LAMBDA_NS));
		d.thread[i].wait_ns = (uint64_t)random_int(seed, 0, LAMBDA_NS);
		if (random_word(seed) & 1) /* in another unit, such as instructions */
			d.thread[i].gain_ns *= 3;
		d.thread[i].behind = random_word(seed) & 1;
		d.thread[i].moved = random_word(seed) & 1;
	}
	return d;
}

static void assert_swaps(const struct domain *d, size_t moves)
{
	size_t behind_left = 0, slots_left = 0;

	assert_int_equal(moves % 2, 0);
	assert_int_equal(count_moved(d), moves);
	for (size_t i = 0; i < d->n; i++) {
		const struct policy_thread *thread = &d->thread[i];
		if (!has_moved(d, i))
			continue;
		assert_true(thread->moved);
		assert_true(d->cpu[thread->cpu].fast != d->cpu[thread->cpu_before].fast);
		/* Only behind threads go to fast CPUs, only ahead ones leave them. */
		assert_true(thread->behind == d->cpu[thread->cpu].fast);
	}
	for (size_t i = 0; i < d->n; i++) {
		const struct policy_thread *thread = &d->thread[i];
		if (thread->cpu == POLICY_NO_CPU || thread->moved)
			continue;
		bool fast = d->cpu[thread->cpu].fast;
		behind_left += !fast && thread->behind;
		slots_left += fast && !thread->behind;
	}
	/* Fig. 3 goes on while there are fast slots and behind threads. */
	assert_true(behind_left == 0 || slots_left == 0);
}

static void assert_forgotten(
	const struct domain *before, const struct domain *after, int64_t periods)
{
	double sum = 0;
	size_t placed = 0;

	for (size_t i = 0; i < before->n; i++)
		if (before->thread[i].cpu != POLICY_NO_CPU) {
			sum += (double)before->thread[i].progress_ns;
			placed++;
		}
	int64_t mean = placed > 0 ? (int64_t)(sum / (double)placed) : 0;
	for (size_t i = 0; i < before->n; i++) {
		int64_t was = before->thread[i].progress_ns, is = after->thread[i].progress_ns;
		if (before->thread[i].cpu == POLICY_NO_CPU || periods == 0)
			assert_int_equal(is, was);
		else
			assert_int_equal(is, was - (was - mean) / periods);
	}
}

static void test_swap_properties(void **state)
{
	uint64_t seed = 5;
	size_t total = 0;
	(void)state;

	for (int round = 0; round < 5000; round++) {
		struct domain d = random_domain(&seed), before = d;
		struct policy_swap_params params = {
			.margin_ns = random_int(&seed, 0, 1) * random_int(&seed, 0, LAMBDA_NS),
			.speed_margin = (double)random_int(&seed, 0, 20) / 100,
			.forget_periods = random_int(&seed, 0, 20),
			.to_the_letter = (unsigned)random_int(&seed, 0, POLICY_PAPER)};
		size_t moves = swap(&d, params);

		total += moves;
		if (d.n == 0 || d.m < 2) {
			assert_int_equal(moves, 0);
			continue;
		}
		assert_swaps(&d, moves);
		assert_forgotten(&before, &d, params.forget_periods);
		uint32_t was[M_MAX], is[M_MAX];
		count_threads(&before, was);
		count_threads(&d, is);
		for (size_t j = 0; j < d.m; j++) {
			assert_int_equal(is[j], was[j]);
			assert_int_equal(d.cpu[j].threads, is[j]);
			assert_int_equal(d.cpu[j].os_cpu, 100 + j);
			assert_true(isfinite(d.cpu[j].speed) && d.cpu[j].speed >= 0);
			assert_true(isfinite(d.cpu[j].runnable) && d.cpu[j].runnable >= 0);
		}
		for (size_t i = 0; i < d.n; i++) {
			assert_int_equal(d.thread[i].gain_ns, before.thread[i].gain_ns);
			assert_int_equal(d.thread[i].run_ns, before.thread[i].run_ns);
			assert_int_equal(d.thread[i].wait_ns, before.thread[i].wait_ns);
			if (d.thread[i].cpu == POLICY_NO_CPU)
				assert_false(d.thread[i].moved || d.thread[i].behind);
		}
	}
	assert_true(total > 5000); /* the domains were not all trivial */
}

/* ---- Runs in virtual time ---- */

struct run {
	size_t n, m;
	bool balance;
	double noise; /* relative variation of a thread's part of a period */
	double loaded; /* the share of CPU 0 that other work takes */
	int64_t margin_ns;
};

static int64_t spread(const struct domain *d)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (size_t i = 0; i < d->n; i++) {
		least = d->thread[i].progress_ns < least ? d->thread[i].progress_ns : least;
		most = d->thread[i].progress_ns > most ? d->thread[i].progress_ns : most;
	}
	return most - least;
}

/* Each CPU shares its time fairly among its threads. Returns the largest spread. */
static double largest_spread(const struct run *run, int periods)
{
	struct domain d = domain_of(run->n, run->m);
	int64_t largest = 0;
	uint64_t seed = 6;

	for (size_t i = 0; i < d.n; i++)
		d.thread[i] = (struct policy_thread){.cpu = POLICY_NO_CPU, .computes = true};
	policy_place(d.thread, d.n, d.cpu, d.m);
	for (int k = 0; k < periods; k++) {
		uint32_t count[M_MAX];
		count_threads(&d, count);
		for (size_t i = 0; i < d.n; i++) {
			struct policy_thread *thread = &d.thread[i];
			double share =
				(thread->cpu == 0 ? 1 - run->loaded : 1) / count[thread->cpu];
			share *= 1 - run->noise * (double)random_int(&seed, 0, 1000) / 1000;
			thread->run_ns = thread->gain_ns = (uint64_t)(share * LAMBDA_NS);
			thread->wait_ns = LAMBDA_NS - thread->run_ns;
			thread->progress_ns += (int64_t)thread->gain_ns;
		}
		int64_t now = spread(&d);
		largest = now > largest ? now : largest;
		if (run->balance)
			(void)swap(&d, (struct policy_swap_params){.margin_ns = run->margin_ns});
		assert_true(apart(&d) <= 1);
	}
	return (double)largest;
}

static const struct {
	size_t n, m;
} shapes[] = {
	{3, 2}, {5, 2}, {5, 4}, {7, 4}, {9, 4}, {9, 8}, {15, 8}, {17, 16}, {31, 16}, {40, 16}};

/* Lemma 1: threads are never further apart than lambda / (ceil(n/m) * floor(n/m)). */
static void test_spread_bounded(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT(shapes); s++) {
		struct run run = {.n = shapes[s].n, .m = shapes[s].m, .balance = true};
		double least = (double)(run.n / run.m);
		double lemma = LAMBDA_NS / (least * (least + 1));
		double few = largest_spread(&run, 50), many = largest_spread(&run, 2000);
		print_message("%zu on %zu: %.2f, %.2f of the bound of Lemma 1\n", run.n, run.m,
			few / lemma, many / lemma);
		assert_true(many <= 1.01 * lemma);

		/* Without moves the spread is the bound in each period, for ever. */
		run.balance = false;
		assert_float_equal(largest_spread(&run, 50) / lemma, 50, 0.5);
		assert_float_equal(largest_spread(&run, 500) / lemma, 500, 5);
	}
}

static void test_spread_noise(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT(shapes); s++) {
		struct run run = {.n = shapes[s].n,
			.m = shapes[s].m,
			.balance = true,
			.noise = 0.2,
			.margin_ns = LAMBDA_NS / 100};
		double few = largest_spread(&run, 500), many = largest_spread(&run, 5000);
		print_message("%zu on %zu: %.2f, %.2f periods\n", run.n, run.m, few / LAMBDA_NS,
			many / LAMBDA_NS);
		/* Each draw can be a new record, but nothing accumulates: without moves it would be
		 * 2000. */
		assert_true(many < 10 * LAMBDA_NS);
	}
}

static void test_spread_foreign_load(void **state)
{
	struct run run = {.n = 4, .m = 4, .loaded = 0.5, .balance = true};
	(void)state;

	double many = largest_spread(&run, 2000);
	print_message("balanced: %.2f periods\n", many / LAMBDA_NS);
	assert_true(many <= 1.5 * LAMBDA_NS);
	run.balance = false;
	assert_true(largest_spread(&run, 2000) > 900.0 * LAMBDA_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_on_two),
		cmocka_unit_test(test_slowest_cpu_first),
		cmocka_unit_test(test_fastest_cpu_first),
		cmocka_unit_test(test_cyclic),
		cmocka_unit_test(test_exhausted_cpus),
		cmocka_unit_test(test_to_the_letter),
		cmocka_unit_test(test_idle_discount),
		cmocka_unit_test(test_speed_is_smoothed),
		cmocka_unit_test(test_run_before_move),
		cmocka_unit_test(test_margin),
		cmocka_unit_test(test_margin_of_many),
		cmocka_unit_test(test_nothing_to_swap),
		cmocka_unit_test(test_degenerate),
		cmocka_unit_test(test_foreign_load),
		cmocka_unit_test(test_even_stays),
		cmocka_unit_test(test_one_slow_of_many),
		cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_forgets_unplaced),
		cmocka_unit_test(test_swap_properties),
		cmocka_unit_test(test_spread_bounded),
		cmocka_unit_test(test_spread_noise),
		cmocka_unit_test(test_spread_foreign_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
