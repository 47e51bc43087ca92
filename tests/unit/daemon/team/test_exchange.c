/* SPDX-License-Identifier: MIT */
/* What teams share: counts that add up, and one team at a time that hands threads over. */
#undef NDEBUG
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/team/exchange.h"

#define DOMAINS 2

static int set_up(void **state)
{
	static struct exchange exchange;

	if (exchange_init(&exchange, DOMAINS) < 0)
		return -1;
	for (size_t d = 0; d < DOMAINS; d++)
		exchange.domain[d].cpus = 2;
	*state = &exchange;
	return 0;
}

static int tear_down(void **state)
{
	exchange_deinit(*state);
	return 0;
}

static void test_assign(void **state)
{
	struct exchange *exchange = *state;
	struct policy_domain now[DOMAINS];

	for (int i = 0; i < 5; i++)
		exchange_assign(exchange);
	assert_false(exchange_enter(exchange, false, now));
	exchange_leave(exchange, false, now, now);
	assert_int_equal(now[0].threads, 3);
	assert_int_equal(now[1].threads, 2);
}

/* While one hands threads over, another one that does not want to goes on. */
static void test_turns(void **state)
{
	struct exchange *exchange = *state;
	struct policy_domain one[DOMAINS], other[DOMAINS], after[DOMAINS];

	for (int i = 0; i < 4; i++)
		exchange_assign(exchange);
	exchange_open(exchange, true);
	assert_true(exchange_enter(exchange, true, one));
	assert_int_equal(
		pthread_mutex_trylock(&exchange->turn), EBUSY); /* others that want to wait */
	assert_false(exchange_enter(exchange, false, other));
	after[0] = other[0];
	after[1] = other[1];
	after[1].threads--; /* one has ended */
	exchange_leave(exchange, false, other, after);
	after[0] = one[0];
	after[1] = one[1];
	after[0].threads--;
	after[1].threads++;
	exchange_leave(exchange, true, one, after);
	assert_true(exchange_enter(exchange, true, one));
	exchange_leave(exchange, true, one, one);
	assert_int_equal(one[0].threads, 1);
	assert_int_equal(one[1].threads, 2);
}

static void test_closed(void **state)
{
	struct exchange *exchange = *state;
	struct policy_domain now[DOMAINS];

	assert_false(exchange_enter(exchange, true, now));
	exchange_leave(exchange, false, now, now);
	exchange_open(exchange, true);
	assert_false(exchange_enter(exchange, false, now)); /* it does not want to */
	exchange_leave(exchange, false, now, now);
	exchange_open(exchange, false);
	assert_false(exchange_enter(exchange, true, now));
	exchange_leave(exchange, false, now, now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_assign, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
