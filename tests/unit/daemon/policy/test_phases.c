/* SPDX-License-Identifier: MIT */
/* How long phases are, by what programs with known ones would show. */
#undef NDEBUG
#include "daemon/policy/phases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS 1000000.0

static const double lengths_ms[] = {1, 5, 20, 100, 500, 2000};
enum { LENGTHS = sizeof lengths_ms / sizeof lengths_ms[0] };

static void assert_near(double value, double expected, double share)
{
	if (fabs(value - expected) > share * expected)
		fail_msg("%g is not near %g", value / MS, expected / MS);
}

/* n threads on two CPUs in phases that block, in windows of that length. Each phase takes n/2 of
 * its length, and all threads but the last sleep at its end. */
static void block(
	struct policy_phases *phases, double phase_ms, uint32_t n, double window_ms, double for_ms)
{
	double wall_ms = phase_ms * n / 2, passed = 0;

	for (double now_ms = window_ms; now_ms <= for_ms; now_ms += window_ms) {
		double ends = floor(now_ms / wall_ms);
		policy_phases_sleeps(
			phases, window_ms * 2 / n * MS, (ends - passed) * (n - 1) / n, n);
		passed = ends;
	}
}

static void test_sleeps(void **state)
{
	(void)state;
	for (int k = 0; k < LENGTHS; k++)
		for (uint32_t n = 2; n <= 17; n += 5) {
			struct policy_phases phases = {0};
			assert_true(policy_phases_length_ns(&phases, true, false) == 0);
			block(&phases, lengths_ms[k], n, 50, 20 * n * lengths_ms[k] + 1000);
			assert_near(policy_phases_length_ns(&phases, true, false),
				lengths_ms[k] * MS, 0.15);
		}
}

/* The same in phases that yield, in intervals of that length. */
static void yield(struct policy_phases *phases, double phase_ms, double interval_ms, double for_ms)
{
	double wall_ms = phase_ms * 1.5, passed = 0;

	for (double now_ms = interval_ms; now_ms <= for_ms; now_ms += interval_ms) {
		double ends = floor(now_ms / wall_ms);
		policy_phases_switches(phases, (uint64_t)(now_ms * MS),
			(uint64_t)(interval_ms * MS), interval_ms * 2 / 3 * MS,
			ends > passed ? 1000 : 4, 2);
		passed = ends;
	}
}

static void test_yields(void **state)
{
	(void)state;
	for (int k = 1; k < LENGTHS; k++) {
		struct policy_phases phases = {0};
		yield(&phases, lengths_ms[k], 2, 30 * lengths_ms[k]);
		/* Too short at worst: a phase does not end right after another. */
		assert_near(policy_phases_length_ns(&phases, false, true), lengths_ms[k] * MS, 0.3);
		/* By sleeps nothing is known. */
		assert_true(policy_phases_length_ns(&phases, true, true) == 0);
		assert_true(policy_phases_length_ns(&phases, false, false) == 0);
	}
}

/* Phases shorter than intervals: they are taken for a quarter of those. */
static void test_short_phases(void **state)
{
	struct policy_phases phases = {0};
	(void)state;

	yield(&phases, 1, 10, 1000);
	assert_near(policy_phases_length_ns(&phases, false, true), 10 * 2 / 3.0 / 4 * MS, 0.1);
	yield(&phases, 1, 4, 1000);
	assert_near(policy_phases_length_ns(&phases, false, true), 4 * 2 / 3.0 / 4 * MS, 0.1);
}

/* One long wait is one barrier, however many intervals it takes. */
static void test_long_waits(void **state)
{
	struct policy_phases phases = {0};
	uint64_t now_ns = 0;
	(void)state;

	for (int phase = 0; phase < 30; phase++)
		for (int i = 0; i < 50; i++)
			policy_phases_switches(
				&phases, now_ns += 2000000, 2000000, 2 * MS, i < 5 ? 1000 : 1, 2);
	/* What threads run while they wait, and up to the next look, does not count. */
	assert_near(policy_phases_length_ns(&phases, false, true), 90 * MS, 0.01);
}

/* When it is not known how long threads ran, yields are seen, but no phases. */
static void test_yields_alone(void **state)
{
	struct policy_phases phases = {0};
	(void)state;

	yield(&phases, 20, 2, 600);
	double phase_ns = policy_phases_length_ns(&phases, false, true);
	for (uint64_t i = 1; i <= 100; i++)
		policy_phases_switches(
			&phases, i * 50 * (uint64_t)MS, 50 * (uint64_t)MS, 0, 5000, 2);
	assert_true(policy_phases_length_ns(&phases, false, true) == phase_ns);
	assert_true(phases.yielded_ns == 100 * 50 * (uint64_t)MS);
}

/* A few switches by moves and ticks are no yields. */
static void test_other_switches(void **state)
{
	struct policy_phases phases = {0};
	(void)state;

	for (uint64_t i = 1; i <= 1000; i++)
		policy_phases_switches(&phases, i * 100000, 100000, 1e5, 8, 2);
	assert_true(phases.yielded_ns == 0 && phases.yields.phase_ns == 0);
}

/* Another part of the program: the estimate follows, and sooner for longer phases. */
static void test_follows(void **state)
{
	struct policy_phases phases = {0};
	(void)state;

	block(&phases, 5, 3, 50, 1000);
	block(&phases, 100, 3, 50, 1000);
	assert_near(policy_phases_length_ns(&phases, true, false), 100 * MS, 0.2);
	block(&phases, 5, 3, 50, 1000);
	assert_near(policy_phases_length_ns(&phases, true, false), 5 * MS, 0.2);
	/* The phase under way counts. */
	policy_phases_sleeps(&phases, 3000 * MS, 0, 3);
	assert_near(policy_phases_length_ns(&phases, true, false), 3000 * MS, 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleeps),
		cmocka_unit_test(test_yields),
		cmocka_unit_test(test_short_phases),
		cmocka_unit_test(test_long_waits),
		cmocka_unit_test(test_yields_alone),
		cmocka_unit_test(test_other_switches),
		cmocka_unit_test(test_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
