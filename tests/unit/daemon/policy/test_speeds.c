/* SPDX-License-Identifier: MIT */
/* CPUs of unequal speed: what turns gain there, which CPU is next, and what the policy makes of it. */
#undef NDEBUG
#include "daemon/policy/speeds.h"

#include "daemon/policy/distribute.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/daemon/policy/machine.h"
#include "tests/unit/random.h"

/* `fast` CPUs and `slow` ones after them, with so many CPUs a core. */
static size_t make(struct policy_cpu *cpus, size_t fast, size_t slow, double speed, size_t smt)
{
	for (size_t j = 0; j < fast + slow; j++)
		cpus[j] = (struct policy_cpu){.rated = j < fast ? 1 : speed,
			.potential = j < fast ? 1 : speed,
			.core = (int32_t)(j - j % smt)};
	return fast + slow;
}

static void test_turns_gain(void **unused)
{
	static const struct {
		size_t fast, slow;
		double speed;
		size_t smt;
		uint32_t n;
		double gain;
	} cases[] = {
		/* Equal CPUs: ceil(n / m) * m / n - 1. */
		{2, 0, 1, 1, 3, 1. / 3},
		{4, 0, 1, 1, 4, 0},
		{4, 0, 1, 1, 3, 0},
		{8, 0, 1, 1, 9, 7. / 9},
		/* Mean speed over slowest speed, of the fastest n. */
		{1, 1, 0.55, 1, 2, 0.409},
		{8, 16, 0.55, 1, 24, 0.273},
		{8, 16, 0.55, 1, 12, 0.545},
		{8, 16, 0.55, 1, 8, 0},
		{8, 16, 0.55, 1, 1, 0},
		/* The extra thread is on the fast CPU: 1/2 and 0.55, against 1.55 / 3. */
		{1, 1, 0.55, 1, 3, 1.55 / 3 / 0.5 - 1},
		/* Four cores of two: two CPUs of a core run at 0.625. */
		{8, 0, 1, 2, 4, 0},
		{8, 0, 1, 2, 8, 0},
		{8, 0, 1, 2, 6, (2 + 4 * 0.625) / 6 / 0.625 - 1},
		/* Two fast cores of two, and four slow ones: these come before second CPUs of cores. */
		{4, 8, 0.5, 2, 6, (2 + 4 * 0.5) / 6 / 0.5 - 1},
	};
	struct policy_cpu cpus[24];
	(void)unused;

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		size_t m = make(cpus, cases[k].fast, cases[k].slow, cases[k].speed, cases[k].smt);
		double gain = policy_turns_gain(cpus, m, cases[k].n);
		if (fabs(gain - cases[k].gain) > 0.001)
			fail_msg("case %zu: %f, not %f", k, gain, cases[k].gain);
	}
}

/* It is never negative, and never more than the fastest speed over the slowest, and one more thread. */
static void test_turns_gain_is_bounded(void **unused)
{
	struct policy_cpu cpus[CPUS_MAX];
	uint64_t seed = 1;
	(void)unused;

	for (int k = 0; k < 20000; k++) {
		size_t m = (size_t)random_int(&seed, 1, CPUS_MAX);
		uint32_t n = (uint32_t)random_int(&seed, 0, 40);
		double least = 1;
		for (size_t j = 0; j < m; j++) {
			cpus[j] = (struct policy_cpu){
				.rated = (double)random_int(&seed, 10, 100) / 100,
				.core = (int32_t)(j - j % 2)};
			least = fmin(least, cpus[j].rated);
		}
		double gain = policy_turns_gain(cpus, m, n);
		assert_true(gain >= -1e-9 && isfinite(gain));
		assert_true(gain <= 2 * (1 / least) / 0.625);
	}
}

/* Fast cores first, then slow ones, then the second CPUs of fast cores and of slow ones. */
static void test_place(void **unused)
{
	static const int32_t order[] = {0, 2, 4, 6, 1, 3, 5, 7};
	struct policy_cpu cpus[8];
	struct policy_thread threads[8] = {0};
	(void)unused;

	size_t m = make(cpus, 4, 4, 0.5, 2);
	for (size_t n = 1; n <= m; n++) {
		for (size_t i = 0; i < n; i++)
			threads[i] = (struct policy_thread){.computes = true, .cpu = POLICY_NO_CPU};
		policy_place(threads, n, cpus, m);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(threads[i].cpu, order[i]);
	}
	/* Others' threads take their part: 1/2 of a fast CPU is no more than a slow one. */
	m = make(cpus, 1, 1, 0.6, 1);
	cpus[0].neighbours = 1;
	threads[0].cpu = POLICY_NO_CPU;
	policy_place(threads, 1, cpus, m);
	assert_int_equal(threads[0].cpu, 1);
}

/* A thread whose CPU has become slower than an unused one promises to be goes there; a little slower
 * is no reason. */
static void test_take_places(void **unused)
{
	struct policy_cpu cpus[4];
	struct policy_thread threads[2] = {
		{.computes = true, .cpu = 0}, {.computes = true, .cpu = 1}};
	(void)unused;

	size_t m = make(cpus, 2, 2, 0.6, 1);
	assert_int_equal(policy_take_places(threads, 2, cpus, m), 0);
	cpus[1].potential = 0.57;
	assert_int_equal(policy_take_places(threads, 2, cpus, m), 0);
	cpus[1].potential = 0.5;
	assert_int_equal(policy_take_places(threads, 2, cpus, m), 1);
	assert_int_equal(threads[0].cpu, 0);
	assert_int_equal(threads[1].cpu, 2);
	/* What it left is as it was left, until that is forgotten. */
	assert_int_equal(policy_take_places(threads, 2, cpus, m), 0);
	cpus[1].potential = 1;
	assert_int_equal(policy_take_places(threads, 2, cpus, m), 1);
	assert_int_equal(threads[1].cpu, 1);
	/* Nobody else takes the thread back there, while it is not known to be better. */
	cpus[1].potential = 0.5;
	threads[1].cpu = 2;
	assert_int_equal(policy_make_way(threads, 2, cpus, m), 0);
	/* The other CPU of a busy core has no more than a quarter to give. */
	m = make(cpus, 4, 0, 1, 2);
	threads[1].cpu = 2;
	cpus[0].potential = 0.3;
	assert_int_equal(policy_take_places(threads, 2, cpus, m), 0);
	/* A CPU that was taken promises nothing. */
	m = make(cpus, 3, 0, 1, 1);
	cpus[0].potential = 0.3;
	cpus[1].taken = true;
	assert_int_equal(policy_take_places(threads, 2, cpus, m), 0);
}

/* Two threads that always run, on CPUs of speed 1 and 0.5, for that long. */
static void run(struct machine *machine, int intervals)
{
	for (int k = 0; k < intervals; k++) {
		uint64_t elapsed_ns = machine->policy.decision.wait_ns;
		for (size_t i = 0; i < machine->n; i++)
			runs(machine, i, elapsed_ns, 0);
		step(machine, elapsed_ns);
	}
}

static void begin_pair(struct machine *machine, const struct policy_kind *kind, uint32_t second)
{
	struct policy_params params = defaults(kind);

	machine_init(machine, &params, 2);
	machine->traits[1].speed = second;
	policy_describe(&machine->policy, machine->traits);
	add(machine, POLICY_RULE_COMPUTE);
	add(machine, POLICY_RULE_COMPUTE);
}

static void test_a_cpu_for_each_thread(void **unused)
{
	struct machine machine;
	double work[2] = {0};
	(void)unused;

	begin_pair(&machine, &policy_kind_juggle, 500);
	run(&machine, 100);
	assert_int_equal(machine.policy.regime, POLICY_BALANCE);
	assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_UNEQUAL);
	for (int k = 0; k < 1000; k++) {
		for (size_t i = 0; i < 2; i++)
			work[i] += (double)machine.policy.decision.wait_ns *
				   (machine.sight[i].cpu == 0 ? 1 : 0.5);
		run(&machine, 1);
		/* Never more than some turns apart. */
		assert_true(fabs(work[0] - work[1]) < 5 * 4e6);
	}
	machine_deinit(&machine);
	/* Equal CPUs, or nearly: nothing to do. */
	begin_pair(&machine, &policy_kind_juggle, 960);
	run(&machine, 100);
	assert_int_equal(machine.policy.regime, POLICY_ASIDE);
	machine_deinit(&machine);
	/* The paper knows no speeds. */
	begin_pair(&machine, &policy_kind_juggle2012, 500);
	run(&machine, 100);
	assert_int_equal(
		machine.policy.thread[0].progress_ns, machine.policy.thread[1].progress_ns);
	machine_deinit(&machine);
}

/* What a hypervisor takes makes a CPU slow, and giving it back makes it fast. */
static void test_stolen(void **unused)
{
	struct machine machine;
	(void)unused;

	begin_pair(&machine, &policy_kind_juggle, 1000);
	run(&machine, 100);
	assert_int_equal(machine.policy.regime, POLICY_ASIDE);
	machine.stolen[0] = 400;
	run(&machine, 100);
	assert_int_equal(machine.policy.regime, POLICY_BALANCE);
	assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_UNEQUAL);
	/* These threads ran all the time, so the kernel counts what was stolen as theirs. */
	assert_true(fabs(policy_rate_of(machine.policy.cpu, 0) - 0.6) < 1e-9);
	assert_true(policy_rate_of(machine.policy.cpu, 1) == 1);
	machine.stolen[0] = 0;
	run(&machine, 100);
	assert_int_equal(machine.policy.regime, POLICY_ASIDE);
	machine_deinit(&machine);
}

/* Fewer threads than CPUs are placed when no more come; a single one never is. */
static void test_fewer_threads(void **unused)
{
	(void)unused;

	for (size_t n = 1; n <= 2; n++) {
		struct policy_params params = defaults(&policy_kind_juggle);
		struct machine machine;
		machine_init(&machine, &params, 4);
		machine.traits[0].speed = machine.traits[2].speed = 500;
		policy_describe(&machine.policy, machine.traits);
		for (size_t i = 0; i < n; i++)
			add(&machine, POLICY_RULE_COMPUTE);
		while (machine.now_ns < params.begin_ns + 400 * MS) {
			run(&machine, 1);
			assert_int_equal(machine.policy.regime, POLICY_ASIDE);
		}
		while (machine.now_ns < params.begin_ns + 1000 * MS)
			run(&machine, 1);
		assert_int_equal(machine.policy.regime, n > 1 ? POLICY_BALANCE : POLICY_ASIDE);
		for (size_t i = 0; i < n && n > 1; i++)
			assert_int_equal(machine.sight[i].cpu % 2, 1);
		machine_deinit(&machine);
	}
}

/* Other work takes most of CPU 0: its thread leaves it for a slower, unused one. There it stays, but for
 * looks at whether that still is so. */
static void test_unused_cpu_beside_other_work(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	int used = 0, moves = 0, points = 0;
	(void)unused;

	machine_init(&machine, &params, 3);
	machine.traits[2].speed = 800;
	policy_describe(&machine.policy, machine.traits);
	for (size_t i = 0; i < 2; i++)
		add(&machine, POLICY_RULE_COMPUTE);
	while (machine.now_ns < params.begin_ns + 4000 * MS) {
		uint32_t before = confined_to(&machine, 2);
		uint64_t elapsed_ns = machine.policy.decision.wait_ns;
		for (size_t i = 0; i < machine.n; i++) {
			uint64_t run_ns = machine.sight[i].cpu == 0 ? elapsed_ns / 3 : elapsed_ns;
			runs(&machine, i, run_ns, elapsed_ns - run_ns);
		}
		step(&machine, elapsed_ns);
		moves += before != confined_to(&machine, 2);
		used += confined_to(&machine, 2) > 0;
		points += machine.policy.regime == POLICY_BALANCE;
	}
	assert_true(points > 100);
	assert_true(used > points * 3 / 4);
	assert_in_range(moves, 1, 10);
	machine_deinit(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns_gain),
		cmocka_unit_test(test_turns_gain_is_bounded),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_take_places),
		cmocka_unit_test(test_a_cpu_for_each_thread),
		cmocka_unit_test(test_stolen),
		cmocka_unit_test(test_fewer_threads),
		cmocka_unit_test(test_unused_cpu_beside_other_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
