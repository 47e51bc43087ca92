/* SPDX-License-Identifier: MIT */
/* Short phases on fewer CPUs: when that is tried, kept and given up; and where threads then are. */
#undef NDEBUG
#include "daemon/policy/packing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/daemon/policy/machine.h"
#include "tests/unit/random.h"

#define PLENTY_NS 1e12

/* A job, in windows of 50 ms. */
struct job {
	uint32_t threads, cpus;
	double rate[2]; /* phases per ms, of all threads: left to the kernel, and packed */
	double need_ns; /* so much of the CPUs is used by them */
	double budget_ns;
	double useful; /* CPUs used, whatever the rate; 0: by rate and need */
};

struct run {
	struct policy_packing packing;
	bool packed, pauses;
	int windows_in[2];
	double cost_ns;
};

static struct run start(void)
{
	struct run run = {.packed = false};

	policy_packing_reset(&run.packing);
	return run;
}

static void windows(struct run *run, const struct job *job, int count)
{
	for (int i = 0; i < count; i++) {
		uint64_t window_ns = POLICY_WINDOW_NS;
		double rate = run->pauses ? 0 : job->rate[run->packed];
		double used = job->useful > 0 ? job->useful : rate / 1e6 * job->need_ns;
		struct policy_window window = {.elapsed_ns = window_ns,
			.threads = job->threads,
			.cpus = job->cpus,
			.told = true,
			.useful_ns = (uint64_t)(used * (double)window_ns),
			.passed = rate * (double)window_ns / 1e6,
			.need_ns = job->need_ns};

		run->windows_in[run->packed]++;
		run->packed =
			policy_packing_next(&run->packing, &window, run->packed, job->budget_ns);
		run->cost_ns += run->packing.cost_ns;
	}
}

/* The better way is found, whichever it is, and looks at the other get rare. */
static void test_better(void **state)
{
	(void)state;

	for (int better = 0; better <= 1; better++) {
		struct job job = {3, 2, {20, 20}, 18e3, PLENTY_NS, 0};
		struct run run = start();
		job.rate[better] = 40;
		windows(&run, &job, 1000);
		assert_int_equal(run.packed, better);
		assert_int_equal(run.packing.turn > 0, !better); /* other CPUs might do better */
		assert_in_range(run.windows_in[!better], 2, 10);
		/* Half of the speed is lost in each trial that fails. To leave threads to the kernel costs nothing that
		 * they would have without juggle. */
		double trial_ns = POLICY_WINDOW_NS + POLICY_SETTLE_NS;
		assert_true(run.cost_ns == (better ? 0 : 0.5 * trial_ns * run.windows_in[true]));
	}
}

/* A gain of a few per cent may be chance. */
static void test_alike(void **state)
{
	struct job job = {3, 2, {20, 21.6}, 35e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	windows(&run, &job, 100);
	assert_false(run.packed);
}

/* No more than as many CPUs as threads would use, and not all. */
static void test_how_many(void **state)
{
	static const struct {
		uint32_t cpus;
		double used;
		uint32_t do_;
	} cases[] = {{2, 0.1, 1}, {2, 0.79, 1}, {2, 0.85, 0}, {2, 1.6, 0}, {8, 0.01, 1}, {8, 3, 4},
		{8, 7, 0}};
	(void)state;

	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct job job = {10, cases[c].cpus, {20, 40}, cases[c].used * 50e3, PLENTY_NS, 0};
		struct run run = start();
		windows(&run, &job, 10);
		assert_int_equal(run.packed, cases[c].do_ > 0);
		assert_int_equal(run.packing.cpus, cases[c].do_);
	}
}

static void test_is_paid_for(void **state)
{
	struct job job = {3, 2, {20, 40}, 35e3, 1e6, 0};
	struct run run = start();
	(void)state;

	windows(&run, &job, 100);
	assert_int_equal(run.windows_in[true], 0);
	job.budget_ns = 6e6;
	windows(&run, &job, 4);
	assert_true(run.packed);
}

/* The CPU has been taken by others, wholly or in part: other ones are tried the next time. */
static void test_slower(void **state)
{
	(void)state;

	for (int wholly = 0; wholly <= 1; wholly++) {
		struct job job = {3, 2, {20, 40}, 35e3, PLENTY_NS, 0};
		struct run run = start();
		windows(&run, &job, 100);
		assert_true(run.packed);
		uint32_t turn = run.packing.turn;
		job.rate[true] = 25;
		run.pauses = wholly;
		windows(&run, &job, 1);
		assert_false(run.packed);
		assert_int_not_equal(run.packing.turn, turn);
		job.rate[true] = 40;
		run.pauses = false;
		windows(&run, &job, 5);
		assert_true(run.packed);
	}
}

/* They become slower by and by, until they would be no faster than if they were left to the kernel. */
static void test_slower_by_and_by(void **state)
{
	struct job job = {3, 2, {20, 40}, 35e3, PLENTY_NS, 0};
	struct run run = start();
	int count = 0;
	(void)state;

	windows(&run, &job, 100);
	while (run.packed && count < 100) {
		job.rate[true] *= 0.98;
		windows(&run, &job, 1);
		count++;
	}
	assert_true(job.rate[true] > 19);
	assert_true(run.packing.cost_ns < 50e6 / 20);
}

/* What is known is of as many threads, and of phases of that kind. One window may show a part of an iteration. */
static void test_other_part(void **state)
{
	static const struct {
		uint32_t threads;
		double need_ns;
		int windows;
		bool other;
	} cases[] = {{3, 35e3, 2, false}, {4, 35e3, 1, true}, {3, 49e3, 2, false},
		{3, 60e3, 1, false}, {3, 60e3, 2, true}};
	(void)state;

	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct job job = {3, 2, {20, 40}, 35e3, PLENTY_NS, 0};
		struct run run = start();
		while (!run.packed || run.packing.trial)
			windows(&run, &job, 1);
		windows(&run, &job, 1);
		job.threads = cases[c].threads;
		job.need_ns = cases[c].need_ns;
		windows(&run, &job, cases[c].windows);
		assert_int_equal(run.packed, !cases[c].other);
	}
}

/* A serial part of the program is useful, and hardly passes any phase, or fewer. */
static void test_serial_part(void **state)
{
	static const double rates[] = {0.1, 17};
	(void)state;

	for (size_t c = 0; c < sizeof rates / sizeof *rates; c++) {
		struct job job = {3, 2, {20, 40}, 18e3, PLENTY_NS, 0};
		struct run run = start();
		windows(&run, &job, 2);
		assert_true(run.packed && run.packing.trial);
		job.rate[true] = rates[c];
		job.useful = 1;
		windows(&run, &job, 1);
		assert_false(run.packed);
	}
}

/* A trial that is broken off has cost something. */
static void test_broken_off(void **state)
{
	struct job job = {3, 2, {20, 40}, 18e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	windows(&run, &job, 2);
	assert_true(run.packed && run.cost_ns == 0);
	job.threads = 4;
	windows(&run, &job, 1);
	assert_true(!run.packed && run.cost_ns > 0);
}

/* A pause in which threads are left to the kernel shows nothing, neither before a trial nor in a look. */
static void test_pause(void **state)
{
	struct job job = {3, 2, {40, 20}, 18e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	run.pauses = true;
	windows(&run, &job, 20);
	assert_int_equal(run.windows_in[true], 0);

	run = start();
	job.rate[false] = 10;
	while (!run.packed || !run.packing.trial)
		windows(&run, &job, 1);
	while (run.packed) /* until a look */
		windows(&run, &job, 1);
	run.pauses = true;
	windows(&run, &job, 3);
	assert_true(run.packing.trial && !run.packed);
	run.pauses = false;
	windows(&run, &job, 1);
	assert_true(run.packed);
}

/* The time that was spent packed until a look showed that it is worse counts, too. */
static void test_cost_of_a_look(void **state)
{
	struct job job = {3, 2, {10, 20}, 35e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	while (run.packing.gap < 16)
		windows(&run, &job, 1);
	job.rate[false] = 40;
	double before_ns = run.cost_ns;
	uint32_t gap = run.packing.gap;
	while (run.packed)
		windows(&run, &job, 1);
	windows(&run, &job, 1);
	assert_false(run.packed);
	assert_true(run.cost_ns - before_ns == 0.5 * gap * POLICY_WINDOW_NS);
}

/* A trial of a part of an iteration shows a gain that is none: phases are fewer, though threads use more. Others
 * follow, but seldom, and they cost. */
static void test_chance(void **state)
{
	struct job job = {3, 2, {20, 40}, 18e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	for (int count = 0; count < 100; count++) {
		bool packed = run.packed;
		job.rate[true] = run.packing.trial ? 40 : 5;
		job.useful = packed ? 0.7 : 0;
		job.need_ns = packed ? 0.7e6 / job.rate[true] : 18e3;
		windows(&run, &job, 1);
		if (packed)
			assert_int_equal(run.packed, run.windows_in[true] % 3 != 0);
	}
	assert_in_range(run.windows_in[true], 6, 18);
	assert_true(run.cost_ns > 0.1 * POLICY_WINDOW_NS * run.windows_in[true]);

	/* One window may be so. */
	static const double rates[] = {25, 5, 40};
	job.useful = 0;
	job.need_ns = 18e3;
	run = start();
	windows(&run, &job, 2);
	job.useful = 0.7;
	for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
		job.rate[true] = rates[k];
		assert_true(run.packed);
		windows(&run, &job, 1);
	}
	assert_true(run.packed);
}

/* Later, phases may need more, so that they are fewer in either way. */
static void test_longer_phases(void **state)
{
	struct job job = {3, 2, {20, 25}, 18e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	while (!run.packed || run.packing.wait < 40)
		windows(&run, &job, 1);
	job.need_ns *= 1.45;
	job.rate[0] /= 1.45;
	job.rate[1] /= 1.45;
	windows(&run, &job, 39);
	assert_true(run.packed);
	assert_true(run.cost_ns == 0);
}

/* A trial is compared with the last two windows before it. */
static void test_compares(void **state)
{
	struct job job = {3, 2, {20, 10}, 18e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	for (int trials = 0; trials < 3; trials++) {
		job.threads = trials == 2 ? 4 : 3; /* something else begins */
		while (!run.packed) {
			job.rate[false] = run.packing.wait <= 2 ? 20 : 40;
			windows(&run, &job, 1);
		}
		assert_true(run.packing.mean[0].phases == 20 / 1e6);
		windows(&run, &job, 1);
	}

	/* So it is where it could not be paid for before, or where fewer CPUs would not have done. */
	for (int enough = 0; enough <= 1; enough++) {
		job.budget_ns = enough ? PLENTY_NS : 0;
		job.need_ns = enough ? 90e3 : 18e3;
		job.rate[false] = 20;
		run = start();
		windows(&run, &job, 10);
		assert_false(run.packed);
		job.budget_ns = PLENTY_NS;
		job.need_ns = 18e3;
		int more = 0;
		for (; more < 5 && !run.packed; more++) {
			job.rate[false] = run.packing.wait <= 2 ? 20 : 40;
			windows(&run, &job, 1);
		}
		assert_true(run.packed && more >= 2);
		assert_true(run.packing.mean[0].phases == 20 / 1e6);
	}
}

/* Where threads are left to the kernel, and something else begins for good, it is tried anew. */
static void test_lasting_change(void **state)
{
	struct job job = {3, 2, {20, 10}, 6e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	windows(&run, &job, 3);
	assert_true(!run.packed && run.windows_in[true] == 1);
	job.need_ns = 18e3;
	windows(&run, &job, 4);
	assert_true(run.packed);
	windows(&run, &job, 1);
	assert_int_equal(run.packing.wait, 16);
	windows(&run, &job, 10);
	assert_int_equal(run.packing.wait, 6);
	assert_true(run.packing.mean[0].need_ns == 18e3);
}

/* From least to most. */
static double random_between(uint64_t *seed, double least, double most)
{
	return least + (most - least) * (double)random_int(seed, 0, 1000) / 1000;
}

/* Whatever was before, each way is tried in the end, and the better one is kept. */
static void test_any_history(void **state)
{
	uint64_t seed = 1;
	(void)state;

	for (int history = 0; history < 1000; history++) {
		struct job job = {3, 2, {20, 20}, 18e3, PLENTY_NS, 0};
		struct run run = start();
		int better = history % 2;
		for (int k = 0; k < 30; k++) {
			job.threads = 3 + (random_int(&seed, 0, 7) == 0);
			job.rate[0] = random_between(&seed, 5, 35);
			job.rate[1] = random_between(&seed, 5, 35);
			job.need_ns = random_between(&seed, 3e3, 60e3);
			job.useful =
				random_int(&seed, 0, 3) == 0 ? random_between(&seed, 0.1, 1.1) : 0;
			job.budget_ns = random_int(&seed, 0, 3) == 0 ? 0 : PLENTY_NS;
			run.pauses = random_int(&seed, 0, 3) == 0;
			windows(&run, &job, 1);
		}
		job = (struct job){3, 2, {20, 20}, 18e3, PLENTY_NS, 0};
		job.rate[better] = 40;
		run.pauses = false;
		run.windows_in[0] = run.windows_in[1] = 0;
		windows(&run, &job, 600);
		assert_true(run.windows_in[0] > 0 && run.windows_in[1] > 0);
		windows(&run, &job, run.packed == better ? 0 : 1); /* it was a look */
		assert_int_equal(run.packed, better);
		assert_in_range(run.windows_in[better], 300, 600);
	}
}

/* Strange windows of a pause are not counted, and one that uses more CPUs than would do does not put trials off. */
static void test_odd_windows(void **state)
{
	struct job job = {3, 2, {20, 10}, 18e3, PLENTY_NS, 0};
	struct run run = start();
	(void)state;

	windows(&run, &job, 6);
	assert_true(!run.packed && run.packing.wait == 13);
	run.pauses = true;
	job.need_ns = 60e3;
	windows(&run, &job, 2);
	run.pauses = false;
	windows(&run, &job, 1);
	job.need_ns = 18e3;
	assert_int_equal(run.packing.wait, 12);
	windows(&run, &job, 12);
	assert_true(run.packed);

	run = start();
	for (int count = 0; count < 10 && run.windows_in[true] == 0; count++) {
		job.useful = count % 2 ? 0.85 : 0.7;
		windows(&run, &job, 1);
	}
	assert_int_equal(run.windows_in[true], 1);
}

/* ---- On a machine ---- */

/* Three threads on two CPUs whose phases take 0.04 ms of CPU time. Left to the kernel they mostly wait for CPUs to
 * wake; on one CPU they pass `phases_packed` in 10 ms. It may be one that others have taken. */
static void pass(struct machine *machine, int32_t taken, uint64_t phases_packed)
{
	uint64_t step_ns = machine->policy.decision.wait_ns, phases = 40;
	bool packed = machine->sight[0].cpu != POLICY_NO_CPU;

	if (packed)
		phases = machine->sight[0].cpu == taken ? 0 : phases_packed;
	for (size_t i = 0; i < 3; i++) {
		struct policy_sight *sight = &machine->sight[i];
		uint64_t passed = phases * step_ns / (10 * MS);
		runs(machine, i, passed * 40000, packed && passed > 0 ? step_ns / 2 : 0);
		sight->news |= POLICY_PHASES | POLICY_SLEEPS;
		sight->slices += passed;
		sight->sleeps += passed;
		sight->arrivals += passed;
		sight->useful_ns += passed * 40000;
		sight->waits = true;
	}
	step(machine, step_ns);
}

static void make(struct machine *machine, uint64_t seed)
{
	struct policy_params params = defaults(&policy_kind_juggle);

	params.jitter = 0.1;
	params.seed = seed;
	machine_init(machine, &params, 2);
	for (int i = 0; i < 3; i++)
		add(machine, POLICY_RULE_COMPUTE);
	step(machine, 0);
}

static void test_places(void **state)
{
	struct machine machine;
	int packed = 0, moves = 0;
	(void)state;

	make(&machine, 1);
	for (int k = 0; k < 200; k++) {
		pass(&machine, POLICY_NO_CPU, 80);
		uint32_t first = confined_to(&machine, 0), last = confined_to(&machine, 1);
		assert_true(k < 10 || first + last == 0 || first == 3 || last == 3);
		packed += first + last == 3;
		moves += machine.policy.decision.changed ? 0 : (int)machine.policy.decision.moves;
	}
	assert_true(packed > 150);
	assert_int_equal(moves, 0);
	assert_int_equal(machine.policy.decision.reason, POLICY_REASON_PACKED);
	assert_false(policy_swaps(&machine.policy));

	/* Another thread joins them. */
	add(&machine, POLICY_RULE_COMPUTE);
	pass(&machine, POLICY_NO_CPU, 80);
	pass(&machine, POLICY_NO_CPU, 80);
	pass(&machine, POLICY_NO_CPU, 80);
	assert_int_equal(machine.sight[3].cpu, machine.sight[0].cpu);
	machine_deinit(&machine);
}

static bool is_packed(const struct machine *machine)
{
	return machine->policy.decision.reason == POLICY_REASON_PACKED;
}

/* A trial that fails costs no more than 40 ms on one CPU, on which half as many pass. */
static void test_short_trial(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct machine machine;
		uint64_t packed_ns = 0;
		make(&machine, seed);
		for (int k = 0; k < 40 || (k < 80 && is_packed(&machine)); k++) {
			if (is_packed(&machine))
				packed_ns += machine.policy.decision.wait_ns;
			pass(&machine, POLICY_NO_CPU, 20);
		}
		assert_in_range(packed_ns, POLICY_SETTLE_NS + POLICY_PACKING_NS, 40 * MS);
		machine_deinit(&machine);
	}
}

/* Threads that stand still on one CPU get the other one. */
static void test_taken(void **state)
{
	struct machine machine;
	uint64_t still_ns = 0;
	(void)state;

	make(&machine, 1);
	for (int k = 0; k < 50; k++)
		pass(&machine, POLICY_NO_CPU, 80);
	int32_t taken = machine.sight[0].cpu;
	assert_int_not_equal(taken, POLICY_NO_CPU);
	while (machine.sight[0].cpu == taken && still_ns < 1000 * MS) {
		still_ns += machine.policy.decision.wait_ns;
		pass(&machine, taken, 80);
	}
	assert_true(still_ns <= 150 * MS);
	for (int k = 0; k < 400 && machine.sight[0].cpu == POLICY_NO_CPU; k++)
		pass(&machine, taken, 80);
	assert_int_equal(machine.sight[0].cpu, !taken);
	machine_deinit(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_better),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_how_many),
		cmocka_unit_test(test_is_paid_for),
		cmocka_unit_test(test_slower),
		cmocka_unit_test(test_slower_by_and_by),
		cmocka_unit_test(test_other_part),
		cmocka_unit_test(test_serial_part),
		cmocka_unit_test(test_broken_off),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_cost_of_a_look),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_longer_phases),
		cmocka_unit_test(test_compares),
		cmocka_unit_test(test_lasting_change),
		cmocka_unit_test(test_any_history),
		cmocka_unit_test(test_odd_windows),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_short_trial),
		cmocka_unit_test(test_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
