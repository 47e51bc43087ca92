/* SPDX-License-Identifier: MIT */
/* Whether a thread is idle, judged by how much it runs. */
#undef NDEBUG
#include "daemon/policy/idle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ROWS_MAX 1100
#include "tests/unit/daemon/policy/machine.h"

/* What a thread that was idle or not becomes after using a share of a CPU for some time. */
static bool idle_after(bool idle, double share, int periods)
{
	struct policy_idle verdict = {.idle = idle};

	for (int i = 0; i < periods; i++)
		policy_idle_update(&verdict, (uint64_t)(share * 10 * MS), 10 * MS);
	return verdict.idle;
}

static void test_idle(void **state)
{
	(void)state;
	assert_true(idle_after(false, 0, 5));
	assert_true(idle_after(false, 0.009, 5));
	assert_false(idle_after(true, 1, 5));
	assert_false(idle_after(true, 0.051, 5));
	/* Between the two thresholds a thread stays what it was. */
	for (double share = 0.011; share < 0.05; share += 0.005) {
		assert_true(idle_after(true, share, 100));
		assert_false(idle_after(false, share, 100));
	}
}

/* Is it idle after that? */
static bool idle_then(struct policy_idle *verdict, uint64_t run_ns, uint64_t elapsed_ns)
{
	policy_idle_update(verdict, run_ns, elapsed_ns);
	return verdict->idle;
}

static void test_idle_when(void **state)
{
	struct policy_idle verdict = {0};
	(void)state;

	/* Not before a whole window has passed, so that a short wait does not count as idleness. */
	for (int i = 0; i < 49; i++)
		assert_false(idle_then(&verdict, 0, MS));
	assert_true(idle_then(&verdict, 0, MS));
	/* Awake as soon as it ran 5 % of a window. */
	assert_true(idle_then(&verdict, 2 * MS, 2 * MS));
	assert_false(idle_then(&verdict, MS, MS));
	/* One long window is as good as many short ones. */
	assert_true(idle_then(&verdict, 0, 10000 * MS));
	assert_true(idle_then(&verdict, 300 * MS, 10000 * MS));
	assert_false(idle_then(&verdict, 510 * MS, 10000 * MS));
}

/* Each is sampled once in so many member intervals. One that begins to compute is found then. */
static void test_idle_in_turns(void **state)
{
	enum { IDLE = 1000, ROUND = IDLE / 64 + 1 };
	struct policy_params params = defaults(&policy_kind_juggle);
	struct machine machine;
	int looks[IDLE + 2] = {0}, members = 0;
	(void)state;

	begin(&machine, &params, 2, 1);
	for (int i = 0; i < IDLE; i++)
		add(&machine, POLICY_RULE_NONE);
	while (members < 10 * ROUND) {
		uint64_t wait_ns = machine.policy.decision.wait_ns;
		for (size_t i = 0; i < machine.n; i++)
			if (i >= machine.policy.n || machine.policy.thread[i].look & POLICY_TIMES)
				runs(&machine, i, i < 2 ? wait_ns / 2 : 0, 0);
		const struct policy_decision *decision = step(&machine, wait_ns);
		assert_int_equal(decision->computing, 2);
		int count = 0;
		for (size_t i = 0; i < machine.n; i++)
			count += machine.policy.thread[i].look & POLICY_TIMES ? 1 : 0;
		assert_true(count <= (decision->members_next ? 2 + 64 + (IDLE + 2) / 64 : 2));
		for (size_t i = 0; i < machine.n && decision->members_next; i++)
			looks[i] += machine.policy.thread[i].look & POLICY_TIMES ? 1 : 0;
		members += decision->members_next;
	}
	for (int i = 2; i < IDLE + 2; i++)
		assert_in_range(looks[i], 9, 13);
	machine_deinit(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_idle_when),
		cmocka_unit_test(test_idle_in_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
