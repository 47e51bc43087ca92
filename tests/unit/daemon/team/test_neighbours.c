/* SPDX-License-Identifier: MIT */
/* Which other juggles are looked at, with a segment of a child in /dev/shm. */
#undef NDEBUG
#include "daemon/team/neighbours.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/base/clock.h"
#include "daemon/telemetry/writer.h"

#define SECOND UINT64_C(1000000000)

/* As a juggle that is killed while it runs. */
static void leave_segment(uint64_t heartbeat_ns, uint64_t period_ns)
{
	struct telemetry *telemetry;
	int fd;

	if (telemetry_create(&telemetry, &fd) < 0 || fd < 0 || telemetry_publish(fd, getpid()) < 0)
		_exit(1);
	telemetry_set32(&telemetry->state, TELEMETRY_RUNNING);
	telemetry_set(&telemetry->heartbeat_ns, heartbeat_ns);
	telemetry_set(&telemetry->period_ns, period_ns);
	_exit(0);
}

/* Returns the pid of a process that has left a segment, and is not reaped yet. */
static pid_t killed(uint64_t heartbeat_ns, uint64_t period_ns)
{
	siginfo_t info;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		leave_segment(heartbeat_ns, period_ns);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	if (info.si_status != 0) {
		print_message("SKIPPED: no segment can be made in /dev/shm\n");
		skip();
	}
	return pid;
}

static bool looks_at(struct neighbours *neighbours, pid_t pid, uint64_t now_ns)
{
	const struct telemetry own = {.pid = getpid()};

	neighbours_look(neighbours, &own, now_ns);
	for (size_t k = 0; k < neighbours->count; k++)
		if (neighbours->pid[k] == pid)
			return true;
	return false;
}

/* It is looked at for that long after its start, if its process is gone, and always while it has one. */
static void assert_forgotten_after(uint64_t heartbeat_ns, uint64_t period_ns, uint64_t after_ns)
{
	static struct neighbours neighbours;
	pid_t pid = killed(heartbeat_ns, period_ns);
	uint64_t now_ns = clock_monotonic_ns();

	neighbours_init(&neighbours);
	bool while_a_process = looks_at(&neighbours, pid, now_ns + 2 * after_ns);
	waitpid(pid, NULL, 0);
	bool before = looks_at(&neighbours, pid, now_ns + after_ns / 2);
	bool later = looks_at(&neighbours, pid, now_ns + 2 * after_ns);
	telemetry_unlink(pid);
	assert_true(while_a_process);
	assert_true(before);
	assert_false(later);
}

static void test_left_behind(void **state)
{
	(void)state;
	assert_forgotten_after(clock_monotonic_ns(), SECOND / 100, 10 * SECOND);
}

/* It may live in another container. */
static void test_long_period(void **state)
{
	(void)state;
	assert_forgotten_after(clock_monotonic_ns(), 20 * SECOND, 60 * SECOND);
}

static void test_heartbeat_in_the_future(void **state)
{
	(void)state;
	assert_forgotten_after(UINT64_MAX, SECOND / 100, 10 * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_long_period),
		cmocka_unit_test(test_heartbeat_in_the_future),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
