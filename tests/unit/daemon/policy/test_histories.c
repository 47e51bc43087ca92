/* SPDX-License-Identifier: MIT */
/*
 * The step under random histories (history.h): whatever happens, decisions are sane, and no two
 * CPUs are more than one thread apart. Each history runs twice in parallel, since equal
 * observations have to give equal decisions.
 */
#undef NDEBUG
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/daemon/policy/history.h"

enum { HISTORIES = 400, STEPS = 300 };

/* ---- Invariants ---- */

static void assert_same(const struct policy *one, const struct policy *other)
{
	const struct policy_decision *a = &one->decision, *b = &other->decision;

	assert_int_equal(a->regime, b->regime);
	assert_int_equal(a->reason, b->reason);
	assert_int_equal(a->moves, b->moves);
	assert_int_equal(a->handovers, b->handovers);
	for (size_t k = 0; k < a->moves; k++)
		assert_memory_equal(&a->move[k], &b->move[k], sizeof a->move[k]);
	for (size_t k = 0; k < a->handovers; k++)
		assert_memory_equal(&a->handover[k], &b->handover[k], sizeof a->handover[k]);
	assert_int_equal(a->period_ns, b->period_ns);
	assert_int_equal(a->wait_ns, b->wait_ns);
	assert_int_equal(a->members_next, b->members_next);
	for (size_t j = 0; j < one->m; j++)
		assert_int_equal(one->cpu[j].tick, other->cpu[j].tick);
	for (size_t i = 0; i < one->n; i++)
		assert_int_equal(one->thread[i].look, other->thread[i].look);
}

static void assert_moves(const struct history *h, const struct policy_decision *decision)
{
	const struct policy *policy = &h->machine.policy;

	for (size_t k = 0; k < decision->moves; k++) {
		const struct policy_move *move = &decision->move[k];
		assert_true(k == 0 || move->thread > decision->move[k - 1].thread);
		assert_true(move->thread < policy->n);
		const struct policy_thread *thread = &policy->thread[move->thread];
		assert_int_equal(move->from, thread->cpu_before);
		assert_int_equal(move->to, thread->cpu);
		assert_int_not_equal(move->from, move->to);
		assert_true(move->to >= POLICY_NO_CPU && move->to < (int32_t)policy->m);
		assert_false(thread->ended);
		assert_true(thread->computes || move->to == POLICY_NO_CPU);
	}
	for (size_t k = 0; k < decision->handovers; k++) {
		const struct policy_handover *handover = &decision->handover[k];
		assert_true(handover->thread < policy->n);
		assert_true(handover->domain < policy->params.domains);
		assert_int_not_equal(handover->domain, policy->params.domain);
		assert_false(policy->thread[handover->thread].computes);
		assert_true(h->machine.may_hand_over && decision->members);
	}
}

static void assert_periods(const struct policy *policy, const struct policy_decision *decision)
{
	const struct policy_params *params = &policy->params;
	uint64_t most_ns = (policy_swaps(policy) ? 50 : 150) * MS;
	uint64_t longest_ns = params->period_ns > most_ns ? params->period_ns : most_ns;
	double jitter = params->jitter * (double)decision->period_ns;

	assert_in_range(decision->period_ns, params->period_ns, longest_ns);
	assert_true(fabs((double)decision->wait_ns - (double)decision->period_ns) <= jitter + 1);
	for (size_t j = 0; j < policy->m; j++)
		if (policy->cpu[j].tick)
			assert_true(policy_swaps(policy) &&
				    (policy->cpu[j].threads > 1 || policy->cpu[j].taken ||
					    policy->cpu[j].silent_ns > 0));
}

static void assert_looks(const struct policy *policy, const struct policy_decision *decision)
{
	uint32_t sleepers = 0, computing = 0;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		sleepers += (thread->look & POLICY_SLEEPS) != 0;
		computing += thread->computes;
		assert_false(thread->look & POLICY_END);
		assert_int_equal((thread->look & POLICY_TIMES) != 0,
			thread->computes || decision->members_next);
	}
	assert_true(sleepers <= 4);
	assert_int_equal(decision->computing, computing);
	assert_int_equal(decision->computing + decision->idle, policy->n);
}

/* Threads are where the regime wants them: nowhere when aside; and while balancing, each on a CPU,
 * spread evenly, if all moves could be carried out. */
static void assert_placed(const struct history *h, const struct policy_decision *decision)
{
	const struct policy *policy = &h->machine.policy;
	bool settled = decision->members || !h->refused;
	uint32_t taken = 0;

	for (size_t i = 0; i < policy->n && settled; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		bool placed = thread->computes && decision->regime == POLICY_BALANCE;
		if (!placed || !thread->loose)
			assert_int_equal(thread->cpu != POLICY_NO_CPU, placed);
		assert_true(!thread->loose || (thread->computes && policy_swaps(policy)));
		assert_true(isfinite(thread->runnable) && thread->runnable >= 0);
	}
	for (size_t a = 0; a < policy->m; a++) {
		uint32_t count = 0;
		for (size_t i = 0; i < policy->n; i++)
			count += policy->thread[i].cpu == (int32_t)a;
		assert_int_equal(policy->cpu[a].threads, count);
		for (size_t b = 0; b < policy->m; b++)
			if (policy->params.kind->balance != NULL && settled &&
				!policy->cpu[b].taken)
				assert_true(policy->cpu[a].threads <= policy->cpu[b].threads + 1);
		if (policy->cpu[a].taken && settled)
			assert_int_equal(policy->cpu[a].threads, 0);
		taken += policy->cpu[a].taken;
	}
	assert_true(taken < policy->m);
}

/* Between looks at members, threads only swap places, if none ends and all moves could be carried
 * out, no CPU is or was taken, and none is unused while others are slower. */
static void assert_swapped(const struct history *h, const struct policy_decision *decision)
{
	const struct policy *policy = &h->machine.policy;

	if (decision->members || h->ended || h->refused)
		return;
	bool speeds = policy->chooser.reason == POLICY_REASON_UNEQUAL ||
		      policy->chooser.reason == POLICY_REASON_LEARN;
	if (speeds && decision->computing < policy->m)
		return;
	for (size_t j = 0; j < h->machine.policy.m; j++)
		if (h->machine.policy.cpu[j].taken || h->were_taken[j])
			return;
	for (size_t j = 0; j < h->machine.policy.m; j++)
		assert_int_equal(h->machine.policy.cpu[j].threads, h->were[j]);
	assert_int_equal(decision->moves % 2, 0);
}

/* ---- Histories ---- */

static void begin_twin(struct policy *twin, const struct machine *machine)
{
	const struct policy *policy = &machine->policy;
	int32_t os_cpu[CPUS_MAX];

	for (size_t j = 0; j < policy->m; j++)
		os_cpu[j] = policy->cpu[j].os_cpu;
	assert_int_equal(policy_init(twin, &policy->params, os_cpu, policy->m), 0);
	policy_describe(twin, machine->traits);
	assert_int_equal(policy_reserve(twin, ROWS_MAX), 0);
}

static void advance(struct history *h, struct policy *twin)
{
	uint64_t elapsed_ns = history_live(h);
	const struct policy_observation observation = history_observation(h, elapsed_ns);
	const struct policy_decision *decision = policy_step(&h->machine.policy, &observation);

	policy_step(twin, &observation);
	assert_same(&h->machine.policy, twin);
	assert_moves(h, decision);
	assert_periods(&h->machine.policy, decision);
	assert_looks(&h->machine.policy, decision);
	assert_placed(h, decision);
	assert_swapped(h, decision);
	history_carry_out(h);
	for (size_t k = 0; k < h->removals; k++)
		policy_remove(twin, h->removed[k]);
}

static void test_histories(void **unused)
{
	uint32_t balanced = 0, moves = 0, handovers = 0, taken = 0;
	(void)unused;

	for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
		struct history h;
		struct policy twin;
		history_begin(&h, seed);
		begin_twin(&twin, &h.machine);
		for (int k = 0; k < STEPS; k++) {
			advance(&h, &twin);
			for (size_t j = 0; j < h.machine.policy.m; j++)
				taken += h.machine.policy.cpu[j].taken;
			balanced += h.machine.policy.regime == POLICY_BALANCE;
			moves += (uint32_t)h.machine.policy.decision.moves;
			handovers += (uint32_t)h.machine.policy.decision.handovers;
		}
		history_end(&h);
		policy_deinit(&twin);
	}
	/* The histories did something. */
	assert_true(balanced > HISTORIES * STEPS / 10);
	assert_true(moves > HISTORIES * 10);
	assert_true(handovers > HISTORIES);
	assert_true(taken > HISTORIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
