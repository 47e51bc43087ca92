/* SPDX-License-Identifier: MIT */
/* Who goes to a CPU that has run dry, and when threads take turns: cases by hand, and what always holds. */
#undef NDEBUG
#include "daemon/policy/dry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/policy/distribute.h"
#include "tests/unit/daemon/policy/machine.h"
#include "tests/unit/random.h"

#define NEED_NS 4e6

/* Not a running policy: CPUs and threads as a test wants them. A CPU has just run dry. */
static void make(struct machine *machine, uint32_t cpus)
{
	struct policy_params params = defaults(&policy_kind_juggle);

	params.bells = true;
	machine_init(machine, &params, cpus);
	struct policy *policy = &machine->policy;
	policy->regime = POLICY_BALANCE;
	policy->needs.told = policy->needs.regular = true;
	policy->needs.mean_ns = NEED_NS;
	policy->decision.elapsed_ns = MS;
	policy->rung_ns = policy->last_ns;
}

static void put(struct machine *machine, int32_t cpu, bool waits)
{
	machine->policy.thread[machine->policy.n++] = (struct policy_thread){.computes = true,
		.told = true,
		.cpu = cpu,
		.cpu_before = cpu,
		.run_ns = MS,
		.waits = waits,
		.total_arrivals = 10 + waits};
}

/* As test_bell.c: w works, - waits, / begins another CPU. */
static void put_all(struct machine *machine, const char *threads)
{
	int32_t cpu = 0;

	for (const char *c = threads; *c != '\0'; c++)
		if (*c == '/')
			cpu++;
		else
			put(machine, cpu, *c == '-');
	policy_count(
		machine->policy.thread, machine->policy.n, machine->policy.cpu, machine->policy.m);
}

static size_t fill(struct machine *machine)
{
	return policy_fill_dry(&machine->policy);
}

static int32_t cpu_of(const struct machine *machine, size_t row)
{
	return machine->policy.thread[row].cpu;
}

static void test_one_goes(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put_all(&machine, "ww/-");
	machine.policy.thread[1].filled_ns = 1; /* the last that moved */
	assert_int_equal(fill(&machine), 1);
	assert_int_equal(cpu_of(&machine, 0), 0);
	assert_int_equal(cpu_of(&machine, 1), 1);
	assert_int_equal(cpu_of(&machine, 2), 1);
	assert_true(machine.policy.thread[1].filled_ns == machine.policy.last_ns);
	machine_deinit(&machine);
}

/* CPUs would be two threads apart. */
static void test_one_comes(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put_all(&machine, "ww/--");
	assert_int_equal(fill(&machine), 2);
	assert_int_equal(cpu_of(&machine, 0) + cpu_of(&machine, 1), 1);
	assert_int_equal(cpu_of(&machine, 2) + cpu_of(&machine, 3), 1);
	machine_deinit(&machine);
}

static void test_nobody_goes(void **state)
{
	static const char *const threads[] = {"w/-", "w-/w", "ww/w", "--/-"};
	(void)state;

	for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
		struct machine machine;
		make(&machine, 2);
		put_all(&machine, threads[k]);
		assert_int_equal(fill(&machine), 0);
		machine_deinit(&machine);
	}
}

/* More threads than a bell has room for. */
static void test_too_many(void **state)
{
	(void)state;

	for (size_t n = POLICY_BELL_THREADS; n <= POLICY_BELL_THREADS + 1; n++) {
		struct machine machine;
		make(&machine, 2);
		for (size_t i = 0; i < n; i++)
			put(&machine, i < n / 2, i < n / 2);
		policy_count(machine.policy.thread, n, machine.policy.cpu, machine.policy.m);
		assert_int_equal(fill(&machine) > 0, n == POLICY_BELL_THREADS);
		machine_deinit(&machine);
	}
}

/* Two at once, from the most crowded CPUs. */
static void test_several(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 4);
	put_all(&machine, "-/ww/-/www");
	assert_int_equal(fill(&machine), 2);
	assert_int_equal(confined_to(&machine, 0), 0); /* nothing was carried out */
	uint32_t threads[4] = {0};
	for (size_t i = 0; i < machine.policy.n; i++)
		if (!machine.policy.thread[i].waits)
			threads[cpu_of(&machine, i)]++;
	assert_true(threads[0] == 1 && threads[2] == 1 && threads[1] + threads[3] == 3);
	machine_deinit(&machine);
}

/* Other work has half of CPU 0. */
static void test_shared(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put_all(&machine, "w/-");
	machine.policy.thread[0].run_ns = machine.policy.thread[0].wait_ns = MS / 2;
	for (int i = 0; i < 200; i++)
		(void)fill(&machine);
	assert_true(policy_is_shared(&machine.policy, 0));
	assert_false(policy_is_shared(&machine.policy, 1));
	assert_false(policy_bell_suffices(&machine.policy));
	assert_int_equal(cpu_of(&machine, 0), 1);
	assert_int_equal(cpu_of(&machine, 1), 0); /* instead */
	machine_deinit(&machine);
}

/* What threads did that the kernel put on any CPU, as in a trial, is no sign that a CPU is shared. */
static void test_shared_by_nobody(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put_all(&machine, "w/w");
	for (int i = 0; i < 400; i++) {
		for (size_t k = 0; k < 2; k++)
			machine.policy.thread[k].cpu_before =
				i < 200 ? machine.policy.thread[k].cpu : POLICY_NO_CPU;
		(void)fill(&machine);
	}
	assert_false(policy_is_shared(&machine.policy, 0));
	assert_false(policy_is_shared(&machine.policy, 1));
	machine_deinit(&machine);
}

/* CPU 1 ran dry after a phase of one thread; the next phase begins when all CPUs have done all there is to do,
 * and there CPU 1, which has two threads now, runs each for the time until CPU 0 runs dry. */
static void test_turns(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put_all(&machine, "ww/-");
	assert_int_equal(fill(&machine), 1);
	double next_ns = (double)machine.policy.last_ns - NEED_NS + 1.5 * NEED_NS;
	assert_true(machine.policy.cpu[0].turn_ns == 0);
	assert_float_equal((double)machine.policy.cpu[1].turn_ns, next_ns + NEED_NS / 2, 1000);
	assert_true(machine.policy.cpu[1].turn_gap_ns == 0);
	machine_deinit(&machine);
}

/* Phases begin later than computed, always by as much. */
static void test_late(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put_all(&machine, "ww/-");
	for (int i = 0; i < 64; i++) {
		struct policy *policy = &machine.policy;
		policy->last_ns += (uint64_t)(1.5 * NEED_NS) + 300000;
		policy->rung_ns = policy->last_ns;
		for (size_t k = 0; k < 3; k++) {
			policy->thread[k].cpu = policy->thread[k].cpu_before = k == 2;
			policy->thread[k].total_arrivals++;
		}
		assert_int_equal(fill(&machine), 1);
	}
	assert_float_equal(machine.policy.beat.late_ns, 300000, 5000);
	machine_deinit(&machine);
}

static void expect(const struct machine *machine, bool would_do, bool suffices)
{
	assert_int_equal(policy_bell_would_do(&machine->policy), would_do);
	assert_int_equal(policy_bell_suffices(&machine->policy), suffices);
}

static void test_when(void **state)
{
	struct machine machine;
	struct policy *policy = &machine.policy;
	(void)state;

	make(&machine, 2);
	put_all(&machine, "ww/w");
	expect(&machine, true, true);
	policy->last_ns += (uint64_t)(5 * NEED_NS); /* nobody has called since */
	expect(&machine, true, false);
	policy->rung_ns = policy->last_ns;
	policy->needs.regular = false;
	expect(&machine, false, false);
	policy->needs.regular = true;
	policy->needs.differ = true;
	expect(&machine, false, false);
	policy->needs.differ = false;
	policy->needs.dynamic = true;
	expect(&machine, false, false);
	policy->needs.dynamic = false;
	policy->chooser.spins = true;
	expect(&machine, false, false);
	policy->chooser.spins = false;
	policy->params.bells = false;
	expect(&machine, false, false);
	assert_int_equal(fill(&machine), 0);
	machine_deinit(&machine);
}

/* One thread more than 16 CPUs: it has to take turns with those of all CPUs, if there is time for that. */
static void test_many_cpus(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 16);
	for (int32_t j = 0; j < 17; j++)
		put(&machine, j % 16, false);
	policy_count(machine.policy.thread, 17, machine.policy.cpu, 16);
	machine.policy.needs.mean_ns = 1e6;
	expect(&machine, true, true);
	machine.policy.needs.mean_ns = 100e6;
	expect(&machine, false, false);
	machine_deinit(&machine);
}

static uint32_t apart_now(const struct policy *policy)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (size_t j = 0; j < policy->m; j++) {
		uint32_t count = 0;
		for (size_t i = 0; i < policy->n; i++)
			count += policy->thread[i].cpu == (int32_t)j;
		least = count < least ? count : least;
		most = count > most ? count : most;
	}
	return most - least;
}

/* CPUs stay no more than one thread apart, no working thread comes to a CPU where another one works, and
 * nothing is left to be done. */
static void test_always(void **state)
{
	uint64_t seed = 7;
	(void)state;

	for (int round = 0; round < 3000; round++) {
		struct machine machine;
		struct policy *policy = &machine.policy;
		uint32_t m = (uint32_t)random_int(&seed, 2, 6);
		uint32_t n = (uint32_t)random_int(&seed, m, 4 * m), working[6] = {0};

		make(&machine, m);
		policy->needs.mean_ns = 1e6;
		for (uint32_t i = 0; i < n; i++)
			put(&machine, (int32_t)(i % m), random_int(&seed, 0, 2) > 0);
		(void)fill(&machine);
		assert_in_range(apart_now(policy), 0, 1);
		for (size_t i = 0; i < n; i++)
			if (!policy->thread[i].waits)
				working[policy->thread[i].cpu]++;
		uint32_t least = UINT32_MAX, most = 0;
		for (uint32_t j = 0; j < m; j++) {
			least = working[j] < least ? working[j] : least;
			most = working[j] > most ? working[j] : most;
		}
		assert_true(least > 0 || most <= 1);
		machine_deinit(&machine);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_goes),
		cmocka_unit_test(test_one_comes),
		cmocka_unit_test(test_nobody_goes),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_shared_by_nobody),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_when),
		cmocka_unit_test(test_many_cpus),
		cmocka_unit_test(test_always),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
