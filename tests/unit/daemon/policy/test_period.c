/* SPDX-License-Identifier: MIT */
/* The period and the tickers that a step decides. */
#undef NDEBUG
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/policy/step.h"
#include "tests/unit/daemon/policy/machine.h"

static void test_period_aside(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	begin(&machine, &params, 1, 2);
	assert_int_equal(go_on(&machine, 80 * MS)->period_ns, 5 * MS);
	assert_in_range(go_on(&machine, 300 * MS)->period_ns, 15 * MS, 20 * MS);
	assert_int_equal(go_on(&machine, 1000 * MS)->period_ns, 62500 * MS / 1000);
	/* The longer nothing changes, the rarer are looks, ... */
	assert_in_range(go_on(&machine, 1500 * MS)->period_ns, 65 * MS, 75 * MS);
	assert_int_equal(go_on(&machine, 6000 * MS)->period_ns, 150 * MS);
	assert_int_equal(machine.policy.decision.reason, POLICY_REASON_FEW);
	/* ... until something does. */
	add(&machine, POLICY_RULE_NONE);
	assert_in_range(go_on(&machine, 700 * MS)->period_ns, 62 * MS, 70 * MS);
	assert_int_equal(machine.policy.decision.reason, POLICY_REASON_NO_CONTEST);
	machine_deinit(&machine);
}

/* The user's period applies where threads are moved; elsewhere it only sets how often to
 * observe. */
static void test_period_given(void **unused)
{
	static const struct {
		const struct policy_kind *kind;
		uint32_t n;
		uint64_t given_ns, expected_ns;
	} cases[] = {
		{&policy_kind_juggle, 3, 7 * MS, 7 * MS},
		{&policy_kind_juggle, 1, 7 * MS, 62500 * MS / 1000},
		{&policy_kind_juggle, 1, 70 * MS, 70 * MS},
		{&policy_kind_static, 3, 7 * MS, 7 * MS},
		{&policy_kind_observe, 3, 7 * MS, 7 * MS},
	};
	(void)unused;

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		struct policy_params params = defaults(cases[k].kind);
		struct machine machine;
		params.period_auto = false;
		params.period_ns = cases[k].given_ns;
		begin(&machine, &params, cases[k].n, 2);
		assert_int_equal(go_on(&machine, 1500 * MS)->period_ns, cases[k].expected_ns);
		machine_deinit(&machine);
	}
}

static void test_jitter(void **unused)
{
	struct policy_params params = defaults(&policy_kind_observe);
	struct machine machine;
	uint64_t least = UINT64_MAX, most = 0;
	(void)unused;

	params.period_auto = false;
	params.period_ns = 10 * MS;
	params.jitter = 0.2;
	begin(&machine, &params, 2, 2);
	for (int i = 0; i < 1000; i++) {
		uint64_t wait_ns = go_on(&machine, 1)->wait_ns;
		assert_in_range(wait_ns, 8 * MS, 12 * MS);
		least = wait_ns < least ? wait_ns : least;
		most = wait_ns > most ? wait_ns : most;
	}
	assert_true(least < 8 * MS + MS / 10 && most > 12 * MS - MS / 10);
	machine_deinit(&machine);
}

/* With nothing to move for long, the next point is further off; a move brings it back. */
static void test_quiet_points(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 4, 2);
	assert_int_equal(go_on(&machine, 20 * MS)->period_ns, 8 * MS);
	assert_int_equal(machine.policy.decision.pace, POLICY_PACE_UNKNOWN);
	assert_int_equal(go_on(&machine, 2000 * MS)->period_ns, 32 * MS);
	assert_int_equal(machine.policy.decision.pace, POLICY_PACE_QUIET);
	add(&machine, POLICY_RULE_COMPUTE);
	bool moved = false;
	for (int i = 0; i < 100 && !moved; i++) {
		const struct policy_decision *decision = go_on(&machine, 1);
		for (size_t k = 0; k < decision->moves; k++)
			moved |= decision->move[k].from != POLICY_NO_CPU;
	}
	assert_true(moved);
	assert_int_equal(machine.policy.decision.period_ns, 10 * MS);
	machine_deinit(&machine);
}

/* Without a sign of phases: 4 ms for each thread on a CPU, up to the longest period. */
static void test_many_threads(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 15, 2);
	assert_int_equal(go_on(&machine, 2000 * MS)->period_ns, 30 * MS);
	machine_deinit(&machine);
	begin(&machine, &params, 31, 2);
	assert_int_equal(go_on(&machine, 2000 * MS)->period_ns, 50 * MS);
	machine_deinit(&machine);
}

/* Points cost at most 2.5 % of the CPUs, however many threads there are. */
static void test_costly_points(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 3, 2);
	machine.cost_ns = MS / 10;
	assert_int_equal(go_on(&machine, 2000 * MS)->period_ns, 6 * MS);
	machine.cost_ns = 2 * MS;
	go_on(&machine, 10000 * MS);
	assert_in_range(machine.policy.decision.period_ns, 39 * MS, 40 * MS);
	assert_int_equal(machine.policy.decision.pace, POLICY_PACE_COST);
	machine_deinit(&machine);
	/* On many CPUs they may cost an eighth of one. */
	begin(&machine, &params, CPUS_MAX + 1, CPUS_MAX);
	machine.cost_ns = 2 * MS;
	go_on(&machine, 10000 * MS);
	assert_in_range(machine.policy.decision.period_ns, 15 * MS, 16 * MS);
	machine_deinit(&machine);
}

/* sqrt(1 ms * e) for 3 threads on 2 CPUs, with points of 120 us (measured), and within limits. */
static void test_best_period(void **unused)
{
	(void)unused;
	for (double phase_ms = 5; phase_ms <= 2000; phase_ms *= 2) {
		double best_ms = policy_best_period_ns(phase_ms * 1e6, 119e3, 3, 2) / 1e6;
		assert_true(fabs(best_ms - sqrt(phase_ms)) < 0.01 * best_ms);
	}
	assert_true(policy_best_period_ns(1e6, 119e3, 3, 2) == POLICY_PERIOD_LEAST_NS);
	assert_true(policy_best_period_ns(1e12, 119e3, 3, 2) == POLICY_PERIOD_MOST_NS);
	/* It grows with the cost of a point and the length of a phase on the wall clock. */
	assert_true(policy_best_period_ns(1e8, 1e5, 3, 2) > policy_best_period_ns(1e8, 5e4, 3, 2));
	assert_true(policy_best_period_ns(1e8, 5e4, 7, 2) > policy_best_period_ns(1e8, 5e4, 3, 2));
	/* Where many share a CPU, it is long enough for slices of the others. */
	assert_true(policy_best_period_ns(1e6, 5e4, 7, 2) == 8e6);
	assert_true(policy_best_period_ns(1e6, 5e4, 7, 7) == POLICY_PERIOD_LEAST_NS);
	assert_true(policy_best_period_ns(1e8, 5e4, 1, 4) == policy_best_period_ns(1e8, 5e4, 4, 4));
}

/* Turns need time: most where they gain little. Beside others' work, nobody knows. */
static void test_turns_pay(void **unused)
{
	static const struct {
		uint32_t n, m;
		double gain; /* of perfect turns */
		double from_ms; /* the shortest phase in which they do, to 0.5 ms; 0: any */
	} cases[] = {{3, 2, 1. / 3, 1.5}, {5, 2, 0.2, 2.5}, {7, 2, 1. / 7, 4.5}, {5, 4, 0.6, 1},
		{65, 64, 63. / 65, 1}, {2, 2, 0, 0}, {1, 2, 0, 0}, {4, 2, 0, 0}, {2, 2, 0.41, 1.5},
		{12, 24, 0.55, 1}};
	(void)unused;

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
		for (double phase_ms = 0.5; phase_ms < 1000; phase_ms += 0.5)
			assert_int_equal(policy_turns_pay(phase_ms * 1e6, 6e4, cases[k].n,
						 cases[k].m, cases[k].gain),
				phase_ms >= cases[k].from_ms);
	/* They do less as points cost more. */
	assert_true(policy_turns_pay(5e6, 1e5, 3, 2, 1. / 3));
	assert_false(policy_turns_pay(5e6, 1e6, 3, 2, 1. / 3));
}

/* Switches distinguish threads that yield from threads that spin. Tickers are for spinning threads,
 * on the CPUs that they share. Yields long ago mean long phases. */
static void test_yields_and_spins(void **unused)
{
	(void)unused;
	for (int yield = 0; yield <= 1; yield++) {
		const struct policy_params params = defaults(&policy_kind_juggle);
		struct machine machine;
		begin(&machine, &params, 3, 2);
		for (int i = 0; i < 300; i++) {
			uint64_t wait_ns = machine.policy.decision.wait_ns + (i == 0) * MS;
			all_run(&machine, wait_ns);
			for (size_t row = 0; row < 3; row++)
				machine.sight[row].slices +=
					yield && i % 8 == 0 ? wait_ns / 100000 : 1;
			step(&machine, wait_ns);
		}
		assert_int_equal(machine.policy.chooser.yields, yield);
		assert_int_equal(machine.policy.chooser.spins, !yield);
		for (size_t j = 0; j < 2; j++)
			assert_int_equal(machine.policy.cpu[j].tick,
				!yield && confined_to(&machine, (int32_t)j) > 1);
		const struct policy_decision *decision = go_on(&machine, 300 * MS);
		assert_int_equal(decision->pace, yield ? POLICY_PACE_YIELDS : POLICY_PACE_UNKNOWN);
		assert_in_range(
			decision->period_ns, yield ? 12 * MS : 6 * MS, yield ? 25 * MS : 6 * MS);
		/* Workers between whom subdomains move wait for nobody. */
		for (size_t row = 0; row < 3; row++)
			machine.sight[row].role = POLICY_ROLE_BALANCED;
		go_on(&machine, 300 * MS);
		assert_true(policy_swaps(&machine.policy));
		for (size_t j = 0; j < 2; j++)
			assert_false(machine.policy.cpu[j].tick);
		machine_deinit(&machine);
	}
}

/* Threads that never sleep are judged in long windows, but for those that begin to tell phases which may be better left
 * to the kernel. */
static void test_windows(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	struct policy *policy = &machine.policy;
	(void)unused;

	begin(&machine, &params, 3, 2);
	go_on(&machine, 500 * MS);
	assert_int_equal(policy->regime, POLICY_BALANCE);
	policy->needs.sure = true;
	assert_int_equal(policy_window_ns(policy, machine.now_ns), 200 * MS);
	policy->chooser.others = 3;
	assert_int_equal(policy_window_ns(policy, machine.now_ns), POLICY_WINDOW_NS);
	policy->chooser.others = 0;
	policy->needs.yields = true;
	assert_int_equal(policy_window_ns(policy, machine.now_ns), POLICY_WINDOW_NS);
	policy->needs.sure = false;
	assert_int_equal(policy_window_ns(policy, machine.now_ns), 200 * MS);
	machine_deinit(&machine);
}

/* A phase under way that has taken long: a long period; and no ticks, unless it may be one of threads that spin in waits
 * of their own, as they have not arrived anywhere yet. */
static void test_first_phase(void **unused)
{
	(void)unused;

	for (uint64_t arrivals = 0; arrivals <= 1; arrivals++) {
		const struct policy_params params = defaults(&policy_kind_juggle);
		struct machine machine;
		begin(&machine, &params, 3, 2);
		go_on(&machine, 300 * MS);
		for (int k = 0; k < 100; k++) {
			for (size_t i = 0; i < 3; i++) {
				struct policy_sight *sight = &machine.sight[i];
				runs(&machine, i, 20 * MS / 3, 0);
				sight->news |= POLICY_PHASES;
				sight->useful_ns += 20 * MS / 3;
				sight->done_ns += 20 * MS / 3;
				/* A short phase, of which there was one. */
				if (k == 3 && arrivals > 0) {
					sight->arrivals = 1;
					sight->done_ns = 0;
				}
			}
			step(&machine, 10 * MS);
		}
		assert_true(machine.policy.decision.phase_ns > 500 * MS);
		assert_true(machine.policy.decision.period_ns > 12 * MS);
		for (size_t j = 0; j < 2; j++)
			assert_int_equal(machine.policy.cpu[j].tick,
				arrivals == 0 && confined_to(&machine, (int32_t)j) > 1);
		machine_deinit(&machine);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_period_aside),
		cmocka_unit_test(test_period_given),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_quiet_points),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_costly_points),
		cmocka_unit_test(test_best_period),
		cmocka_unit_test(test_turns_pay),
		cmocka_unit_test(test_yields_and_spins),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_first_phase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
