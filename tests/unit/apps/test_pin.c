/* SPDX-License-Identifier: MIT */
#undef NDEBUG
#include "apps/pin.h"
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void pin(void **state)
{
	struct cpuset before, after;

	(void)state;
	assert_int_equal(cpuset_of_thread(0, &before), 0);
	assert_true(cpuset_count(&before) >= 1);
	assert_int_equal(pin_caller(-1), -EINVAL);
	assert_int_equal(pin_caller(CPUSET_CPUS_MAX), -EINVAL);
	assert_int_equal(pin_caller(CPUSET_CPUS_MAX - 1), -EINVAL);
	assert_int_equal(pin_caller(cpuset_nth(&before, 0)), 0);
	assert_int_equal(cpuset_of_thread(0, &after), 0);
	assert_int_equal(cpuset_count(&after), 1);
	assert_int_equal(cpuset_nth(&after, 0), cpuset_nth(&before, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
