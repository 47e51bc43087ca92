/* SPDX-License-Identifier: MIT */
/* Keeping off CPUs, with the mask of this very thread. */
#undef NDEBUG
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/timerfd.h>

#include <cmocka.h>

#include "daemon/act/act.h"
#include "daemon/base/clock.h"
#include "daemon/team/shun.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* The thread sleeps on one CPU, and wakes on another or the same, so late. */
static void sleep_and_wake(struct shun *shun, int from, int to, uint64_t late_ns, uint64_t now_ns)
{
	assert_int_equal(act_pin(0, from), 0);
	shun_sleep(shun, 0);
	assert_int_equal(act_pin(0, to), 0);
	shun_wake(shun, late_ns, now_ns);
}

/* Its mask has just been set to all CPUs but that one; -1: to all. */
static void assert_keeps_off(const struct shun *shun, int os_cpu)
{
	struct cpuset expected = shun->mask, mask;

	cpuset_remove(&expected, os_cpu);
	assert_int_equal(shun->os_cpu, os_cpu);
	assert_int_equal(cpuset_of_thread(0, &mask), 0);
	assert_memory_equal(&expected, &mask, sizeof mask);
}

static int begin(void **state)
{
	shun_init(*state);
	return 0;
}

static int end(void **state)
{
	struct shun *shun = *state;

	shun_deinit(shun);
	return act_set_mask(0, &shun->mask);
}

static void two_cpus(const struct shun *shun, int cpu[2])
{
	if (cpuset_count(&shun->mask) < 2)
		skip();
	cpu[0] = cpuset_nth(&shun->mask, 0);
	cpu[1] = cpuset_nth(&shun->mask, 1);
}

static void test_for_a_while(void **state)
{
	struct shun *shun = *state;
	int cpu[2];

	two_cpus(shun, cpu);
	sleep_and_wake(shun, cpu[0], cpu[0], 4 * MS, SECOND); /* hardly late */
	assert_int_equal(shun->os_cpu, -1);
	sleep_and_wake(shun, cpu[0], cpu[0], 6 * MS, SECOND);
	assert_keeps_off(shun, cpu[0]);
	sleep_and_wake(shun, cpu[1], cpu[1], 0, 10 * SECOND);
	assert_int_equal(shun->os_cpu, cpu[0]);
	sleep_and_wake(shun, cpu[1], cpu[1], 0, 11 * SECOND);
	assert_keeps_off(shun, -1);
}

/* It may have waited on either CPU. */
static void test_woke_elsewhere(void **state)
{
	struct shun *shun = *state;
	int cpu[2];

	two_cpus(shun, cpu);
	sleep_and_wake(shun, cpu[0], cpu[1], 500 * MS, SECOND);
	assert_int_equal(shun->os_cpu, -1);
}

/* Late on the CPU that is left: only a longer wait makes it the one to keep off. */
static void test_the_worse_one(void **state)
{
	struct shun *shun = *state;
	int cpu[2];

	two_cpus(shun, cpu);
	sleep_and_wake(shun, cpu[0], cpu[0], 20 * MS, SECOND);
	assert_keeps_off(shun, cpu[0]);
	sleep_and_wake(shun, cpu[1], cpu[1], 10 * MS, SECOND);
	assert_int_equal(shun->os_cpu, cpu[0]);
	sleep_and_wake(shun, cpu[1], cpu[1], 30 * MS, SECOND);
	assert_keeps_off(shun, cpu[1]);
	/* A CPU that was taken is worse than what was seen here. */
	shun_taken(shun, cpu[0], SECOND);
	assert_keeps_off(shun, cpu[0]);
	sleep_and_wake(shun, cpu[1], cpu[1], 50 * MS, SECOND);
	assert_int_equal(shun->os_cpu, cpu[0]);
	sleep_and_wake(shun, cpu[1], cpu[1], 50 * MS, 12 * SECOND); /* it has lasted long enough */
	assert_keeps_off(shun, cpu[1]);
}

static void test_only_cpu(void **state)
{
	struct shun *shun = *state, only;
	int first = cpuset_nth(&shun->mask, 0);

	assert_int_equal(act_pin(0, first), 0);
	shun_init(&only);
	sleep_and_wake(&only, first, first, SECOND, SECOND);
	assert_int_equal(only.os_cpu, -1);
	shun_deinit(&only);
}

static uint64_t interval_ns(const struct shun *shun)
{
	struct itimerspec when;

	assert_int_equal(timerfd_gettime(shun->timer, &when), 0);
	return (uint64_t)when.it_interval.tv_nsec;
}

/* A thread that is awake isn't disturbed by watchers as often as one that is late. */
static void test_awake(void **state)
{
	struct shun *shun = *state;
	int cpu[2];

	two_cpus(shun, cpu);
	assert_int_equal(interval_ns(shun), 0);
	for (int i = 0; i < 2; i++) {
		shun_sleep(shun, clock_monotonic_ns());
		assert_int_equal(interval_ns(shun), 5 * MS);
		shun_wake(shun, 0, clock_monotonic_ns());
		assert_int_equal(interval_ns(shun), 100 * MS);
	}
}

/* The test ends by a timeout if nothing comes. */
static void wait_until_taken_away(struct shun *shun, int from)
{
	struct cpuset mask;

	do {
		sched_yield();
		assert_int_equal(cpuset_of_thread(0, &mask), 0);
	} while (cpuset_has(&mask, from));
	assert_int_equal(pthread_mutex_lock(&shun->lock), 0);
	int os_cpu = shun->os_cpu;
	assert_int_equal(pthread_mutex_unlock(&shun->lock), 0);
	assert_int_equal(os_cpu, from);
}

/* The thread is on the first CPU, and both watchers on the second: whichever sees it moves it there, and then leaves it
 * alone, as there is no third. */
static void apart(struct shun *shun, const int cpu[2])
{
	shun->mask = (struct cpuset){0};
	cpuset_add(&shun->mask, cpu[0]);
	cpuset_add(&shun->mask, cpu[1]);
	assert_int_equal(act_pin(0, cpu[0]), 0);
	assert_int_equal(act_pin_own(shun->watcher[0], cpu[1]), 0);
}

/* The thread doesn't say that it is awake: a watcher takes it away from where it is. */
static void test_late(void **state)
{
	struct shun *shun = *state;
	int cpu[2];

	two_cpus(shun, cpu);
	apart(shun, cpu);
	shun_sleep(shun, clock_monotonic_ns());
	wait_until_taken_away(shun, cpu[0]);
}

/* Likewise when it doesn't go to sleep again. */
static void test_awake_for_long(void **state)
{
	struct shun *shun = *state;
	int cpu[2];

	two_cpus(shun, cpu);
	apart(shun, cpu);
	shun_sleep(shun, clock_monotonic_ns() + 1000 * SECOND);
	shun_wake(shun, 0, clock_monotonic_ns());
	wait_until_taken_away(shun, cpu[0]);
	/* That it is late now is no fault of the CPU where it is. */
	assert_true(shun->moved);
	shun_sleep(shun, 0);
	shun_wake(shun, SECOND, clock_monotonic_ns());
	assert_keeps_off(shun, cpu[0]);
	assert_false(shun->moved);
}

int main(void)
{
	struct shun shun;
	struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_for_a_while, begin, end),
		cmocka_unit_test_setup_teardown(test_woke_elsewhere, begin, end),
		cmocka_unit_test_setup_teardown(test_the_worse_one, begin, end),
		cmocka_unit_test_setup_teardown(test_only_cpu, begin, end),
		cmocka_unit_test_setup_teardown(test_awake, begin, end),
		cmocka_unit_test_setup_teardown(test_late, begin, end),
		cmocka_unit_test_setup_teardown(test_awake_for_long, begin, end),
	};

	for (size_t k = 0; k < sizeof tests / sizeof tests[0]; k++)
		tests[k].initial_state = &shun;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
