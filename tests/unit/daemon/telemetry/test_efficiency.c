// SPDX-License-Identifier: MIT
/*
 * The efficiencies of POP, for threads whose times are known: with a CPU each, with too few CPUs,
 * beside other work, with threads that come and go; and for times that can't be.
 */
#undef NDEBUG
#include "daemon/telemetry/efficiency.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define assert_near(found, expected)                                                               \
	do {                                                                                       \
		double value = (found), wanted = (expected);                                       \
		if (!(fabs(value - wanted) <= 1e-9 * fmax(1, fabs(wanted))))                       \
			fail_msg("%s is %.12g, not %.12g", #found, value, wanted);                 \
	} while (0)

/* Told for a second, in which it did 100 phases. */
static struct efficiency_thread thread_of(uint32_t id, uint64_t useful_ms, uint64_t waited_ms)
{
	return (struct efficiency_thread){.id = id,
		.from_ns = 5000 * MS,
		.to_ns = 6000 * MS,
		.arrivals = 100,
		.useful_ns = useful_ms * MS,
		.waited_ns = waited_ms * MS,
		.ran = (double)useful_ms * 1e-3};
}

static struct efficiency measured(const struct efficiency_thread *thread, size_t n, double cpus)
{
	struct efficiency_thread copy[32];
	struct efficiency e;

	assert_true(n <= COUNT(copy));
	memcpy(copy, thread, n * sizeof *thread);
	efficiency_measure(copy, n, cpus, &e);
	return e;
}

/* POP's definitions: one of four has twice the work. */
static void test_a_cpu_each(void **state)
{
	const struct efficiency_thread thread[] = {thread_of(7, 450, 550), thread_of(8, 900, 100),
		thread_of(9, 450, 550), thread_of(10, 450, 550)};
	struct efficiency e = measured(thread, 4, 4);
	(void)state;

	assert_int_equal(e.threads, 4);
	assert_near(e.told_s, 1);
	assert_near(e.load_balance, 0.5625 / 0.9);
	assert_near(e.communication_efficiency, 0.9);
	assert_near(e.parallel_efficiency, 0.5625);
	assert_near(e.useful_share, e.parallel_efficiency);
	assert_near(e.capacity_s, 4);
	assert_near(e.lost_s, 1.75);
	assert_near(e.lost_share, 1.75 / 4);
	assert_int_equal(e.phases, 100);
	assert_near(e.phase_s, 0.01);
	assert_near(e.work_s, 0.005625);
	assert_near(e.waiting, 1.75 / 4);
	assert_near(e.useful, 2.25);
	assert_int_equal(e.most, 8);
	assert_near(e.stacked, 0.45);
	assert_near(e.others, 0);
	/* More CPUs than threads don't count. */
	assert_near(measured(thread, 4, 64).useful_share, e.useful_share);
}

/* Three threads that take turns on two CPUs, and use all of them. */
static void test_turns(void **state)
{
	struct efficiency_thread thread[3];
	(void)state;

	for (uint32_t i = 0; i < 3; i++) {
		thread[i] = thread_of(i, 660, 30);
		thread[i].ready = 0.31;
	}
	struct efficiency e = measured(thread, 3, 2);
	assert_near(e.load_balance, 1);
	assert_near(e.parallel_efficiency, 0.66);
	assert_near(e.useful_share, 0.99);
	assert_near(
		e.lost_s, 0.02); /* no more than was not useful, though they waited for longer */
	assert_near(e.stacked, 1.32); /* two of them, on one CPU */
	assert_near(e.others, 0);
	/* A quota of less than a CPU. */
	e = measured(thread, 3, 0.5);
	assert_near(e.capacity_s, 0.5);
	assert_near(e.useful_share, 1);
	assert_near(e.lost_s, 0);
	assert_near(e.stacked, 3 * 0.66);
}

/* Pinned, one beside a hog that takes half of its CPU. */
static void test_other_work(void **state)
{
	struct efficiency_thread thread[2] = {thread_of(0, 500, 500), thread_of(1, 500, 0)};
	(void)state;

	thread[1].ready = 0.5;
	struct efficiency e = measured(thread, 2, 2);
	assert_near(e.others, 0.5);
	assert_near(e.lost_s, 0.5);
	assert_near(e.useful_share, 0.5);
	assert_near(e.load_balance, 1);
	/* Three threads on two CPUs wait for each other. */
	struct efficiency_thread three[3] = {
		thread_of(0, 500, 0), thread_of(1, 500, 0), thread_of(2, 500, 500)};
	three[0].ready = three[1].ready = 0.5;
	assert_near(measured(three, 3, 2).others, 0);
	three[0].ran = three[1].ran = three[2].ran = 0.25;
	three[0].ready = three[1].ready = 0.75;
	assert_near(measured(three, 3, 2).others, (1.5 - 0.75) / 2);
}

/* Short-lived threads count in what CPUs did, and not as threads; nor do those that started the
 * others and then wait elsewhere. Threads without work do. */
static void test_who_counts(void **state)
{
	struct efficiency_thread thread[24] = {thread_of(1, 800, 200), thread_of(2, 800, 200),
		thread_of(3, 0, 1000), thread_of(4, 0, 0)};
	(void)state;

	thread[3].arrivals = 1;
	for (uint32_t i = 4; i < 24; i++) {
		thread[i] = thread_of(100 + i, 10, 40);
		thread[i].from_ns = 5000 * MS + 50 * MS * (i - 4);
		thread[i].to_ns = thread[i].from_ns + 50 * MS;
	}
	struct efficiency e = measured(thread, 24, 8);
	assert_int_equal(e.threads, 3);
	assert_near(e.load_balance, 1.6 / 3 / 0.8);
	assert_near(e.capacity_s, 5); /* four threads all the time, and one of the others */
	assert_near(e.useful_share, (1.6 + 20 * 0.01) / 5);
	assert_near(e.lost_s, 1.4 + 20 * 0.04);
	assert_int_equal(e.phases, 100);
	/* Only such threads: nothing is known. */
	assert_int_equal(measured(thread + 4, 20, 8).threads, 0);
	assert_near(measured(thread + 4, 20, 8).told_s, 0);
	/* One that came late, but early enough, counts by its own time. */
	thread[2] = thread_of(3, 400, 100);
	thread[2].from_ns = 5500 * MS;
	e = measured(thread, 3, 3);
	assert_int_equal(e.threads, 3);
	assert_near(e.load_balance, 1);
	assert_near(e.communication_efficiency, 0.8);
	thread[2].from_ns++;
	assert_int_equal(measured(thread, 3, 3).threads, 2);
}

/* Main threads of ranks, which wait for messages as well, don't push the others out. */
static void test_arrivals_differ(void **state)
{
	struct efficiency_thread thread[4];
	(void)state;

	for (uint32_t i = 0; i < 4; i++) {
		thread[i] = thread_of(i, 500, 500);
		thread[i].arrivals = i % 2 == 0 ? 100000 : 100;
	}
	assert_int_equal(measured(thread, 4, 4).threads, 4);
	assert_int_equal(measured(thread, 4, 4).phases, 100);
	thread[3] = thread_of(3, 90, 500); /* of a mean of 397 */
	thread[3].arrivals = 24; /* of a median of 100 */
	assert_int_equal(measured(thread, 4, 4).threads, 3);
	thread[3].arrivals = 25;
	assert_int_equal(measured(thread, 4, 4).threads, 4);
}

/* A rank with much work ends a phase a step, those that hardly work with each wait. */
static void test_heavy(void **state)
{
	struct efficiency_thread thread[] = {
		thread_of(0, 950, 50), thread_of(1, 50, 950), thread_of(2, 50, 950)};
	(void)state;

	thread[1].arrivals = thread[2].arrivals = 36 * thread[0].arrivals;
	struct efficiency e = measured(thread, 3, 3);
	assert_int_equal(e.threads, 3);
	assert_int_equal(e.most, 0);
	assert_near(e.load_balance, 1.05 / 3 / 0.95);
}

static void assert_shares(const struct efficiency *e)
{
	const double share[] = {e->load_balance, e->communication_efficiency,
		e->parallel_efficiency, e->useful_share, e->lost_share, e->waiting};

	for (size_t i = 0; i < COUNT(share); i++)
		assert_true(share[i] >= 0 && share[i] <= 1);
	assert_true(isfinite(e->told_s) && isfinite(e->others) && isfinite(e->lost_s));
}

/* Clocks differ, and whoever tells may tell nonsense. */
static void test_nonsense(void **state)
{
	struct efficiency_thread thread[2] = {thread_of(0, 1010, 10), thread_of(1, 1000, 0)};
	struct efficiency e = measured(thread, 2, 2);
	(void)state;

	assert_shares(&e);
	assert_near(e.communication_efficiency, 1);
	assert_near(e.useful_share, 1);
	thread[0].useful_ns = thread[0].waited_ns = thread[0].arrivals = UINT64_MAX;
	thread[0].ran = thread[1].ready = INFINITY;
	e = measured(thread, 2, 2);
	assert_shares(&e);
	thread[0].ran = thread[1].ready = NAN;
	assert_near(measured(thread, 2, 2).others, 0);
	thread[0].from_ns = UINT64_MAX;
	e = measured(thread, 2, 2);
	assert_shares(&e);
	assert_int_equal(e.threads, 1);
	thread[1].to_ns = thread[1].from_ns;
	assert_int_equal(measured(thread, 2, 2).threads, 0);
	assert_int_equal(measured(thread, 0, 2).threads, 0);
	/* Threads that never work are in balance. */
	thread[0] = thread_of(0, 0, 1000);
	thread[1] = thread_of(1, 0, 1000);
	e = measured(thread, 2, 2);
	assert_shares(&e);
	assert_near(e.load_balance, 1);
	assert_near(e.parallel_efficiency, 0);
}

static void test_take(void **state)
{
	struct telemetry_thread thread = {.met_ns = 1000 * MS,
		.told_ns = 2000 * MS,
		.arrivals = 7,
		.waited_ns = 30 * MS,
		.useful_ns = 600 * MS,
		.progress_ns = 1000 * MS,
		.wait_ns = 500 * MS,
		.told_until_ns = 3000 * MS,
		.flags = TELEMETRY_THREAD_USED | TELEMETRY_THREAD_TOLD | TELEMETRY_THREAD_ENDED};
	struct efficiency_thread one;
	(void)state;

	assert_true(efficiency_take(&thread, 3, &one));
	assert_int_equal(one.id, 3);
	assert_true(one.from_ns == 2000 * MS && one.to_ns == 3000 * MS);
	assert_true(one.arrivals == 7 && one.waited_ns == 30 * MS && one.useful_ns == 600 * MS);
	assert_near(one.ran, 0.5);
	assert_near(one.ready, 0.25);
	thread.told_until_ns = 2000 * MS; /* seen once */
	assert_false(efficiency_take(&thread, 3, &one));
	thread.told_until_ns = 3000 * MS;
	thread.flags = TELEMETRY_THREAD_USED | TELEMETRY_THREAD_COMPUTE;
	assert_false(efficiency_take(&thread, 3, &one));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cpu_each),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_other_work),
		cmocka_unit_test(test_who_counts),
		cmocka_unit_test(test_arrivals_differ),
		cmocka_unit_test(test_heavy),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
