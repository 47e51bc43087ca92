/* SPDX-License-Identifier: MIT */
/* CPUs that others take for a while. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/daemon/policy/machine.h"

/* What the others do with the CPUs. */
struct others {
	bool took[CPUS_MAX]; /* nothing of ours runs there ... */
	bool let_tick; /* ... but the ticker */
};

/* One interval in which all threads want to run. Those that are left to the kernel do run, and when
 * they are placed again, some of that is only seen afterwards. */
static const struct policy_decision *interval(struct machine *machine, const struct others *others)
{
	const struct policy *policy = &machine->policy;
	uint64_t wait_ns = policy->decision.wait_ns;

	for (size_t row = 0; row < machine->n; row++) {
		int32_t cpu = machine->sight[row].cpu;
		bool still = cpu != POLICY_NO_CPU && others->took[cpu];
		bool came = row < policy->n && policy->thread[row].cpu_before == POLICY_NO_CPU;
		uint64_t run_ns = 0;
		if (cpu == POLICY_NO_CPU)
			run_ns = wait_ns / 2;
		else if (!still)
			run_ns = wait_ns / confined_to(machine, cpu);
		else if (came)
			run_ns = MS;
		if (policy->thread[row].look & POLICY_STATE)
			machine->sight[row].news |= POLICY_STATE;
		machine->sight[row].runnable = true;
		/* The kernel counts a wait only when it ends. */
		runs(machine, row, run_ns, still ? 0 : wait_ns - run_ns);
	}
	for (size_t j = 0; j < policy->m; j++)
		machine->ticked[j] = policy->cpu[j].tick && (!others->took[j] || others->let_tick);
	return step(machine, wait_ns);
}

static void intervals(struct machine *machine, const struct others *others, uint64_t for_ns)
{
	for (uint64_t end_ns = machine->now_ns + for_ns; machine->now_ns < end_ns;)
		interval(machine, others);
}

static void begin_balanced(struct machine *machine, uint32_t n, uint32_t m)
{
	struct policy_params params = defaults(&policy_kind_juggle);

	params.always = params.tickers = true;
	begin(machine, &params, n, m);
	go_on(machine, 100 * MS);
	assert_int_equal(machine->policy.regime, POLICY_BALANCE);
}

/* While it is taken, its threads are left to the kernel, which has them elsewhere. */
static void test_left_and_used_again(void **unused)
{
	(void)unused;
	for (uint32_t m = 2; m <= 4; m++)
		for (uint32_t n = m; n <= 3 * m; n++) {
			struct machine machine;
			begin_balanced(&machine, n, m);
			intervals(&machine, &(struct others){.took = {true}}, 100 * MS);
			assert_true(machine.policy.cpu[0].taken && machine.policy.cpu[0].tick);
			assert_int_equal(confined_to(&machine, 0), 0);
			assert_in_range(
				confined_to(&machine, POLICY_NO_CPU), n / m, (n + m - 1) / m);
			intervals(&machine, &(struct others){.took = {true}}, 350 * MS);
			assert_int_equal(confined_to(&machine, 0), 0);
			intervals(&machine, &(struct others){0}, 20 * MS);
			assert_false(machine.policy.cpu[0].taken);
			assert_in_range(confined_to(&machine, 0), n / m, (n + m - 1) / m);
			assert_true(apart(&machine) <= 1);
			machine_deinit(&machine);
		}
}

/* Should the ticker not run though threads could, the CPU is tried again, and less often each time. */
static void test_tried_again(void **unused)
{
	struct machine machine;
	uint32_t tries = 0;
	uint64_t taken_ns = 0;
	bool before = false;
	(void)unused;

	begin_balanced(&machine, 4, 2);
	for (uint64_t end_ns = machine.now_ns + 9000 * MS; machine.now_ns < end_ns;) {
		uint64_t begin_ns = machine.now_ns;
		interval(&machine, &(struct others){.took = {true}});
		bool now = machine.policy.cpu[0].taken;
		taken_ns += now ? machine.now_ns - begin_ns : 0;
		tries += before && !now;
		before = now;
	}
	assert_in_range(tries, 3, 5);
	assert_true(taken_ns > 8000 * MS);
	machine_deinit(&machine);
}

/* It is taken for a part of each two seconds: what was learnt from a try that a hog's end made succeed
 * must not make it blind. */
static void test_taken_again_and_again(void **unused)
{
	struct machine machine;
	uint64_t stood_ns = 0, hog_ns = 0;
	(void)unused;

	begin_balanced(&machine, 4, 2);
	for (uint64_t k = 0; k < 60; k++) {
		uint64_t for_ns = (200 + k * 7919 % 1300) * MS, end_ns = machine.now_ns + for_ns;
		while (machine.now_ns < end_ns) {
			stood_ns +=
				machine.policy.cpu[0].taken ? 0 : machine.policy.decision.wait_ns;
			interval(&machine, &(struct others){.took = {true}});
		}
		hog_ns += for_ns;
		intervals(&machine, &(struct others){0}, 2000 * MS - for_ns);
	}
	assert_true(stood_ns < hog_ns / 2);
	machine_deinit(&machine);
}

/* Subdomains move instead: no thread stays with the kernel. */
static void test_subdomains(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.tickers = true;
	begin(&machine, &params, 3, 2);
	for (size_t row = 0; row < 3; row++)
		machine.sight[row].role = POLICY_ROLE_BALANCED;
	go_on(&machine, 200 * MS);
	intervals(&machine, &(struct others){.took = {true}}, 100 * MS);
	assert_true(machine.policy.cpu[0].taken);
	for (size_t row = 0; row < 3; row++)
		if (machine.sight[row].cpu == 1) {
			machine.sight[row].news = POLICY_END;
			break;
		}
	step(&machine, 2 * MS);
	for (size_t row = machine.n; row-- > 0;)
		if (machine.policy.thread[row].ended)
			remove_row(&machine, row);
	assert_int_equal(machine.n, 2);
	intervals(&machine, &(struct others){0}, 200 * MS);
	assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_SUBDOMAINS);
	assert_int_equal(confined_to(&machine, 0), 1);
	assert_int_equal(confined_to(&machine, 1), 1);
	machine_deinit(&machine);
}

/* Where the ticker runs, threads starve because of their weight, or are many. */
static void test_shared_is_not_taken(void **unused)
{
	struct machine machine;
	(void)unused;

	begin_balanced(&machine, 2, 2);
	for (int k = 0; k < 100; k++) {
		interval(&machine, &(struct others){.took = {true}, .let_tick = true});
		assert_false(machine.policy.cpu[0].taken);
		assert_int_equal(confined_to(&machine, 0), 1);
	}
	machine_deinit(&machine);
}

/* Nothing could tell when it is back. */
static void test_no_tickers(void **unused)
{
	struct machine machine;
	(void)unused;

	begin_balanced(&machine, 2, 2);
	machine.policy.params.tickers = false;
	for (int k = 0; k < 100; k++) {
		interval(&machine, &(struct others){.took = {true}});
		assert_false(machine.policy.cpu[0].taken);
	}
	machine_deinit(&machine);
}

static void test_one_is_left(void **unused)
{
	struct machine machine;
	(void)unused;

	begin_balanced(&machine, 5, 3);
	intervals(&machine, &(struct others){.took = {true, true, true}}, 300 * MS);
	uint32_t taken = 0, threads = 0;
	for (size_t j = 0; j < 3; j++) {
		taken += machine.policy.cpu[j].taken;
		threads += confined_to(&machine, (int32_t)j);
	}
	assert_int_equal(taken, 2);
	assert_in_range(threads, 1, 2);
	assert_int_equal(confined_to(&machine, POLICY_NO_CPU), 5 - threads);
	intervals(&machine, &(struct others){0}, 50 * MS);
	assert_true(apart(&machine) <= 1);
	machine_deinit(&machine);
}

/* Threads that are born meanwhile are placed elsewhere, too, and those that end leave no hole. */
static void test_births_and_ends(void **unused)
{
	const struct others others = {.took = {true}};
	struct machine machine;
	(void)unused;

	begin_balanced(&machine, 4, 3);
	intervals(&machine, &others, 100 * MS);
	for (int k = 0; k < 3; k++)
		add(&machine, POLICY_RULE_COMPUTE);
	intervals(&machine, &others, 100 * MS);
	assert_int_equal(confined_to(&machine, 0), 0);
	assert_in_range(confined_to(&machine, 1), 2, 3);
	for (size_t row = 0; row < machine.n; row++)
		if (machine.sight[row].cpu == 1)
			machine.sight[row].news = POLICY_END;
	step(&machine, 2 * MS);
	for (size_t row = machine.n; row-- > 0;)
		if (machine.policy.thread[row].ended)
			remove_row(&machine, row);
	intervals(&machine, &others, 50 * MS);
	assert_int_equal(confined_to(&machine, 0), 0);
	assert_true(confined_to(&machine, 1) + confined_to(&machine, 2) > 0);
	machine_deinit(&machine);
}

/* Two threads that the kernel placed, and one of them does not run; others, if there are any, run a little. */
static void one_stands_still(struct machine *machine, bool runnable, uint64_t for_ns)
{
	const struct policy *policy = &machine->policy;

	for (uint64_t end_ns = machine->now_ns + for_ns;
		machine->now_ns < end_ns && policy->regime == POLICY_ASIDE;) {
		uint64_t wait_ns = policy->decision.wait_ns;
		runs(machine, 0, wait_ns, 0);
		runs(machine, 1, 0, 0);
		for (size_t row = 2; row < machine->n; row++)
			runs(machine, row, wait_ns / 200, wait_ns / 2);
		if (policy->thread[1].look & POLICY_STATE)
			machine->sight[1].news |= POLICY_STATE;
		machine->sight[1].runnable = runnable;
		step(machine, wait_ns);
	}
}

static void begin_aside(struct machine *machine)
{
	struct policy_params params = defaults(&policy_kind_juggle);

	params.tickers = true;
	machine_init(machine, &params, 2);
	for (int k = 0; k < 2; k++)
		add(machine, POLICY_RULE_NONE); /* they may become idle */
	go_on(machine, 1000 * MS);
	assert_int_equal(machine->policy.regime, POLICY_ASIDE);
}

static void test_starves_aside(void **unused)
{
	struct machine machine;
	(void)unused;

	begin_aside(&machine);
	one_stands_still(&machine, true, 150 * MS);
	assert_int_equal(machine.policy.regime, POLICY_BALANCE);
	assert_int_equal(machine.policy.decision.reason, POLICY_REASON_STARVED);
	assert_int_equal(apart(&machine), 0);
	machine_deinit(&machine);
}

/* So many threads of other jobs that it is nothing unusual to wait. */
static void test_waits_beside_others(void **unused)
{
	static const struct {
		uint32_t others;
		enum policy_regime regime;
	} cases[] = {{2, POLICY_BALANCE}, {3, POLICY_ASIDE}};
	(void)unused;

	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct machine machine;
		begin_aside(&machine);
		machine.others = cases[c].others;
		one_stands_still(&machine, true, 1000 * MS);
		assert_int_equal(machine.policy.regime, cases[c].regime);
		machine_deinit(&machine);
	}
}

/* Many others keep the CPUs busy, none of them for long enough to count as computing; a few that help don't. */
static void test_waits_in_a_crowd(void **unused)
{
	static const struct {
		int idle;
		enum policy_regime regime;
	} cases[] = {{6, POLICY_BALANCE}, {40, POLICY_ASIDE}};
	(void)unused;

	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct machine machine;
		begin_aside(&machine);
		for (int k = 0; k < cases[c].idle; k++)
			add(&machine, POLICY_RULE_IDLE);
		one_stands_still(&machine, true, 1000 * MS);
		assert_int_equal(machine.policy.regime, cases[c].regime);
		machine_deinit(&machine);
	}
}

static void test_sleeps_aside(void **unused)
{
	struct machine machine;
	(void)unused;

	begin_aside(&machine);
	one_stands_still(&machine, false, 1000 * MS);
	assert_int_equal(machine.policy.regime, POLICY_ASIDE);
	machine_deinit(&machine);
}

/* It sleeps, and each time that it is looked at has just woken. */
static void test_wakes_aside(void **unused)
{
	struct machine machine;
	(void)unused;

	begin_aside(&machine);
	for (int k = 0; k < 100; k++) {
		uint64_t wait_ns = machine.policy.decision.wait_ns;
		bool late = k % 2 == 0; /* what it ran is seen in the next interval */
		runs(&machine, 0, wait_ns, 0);
		runs(&machine, 1, late ? 0 : wait_ns / 4, 0);
		if (machine.policy.thread[1].look & POLICY_STATE)
			machine.sight[1].news |= POLICY_STATE;
		machine.sight[1].runnable = true;
		step(&machine, wait_ns);
		assert_int_equal(machine.policy.regime, POLICY_ASIDE);
		assert_true(machine.policy.thread[1].computes);
	}
	machine_deinit(&machine);
}

/* No trial begins while it is not known whether a silent CPU has been taken. */
static void test_no_trial_meanwhile(void **unused)
{
	struct machine machine;
	(void)unused;

	begin_balanced(&machine, 2, 2);
	machine.policy.params.always = machine.policy.chooser.always = false;
	machine.policy.window.due = true;
	machine.policy.cpu[0].silent_ns = machine.now_ns;
	for (int k = 0; k < 100; k++) {
		interval(&machine, &(struct others){.took = {true}});
		if (machine.policy.cpu[0].taken)
			break;
		assert_int_equal(machine.policy.regime, POLICY_BALANCE);
	}
	assert_true(machine.policy.cpu[0].taken);
	machine_deinit(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_and_used_again),
		cmocka_unit_test(test_tried_again),
		cmocka_unit_test(test_taken_again_and_again),
		cmocka_unit_test(test_subdomains),
		cmocka_unit_test(test_shared_is_not_taken),
		cmocka_unit_test(test_no_tickers),
		cmocka_unit_test(test_one_is_left),
		cmocka_unit_test(test_births_and_ends),
		cmocka_unit_test(test_starves_aside),
		cmocka_unit_test(test_waits_beside_others),
		cmocka_unit_test(test_waits_in_a_crowd),
		cmocka_unit_test(test_sleeps_aside),
		cmocka_unit_test(test_wakes_aside),
		cmocka_unit_test(test_no_trial_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
