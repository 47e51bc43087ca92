// SPDX-License-Identifier: MIT
/*
 * The end of the guard: it is waited for, but by its signal, as each run would be longer by a sleep. What the
 * guard itself does is in test_kill.py.
 */
#undef NDEBUG
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/keeper/guard.h"

#define TRIES 20 /* it may die before anybody waits for it */

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
	(void)wanted, (void)left;
	fail_msg("it sleeps");
	return -1;
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static void assert_reaped(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_is_reaped(void **state)
{
	(void)state;

	for (int i = 0; i < TRIES; i++) {
		pid_t pid = start_sleeper();
		guard_end(pid);
		assert_reaped(pid);
	}
}

/* A guard that somebody stopped has told so already. */
static void test_was_stopped(void **state)
{
	pid_t pid = start_sleeper();
	int status;
	(void)state;

	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	guard_end(pid);
	assert_reaped(pid);
}

static void test_none(void **state)
{
	(void)state;
	guard_end(-EAGAIN);
	guard_end(0);
}

/* As in the balancer. */
static int block_signals(void **state)
{
	sigset_t all;
	(void)state;

	sigfillset(&all);
	return sigprocmask(SIG_BLOCK, &all, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_reaped),
		cmocka_unit_test(test_was_stopped),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, block_signals, NULL);
}
