/* SPDX-License-Identifier: MIT */
/* The step as a whole: one situation per test. Random histories are in test_histories.c. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/daemon/policy/machine.h"

/* ---- Who computes ---- */

static void test_first_interval_asks_for_members(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	machine_init(&machine, &params, 2);
	assert_true(machine.policy.decision.members_next);
	const struct policy_decision *decision = step(&machine, 2 * MS);
	assert_true(decision->members);
	assert_int_equal(decision->regime, POLICY_ASIDE);
	assert_int_equal(decision->moves, 0);
	assert_int_equal(decision->computing + decision->idle, 0);
	machine_deinit(&machine);
}

static void test_who_computes(void **unused)
{
	static const struct {
		enum policy_rule rule;
		enum policy_role role;
		bool computes_at_once, computes_when_it_runs;
	} cases[] = {
		{POLICY_RULE_NONE, POLICY_ROLE_UNKNOWN, false, true},
		{POLICY_RULE_NONE, POLICY_ROLE_OTHER, false, false},
		{POLICY_RULE_NONE, POLICY_ROLE_WORKER, true, true},
		{POLICY_RULE_NONE, POLICY_ROLE_BALANCED, true, true},
		{POLICY_RULE_IDLE, POLICY_ROLE_WORKER, false, false},
		{POLICY_RULE_COMPUTE, POLICY_ROLE_OTHER, true, true},
	};
	const struct policy_params params = defaults(&policy_kind_juggle);
	(void)unused;

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		struct machine machine;
		machine_init(&machine, &params, 2);
		size_t row = add(&machine, cases[k].rule);
		machine.sight[row].role = (uint8_t)cases[k].role;
		runs(&machine, row, 0, 0);
		assert_int_equal(step(&machine, 2 * MS)->computing, cases[k].computes_at_once);
		for (int i = 0; i < 20; i++) {
			runs(&machine, row, 5 * MS, 0);
			step(&machine, 5 * MS);
		}
		assert_int_equal(machine.policy.decision.computing, cases[k].computes_when_it_runs);
		machine_deinit(&machine);
	}
}

/* A thread that sleeps for a whole window is released, and with it all others where too few are
 * left. */
static void test_falls_idle(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	machine_init(&machine, &params, 2);
	for (int i = 0; i < 3; i++) {
		size_t row = add(&machine, POLICY_RULE_NONE);
		machine.sight[row].assigned = true; /* so that it computes from the start */
	}
	machine.domain[0].threads = 3;
	go_on(&machine, 10 * MS);
	assert_int_equal(machine.policy.regime, POLICY_BALANCE);
	for (int i = 0; i < 60; i++) {
		for (size_t row = 0; row < 3; row++)
			runs(&machine, row, row == 0 ? 2 * MS : 0, 0);
		step(&machine, 2 * MS);
	}
	assert_int_equal(machine.policy.decision.computing, 1);
	assert_int_equal(machine.policy.decision.reason, POLICY_REASON_FEW);
	assert_int_equal(confined_to(&machine, POLICY_NO_CPU), 3);
	assert_int_equal(machine.domain[0].threads, 1);
	machine_deinit(&machine);
}

static void test_looks(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	uint64_t asked = 0, steps = 0, members = 0;
	(void)unused;

	params.period_auto = false;
	begin(&machine, &params, 6, 2);
	add(&machine, POLICY_RULE_IDLE);
	go_on(&machine, 1000 * MS);
	for (uint64_t end_ns = machine.now_ns + 1000 * MS; machine.now_ns < end_ns; steps++) {
		const struct policy_decision *decision = go_on(&machine, 1);
		const struct policy_thread *idle = &machine.policy.thread[6];
		uint32_t sleepers = 0;
		members += decision->members_next;
		assert_int_equal(idle->look, decision->members_next ? POLICY_TIMES : 0);
		for (size_t i = 0; i < 6; i++) {
			assert_true(machine.policy.thread[i].look & POLICY_TIMES);
			sleepers += (machine.policy.thread[i].look & POLICY_SLEEPS) != 0;
		}
		assert_true(sleepers == 0 || sleepers == 4);
		asked += sleepers;
	}
	/* It looks at members every 20 ms, and at sleeps every tenth of these while threads never
	 * sleep. */
	assert_in_range(members, 40, 60);
	assert_in_range(asked, 4 * 3, 4 * 7);
	assert_in_range(steps, 100, 600);
	machine_deinit(&machine);
}

/* ---- Where threads go ---- */

static void test_places_evenly(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	(void)unused;

	params.always = true;
	for (uint32_t m = 2; m <= 8; m++)
		for (uint32_t n = 1; n <= 20; n++) {
			struct machine machine;
			begin(&machine, &params, n, m);
			all_run(&machine, 2 * MS);
			const struct policy_decision *decision = step(&machine, 2 * MS);
			assert_int_equal(decision->regime, n > m ? POLICY_BALANCE : POLICY_ASIDE);
			assert_int_equal(decision->moves, n > m ? n : 0);
			assert_int_equal(confined_to(&machine, POLICY_NO_CPU), n > m ? 0 : n);
			assert_true(apart(&machine) <= 1);
			machine_deinit(&machine);
		}
}

/* Nothing is tried on a single CPU, unless there are others in another domain. What --always wants is done:
 * it confines the threads of -p to that CPU. */
static void test_one_cpu(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	(void)unused;

	for (int i = 0; i < 4; i++) {
		struct machine machine;
		params.always = i % 2 == 1;
		params.domains = 1 + i / 2;
		bool alone = params.domains == 1 && !params.always;
		begin(&machine, &params, 3, 1);
		for (int k = 0; k < 500; k++) {
			all_run(&machine, 1 * MS);
			const struct policy_decision *decision = step(&machine, 3 * MS);
			assert_true((decision->reason == POLICY_REASON_ONE_CPU) == alone);
			assert_true(!alone || decision->regime == POLICY_ASIDE);
		}
		assert_int_equal(confined_to(&machine, POLICY_NO_CPU), alone ? 3 : 0);
		machine_deinit(&machine);
	}
}

/* When threads end, the others are spread evenly in the same step, whether members are looked at or
 * not. */
static void test_evens_out_at_once(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.period_auto = false;
	begin(&machine, &params, 9, 3);
	go_on(&machine, 1100 * MS);
	for (uint32_t left = 9; left > 4; left--) {
		size_t row = 0;
		while (machine.policy.decision.members_next)
			go_on(&machine, 1);
		while (machine.sight[row].cpu != 0)
			row++;
		all_run(&machine, 2 * MS);
		machine.sight[row].news = POLICY_END;
		const struct policy_decision *decision = step(&machine, 2 * MS);
		assert_int_equal(decision->computing, left - 1);
		assert_int_equal(machine.domain[0].threads, left - 1);
		for (size_t k = 0; k < decision->moves; k++)
			assert_int_not_equal(decision->move[k].thread, row);
		machine.sight[row].cpu = POLICY_NO_CPU;
		assert_true(apart(&machine) <= 1);
		remove_row(&machine, row);
	}
	machine_deinit(&machine);
}

/* A move that the kernel refused is tried again at the next look at members. */
static void test_tries_again(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 4, 2);
	all_run(&machine, 2 * MS);
	step(&machine, 2 * MS);
	machine.sight[2].cpu = POLICY_NO_CPU;
	machine.sight[3].cpu = 0;
	go_on(&machine, 30 * MS);
	assert_int_equal(confined_to(&machine, POLICY_NO_CPU), 0);
	assert_int_equal(apart(&machine), 0);
	machine_deinit(&machine);
}

/* CPUs that the domain does not have, as in a damaged trace, count as none. */
static void test_foreign_cpus(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 4, 2);
	machine.sight[0].cpu = 2;
	machine.sight[1].cpu = INT32_MAX;
	machine.sight[2].cpu = INT32_MIN;
	go_on(&machine, 30 * MS);
	assert_int_equal(apart(&machine), 0);
	assert_int_equal(confined_to(&machine, 0), 2);
	machine_deinit(&machine);
}

static void test_expected(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.expected = 6;
	params.domains = 2;
	machine_init(&machine, &params, 2);
	for (int i = 0; i < 3; i++)
		add(&machine, POLICY_RULE_COMPUTE);
	machine.domain[1].threads = 2;
	go_on(&machine, 200 * MS);
	assert_int_equal(confined_to(&machine, POLICY_NO_CPU), 3);
	machine.domain[1].threads = 3;
	go_on(&machine, 30 * MS);
	assert_int_equal(confined_to(&machine, POLICY_NO_CPU), 0);
	/* Once they have been there, it no longer matters. */
	machine.domain[1].threads = 0;
	go_on(&machine, 100 * MS);
	assert_int_equal(confined_to(&machine, POLICY_NO_CPU), 0);
	machine_deinit(&machine);
}

/* ---- Domains ---- */

static void test_hands_over(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.domains = 3;
	params.domain = 1;
	machine_init(&machine, &params, 2);
	machine.domain[0].threads = machine.domain[2].threads = 2;
	for (int i = 0; i < 8; i++)
		add(&machine, POLICY_RULE_COMPUTE);
	machine.may_hand_over = true;
	all_run(&machine, 2 * MS);
	const struct policy_decision *decision = step(&machine, 2 * MS);
	/* 12 threads on three domains: four each. */
	for (uint32_t d = 0; d < 3; d++)
		assert_int_equal(decision->domain[d].threads, 4);
	assert_int_equal(decision->computing, 4);
	assert_int_equal(decision->handovers, 4);
	for (size_t k = 0; k < 4; k++) {
		assert_int_not_equal(decision->handover[k].domain, 1);
		assert_int_equal(machine.sight[decision->handover[k].thread].cpu, POLICY_NO_CPU);
	}
	machine_deinit(&machine);

	machine_init(&machine, &params, 2);
	for (int i = 0; i < 8; i++)
		add(&machine, POLICY_RULE_COMPUTE);
	all_run(&machine, 2 * MS);
	assert_int_equal(step(&machine, 2 * MS)->handovers, 0);
	assert_int_equal(machine.domain[1].threads, 8);
	machine_deinit(&machine);
}

/* A thread that was handed over is already counted, computes at once, and stays; also if it ends,
 * or if a rule says after all that it is idle. */
static void test_is_handed_over(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.domains = 2;
	machine_init(&machine, &params, 1);
	machine.may_hand_over = true;
	for (int i = 0; i < 3; i++) {
		size_t row = add(&machine, i == 1 ? POLICY_RULE_IDLE : POLICY_RULE_NONE);
		machine.sight[row].assigned = true;
		runs(&machine, row, 0, 0);
	}
	machine.sight[2].news = POLICY_END;
	machine.domain[0].threads = 3;
	const struct policy_decision *decision = step(&machine, 2 * MS);
	assert_int_equal(decision->handovers, 0);
	assert_int_equal(decision->computing, 1);
	assert_int_equal(decision->domain[0].threads, 1);
	assert_int_equal(decision->domain[1].threads, 0);
	machine_deinit(&machine);
}

/* ---- Kinds of policies ---- */

static void test_kinds(void **unused)
{
	(void)unused;
	assert_ptr_equal(policy_kind_at(0), &policy_kind_juggle);
	for (size_t i = 0; policy_kind_at(i) != NULL; i++) {
		const struct policy_kind *kind = policy_kind_at(i);
		assert_ptr_equal(policy_kind_find(kind->name), kind);
		assert_true(strlen(kind->name) < 16 && strlen(kind->summary) > 0);
		assert_non_null(kind->choose);
	}
	assert_null(policy_kind_find("jugglE"));
	assert_null(policy_kind_find(""));
}

/* The paper's balancer: always, and every 100 ms. */
static void test_juggle2012(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle2012);
	struct machine machine;
	size_t moves = 0;
	(void)unused;

	begin(&machine, &params, 3, 2);
	go_on(&machine, 20 * MS);
	assert_int_equal(machine.policy.regime, POLICY_BALANCE);
	for (int i = 0; i < 20; i++) {
		const struct policy_decision *decision = go_on(&machine, 1);
		assert_int_equal(decision->period_ns, 100 * MS);
		assert_int_equal(decision->regime, POLICY_BALANCE);
		moves += decision->moves;
	}
	assert_true(moves >= 20);
	machine_deinit(&machine);
}

/* They are expensive to read, and only juggle goes by them. */
static void check_no_sleeps_are_read(struct machine *machine)
{
	for (int i = 0; i < 100; i++) {
		go_on(machine, 1);
		for (size_t row = 0; row < machine->n; row++)
			assert_false(machine->policy.thread[row].look & POLICY_SLEEPS);
	}
}

static void test_static(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_static);
	struct machine machine;
	(void)unused;

	/* Too few threads to say how they will be spread. */
	begin(&machine, &params, 1, 2);
	go_on(&machine, 100 * MS);
	assert_int_equal(confined_to(&machine, POLICY_NO_CPU), 1);
	for (int i = 0; i < 4; i++)
		add(&machine, POLICY_RULE_COMPUTE);
	go_on(&machine, 100 * MS);
	assert_int_equal(apart(&machine), 1);
	/* One ends: nothing moves, and new ones fill the gap. */
	size_t row = 0;
	while (machine.sight[row].cpu != 1)
		row++;
	machine.sight[row].news = POLICY_END;
	assert_int_equal(step(&machine, 2 * MS)->moves, 0);
	remove_row(&machine, row);
	go_on(&machine, 100 * MS);
	assert_int_equal(confined_to(&machine, 0), 3);
	assert_int_equal(confined_to(&machine, 1), 1);
	add(&machine, POLICY_RULE_COMPUTE);
	go_on(&machine, 100 * MS);
	assert_int_equal(confined_to(&machine, 1), 2);
	assert_int_equal(machine.policy.decision.reason, POLICY_REASON_OPTION);
	check_no_sleeps_are_read(&machine);
	machine_deinit(&machine);
}

static void test_static_with_expected(void **unused)
{
	struct policy_params params = defaults(&policy_kind_static);
	struct machine machine;
	(void)unused;

	params.expected = 1;
	begin(&machine, &params, 1, 2);
	go_on(&machine, 10 * MS);
	assert_int_equal(confined_to(&machine, 0), 1);
	machine_deinit(&machine);
}

static void test_observe(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_observe);
	struct machine machine;
	(void)unused;

	begin(&machine, &params, 5, 2);
	go_on(&machine, 500 * MS);
	check_no_sleeps_are_read(&machine);
	assert_int_equal(confined_to(&machine, POLICY_NO_CPU), 5);
	assert_int_equal(machine.policy.decision.computing, 5);
	assert_int_equal(machine.policy.decision.reason, POLICY_REASON_OPTION);
	machine_deinit(&machine);
}

/* ---- Regimes ---- */

/* With a CPU for each and no waiting there is nothing to do; where they wait for others, there
 * is. */
static void test_as_many_as_cpus(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	(void)unused;

	for (int wait = 0; wait <= 1; wait++) {
		struct machine machine;
		begin(&machine, &params, 2, 2);
		for (int i = 0; i < 100; i++) {
			runs(&machine, 0, 5 * MS, 0);
			runs(&machine, 1, wait ? 3 * MS : 5 * MS, wait ? 2 * MS : 0);
			step(&machine, 5 * MS);
		}
		assert_int_equal(machine.policy.regime, wait ? POLICY_BALANCE : POLICY_ASIDE);
		assert_int_equal(machine.policy.decision.reason,
			wait ? POLICY_REASON_NEVER_IDLE : POLICY_REASON_NO_CONTEST);
		machine_deinit(&machine);
	}
}

/* Subdomains move between threads with a CPU each: the threads are placed, and stay. */
static void test_subdomains(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	begin(&machine, &params, 2, 2);
	for (size_t i = 0; i < 2; i++)
		machine.sight[i].role = POLICY_ROLE_BALANCED;
	go_on(&machine, 200 * MS);
	assert_int_equal(machine.policy.decision.reason, POLICY_REASON_SUBDOMAINS);
	assert_int_equal(confined_to(&machine, 0), 1);
	assert_false(policy_swaps(&machine.policy));
	machine_deinit(&machine);
}

/* Other jobs fill up the CPUs evenly, or not: the job begins so, and ends so when that becomes known. Policies that
 * don't make way heed no others. */
static void test_begins_beside_others(void **unused)
{
	static const struct {
		const struct policy_kind *kind;
		uint32_t others;
		enum policy_regime regime;
	} cases[] = {{&policy_kind_juggle, 3, POLICY_ASIDE},
		{&policy_kind_juggle, 4, POLICY_BALANCE}, {&policy_kind_juggle, 0, POLICY_BALANCE},
		{&policy_kind_static, 3, POLICY_BALANCE}};
	(void)unused;

	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
		for (int late = 0; late <= 1; late++) {
			const struct policy_params params = defaults(cases[c].kind);
			struct machine machine;
			machine_init(&machine, &params, 2);
			for (int i = 0; i < 3; i++)
				add(&machine, POLICY_RULE_COMPUTE);
			for (int k = 0; k < 4; k++) {
				if (k == 2 || !late)
					machine.others = cases[c].others;
				step(&machine, 5 * MS);
				bool heeds = cases[c].kind->makes_way && cases[c].others > 0;
				assert_int_equal(machine.policy.decision.others_changed,
					heeds && k == (late ? 2 : 0));
				assert_int_equal(machine.policy.regime,
					late && k < 2 ? POLICY_BALANCE : cases[c].regime);
			}
			machine_deinit(&machine);
		}
}

/* Threads that block are balanced and left alone in turn, to find out which is better. */
static void test_trials(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	uint32_t changes = 0, trials = 0;
	(void)unused;

	begin(&machine, &params, 3, 2);
	for (int i = 0; i < 1000; i++) {
		uint64_t wait_ns = machine.policy.decision.wait_ns + (i == 0) * MS;
		for (size_t row = 0; row < 3; row++) {
			if (machine.policy.n > row &&
				(machine.policy.thread[row].look & POLICY_SLEEPS))
				machine.sight[row].news |= POLICY_SLEEPS;
			machine.sight[row].sleeps = (machine.now_ns - START_NS) / (20 * MS);
			runs(&machine, row, wait_ns / 2, 0);
		}
		const struct policy_decision *decision = step(&machine, wait_ns);
		changes += decision->changed;
		trials += decision->changed && decision->reason == POLICY_REASON_TRIAL;
	}
	assert_in_range(trials, 1, 30);
	assert_in_range(changes, 2, 60);
	/* It makes no difference here, so the policy stands aside. */
	assert_int_equal(machine.policy.chooser.settled, POLICY_ASIDE);
	machine_deinit(&machine);
}

/* A thread whose times stand still: it sleeps or starves, as its state tells. */
static void test_starves(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	(void)unused;

	params.always = true;
	for (int starves = 0; starves <= 1; starves++) {
		struct machine machine;
		uint64_t asked = 0;
		size_t moves = 0;
		begin(&machine, &params, 2, 2);
		go_on(&machine, 500 * MS);
		assert_int_equal(machine.policy.regime, POLICY_BALANCE);
		/* Something else takes the first CPU, as juggle can't see. */
		for (uint64_t end_ns = machine.now_ns + 300 * MS; machine.now_ns < end_ns;) {
			uint64_t wait_ns = machine.policy.decision.wait_ns;
			for (size_t row = 0; row < 2; row++) {
				bool state = machine.policy.thread[row].look & POLICY_STATE;
				asked += state;
				if (state)
					machine.sight[row].news |= POLICY_STATE;
				machine.sight[row].runnable =
					starves || machine.sight[row].cpu == 1;
				bool still = machine.sight[row].cpu == 0;
				runs(&machine, row, still ? 0 : wait_ns, 0);
			}
			moves += step(&machine, wait_ns)->moves;
		}
		assert_true(asked > 0);
		if (starves)
			assert_true(moves >= 4);
		else
			assert_int_equal(moves, 0);
		machine_deinit(&machine);
	}
}

/* When the kernel counts a wait that was counted while it lasted, it is not counted twice. */
static void test_waits_once(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	uint64_t waited_ns = 0;
	(void)unused;

	params.always = true;
	params.period_auto = false;
	params.period_ns = 10 * MS;
	begin(&machine, &params, 2, 2);
	go_on(&machine, 100 * MS);
	for (int i = 0; i < 20; i++) {
		for (size_t row = 0; row < 2; row++) {
			machine.sight[row].news |= machine.policy.thread[row].look & POLICY_STATE;
			machine.sight[row].runnable = true;
			runs(&machine, row, row == 0 ? 0 : 10 * MS, 0);
		}
		step(&machine, 10 * MS);
		waited_ns += machine.policy.thread[0].wait_ns;
	}
	assert_in_range(waited_ns, 150 * MS, 200 * MS);
	runs(&machine, 0, MS, 209 * MS);
	runs(&machine, 1, 10 * MS, 0);
	step(&machine, 10 * MS);
	waited_ns += machine.policy.thread[0].wait_ns;
	assert_int_equal(waited_ns, 209 * MS);
	machine_deinit(&machine);
}

/* Leads in one regime do not carry over to the next. */
static void test_enter_forgets_leads(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	begin(&machine, &params, 2, 2);
	for (int i = 0; i < 20; i++) {
		runs(&machine, 0, 5 * MS, 0);
		runs(&machine, 1, MS, 0);
		step(&machine, 5 * MS);
	}
	assert_true(machine.policy.thread[0].progress_ns >
		    machine.policy.thread[1].progress_ns + (int64_t)(50 * MS));
	add(&machine, POLICY_RULE_COMPUTE);
	while (machine.policy.regime == POLICY_ASIDE) {
		all_run(&machine, 5 * MS);
		step(&machine, 5 * MS);
	}
	int64_t first = machine.policy.thread[0].progress_ns;
	for (size_t i = 1; i < 3; i++)
		assert_in_range(machine.policy.thread[i].progress_ns, first - (int64_t)MS / 100,
			first + (int64_t)MS / 100);
	machine_deinit(&machine);
}

/* ---- Progress ---- */

/* With three threads on two CPUs, each is alone in turn: they end up equally far. */
static void test_equal_progress(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	uint64_t least = UINT64_MAX, most = 0;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 3, 2);
	go_on(&machine, 2000 * MS);
	for (size_t i = 0; i < 3; i++) {
		uint64_t run_ns = machine.sight[i].run_ns;
		least = run_ns < least ? run_ns : least;
		most = run_ns > most ? run_ns : most;
	}
	assert_true(most - least < 20 * MS);
	machine_deinit(&machine);
}

/* Updates are worth the time they take on average: a thread that makes more of them in the same
 * time is ahead. */
static void test_updates(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 4, 2);
	go_on(&machine, 20 * MS);
	for (int i = 0; i < 50; i++) {
		all_run(&machine, 2 * MS);
		for (size_t row = 0; row < 4; row++) {
			assert_true(machine.policy.thread[row].look & POLICY_UPDATES);
			machine.sight[row].role = POLICY_ROLE_WORKER;
			machine.sight[row].news |= POLICY_UPDATES;
			machine.sight[row].updates += row == 0 ? 300 : 100;
		}
		step(&machine, 2 * MS);
	}
	/* All ran for the same time. In each period thread 0 made half of all updates. */
	for (size_t row = 1; row < 4; row++)
		assert_true(machine.policy.thread[0].progress_ns >
			    machine.policy.thread[row].progress_ns + (int64_t)(5 * MS));
	/* Whatever a damaged trace says, progress stays in range. */
	for (int i = 0; i < 40; i++) {
		all_run(&machine, 2 * MS);
		for (size_t row = 0; row < 4; row++) {
			machine.sight[row].run_ns += UINT64_MAX / 64;
			machine.sight[row].work += UINT64_MAX / 64;
			machine.sight[row].news |= i % 20 < 10 ? POLICY_UPDATES : 0;
			machine.sight[row].updates = i % 2 == 0 || row > 0 ? 0 : UINT64_MAX / 4;
		}
		step(&machine, 2 * MS);
		for (size_t row = 0; row < 4; row++)
			assert_in_range(machine.policy.thread[row].progress_ns, 0, INT64_MAX / 4);
	}
	machine_deinit(&machine);
}

/* The thread whose updates take long is behind for good, and keeps a CPU of its own. By CPU time each
 * of the three would be behind in turn. */
static void test_slow_worker_has_a_cpu(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 3, 2);
	go_on(&machine, 20 * MS);
	for (int i = 0; i < 200; i++) {
		uint64_t ran_ns[3];
		for (size_t row = 0; row < 3; row++)
			ran_ns[row] = machine.sight[row].run_ns;
		all_run(&machine, 4 * MS);
		for (size_t row = 0; row < 3; row++) {
			machine.sight[row].role = POLICY_ROLE_WORKER;
			machine.sight[row].news |= POLICY_UPDATES;
			machine.sight[row].updates += (machine.sight[row].run_ns - ran_ns[row]) /
						      (row == 0 ? 1000000 : 100000);
		}
		step(&machine, 4 * MS);
		if (i >= 50)
			assert_int_equal(confined_to(&machine, machine.sight[0].cpu), 1);
	}
	machine_deinit(&machine);
}

/* Updates of a second say nothing of what threads have done meanwhile: they take turns by CPU time, as long as no
 * subdomains move. Phases may end after each, and are no shorter. */
static void test_long_updates(void **unused)
{
	(void)unused;

	for (int moving = 0; moving <= 1; moving++) {
		const struct policy_params params = defaults(&policy_kind_juggle);
		struct machine machine;
		uint64_t least = UINT64_MAX, most = 0;
		begin(&machine, &params, 3, 2);
		while (machine.now_ns < START_NS + 9000 * MS) {
			uint64_t step_ns = machine.policy.decision.wait_ns;
			all_run(&machine, step_ns);
			for (size_t row = 0; row < 3; row++) {
				struct policy_sight *sight = &machine.sight[row];
				sight->role = moving ? POLICY_ROLE_BALANCED : POLICY_ROLE_WORKER;
				sight->news |= POLICY_UPDATES;
				sight->updates = sight->run_ns / (1000 * MS);
			}
			step(&machine, step_ns);
		}
		for (size_t row = 0; row < 3; row++) {
			uint64_t run_ns = machine.sight[row].run_ns;
			least = run_ns < least ? run_ns : least;
			most = run_ns > most ? run_ns : most;
		}
		assert_int_equal(most - least < 100 * MS, !moving);
		assert_int_equal(machine.policy.decision.period_ns > 15 * MS, !moving);
		assert_int_equal(machine.policy.decision.pace == POLICY_PACE_TOLD, !moving);
		machine_deinit(&machine);
	}
}

/* Workers that compute for long before their first update, or between two, are soon judged by updates again. */
static void test_pause_between_updates(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = true;
	begin(&machine, &params, 3, 2);
	for (int part = 0; part < 4; part++) {
		bool pause = part % 2 == 0;
		for (int i = 0; i < (pause ? 5000 : 20); i++) {
			all_run(&machine, 4 * MS);
			for (size_t row = 0; row < 3; row++) {
				machine.sight[row].role = POLICY_ROLE_WORKER;
				machine.sight[row].news |= POLICY_UPDATES;
				machine.sight[row].updates += pause ? 0 : 100;
			}
			step(&machine, 4 * MS);
		}
		assert_int_equal(machine.policy.by_updates, part > 0);
		if (!pause)
			assert_in_range(machine.policy.update_ns, 1, MS / 2);
	}
	machine_deinit(&machine);
}

/* Work in any unit counts as time at its mean rate. */
static void test_by_work(void **unused)
{
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	params.always = params.by_work = true;
	begin(&machine, &params, 4, 2);
	go_on(&machine, 20 * MS);
	all_run(&machine, 2 * MS);
	for (size_t row = 0; row < 4; row++)
		machine.sight[row].work += row == 0 ? 9000 * MS : 2000 * MS;
	step(&machine, 2 * MS);
	uint64_t sum = 0;
	for (size_t row = 0; row < 4; row++)
		sum += machine.policy.thread[row].gain_ns;
	assert_in_range(sum, 4 * MS - 10, 4 * MS + 10);
	assert_true(machine.policy.thread[0].gain_ns > 2 * machine.policy.thread[1].gain_ns);
	machine_deinit(&machine);
}

/* No news of a thread changes nothing. */
static void test_no_news(void **unused)
{
	const struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	(void)unused;

	begin(&machine, &params, 3, 2);
	go_on(&machine, 100 * MS);
	int64_t before = machine.policy.thread[0].progress_ns;
	for (int i = 0; i < 200; i++)
		step(&machine, 2 * MS);
	assert_int_equal(machine.policy.decision.computing, 3);
	assert_true(machine.policy.thread[0].progress_ns - before < (int64_t)(10 * MS));
	machine_deinit(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_interval_asks_for_members),
		cmocka_unit_test(test_who_computes),
		cmocka_unit_test(test_falls_idle),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_places_evenly),
		cmocka_unit_test(test_one_cpu),
		cmocka_unit_test(test_evens_out_at_once),
		cmocka_unit_test(test_tries_again),
		cmocka_unit_test(test_foreign_cpus),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_hands_over),
		cmocka_unit_test(test_is_handed_over),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_juggle2012),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_static_with_expected),
		cmocka_unit_test(test_observe),
		cmocka_unit_test(test_as_many_as_cpus),
		cmocka_unit_test(test_subdomains),
		cmocka_unit_test(test_begins_beside_others),
		cmocka_unit_test(test_trials),
		cmocka_unit_test(test_starves),
		cmocka_unit_test(test_waits_once),
		cmocka_unit_test(test_enter_forgets_leads),
		cmocka_unit_test(test_equal_progress),
		cmocka_unit_test(test_updates),
		cmocka_unit_test(test_slow_worker_has_a_cpu),
		cmocka_unit_test(test_long_updates),
		cmocka_unit_test(test_pause_between_updates),
		cmocka_unit_test(test_by_work),
		cmocka_unit_test(test_no_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
