/* SPDX-License-Identifier: MIT */
/* How often a job may ring. */
#undef NDEBUG
#include "daemon/team/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

/* A few calls after a pause are heard at once. */
static void test_burst(void **state)
{
	struct team team = {0};
	uint64_t now_ns = 1000 * MS;
	(void)state;

	for (int i = 0; i < 5; i++) {
		team_pay_call(&team, MS / 10, now_ns);
		assert_true(team.deaf_ns <= now_ns);
		now_ns += MS;
	}
}

/* Calls without end take a quarter of the time. */
static void test_share(void **state)
{
	struct team team = {0};
	uint64_t now_ns = 1000 * MS, end_ns = now_ns + 1000 * MS, cost_ns = 0;
	(void)state;

	while (now_ns < end_ns) {
		now_ns = now_ns < team.deaf_ns ? team.deaf_ns : now_ns;
		now_ns += MS / 10;
		cost_ns += MS / 10;
		team_pay_call(&team, MS / 10, now_ns);
	}
	assert_in_range(cost_ns, 240 * MS, 260 * MS);
}

static void test_counts(void **state)
{
	_Atomic uint32_t rings = 3;
	struct team team = {.bell = {.word = &rings, .seen = 3}};
	(void)state;

	assert_false(team_rung(&team));
	rings += 2;
	assert_true(team_rung(&team));
	assert_false(team_rung(&team));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
