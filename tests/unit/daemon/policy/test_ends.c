/* SPDX-License-Identifier: MIT */
/* The balancing point by what remains to threads: cases by hand, and what always holds. */
#undef NDEBUG
#include "daemon/policy/ends.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/policy/distribute.h"
#include "tests/unit/daemon/policy/machine.h"
#include "tests/unit/random.h"

#define UNIT 1e6

/* Not a running policy: CPUs and threads as a test wants them. */
static void make(struct machine *machine, uint32_t cpus)
{
	const struct policy_params params = defaults(&policy_kind_juggle);

	machine_init(machine, &params, cpus);
	machine->policy.decision.elapsed_ns = 2 * MS;
	machine->policy.needs.told = machine->policy.needs.regular = machine->policy.needs.differ =
		true;
	for (uint32_t j = 0; j < cpus; j++)
		machine->policy.cpu[j].ran = machine->policy.cpu[j].runnable = 1;
}

/* It needs so much in a phase, has done so much of it, and has run in the interval. */
static void put(struct machine *machine, int32_t cpu, double need_ms, double done_ms, bool waits)
{
	struct policy *policy = &machine->policy;

	policy->thread[policy->n++] = (struct policy_thread){.computes = true,
		.cpu = cpu,
		.told = true,
		.need_ns = need_ms * UNIT,
		.done_ns = done_ms * UNIT,
		.run_ns = MS,
		.waits = waits};
	policy->needs.mean_ns += (need_ms * UNIT - policy->needs.mean_ns) / (double)policy->n;
}

static size_t end_together(struct machine *machine)
{
	struct policy *policy = &machine->policy;

	policy_count(policy->thread, policy->n, policy->cpu, policy->m);
	return policy_end_together(policy);
}

static int32_t cpu_of(const struct machine *machine, size_t row)
{
	return machine->policy.thread[row].cpu;
}

/* Nothing remains to a thread that waits, though it has done nothing since it arrived. */
static void test_waits(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put(&machine, 0, 20, 15, false);
	put(&machine, 0, 20, 0, true);
	put(&machine, 1, 20, 15, false);
	assert_int_equal(end_together(&machine), 0);
	machine_deinit(&machine);
}

static void test_turns(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put(&machine, 0, 20, 5, false);
	put(&machine, 0, 20, 4, false);
	put(&machine, 1, 20, 10, false);
	assert_int_equal(end_together(&machine), 1);
	/* The one that is furthest behind gets a CPU alone. */
	assert_int_equal(cpu_of(&machine, 0), 1);
	assert_int_equal(cpu_of(&machine, 1), 0);
	assert_int_equal(cpu_of(&machine, 2), 1);
	machine_deinit(&machine);

	make(&machine, 2);
	put(&machine, 0, 20, 8, false);
	put(&machine, 0, 20, 8, false);
	put(&machine, 1, 20, 12, false);
	put(&machine, 1, 20, 18, false);
	assert_int_equal(end_together(&machine), 2);
	assert_int_equal(cpu_of(&machine, 0), 1);
	assert_int_equal(cpu_of(&machine, 2), 0);
	machine_deinit(&machine);
}

/* Where all threads need the same, on CPUs that are alike, the paper's turns do as well. */
static void test_alike(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	machine.policy.needs.differ = false;
	put(&machine, 0, 20, 5, false);
	put(&machine, 0, 20, 4, false);
	put(&machine, 1, 20, 10, false);
	assert_true(end_together(&machine) == POLICY_UNTOLD);
	machine_deinit(&machine);
}

/* What threads need follows from what they get, so that nothing is known of what remains. */
static void test_dynamic(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	machine.policy.needs.dynamic = true;
	put(&machine, 0, 60, 5, false);
	put(&machine, 0, 20, 4, false);
	put(&machine, 1, 20, 10, false);
	assert_true(end_together(&machine) == POLICY_UNTOLD);
	machine_deinit(&machine);
}

static void test_even(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	for (int i = 0; i < 4; i++)
		put(&machine, i % 2, 20, 5, false);
	assert_int_equal(end_together(&machine), 0);
	machine_deinit(&machine);
}

/* A thread with more work is left alone once the others have little left. */
static void test_heavy(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put(&machine, 0, 60, 36, false);
	put(&machine, 0, 40, 36, false);
	put(&machine, 1, 40, 36, false);
	put(&machine, 1, 40, 36, false);
	assert_int_equal(end_together(&machine), 1);
	assert_int_equal(cpu_of(&machine, 0), 0);
	assert_int_equal(cpu_of(&machine, 1), 1);
	machine_deinit(&machine);
}

/* Two threads still work. Those that spin at the barrier take time of their CPU, those that sleep don't. */
static void test_spinners(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 3);
	put(&machine, 0, 20, 4, false);
	put(&machine, 0, 20, 20, true);
	put(&machine, 1, 20, 4, false);
	put(&machine, 2, 20, 20, true);
	assert_int_equal(end_together(&machine), 1);
	assert_int_equal(cpu_of(&machine, 0), 0);
	assert_int_equal(cpu_of(&machine, 1), 2);
	machine_deinit(&machine);

	make(&machine, 3);
	put(&machine, 0, 20, 4, false);
	put(&machine, 0, 20, 20, true);
	put(&machine, 1, 20, 4, false);
	put(&machine, 2, 20, 20, true);
	machine.policy.thread[1].asleep = true;
	assert_int_equal(end_together(&machine), 0);
	machine_deinit(&machine);
}

/* A CPU that gives half of its time. */
static void test_hog(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	machine.policy.needs.differ = false;
	put(&machine, 0, 20, 2, false);
	put(&machine, 1, 20, 4, false);
	machine.policy.cpu[0].ran = 0.5;
	machine.policy.cpu[0].periods = 10;
	assert_int_equal(end_together(&machine), 2);
	machine_deinit(&machine);

	make(&machine, 2);
	put(&machine, 0, 20, 12, false);
	put(&machine, 1, 20, 4, false);
	machine.policy.cpu[0].ran = 0.5;
	machine.policy.cpu[0].periods = 10;
	assert_int_equal(end_together(&machine), 0); /* both run dry after 16 ms */
	machine_deinit(&machine);
}

/* A CPU of half the speed. */
static void test_slow(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	machine.policy.needs.differ = false;
	machine.policy.chooser.speeds_differ = true;
	put(&machine, 0, 20, 2, false);
	put(&machine, 1, 20, 10, false);
	machine.policy.cpu[0].rated = 0.5;
	machine.policy.needs.brief = true;
	assert_true(end_together(&machine) == POLICY_UNTOLD);
	machine.policy.needs.brief = false;
	machine.policy.decision.elapsed_ns = 15 * MS; /* no time for turns */
	assert_true(end_together(&machine) == POLICY_UNTOLD);
	machine.policy.decision.elapsed_ns = 2 * MS;
	assert_int_equal(end_together(&machine), 2);
	machine_deinit(&machine);
}

/* There is no time for turns, but there are places: a heavy thread alone. */
static void test_short(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put(&machine, 0, 2, 0, false);
	put(&machine, 0, 1, 0.5, false);
	put(&machine, 1, 1, 0.7, false);
	assert_int_equal(end_together(&machine), 1);
	assert_int_equal(cpu_of(&machine, 1), 1);
	for (int i = 0; i < 3; i++)
		machine.policy.thread[i].done_ns = 0.3 * UNIT * i;
	assert_int_equal(end_together(&machine), 0);
	machine_deinit(&machine);
}

static void test_unknown(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	put(&machine, 0, 20, 2, false);
	put(&machine, 0, 20, 2, false);
	put(&machine, 1, 20, 12, false);
	machine.policy.needs.regular = false;
	assert_true(end_together(&machine) == POLICY_UNTOLD);
	machine_deinit(&machine);
}

/* The kernel has counted nothing of the first two since the last points, so they have shared their CPU. */
static void test_hidden(void **state)
{
	struct machine machine;
	(void)state;

	make(&machine, 2);
	for (int i = 0; i < 4; i++)
		put(&machine, i % 2, 20, 5, false);
	end_together(&machine);
	for (int i = 0; i < 4; i += 2)
		machine.policy.thread[i].run_ns = 0;
	for (int k = 0; k < 3; k++)
		end_together(&machine);
	assert_true(fabs(machine.policy.thread[0].hidden_ns - 3e6) < 1);
	assert_true(machine.policy.thread[1].hidden_ns == 0);
	machine.policy.thread[0].run_ns = 4 * MS;
	end_together(&machine);
	assert_true(machine.policy.thread[0].hidden_ns == 0);
	machine_deinit(&machine);
}

static double last_dry_ns(const struct machine *machine)
{
	double last = 0;

	for (size_t j = 0; j < machine->policy.m; j++)
		last = fmax(last, machine->policy.cpu[j].dry_ns);
	return last;
}

static void make_random(struct machine *machine, uint64_t *seed)
{
	uint32_t m = (uint32_t)random_int(seed, 2, CPUS_MAX), n = (uint32_t)random_int(seed, 1, 40);

	make(machine, m);
	for (uint32_t i = 0; i < n; i++) {
		double need_ms = (double)random_int(seed, 10, 60);
		double done_ms = need_ms * (double)random_int(seed, 0, 110) / 100;
		put(machine, (int32_t)random_int(seed, 0, (int64_t)m - 1), need_ms, done_ms,
			random_int(seed, 0, 3) == 0);
		machine->policy.thread[i].asleep = random_int(seed, 0, 3) == 0;
	}
	for (uint32_t j = 0; j < m; j++) {
		machine->policy.cpu[j].rated = random_int(seed, 0, 3) == 0 ? 0.6 : 1;
		machine->policy.cpu[j].taken = random_int(seed, 0, 9) == 0;
	}
	for (uint32_t i = 0; i < n; i++)
		machine->policy.cpu[cpu_of(machine, i)].taken = false;
}

static void test_properties(void **state)
{
	uint64_t seed = 1;
	(void)state;

	for (int k = 0; k < 3000; k++) {
		struct machine machine;
		int32_t before[ROWS_MAX];
		uint32_t had[CPUS_MAX] = {0}, has[CPUS_MAX] = {0}, moves = 0;
		make_random(&machine, &seed);
		struct policy *policy = &machine.policy;
		for (size_t i = 0; i < policy->n; i++) {
			before[i] = cpu_of(&machine, i);
			had[before[i]]++;
		}
		size_t moved = end_together(&machine);
		if (moved == POLICY_UNTOLD) {
			machine_deinit(&machine);
			continue;
		}
		for (size_t i = 0; i < policy->n; i++) {
			int32_t now = cpu_of(&machine, i);
			assert_in_range(now, 0, policy->m - 1);
			has[now]++;
			moves += now != before[i];
			assert_true(now == before[i] || !policy->cpu[now].taken);
		}
		assert_int_equal(moves, moved);
		for (size_t j = 0; j < policy->m; j++) {
			assert_true(had[j] == 0 || has[j] > 0);
			assert_int_equal(policy->cpu[j].threads, has[j]);
		}
		/* Again, with nothing done meanwhile: the last CPU does not run dry later. */
		double last_ns = last_dry_ns(&machine);
		end_together(&machine);
		assert_true(last_dry_ns(&machine) <= last_ns * (1 + 1e-9));
		machine_deinit(&machine);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_heavy),
		cmocka_unit_test(test_spinners),
		cmocka_unit_test(test_hog),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_properties),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
