/* SPDX-License-Identifier: MIT */
#undef NDEBUG
#include "apps/ubench/slowdown.h"

#include "apps/pin.h"
#include "daemon/base/cpuset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define RATE 400000

/* The state after that many steps of a burn, or of thread 0's work without memory. */
static uint64_t state_after(uint64_t steps)
{
	struct work work;

	assert_int_equal(work_init(&work, 0, 0), 0);
	work_run(&work, steps);
	return work.state;
}

static void extra_steps(void **state)
{
	static const double speeds[] = {1, 0.999, 0.8, 0.55, 0.5, 0.28, 0.01, 0.0001};

	(void)state;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(*speeds); i++) {
		double owed = 0, most = 16 / speeds[i];
		uint64_t done = 0, extra = 0;

		/* Work goes in whole lines, so a last step costs as much as 16. */
		for (uint64_t steps = 1; steps < 2000; steps += 7) {
			uint64_t more = slowdown_extra(speeds[i], steps, &owed);

			assert_int_equal(more % WORK_STEPS_PER_LINE, 0);
			assert_true(owed >= 0 && owed < WORK_STEPS_PER_LINE);
			extra += more;
			done += (steps + 15) / 16 * 16;
			assert_true((double)(done + extra) <= (double)done / speeds[i] + 1);
			assert_true((double)(done + extra) > (double)done / speeds[i] - most);
		}
	}
}

/* Slowed work ends as other work does, and burns by the speed of the CPU where it runs. */
static void burns_by_the_cpu(void **state)
{
	static const uint64_t steps[] = {1, 15, 16, 17, 1600, 1601, 16000, 1000003};
	struct slowdown *slowdown = malloc(sizeof(*slowdown));
	double speed[CPUSET_CPUS_MAX];
	struct cpuset cpus;
	int count, here;

	(void)state;
	assert_non_null(slowdown);
	assert_int_equal(cpuset_of_thread(0, &cpus), 0);
	count = cpuset_count(&cpus);
	here = count - 1;
	assert_int_equal(pin_caller(cpuset_nth(&cpus, here)), 0);
	for (int slow = 0; slow <= 1; slow++) {
		for (int i = 0; i < count; i++)
			speed[i] = (i == here) == slow ? 0.5 : 1;
		slowdown_init(slowdown, RATE, &cpus, speed);
		for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
			struct work plain, slowed;
			struct burn burn;

			assert_int_equal(work_init(&plain, 3, 1000), 0);
			assert_int_equal(work_init(&slowed, 3, 1000), 0);
			burn_init(&burn);
			for (int phase = 0; phase < 3; phase++) {
				work_run(&plain, steps[i]);
				slowdown_run(slowdown, &slowed, &burn, steps[i]);
			}
			assert_true(plain.state == slowed.state);
			assert_int_equal(plain.line_next, slowed.line_next);
			/* Half the speed: as much again. */
			uint64_t burnt = slow ? 3 * ((steps[i] + 15) / 16 * 16) : 0;
			assert_true(burn.work.state == state_after(burnt));
			work_deinit(&plain);
			work_deinit(&slowed);
		}
	}
	free(slowdown);
}

/* A thread asks often enough, and not too often, also on a slow CPU and with a rate of a test. */
static void chunks(void **state)
{
	struct slowdown *slowdown = malloc(sizeof(*slowdown));
	struct cpuset cpus = {0};
	const double speed[] = {0.01, 0.5};

	(void)state;
	assert_non_null(slowdown);
	cpuset_add(&cpus, 3);
	cpuset_add(&cpus, CPUSET_CPUS_MAX - 1);
	slowdown_init(slowdown, RATE, &cpus, speed);
	assert_in_range(slowdown->chunk_steps, 2 * RATE / 1000, 5 * RATE / 1000);
	assert_true(slowdown->speed[0] == 1 && slowdown->speed[3] == 0.01 &&
		    slowdown->speed[CPUSET_CPUS_MAX - 1] == 0.5);
	slowdown_init(slowdown, 1, &cpus, speed);
	assert_int_equal(slowdown->chunk_steps, WORK_STEPS_PER_LINE);
	free(slowdown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extra_steps),
		cmocka_unit_test(burns_by_the_cpu),
		cmocka_unit_test(chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
