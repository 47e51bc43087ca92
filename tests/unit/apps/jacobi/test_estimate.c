/* SPDX-License-Identifier: MIT */
/* When a meeting about the residual is worth its time. */
#include "apps/jacobi/estimate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BEGIN_NS UINT64_C(5000000)
#define COST_NS UINT64_C(1000000)
#define END_NS (BEGIN_NS + COST_NS)

static void nothing_is_known_at_first(void **state)
{
	const struct estimate estimate = {0};

	(void)state;
	assert_true(estimate_exact(&estimate, 0.25, 1) == 0.25);
	assert_true(isnan(estimate_exact(&estimate, NAN, 1)));
}

static void an_error_is_remembered_and_forgotten(void **state)
{
	struct estimate estimate = {0};
	double last = 3;

	(void)state;
	estimate_learn(&estimate, 0.5, 1.5, BEGIN_NS, END_NS);
	assert_true(estimate_exact(&estimate, 1, END_NS) == 3);
	for (uint64_t age = 1; age < 100; age++) {
		double now = estimate_exact(&estimate, 1, END_NS + age * COST_NS);

		assert_true(now < last && now > 1);
		last = now;
	}
	double half = estimate_exact(&estimate, 1, END_NS + (uint64_t)ESTIMATE_MEETINGS * COST_NS);
	assert_true(half > 1.999 && half < 2.001);
}

static void what_says_nothing_is_ignored(void **state)
{
	struct estimate estimate = {0};

	(void)state;
	/* Too large an estimate would have waited; one with unknown parts, or of nothing, is
	 * ignored. */
	estimate_learn(&estimate, 2, 1, BEGIN_NS, END_NS);
	assert_true(estimate_exact(&estimate, 1, END_NS) == 1);
	estimate_learn(&estimate, NAN, 1, BEGIN_NS, END_NS);
	assert_true(estimate_exact(&estimate, 1, END_NS) == 1);
	estimate_learn(&estimate, 0, 1, BEGIN_NS, END_NS);
	assert_true(estimate_exact(&estimate, 1, END_NS) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_at_first),
		cmocka_unit_test(an_error_is_remembered_and_forgotten),
		cmocka_unit_test(what_says_nothing_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
