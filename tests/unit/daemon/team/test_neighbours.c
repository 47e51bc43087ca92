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
static void leave_segment(void)
{
	struct telemetry *telemetry;
	int fd;

	if (telemetry_create(&telemetry, &fd) < 0 || fd < 0 || telemetry_publish(fd, getpid()) < 0)
		_exit(1);
	telemetry_set32(&telemetry->state, TELEMETRY_RUNNING);
	telemetry_set(&telemetry->heartbeat_ns, clock_monotonic_ns());
	_exit(0);
}

/* Returns the pid of a process that has left a segment, and is not reaped yet. */
static pid_t killed(void)
{
	siginfo_t info;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		leave_segment();
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

static void test_left_behind(void **state)
{
	static struct neighbours neighbours;
	pid_t pid = killed();
	uint64_t now_ns = clock_monotonic_ns();

	(void)state;
	neighbours_init(&neighbours);
	bool at_once = looks_at(&neighbours, pid, now_ns);
	bool while_a_process = looks_at(&neighbours, pid, now_ns + 11 * SECOND);
	waitpid(pid, NULL, 0);
	bool soon = looks_at(&neighbours, pid, now_ns + 9 * SECOND);
	bool later = looks_at(&neighbours, pid, now_ns + 11 * SECOND);
	telemetry_unlink(pid);
	assert_true(at_once);
	assert_true(while_a_process);
	assert_true(soon);
	assert_false(later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_left_behind)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
