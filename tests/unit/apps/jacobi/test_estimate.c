/* SPDX-License-Identifier: MIT */
/* When a meeting about the residual is worth its time. */
#include "apps/jacobi/estimate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#undef NDEBUG

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
	estimate_learn(&estimate, 0.5, 1.5, 0.1, BEGIN_NS, END_NS);
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
	estimate_learn(&estimate, 2, 1, 0.1, BEGIN_NS, END_NS);
	assert_true(estimate_exact(&estimate, 1, END_NS) == 1);
	estimate_learn(&estimate, NAN, 1, 0.1, BEGIN_NS, END_NS);
	assert_true(estimate_exact(&estimate, 1, END_NS) == 1);
	estimate_learn(&estimate, 0, 1, 0.1, BEGIN_NS, END_NS);
	assert_true(estimate_exact(&estimate, 1, END_NS) == 1);
}

/* When the next meeting is due after one at `ns`, which took a nanosecond: from there. */
static uint64_t pause_after(struct estimate *estimate, double exact, double threshold, uint64_t ns)
{
	estimate_learn(estimate, exact, exact, threshold, ns - 1, ns);
	assert_false(estimate_is_small(estimate, 0, threshold, estimate->due_ns - 1));
	assert_true(estimate_is_small(estimate, 0, threshold, estimate->due_ns));
	return estimate->due_ns - ns;
}

static void the_pace_says_when_to_meet(void **state)
{
	struct estimate estimate = estimate_begin(1000);

	(void)state;
	/* Two thirds of the way in 2000 ns. */
	assert_int_equal(pause_after(&estimate, 0.01, 0.001, 3000), 1000);
	/* A hundredth of the way in 2000 ns: no pace to trust; nor if it has not fallen at all. */
	assert_int_equal(pause_after(&estimate, 0.0099, 0.001, 5000), 2000);
	assert_int_equal(pause_after(&estimate, 0.02, 0.001, 5500), 500);
	/* It is nearly there, but a meeting has its price. */
	assert_int_equal(pause_after(&estimate, 0.00100001, 0.001, 6500), 4);
	/* Nothing to wait for. */
	assert_int_equal(pause_after(&estimate, 0.0005, 0.001, 7500), 4);
	assert_int_equal(pause_after(&estimate, 0.5, 0, 8500), 4);
}

/* However the norm falls, there are few meetings, and the last one is not late. By the error of the
 * estimate alone there were 56 in the first case. */
static void few_meetings_and_none_late(void **state)
{
	const double powers[] = {0.5, 1, 2, 8};

	(void)state;
	for (size_t i = 0; i < sizeof(powers) / sizeof(*powers); i++) {
		/* It falls as a power of time, of 1 at 10 ms; the estimate is half of it. */
		const double begin_ns = 1e7, threshold = 1e-3;
		double end_ns = begin_ns * pow(threshold, -1 / powers[i]), norm = 1;
		struct estimate estimate = estimate_begin((uint64_t)begin_ns);
		uint64_t now_ns = (uint64_t)begin_ns, step_ns = (uint64_t)(end_ns / 1e4) + 1;
		uint64_t cost_ns = 20 * step_ns;
		unsigned meetings = 0;

		while (norm > threshold) {
			now_ns += step_ns;
			norm = pow((double)now_ns / begin_ns, -powers[i]);
			if (!estimate_is_small(&estimate, norm / 2, threshold, now_ns)) {
				norm = 1;
				continue;
			}
			estimate_learn(
				&estimate, norm / 2, norm, threshold, now_ns, now_ns + cost_ns);
			now_ns += cost_ns;
			meetings++;
		}
		printf("power %.1f: %u meetings, %.3f late\n", powers[i], meetings,
			(double)now_ns / end_ns - 1);
		assert_in_range(meetings, 1, 10);
		assert_true((double)now_ns < 1.03 * end_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_at_first),
		cmocka_unit_test(an_error_is_remembered_and_forgotten),
		cmocka_unit_test(what_says_nothing_is_ignored),
		cmocka_unit_test(the_pace_says_when_to_meet),
		cmocka_unit_test(few_meetings_and_none_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
