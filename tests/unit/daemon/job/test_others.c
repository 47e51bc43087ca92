/* SPDX-License-Identifier: MIT */
/* When the job should leave CPUs to others, by made-up times of 4 CPUs. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "daemon/job/others.h"

#define SECOND_NS UINT64_C(1000000000)

enum { CPUS = 4, PATIENCE = 2 };

struct run {
	struct others *others;
	uint64_t now_ns, run_ns;
	struct cpuset cpus;
};

static struct cpuset set_of(const char *list)
{
	struct cpuset set;

	assert_int_equal(cpuset_parse(list, &set), 0);
	return set;
}

/* A second in which CPUs were busy for such parts (in per cent), and the job ran on its own. */
static bool look(struct run *run, const char *used, int own, const int busy[CPUS])
{
	struct cpuset set = set_of(used);

	run->now_ns += SECOND_NS;
	run->run_ns += (uint64_t)own * SECOND_NS / 100;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		run->others->times[cpu].total_ticks += 100;
		run->others->times[cpu].idle_ticks += (uint64_t)(100 - busy[cpu]);
	}
	return others_look(run->others, &set, &run->cpus, run->run_ns, run->now_ns, PATIENCE);
}

static struct run new_run(void)
{
	struct run run = {.others = calloc(1, sizeof(struct others)), .cpus = set_of("0-3")};

	assert_non_null(run.others);
	/* Nothing is known of the time before the first look. */
	assert_false(look(&run, "0-1", 0, (const int[CPUS]){100, 100, 0, 0}));
	return run;
}

static void test_alone(void **state)
{
	struct run run = new_run();
	(void)state;

	for (int i = 0; i < 5; i++)
		assert_false(look(&run, "0-1", 200, (const int[CPUS]){100, 100, 0, 0}));
	/* Its threads wait for each other. */
	for (int i = 0; i < 5; i++)
		assert_false(look(&run, "0-1", 100, (const int[CPUS]){50, 50, 0, 0}));
	free(run.others);
}

static void test_crowded(void **state)
{
	struct run run = new_run();
	(void)state;

	assert_false(look(&run, "0-1", 130, (const int[CPUS]){100, 100, 60, 0}));
	assert_true(look(&run, "0-1", 130, (const int[CPUS]){100, 100, 60, 0}));
	assert_int_equal(others_step(run.others, 0), 1);
	assert_int_equal(others_step(run.others, 1), 1);
	assert_int_equal(others_step(run.others, 2), 2);
	assert_int_equal(others_step(run.others, 3), 0);
	/* Then the count begins anew, and a look that shows nothing ends it. */
	assert_false(look(&run, "0-1", 130, (const int[CPUS]){100, 100, 60, 0}));
	assert_false(look(&run, "0-1", 200, (const int[CPUS]){100, 100, 60, 0}));
	assert_false(look(&run, "0-1", 130, (const int[CPUS]){100, 100, 60, 0}));
	assert_true(look(&run, "0-1", 130, (const int[CPUS]){100, 100, 60, 0}));
	free(run.others);
}

static void test_nowhere_better(void **state)
{
	struct run run = new_run();
	(void)state;

	for (int i = 0; i < 5; i++) {
		assert_false(look(&run, "0-1", 100, (const int[CPUS]){100, 100, 60, 70}));
		assert_false(look(&run, "0-3", 100, (const int[CPUS]){100, 100, 100, 100}));
	}
	/* A CPU that juggle may not use does not help. */
	run.cpus = set_of("0-2");
	for (int i = 0; i < 5; i++)
		assert_false(look(&run, "0-1", 100, (const int[CPUS]){100, 100, 60, 0}));
	free(run.others);
}

/* Threads that end, CPUs that go offline, clocks that stand. */
static void test_odd_times(void **state)
{
	struct run run = new_run();
	const int busy[CPUS] = {100, 100, 0, 0};
	(void)state;

	for (int i = 0; i < 3; i++) {
		run.run_ns = 0;
		assert_false(look(&run, "0-1", 5 - i, busy));
	}
	for (int cpu = 0; cpu < CPUS; cpu++)
		run.others->times[cpu] = (struct proc_cpu_times){0};
	assert_false(look(&run, "0-1", 0, busy));
	run.now_ns -= 2 * SECOND_NS;
	assert_false(look(&run, "0-1", 0, busy));
	free(run.others);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_nowhere_better),
		cmocka_unit_test(test_odd_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
