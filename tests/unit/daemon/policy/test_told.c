/* SPDX-License-Identifier: MIT */
/* Phases that are told: what threads need, whether that can be trusted, and how fast CPUs are by it. */
#undef NDEBUG
#include "daemon/policy/told.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/daemon/policy/machine.h"

static struct policy_params always(void)
{
	struct policy_params params = defaults(&policy_kind_juggle);

	params.always = true;
	return params;
}

/* A thread works for that long, arrives `times` times, the last time after all but `done_ns` of that, and
 * then waits, or goes on. */
static void tells(struct machine *machine, size_t row, uint64_t useful_ns, uint64_t times,
	uint64_t done_ns, bool waits)
{
	struct policy_sight *sight = &machine->sight[row];

	sight->news |= POLICY_PHASES;
	sight->useful_ns += useful_ns;
	sight->arrivals += times;
	sight->done_ns = times > 0 ? done_ns : sight->done_ns + useful_ns;
	sight->waits = waits;
}

static const struct policy_thread *thread_of(const struct machine *machine, size_t row)
{
	return &machine->policy.thread[row];
}

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-3 * fabs(expected) + 1)
		fail_msg("%g instead of %g", value, expected);
}

/* Two threads on two CPUs, in intervals of 10 ms. */
static void begin_two(struct machine *machine)
{
	const struct policy_params params = always();

	machine_init(machine, &params, 2);
	for (int i = 0; i < 2; i++)
		add(machine, POLICY_RULE_COMPUTE);
	step(machine, 0);
}

static void both_run(struct machine *machine)
{
	for (size_t i = 0; i < 2; i++)
		runs(machine, i, 10 * MS, 0);
}

static void test_needs(void **state)
{
	struct machine machine;
	(void)state;

	begin_two(&machine);
	/* One phase in two intervals for the first thread, five in one for the other. */
	for (int k = 0; k < 40; k++) {
		both_run(&machine);
		tells(&machine, 0, 10 * MS, k % 2 == 1, 0, k % 2 == 1);
		tells(&machine, 1, 10 * MS, 5, 0, false);
		step(&machine, 10 * MS);
		assert_int_equal(thread_of(&machine, 0)->told, k > 0);
	}
	assert_near(thread_of(&machine, 0)->need_ns, 20e6);
	assert_near(thread_of(&machine, 1)->need_ns, 2e6);
	assert_true(machine.policy.needs.told && machine.policy.needs.regular);
	assert_true(machine.policy.needs.differ);
	assert_near(machine.policy.needs.mean_ns, 11e6);
	assert_near(machine.policy.needs.most_ns, 20e6);
	machine_deinit(&machine);
}

/* Of a phase that was under way at the first look it is not known where its work was done. */
static void test_begun_before(void **state)
{
	struct machine machine;
	(void)state;

	begin_two(&machine);
	for (int k = 0; k < 3; k++) {
		both_run(&machine);
		for (size_t i = 0; i < 2; i++) {
			tells(&machine, i, 10 * MS, k > 0, 0, k > 0);
			machine.sight[i].cpu = (int32_t)i;
		}
		step(&machine, 10 * MS);
		assert_true((thread_of(&machine, 0)->before.part[0].ns > 0) == (k > 1));
	}
	machine_deinit(&machine);
}

/* A phase that ends within an interval: what was done before counts for it, the rest for the next. */
static void test_end_within(void **state)
{
	struct machine machine;
	(void)state;

	begin_two(&machine);
	for (int k = 0; k < 200; k++) {
		uint64_t position = (uint64_t)(k + 1) * 10 % 35, ended = position < 10;
		both_run(&machine);
		for (size_t i = 0; i < 2; i++)
			tells(&machine, i, 10 * MS, ended, position * MS, false);
		step(&machine, 10 * MS);
		if (k > 8)
			assert_near(thread_of(&machine, 0)->done_ns, (double)(position * MS));
	}
	assert_near(thread_of(&machine, 0)->need_ns, 35e6);
	assert_true(thread_of(&machine, 0)->need_off_ns < 0.01 * 35e6);
	machine_deinit(&machine);
}

/* A thread that spins at a barrier is as busy as one that works: that shows in what it needs, though its turns go by
 * CPU time. */
static void test_waiting_is_no_need(void **state)
{
	struct machine machine;
	(void)state;

	begin_two(&machine);
	for (int k = 0; k < 8; k++) {
		both_run(&machine);
		tells(&machine, 0, 10 * MS, 1, 0, true);
		tells(&machine, 1, 5 * MS, 1, 0, true);
		step(&machine, 10 * MS);
	}
	assert_int_equal(thread_of(&machine, 0)->gain_ns, 10 * MS);
	assert_int_equal(thread_of(&machine, 1)->gain_ns, 10 * MS);
	assert_near(thread_of(&machine, 0)->need_ns, 10e6);
	assert_near(thread_of(&machine, 1)->need_ns, 5e6);
	machine_deinit(&machine);
}

/* Three threads on two CPUs need that much, and spin for as long. */
static void spin_three(struct machine *machine, uint64_t need_ns)
{
	const struct policy_params params = always();

	machine_init(machine, &params, 2);
	for (int i = 0; i < 3; i++)
		add(machine, POLICY_RULE_COMPUTE);
	step(machine, 0);
	for (int k = 0; k < 10; k++) {
		machine->policy.chooser.spins = true;
		for (size_t i = 0; i < 3; i++) {
			runs(machine, i, 2 * need_ns, 0);
			tells(machine, i, need_ns, 1, 0, true);
		}
		step(machine, 2 * need_ns);
	}
	assert_near(thread_of(machine, 0)->need_ns, (double)need_ns);
}

static void test_brief(void **state)
{
	struct machine machine;
	(void)state;

	spin_three(&machine, 2 * MS);
	assert_true(machine.policy.needs.brief);
	machine_deinit(&machine);
	spin_three(&machine, 4 * MS);
	assert_false(machine.policy.needs.brief);
	machine_deinit(&machine);
}

/* Useful time that is taken back, and given again, counts once. */
static void test_put_right(void **state)
{
	static const int64_t changes_ms[] = {10, -3, 5};
	static const uint64_t counts_ms[] = {10, 0, 2};
	struct machine machine;
	(void)state;

	begin_two(&machine);
	both_run(&machine);
	for (size_t i = 0; i < 2; i++)
		tells(&machine, i, 20 * MS, 1, 0, true);
	step(&machine, 10 * MS);
	for (size_t k = 0; k < 3; k++) {
		both_run(&machine);
		for (size_t i = 0; i < 2; i++)
			tells(&machine, i, (uint64_t)changes_ms[k] * MS, 0, 0, true);
		step(&machine, 10 * MS);
		assert_int_equal(thread_of(&machine, 0)->useful_ns, counts_ms[k] * MS);
	}
	machine_deinit(&machine);
}

/* Threads do not differ by less than what each varies from phase to phase. */
static void test_differ(void **state)
{
	(void)state;

	for (uint64_t off_ms = 0; off_ms <= 1; off_ms++) {
		struct machine machine;
		begin_two(&machine);
		for (uint64_t k = 0; k < 40; k++) {
			uint64_t need_ns = (8 + (k % 2 ? 0 : 2 * off_ms)) * MS;
			both_run(&machine);
			tells(&machine, 0, need_ns, 1, 0, true);
			tells(&machine, 1, need_ns + MS, 1, 0, true);
			step(&machine, 10 * MS);
		}
		assert_true(machine.policy.needs.regular);
		assert_int_equal(machine.policy.needs.differ, off_ms == 0);
		machine_deinit(&machine);
	}
}

/* For that long, work is handed out, or not. */
static void hand_out(struct machine *machine, bool dynamic, uint64_t ms)
{
	for (uint64_t k = 0; k < ms / 10; k++) {
		both_run(machine);
		machine->sight[0].dynamic = machine->sight[1].dynamic = dynamic;
		tells(machine, 0, 5 * MS, 1, 0, false);
		tells(machine, 1, 8 * MS, 1, 0, false);
		step(machine, 10 * MS);
	}
}

/* Where work is handed out, threads need what they get. A part of the program that does otherwise is soon seen, and
 * programs with both are none that do so. */
static void test_dynamic(void **state)
{
	struct machine machine;
	(void)state;

	begin_two(&machine);
	hand_out(&machine, true, 10);
	assert_true(machine.policy.needs.dynamic);
	hand_out(&machine, true, 1000);
	assert_true(machine.policy.needs.dynamic && !machine.policy.needs.differ);
	hand_out(&machine, false, 200);
	assert_true(!machine.policy.needs.dynamic && machine.policy.needs.differ);
	for (int k = 0; k < 20; k++) {
		hand_out(&machine, k % 2 == 0, 200);
		assert_false(machine.policy.needs.dynamic);
	}
	hand_out(&machine, true, 2000);
	assert_true(machine.policy.needs.dynamic);
	machine_deinit(&machine);

	/* One look tells little, however long the interval was. */
	begin_two(&machine);
	hand_out(&machine, true, 1000);
	both_run(&machine);
	machine.sight[0].dynamic = machine.sight[1].dynamic = false;
	for (size_t i = 0; i < 2; i++)
		tells(&machine, i, 5 * MS, 1, 0, false);
	step(&machine, 150 * MS);
	assert_true(machine.policy.needs.dynamic);
	/* Nor do serial parts. */
	for (int k = 0; k < 20; k++) {
		both_run(&machine);
		tells(&machine, 0, 5 * MS, 1, 0, false);
		tells(&machine, 1, 5 * MS, 1, 0, true);
		step(&machine, 10 * MS);
	}
	assert_true(machine.policy.needs.dynamic);
	/* It is not known of threads that tell nothing any more, or of one alone. */
	both_run(&machine);
	tells(&machine, 0, 5 * MS, 1, 0, false);
	step(&machine, 10 * MS);
	assert_false(machine.policy.needs.dynamic);
	hand_out(&machine, true, 10);
	assert_true(machine.policy.needs.dynamic);
	for (int k = 0; k < 20; k++) {
		both_run(&machine);
		machine.sight[1].dynamic = false;
		for (size_t i = 0; i < 2; i++)
			tells(&machine, i, 5 * MS, 1, 0, false);
		step(&machine, 10 * MS);
	}
	assert_false(machine.policy.needs.dynamic);
	machine_deinit(&machine);
}

/* Its next barrier may be one that nobody tells of. */
static void test_overdue(void **state)
{
	struct machine machine;
	int untold_ms = 0;
	(void)state;

	begin_two(&machine);
	for (int k = 0; k < 10; k++) {
		both_run(&machine);
		tells(&machine, 0, 10 * MS, 1, 0, true);
		tells(&machine, 1, 10 * MS, 1, 0, true);
		step(&machine, 10 * MS);
	}
	assert_true(machine.policy.needs.told);
	for (; machine.policy.needs.told && untold_ms < 1000; untold_ms += 10) {
		both_run(&machine);
		tells(&machine, 0, 10 * MS, 1, 0, true);
		tells(&machine, 1, 10 * MS, 0, 0, false);
		step(&machine, 10 * MS);
	}
	assert_in_range(untold_ms, 130, 160);
	/* One that is known to wait has not left. */
	assert_true(thread_of(&machine, 0)->told);
	assert_false(thread_of(&machine, 1)->told);
	machine_deinit(&machine);
}

static void test_irregular(void **state)
{
	struct machine machine;
	(void)state;

	begin_two(&machine);
	for (int k = 0; k < 40; k++) {
		both_run(&machine);
		for (size_t i = 0; i < 2; i++)
			tells(&machine, i, 10 * MS, k % 8 < 4 || k % 8 == 7, 0, false);
		step(&machine, 10 * MS);
	}
	assert_true(machine.policy.needs.told);
	assert_false(machine.policy.needs.regular || machine.policy.needs.differ);
	assert_true(policy_told_gain(&machine.policy) == 0);
	machine_deinit(&machine);
}

/* After exec, or where nothing is told any more. */
static void test_begins_anew(void **state)
{
	struct machine machine;
	(void)state;

	begin_two(&machine);
	for (int k = 0; k < 10; k++) {
		both_run(&machine);
		for (size_t i = 0; i < 2; i++)
			tells(&machine, i, 10 * MS, 1, 0, true);
		step(&machine, 10 * MS);
	}
	machine.sight[0].arrivals = 1;
	machine.sight[0].useful_ns = 1 * MS;
	both_run(&machine);
	for (size_t i = 0; i < 2; i++)
		tells(&machine, i, 0, 0, 0, true);
	step(&machine, 10 * MS);
	assert_near(thread_of(&machine, 0)->need_ns, 10e6);
	both_run(&machine);
	step(&machine, 10 * MS);
	assert_false(machine.policy.needs.told || thread_of(&machine, 0)->told);
	/* CPU time is progress again. */
	assert_int_equal(thread_of(&machine, 0)->gain_ns, 10 * MS);
	machine_deinit(&machine);
}

/* Whatever is told, sums stay in range. */
static void test_nonsense(void **state)
{
	static const uint64_t values[] = {0, 1, UINT64_MAX, UINT64_MAX / 2, 10 * MS};
	struct machine machine;
	uint64_t seed = 1;
	(void)state;

	begin_two(&machine);
	for (int k = 0; k < 5000; k++) {
		both_run(&machine);
		for (size_t i = 0; i < 2; i++) {
			struct policy_sight *sight = &machine.sight[i];
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			sight->news |= POLICY_PHASES;
			sight->arrivals = values[(seed >> 33) % 5];
			sight->useful_ns = values[(seed >> 37) % 5];
			sight->done_ns = values[(seed >> 41) % 5];
			sight->waits = seed >> 63;
		}
		step(&machine, 10 * MS);
		for (size_t i = 0; i < 2; i++) {
			assert_true(thread_of(&machine, i)->gain_ns <= 10 * MS);
			assert_true(isfinite(thread_of(&machine, i)->need_ns));
			assert_true(thread_of(&machine, i)->need_ns >= 0);
		}
	}
	machine_deinit(&machine);
}

/* ---- Speeds ---- */

/* Phases of 8 ms of work, of which the second CPU does only `speed` in the same time. The threads change
 * their places every `stay` phases. */
static void learn(struct machine *machine, double speed, int stay, double chance, bool dynamic)
{
	const struct policy_params params = always();
	uint64_t seed = 7;

	machine_init(machine, &params, 2);
	for (int i = 0; i < 2; i++)
		add(machine, POLICY_RULE_COMPUTE);
	step(machine, 0);
	for (int k = 0; k < 200; k++) {
		for (size_t i = 0; i < 2; i++) {
			struct policy_sight *sight = &machine->sight[i];
			bool slow = (k / stay + (int)i) % 2 == 1;
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			double share = 1 + chance * ((double)(seed >> 40) / (1 << 23) - 1);
			uint64_t need_ns = (uint64_t)(8e6 * share / (slow ? speed : 1));
			sight->cpu = slow;
			sight->dynamic = dynamic;
			runs(machine, i, need_ns, 0);
			tells(machine, i, need_ns, 1, 0, true);
		}
		step(machine, 20 * MS);
		machine->sight[0].moved_run_ns = machine->sight[1].moved_run_ns = 0;
	}
}

static void test_speeds(void **state)
{
	struct machine machine;
	(void)state;

	for (int stay = 1; stay <= 8; stay *= 2) {
		learn(&machine, 0.5, stay, 0.05, false);
		double ratio = machine.policy.cpu[1].learnt / machine.policy.cpu[0].learnt;
		assert_true(ratio > 0.45 && ratio < 0.55);
		policy_told_speeds(&machine.policy);
		assert_true(machine.policy.cpu[0].rated == 1);
		assert_true(fabs(machine.policy.cpu[1].rated - 0.5) < 0.06);
		machine_deinit(&machine);
	}
}

/* Phases that differ say nothing of the CPU of a thread that stays there. */
static void test_no_speeds_by_staying(void **state)
{
	struct machine machine;
	(void)state;

	learn(&machine, 0.5, 1000, 0.9, false);
	for (int j = 0; j < 2; j++)
		assert_true(machine.policy.cpu[j].lessons == 0);
	machine_deinit(&machine);

	/* Nor do any phases where work is handed out. */
	learn(&machine, 0.5, 1, 0.05, true);
	for (int j = 0; j < 2; j++)
		assert_true(machine.policy.cpu[j].lessons == 0);
	machine_deinit(&machine);
}

static void test_equal_speeds(void **state)
{
	struct machine machine;
	(void)state;

	learn(&machine, 0.97, 3, 0.1, false);
	policy_told_speeds(&machine.policy);
	assert_true(machine.policy.cpu[0].rated == 1 && machine.policy.cpu[1].rated == 1);
	machine_deinit(&machine);
}

/* Two CPUs, and threads of that rule that have done nothing yet. */
static void make(struct machine *machine, int threads, enum policy_rule rule)
{
	struct policy_params params = defaults(&policy_kind_juggle);

	params.bells = true;
	machine_init(machine, &params, 2);
	for (int i = 0; i < threads; i++)
		add(machine, rule);
	step(machine, 0);
}

static void make_three(struct machine *machine, enum policy_rule rule)
{
	make(machine, 3, rule);
}

/* Each passes so many phases in 5 ms. */
static void pass(struct machine *machine, uint64_t phases, uint64_t need_ns, uint64_t slices)
{
	for (size_t i = 0; i < machine->policy.n; i++) {
		runs(machine, i, 10 * MS / 3, 5 * MS / 3);
		machine->sight[i].slices += slices;
		tells(machine, i, phases * need_ns, phases, 0, false);
	}
	step(machine, 5 * MS);
}

/* Three threads on two CPUs that pass phases from the start. Those that are short leave nothing to balance, once
 * several were seen, and threads don't spin. */
static void test_short_from_the_start(void **state)
{
	static const struct {
		uint64_t phases, need_ns, slices; /* in an interval of 5 ms */
		bool yields; /* as told */
		enum policy_regime regime;
	} cases[] = {
		{40, 40000, 100, false, POLICY_ASIDE},
		{40, 40000, 5, false, POLICY_BALANCE},
		{40, 40000, 5, true, POLICY_ASIDE},
		{4, 800000, 100, false, POLICY_BALANCE},
		{1, 40000, 100, false, POLICY_BALANCE},
	};
	(void)state;

	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct machine machine;

		make_three(&machine, POLICY_RULE_COMPUTE);
		for (size_t i = 0; i < 3; i++)
			machine.sight[i].yields = cases[c].yields;
		for (int k = 0; k < 2; k++)
			pass(&machine, cases[c].phases, cases[c].need_ns, cases[c].slices);
		assert_int_equal(machine.policy.regime, cases[c].regime);
		if (cases[c].regime == POLICY_ASIDE) {
			assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_SHORT);
			/* Each look would cost it time, however young it is. */
			assert_int_equal(machine.policy.decision.period_ns, 56 * MS);
		}
		machine_deinit(&machine);
	}
}

/* The same with threads that were idle: the interval by which they become compute threads shows it. */
static void test_short_after_idle(void **state)
{
	struct machine machine;
	(void)state;

	make_three(&machine, POLICY_RULE_NONE);
	for (int k = 0; k < 8; k++) {
		pass(&machine, 40, 40000, 100);
		assert_int_equal(machine.policy.regime, POLICY_ASIDE);
	}
	assert_int_equal(machine.policy.decision.computing, 3);
	assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_SHORT);
	machine_deinit(&machine);
}

/* Bells make short phases worth balancing where threads share CPUs. */
static void test_bells(void **state)
{
	(void)state;

	for (int threads = 2; threads <= 3; threads++) {
		struct machine machine;

		make(&machine, threads, POLICY_RULE_COMPUTE);
		for (int k = 0; k < 2; k++)
			pass(&machine, 2, MS, 5);
		assert_true(machine.policy.needs.told);
		assert_int_equal(machine.policy.chooser.bells, threads > 2);
		machine_deinit(&machine);
	}
}

/* Phases too short for turns, in which CPUs ran dry lately: whatever ended that, they may again, so that the next
 * interval is short. */
static void test_bells_pause(void **state)
{
	struct machine machine;
	(void)state;

	make_three(&machine, POLICY_RULE_COMPUTE);
	machine.policy.chooser.always = true;
	for (size_t i = 0; i < 3; i++)
		machine.sight[i].yields = true;
	for (int k = 0; k < 2; k++)
		pass(&machine, 4, MS, 5);
	machine.policy.rung_ns = machine.now_ns;
	for (int k = 1; k <= 21; k++) {
		pass(&machine, 4, MS, 5);
		bool lately = 5 * k < 100;
		assert_int_equal(
			machine.policy.decision.pace, lately ? POLICY_PACE_DRY : POLICY_PACE_SHORT);
		assert_true(!lately || machine.policy.decision.period_ns < 3 * MS);
	}
	machine_deinit(&machine);
}

/* A thread that is idle is not sampled in each interval. What it did in those before is no sign of yields in
 * the one by which it begins to compute. */
static void test_joins_after_long(void **state)
{
	struct machine machine;
	(void)state;

	make_three(&machine, POLICY_RULE_COMPUTE);
	size_t late = add(&machine, POLICY_RULE_NONE);
	runs(&machine, late, 0, 0);
	step(&machine, 0);
	for (int k = 1; k <= 10; k++) {
		for (size_t i = 0; i < 3; i++)
			runs(&machine, i, 5 * MS / 3, 5 * MS / 6);
		if (k == 10)
			runs(&machine, late, 24 * MS, 0);
		machine.sight[late].slices += 10;
		step(&machine, 5 * MS / 2);
	}
	assert_int_equal(machine.policy.decision.computing, 4);
	assert_int_equal(machine.policy.phases.loud, 0);
	machine_deinit(&machine);
}

/* Until it is known whether threads spin, intervals are short, although turns don't pay. */
static void test_short_is_soon_known(void **state)
{
	struct machine machine;
	(void)state;

	make_three(&machine, POLICY_RULE_COMPUTE);
	for (int k = 0; k < 3; k++)
		pass(&machine, 40, 40000, 0);
	assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_START);
	assert_int_equal(machine.policy.regime, POLICY_BALANCE);
	assert_int_equal(machine.policy.decision.pace, POLICY_PACE_SHORT);
	assert_true(machine.policy.decision.period_ns <= 5 * MS);
	machine_deinit(&machine);
}

/* Three threads that spin on two CPUs, in steps of which each runs for 4 ms; and phases of so many steps. Are
 * there ticks on the CPU that two share? */
static bool ticks_while_phases_take(struct machine *machine, int steps)
{
	for (int k = 1; k <= 10 * steps; k++) {
		for (size_t i = 0; i < 3; i++) {
			runs(machine, i, 4 * MS, 2 * MS);
			tells(machine, i, 4 * MS, k % steps == 0, 0, false);
		}
		step(machine, 6 * MS);
	}
	assert_true(machine->policy.chooser.spins);
	for (size_t j = 0; j < 2; j++)
		if (confined_to(machine, (int32_t)j) > 1)
			return machine->policy.cpu[j].tick;
	fail();
	return false;
}

/* They have arrived once. The longer they tell nothing more, the longer the phase must be: so intervals become longer,
 * and ticks end. Later they tell short phases, and long ones. */
static void test_long_first_phase(void **state)
{
	struct machine machine;
	uint64_t before_ns = 6 * MS;
	(void)state;

	make_three(&machine, POLICY_RULE_COMPUTE);
	for (int k = 0; k < 30; k++) {
		for (size_t i = 0; i < 3; i++) {
			runs(&machine, i, 4 * MS, 2 * MS);
			tells(&machine, i, 4 * MS, k == 0, 0, false);
		}
		const struct policy_decision *decision = step(&machine, 6 * MS);
		bool told = decision->pace == POLICY_PACE_TOLD, ticks = false;
		for (size_t j = 0; j < 2; j++)
			ticks |= machine.policy.cpu[j].tick;
		assert_int_equal(ticks, machine.policy.chooser.spins && 4 * k < 75);
		assert_true(told || decision->period_ns == 6 * MS);
		assert_in_range(decision->period_ns, before_ns, 50 * MS);
		if (told)
			assert_near(decision->phase_ns, k * 4e6);
		before_ns = decision->period_ns;
	}
	assert_true(before_ns > 10 * MS);
	assert_true(ticks_while_phases_take(&machine, 10));
	assert_false(ticks_while_phases_take(&machine, 30));
	machine_deinit(&machine);
}

/* Threads that never sleep were balanced beside others, and only now tell phases, in which they yield. */
static void test_told_at_last(void **state)
{
	struct machine machine;
	uint64_t told_ns = 0;
	(void)state;

	make(&machine, 2, POLICY_RULE_COMPUTE);
	for (int k = 0; k < 200 || (machine.policy.regime == POLICY_BALANCE && told_ns < 1000 * MS);
		k++) {
		bool tell = k >= 200;
		for (size_t i = 0; i < 2; i++) {
			runs(&machine, i, 3 * MS, 2 * MS);
			machine.sight[i].yields = tell;
			if (tell)
				tells(&machine, i, 3 * MS, 30, 0, false);
		}
		told_ns += tell ? 5 * MS : 0;
		(void)step(&machine, 5 * MS);
		if (k == 199)
			assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_NEVER_IDLE);
	}
	assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_SHORT);
	assert_true(told_ns < 150 * MS);
	machine_deinit(&machine);
}

/* Threads on two CPUs that others use, too. They get short slices only where they yield in short phases, left to the
 * kernel, with a CPU for each, beside others that hardly ever sleep. */
static void test_short_slices(void **state)
{
	static const struct {
		bool able, yields;
		int threads;
		uint64_t phases, need_ns; /* in an interval of 5 ms */
		uint64_t wait_ns; /* of each thread, in such an interval */
		bool shortens;
	} cases[] = {
		{true, true, 2, 40, 40000, 2 * MS, true},
		{true, true, 2, 12, 250000, 2 * MS, true},
		{false, true, 2, 40, 40000, 2 * MS, false},
		{true, false, 2, 40, 40000, 2 * MS, false},
		{true, true, 3, 40, 40000, 2 * MS, false},
		{true, true, 2, 2, MS, 2 * MS, false},
		{true, true, 2, 40, 40000, MS, false},
		{true, true, 2, 40, 40000, 0, false},
	};
	(void)state;

	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct machine machine;
		struct policy_params params = defaults(&policy_kind_juggle);
		int changes = 0;

		params.slices = cases[c].able;
		machine_init(&machine, &params, 2);
		for (int i = 0; i < cases[c].threads; i++) {
			size_t row = add(&machine, POLICY_RULE_COMPUTE);
			machine.sight[row].yields = cases[c].yields;
		}
		step(&machine, 0);
		for (int k = 0; k < 100; k++) {
			for (size_t i = 0; i < machine.n; i++) {
				runs(&machine, i, 3 * MS, cases[c].wait_ns);
				tells(&machine, i, cases[c].phases * cases[c].need_ns,
					cases[c].phases, 0, false);
			}
			changes += step(&machine, 5 * MS)->slices_changed;
		}
		if (machine.policy.decision.short_slices != cases[c].shortens)
			fail_msg("case %zu: %s", c,
				policy_reason_text(machine.policy.chooser.reason));
		assert_int_equal(changes, cases[c].shortens);

		/* The others have gone. */
		for (int k = 0; k < 100; k++) {
			for (size_t i = 0; i < machine.n; i++) {
				runs(&machine, i, 5 * MS, 0);
				tells(&machine, i, cases[c].phases * cases[c].need_ns,
					cases[c].phases, 0, false);
			}
			changes += step(&machine, 5 * MS)->slices_changed;
		}
		assert_false(machine.policy.decision.short_slices);
		assert_int_equal(changes, 2 * cases[c].shortens);
		machine_deinit(&machine);
	}
}

/* Threads keep short slices while somewhat fewer wait. */
static void test_short_slices_stay(void **state)
{
	const struct policy_chooser chooser = {.regime = POLICY_ASIDE,
		.reason = POLICY_REASON_SHORT,
		.yields = true,
		.told_ns = 1e5,
		.waiting = 0.4};
	(void)state;

	assert_false(policy_regime_shortens(&chooser, 2, 2, false));
	assert_true(policy_regime_shortens(&chooser, 2, 2, true));
}

/* Three threads that sleep in short phases are left to the kernel. Once one of them has ended, there is a CPU for
 * each, but nobody yields. */
static void test_no_short_slices_for_sleepers(void **state)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)state;

	params.slices = true;
	machine_init(&machine, &params, 2);
	for (int i = 0; i < 3; i++)
		add(&machine, POLICY_RULE_COMPUTE);
	step(&machine, 0);
	for (int k = 0; k < 100; k++) {
		for (size_t i = 0; i < 3; i++) {
			runs(&machine, i, 3 * MS, MS);
			tells(&machine, i, 40 * 40000, 40, 0, false);
			machine.sight[i].news |= POLICY_SLEEPS;
			machine.sight[i].sleeps += 40;
		}
		step(&machine, 5 * MS);
	}
	assert_int_equal(machine.policy.chooser.reason, POLICY_REASON_SHORT);
	assert_true(machine.policy.chooser.told_ns > 0);
	assert_true(machine.policy.chooser.waiting > 0.5);
	assert_false(policy_regime_shortens(&machine.policy.chooser, 2, 2, false));
	machine_deinit(&machine);
}

/* Two threads, of which the one on CPU 0 has half of it, run for 5 ms. Returns how long each ran. */
static uint64_t run_beside_other(struct machine *machine, size_t row)
{
	int32_t cpu = machine->sight[row].cpu;
	bool crowded = cpu == POLICY_NO_CPU ? row == 0 : cpu == 0;
	uint64_t run_ns = crowded ? 5 * MS / 2 : 5 * MS;

	runs(machine, row, run_ns, 5 * MS - run_ns);
	return run_ns;
}

/* Two threads that spin beside others, in short phases of two kinds in turn. They only have a CPU each. What phases
 * need is their mean, though the last few were all of one kind. */
static void test_apart(void **state)
{
	struct machine machine;
	struct policy_chooser *chooser = &machine.policy.chooser;
	size_t moves = 0;
	(void)state;

	make(&machine, 2, POLICY_RULE_COMPUTE);
	for (int k = 0; k < 400; k++) {
		for (size_t i = 0; i < 2; i++) {
			run_beside_other(&machine, i);
			tells(&machine, i, 2 * MS, k % 2 == 1 ? 5 : 50, 0, false);
		}
		const struct policy_decision *decision = step(&machine, 5 * MS);
		if (k >= 100 && decision->regime == POLICY_BALANCE && !decision->changed)
			moves += decision->moves;
	}
	assert_true(chooser->apart && chooser->regular);
	assert_int_equal(moves, 0);
	assert_near(chooser->told_ns / 1e3, 2 * 2e3 / 55);
	assert_int_equal(apart(&machine), 0);
	machine_deinit(&machine);
}

/* In phases of 20 ms they take turns beside the others, so that both end them sooner than in 40 ms. */
static void test_turns_beside_others(void **state)
{
	const uint64_t need_ns = 20 * MS;
	uint64_t done_ns[2] = {0}, phases = 0;
	struct machine machine;
	size_t moves = 0;
	(void)state;

	make(&machine, 2, POLICY_RULE_COMPUTE);
	for (int k = 0; k < 400; k++) {
		for (size_t i = 0; i < 2; i++) {
			uint64_t run_ns = run_beside_other(&machine, i),
				 left_ns = need_ns - done_ns[i];
			uint64_t useful_ns = run_ns < left_ns ? run_ns : left_ns;
			done_ns[i] += useful_ns;
			tells(&machine, i, useful_ns, useful_ns > 0 && done_ns[i] == need_ns, 0,
				done_ns[i] == need_ns);
		}
		if (done_ns[0] == need_ns && done_ns[1] == need_ns) {
			done_ns[0] = done_ns[1] = 0;
			phases++;
		}
		const struct policy_decision *decision = step(&machine, 5 * MS);
		moves += decision->changed ? 0 : decision->moves;
	}
	assert_false(machine.policy.chooser.apart);
	assert_true(moves > 0);
	assert_true(phases > 400 * 5 * MS / (2 * need_ns));
	assert_int_equal(apart(&machine), 0);
	machine_deinit(&machine);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_begun_before),
		cmocka_unit_test(test_end_within),
		cmocka_unit_test(test_waiting_is_no_need),
		cmocka_unit_test(test_brief),
		cmocka_unit_test(test_differ),
		cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_put_right),
		cmocka_unit_test(test_overdue),
		cmocka_unit_test(test_irregular),
		cmocka_unit_test(test_begins_anew),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_short_from_the_start),
		cmocka_unit_test(test_bells),
		cmocka_unit_test(test_bells_pause),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_turns_beside_others),
		cmocka_unit_test(test_long_first_phase),
		cmocka_unit_test(test_told_at_last),
		cmocka_unit_test(test_short_slices),
		cmocka_unit_test(test_short_slices_stay),
		cmocka_unit_test(test_no_short_slices_for_sleepers),
		cmocka_unit_test(test_short_after_idle),
		cmocka_unit_test(test_joins_after_long),
		cmocka_unit_test(test_short_is_soon_known),
		cmocka_unit_test(test_no_speeds_by_staying),
		cmocka_unit_test(test_equal_speeds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
