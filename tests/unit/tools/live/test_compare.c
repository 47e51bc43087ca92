// SPDX-License-Identifier: MIT
/*
 * How live compares two samples: what appeared, ended, was reused, or went backwards between them.
 */
#undef NDEBUG
#include "tools/live/internal.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)
#define HELD(n) ((struct progress_subdomain_view){.updates = (n)})
#define EMPTY ((struct progress_subdomain_view){.holder = UINT32_MAX, .owner = UINT32_MAX})
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
		fail_msg("%.17g, expected %.17g", value, expected);
}

/* ---- Samples ---- */

static struct live_thread thread(pid_t tid, uint64_t progress_ns)
{
	return (struct live_thread){.tid = tid,
		.pid = 10,
		.rank = -1,
		.compute = true,
		.process = -1,
		.worker = -1,
		.since_ns = 1 * S,
		.progress_ns = progress_ns,
		.balance_ns = (int64_t)progress_ns,
		.wait_ns = progress_ns / 2};
}

static struct live_sample sample(uint64_t now_ns, struct live_thread *threads, size_t n)
{
	return (struct live_sample){.now_ns = now_ns,
		.start_ns = 1 * S,
		.wrapped = true,
		.thread = threads,
		.threads = n,
		.compute_threads = n};
}

static void test_rates_of_threads(void **state)
{
	struct live_thread then[] = {thread(11, 1 * S), thread(12, 2 * S)};
	struct live_thread now[] = {thread(11, 3 * S), thread(12, 3 * S)};
	struct live_sample before = sample(5 * S, then, 2), after = sample(7 * S, now, 2);

	(void)state;
	before.cycles = 100;
	after.cycles = 300;
	before.migrations = 10;
	after.migrations = 16;
	before.balancer_cpu_ns = 1000000;
	after.balancer_cpu_ns = 3000000;
	live_compare(&before, &after);
	assert_near(after.interval_s, 2);
	assert_near(now[0].share, 1);
	assert_near(now[1].share, 0.5);
	assert_near(now[0].wait_share, 0.5);
	assert_near(after.cycles_per_s, 100);
	assert_near(after.migrations_per_s, 3);
	assert_near(after.balancer_share, 0.001);
	assert_true(isnan(now[0].updates_per_s));
	assert_true(isnan(after.iteration_rate) && isnan(after.moves_per_s));
	/* Over the whole time: of threads, since they were found. */
	now[0].since_ns = 4 * S;
	live_compare(NULL, &after);
	assert_near(after.interval_s, 6);
	assert_near(now[0].share, 1);
	assert_near(now[1].share, 0.5);
	assert_near(after.cycles_per_s, 50);
}

static void test_threads_come_and_go(void **state)
{
	struct live_thread then[] = {thread(11, 1 * S), thread(12, 2 * S), thread(14, 2 * S)};
	struct live_thread now[] = {thread(12, 3 * S), thread(13, 1 * S), thread(14, 1 * S)};
	struct live_sample before = sample(5 * S, then, 3), after = sample(7 * S, now, 3);

	(void)state;
	now[1].since_ns = 6 * S;
	now[2].since_ns = 6 * S; /* another thread, which reused the number */
	live_compare(&before, &after);
	assert_near(now[0].share, 0.5);
	assert_near(now[1].share, 1);
	assert_near(now[2].share, 1);
}

static void test_counters_go_back(void **state)
{
	struct live_thread then[] = {thread(11, 3 * S)}, now[] = {thread(11, 2 * S)};
	struct live_sample before = sample(5 * S, then, 1), after = sample(7 * S, now, 1);

	(void)state;
	before.cycles = 2;
	after.cycles = 1;
	live_compare(&before, &after);
	assert_true(isnan(now[0].share) && isnan(now[0].wait_share));
	assert_true(isnan(after.cycles_per_s));
	/* With no time between them, or less. */
	after.now_ns = before.now_ns;
	live_compare(&before, &after);
	assert_true(isnan(after.interval_s) && isnan(now[0].share));
	after.now_ns = 1;
	live_compare(&before, &after);
	assert_true(isnan(after.interval_s) && isnan(after.migrations_per_s));
}

static void test_leads(void **state)
{
	struct live_thread now[] = {thread(11, 4 * S), thread(12, 2 * S), thread(13, 30 * S),
		thread(14, 90 * S), thread(15, 31 * S)};
	struct live_sample after = sample(7 * S, now, COUNT(now));

	(void)state;
	now[2].domain = now[4].domain = 1;
	now[3].compute = false;
	live_compare(NULL, &after);
	assert_near(now[0].lead_s, 1);
	assert_near(now[1].lead_s, -1);
	assert_near(now[2].lead_s, -0.5);
	assert_true(isnan(now[3].lead_s));
	assert_near(after.thread_spread_s, 2);
	/* Without threads there is nothing to report. */
	after.threads = 0;
	live_compare(NULL, &after);
	assert_true(isnan(after.thread_spread_s));
}

/* ---- Phases ---- */

/* Told since 2 s, looked at last at until_ns. */
static void tell(
	struct live_thread *thread, uint64_t until_ns, uint64_t arrivals, uint64_t useful_ns)
{
	thread->told = true;
	thread->told_ns = 2 * S;
	thread->told_until_ns = until_ns;
	thread->arrivals = arrivals;
	thread->useful_ns = useful_ns;
	thread->waited_ns = until_ns - 2 * S - useful_ns;
}

static void test_phases(void **state)
{
	struct live_thread then[] = {thread(11, 1 * S), thread(12, 1 * S), thread(13, 1 * S)};
	struct live_thread now[] = {thread(11, 3 * S), thread(12, 3 * S), thread(13, 3 * S)};
	struct live_sample before = sample(5 * S, then, 3), after = sample(8 * S, now, 3);

	(void)state;
	after.cpus = 4;
	after.cpu = (struct live_cpu[4]){{.speed = NAN}, {.speed = 1}, {.speed = 1}, {.speed = 1}};
	strcpy(after.policy, "observe");
	tell(&then[0], 4 * S, 100, 1 * S);
	tell(&then[1], 4 * S, 100, 1 * S);
	tell(&now[0], 6 * S, 300, 3 * S);
	tell(&now[1], 6 * S, 300, 2 * S);
	live_compare(&before, &after);
	assert_near(now[0].phases_per_s, 100);
	assert_true(now[0].waited_share == 0);
	assert_near(now[1].waited_share, 0.5);
	assert_true(isnan(now[2].phases_per_s) && isnan(now[2].waited_share));
	assert_int_equal(after.efficiency.threads, 2);
	assert_near(after.efficiency.load_balance, 0.75);
	assert_near(after.efficiency.parallel_efficiency, 0.75);
	assert_near(after.efficiency.lost_s, 1);
	assert_int_equal(after.efficiency.phases, 200);
	assert_int_equal(after.efficiency.most, 0);
	assert_int_equal(after.verdict, WORTH_UNKNOWN); /* two thirds of the CPU time */
	now[2].progress_ns = 2 * S;
	live_compare(&before, &after);
	assert_int_equal(after.verdict, WORTH_WORK);
	assert_true(strlen(after.advice) > 20);
	/* Since the start: */
	live_compare(NULL, &after);
	assert_near(now[0].phases_per_s, 75);
	assert_near(now[1].waited_share, 0.5);
	assert_near(after.efficiency.load_balance, (3 + 2) / 2.0 / 3);
	/* Told since the sample before: as since the start. */
	then[0].told = then[1].told = false;
	live_compare(&before, &after);
	assert_near(now[0].phases_per_s, 75);
	/* Not looked at since then; and counters that went back. */
	tell(&then[0], 6 * S, 300, 3 * S);
	tell(&then[1], 4 * S, 301, 1 * S);
	live_compare(&before, &after);
	assert_true(isnan(now[0].phases_per_s) && isnan(now[1].phases_per_s));
	assert_int_equal(after.efficiency.threads, 0);
	assert_string_equal(after.advice, "");
	/* Nobody knows the CPUs. */
	after.cpus = 0;
	live_compare(NULL, &after);
	assert_int_equal(after.efficiency.threads, 0);
}

/* ---- Processes that publish ---- */

#define PLACES 4

struct published {
	struct progress_worker_view worker[2];
	struct progress_subdomain_view subdomain[PLACES];
	double rate[PLACES];
	struct live_process process;
};

static void publish(struct published *p, uint64_t updates, uint64_t moves)
{
	p->process = (struct live_process){.pid = 10,
		.rank = -1,
		.workers = 2,
		.subdomains = PLACES,
		.worker = p->worker,
		.subdomain = p->subdomain,
		.updates_per_s = p->rate,
		.updates = updates,
		.held = 2,
		.moves = moves,
		.created_ns = 3 * S};
}

static void test_rates_of_subdomains(void **state)
{
	struct published then = {.subdomain = {HELD(10), HELD(20), EMPTY, HELD(40)}};
	struct published now = {.subdomain = {HELD(30), EMPTY, HELD(99), HELD(39)}};
	struct live_sample before = {.now_ns = 5 * S, .processes = 1, .process = &then.process};
	struct live_sample after = {.now_ns = 7 * S, .processes = 1, .process = &now.process};

	(void)state;
	publish(&then, 100, 5);
	publish(&now, 500, 9);
	live_compare(&before, &after);
	assert_near(now.process.iteration_rate, 100);
	assert_near(now.process.moves_per_s, 2);
	assert_near(now.rate[0], 10);
	assert_true(isnan(now.rate[1])); /* it left */
	assert_true(isnan(now.rate[2])); /* it arrived, with what it had done elsewhere */
	assert_true(isnan(now.rate[3])); /* another is there now */
	assert_near(after.iteration_rate, 100);
	assert_near(after.moves_per_s, 2);
	live_compare(NULL, &after);
	assert_near(now.process.iteration_rate, 62.5);
	assert_near(now.rate[0], 7.5);
	assert_true(isnan(now.rate[1]));
}

/* A segment that was closed and created again, or by another process with this pid. */
static void test_segments_made_anew(void **state)
{
	struct published then = {.subdomain = {HELD(1), HELD(1), HELD(1), HELD(1)}}, now = then;
	struct live_sample before = {.now_ns = 5 * S, .processes = 1, .process = &then.process};
	struct live_sample after = {.now_ns = 7 * S, .processes = 1, .process = &now.process};

	(void)state;
	publish(&then, 1000, 5);
	publish(&now, 40, 2);
	now.process.created_ns = 6 * S;
	live_compare(&before, &after);
	assert_near(now.process.iteration_rate, 20);
	assert_near(now.process.moves_per_s, 2);
	assert_near(now.rate[0], 1);
	/* With fewer places: the old ones are not looked at. */
	publish(&then, 10, 1);
	publish(&now, 40, 2);
	then.process.subdomains = 1;
	live_compare(&before, &after);
	assert_near(now.process.iteration_rate, 5);
	/* It could not be read in the first sample. */
	then.process = (struct live_process){.pid = 10, .error = -EBADMSG, .created_ns = 3 * S};
	live_compare(&before, &after);
	assert_near(now.process.iteration_rate, 5);
}

/* A segment that can't be read has no rates, and the others count. */
static void test_processes_that_fail(void **state)
{
	struct published good = {.subdomain = {HELD(8), HELD(8), HELD(8), HELD(8)}};
	struct live_process process[2] = {{.pid = 9, .error = -EPROTO}};
	struct live_sample after = {.now_ns = 7 * S, .processes = 2, .process = process};

	(void)state;
	publish(&good, 40, 8);
	process[1] = good.process;
	live_compare(NULL, &after);
	assert_true(isnan(process[0].iteration_rate) && isnan(process[0].moves_per_s));
	assert_near(process[1].iteration_rate, 5);
	assert_near(after.iteration_rate, 5);
	assert_near(after.moves_per_s, 2);
	after.processes = 1;
	live_compare(NULL, &after);
	assert_true(isnan(after.iteration_rate) && isnan(after.moves_per_s));
}

static void test_workers(void **state)
{
	struct published p = {.subdomain = {EMPTY, EMPTY, EMPTY, EMPTY}};
	struct live_thread then[] = {thread(11, 0), thread(12, 0), thread(13, 0)}, now[3];
	struct live_sample before = sample(5 * S, then, 3), after = sample(7 * S, now, 3);

	(void)state;
	publish(&p, 0, 0);
	before.process = after.process = &p.process;
	before.processes = after.processes = 1;
	memcpy(now, then, sizeof now);
	now[0].process = now[1].process = now[2].process = 0;
	then[0].worker = now[0].worker = 0;
	then[0].updates = 10;
	now[0].updates = 30;
	now[1].worker = 1; /* since a moment ago */
	now[1].updates = 30;
	live_compare(&before, &after);
	assert_near(now[0].updates_per_s, 10);
	assert_true(isnan(now[1].updates_per_s));
	assert_true(isnan(now[2].updates_per_s));
	/* Over the whole time that the segment has existed. */
	live_compare(NULL, &after);
	assert_near(now[0].updates_per_s, 7.5);
}

/* The time it takes to compare many threads, of one process or each of its own. */
static double seconds_to_compare(bool together)
{
	enum { THREADS = 16000 };
	struct live_thread *now = malloc(THREADS * sizeof *now);
	struct live_sample after = sample(7 * S, now, THREADS);
	double best_s = 1e9;

	assert_non_null(now);
	after.process = calloc(THREADS, sizeof *after.process);
	assert_non_null(after.process);
	after.wrapped = false;
	after.processes = together ? 1 : THREADS;
	for (int32_t i = 0; i < THREADS; i++) {
		after.process[i] =
			(struct live_process){.pid = i + 1, .error = -EBADMSG, .rank = -1};
		now[i] = thread(i + 1, 5 * S);
		now[i].process = together ? 0 : THREADS - 1 - i;
	}
	for (int tries = 0; tries < 3; tries++) {
		uint64_t begin_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
		live_compare(&after, &after);
		double s = (double)(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) * 1e-9;
		best_s = s < best_s ? s : best_s;
	}
	if (together)
		assert_near(after.thread_spread_s, 0);
	else /* each alone */
		assert_true(isnan(after.thread_spread_s));
	free(now);
	free(after.process);
	return best_s;
}

static void test_many_processes(void **state)
{
	(void)state;
	assert_true(seconds_to_compare(false) < 20 * seconds_to_compare(true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates_of_threads),
		cmocka_unit_test(test_threads_come_and_go),
		cmocka_unit_test(test_counters_go_back),
		cmocka_unit_test(test_leads),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_rates_of_subdomains),
		cmocka_unit_test(test_segments_made_anew),
		cmocka_unit_test(test_processes_that_fail),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_many_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
