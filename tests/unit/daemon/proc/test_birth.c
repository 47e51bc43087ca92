/* SPDX-License-Identifier: MIT */
/* When processes began, compared with moments before and after. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/base/clock.h"
#include "daemon/proc/proc.h"

/* 10 ms, and as much again for a look at two clocks that is interrupted. */
#define TICK_NS UINT64_C(20000000)

/* A process never seems to have begun after what it did first, but after all that is a tick older. */
static void test_moments(void **unused)
{
	(void)unused;

	for (int round = 0; round < 30; round++) {
		uint64_t before_ns = clock_monotonic_ns(), born_ns = 0;
		int pipes[2];
		assert_int_equal(pipe(pipes), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			uint64_t first_ns = clock_monotonic_ns();
			_exit(write(pipes[1], &first_ns, sizeof first_ns) != sizeof first_ns);
		}
		assert_int_equal(read(pipes[0], &born_ns, sizeof born_ns), sizeof born_ns);
		bool early = proc_began_after(pid, before_ns - TICK_NS);
		bool late = proc_began_after(pid, born_ns);
		waitpid(pid, NULL, 0);
		close(pipes[0]);
		close(pipes[1]);
		assert_true(early);
		assert_false(late);
		assert_false(proc_began_after(pid, 0)); /* it is gone */
		usleep(1300);
	}
}

static void test_times(void **unused)
{
	struct proc_thread leader;
	uint64_t now_ns = clock_monotonic_ns();
	(void)unused;

	assert_int_equal(proc_read_thread(getpid(), getpid(), &leader), 0);
	assert_true(proc_birth_ns(leader.start_ticks) <= now_ns);
	assert_true(now_ns - proc_birth_ns(leader.start_ticks) < 60 * CLOCK_NS_PER_S);
	assert_int_equal(proc_birth_ns(0), 0);
	uint64_t century_s = UINT64_C(100) * 365 * 86400;
	assert_true(proc_birth_ns(100 * century_s) > (century_s - century_s / 2) * CLOCK_NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
