/* SPDX-License-Identifier: MIT */
/* What a window says of the job: how often threads slept. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/policy/step.h"
#include "tests/unit/daemon/policy/machine.h"

enum { THREADS = 3 };

/* All sleeps are read. */
static struct policy_observation see(struct machine *machine, const uint64_t *sleeps)
{
	machine->now_ns += 50 * MS;
	for (size_t i = 0; i < THREADS; i++) {
		machine->sight[i].news = POLICY_SLEEPS;
		machine->sight[i].sleeps = sleeps[i];
	}
	return (struct policy_observation){
		.now_ns = machine->now_ns, .thread = machine->sight, .threads = machine->n};
}

/* Counts that fall don't show millions of sleeps. */
static void test_sleeps(void **unused)
{
	static const struct {
		uint64_t before[THREADS], after[THREADS];
		double mean;
	} cases[] = {
		{{0, 0, 0}, {0, 0, 0}, 0},
		{{100, 0, 7}, {110, 20, 7}, 10},
		{{100, 100, 100}, {110, 5, 120}, 0}, /* the second is another thread now */
		{{100, 100, 100}, {110, 95, 110}, 5},
		{{1, 1, 1}, {0, 0, 0}, 0},
	};
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	begin(&machine, &params, THREADS, 2);
	all_run(&machine, MS);
	step(&machine, MS);
	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		struct policy_observation observation = see(&machine, cases[k].before);
		policy_window_open(&machine.policy, &observation);
		observation = see(&machine, cases[k].after);
		struct policy_window window = policy_window_close(&machine.policy, &observation);
		assert_int_equal(window.elapsed_ns, 50 * MS);
		assert_true(window.sleeps == cases[k].mean);
	}
	machine_deinit(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
