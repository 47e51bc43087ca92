/* SPDX-License-Identifier: MIT */
/* Which other juggles are looked at, with a segment of a child in /dev/shm. */
#undef NDEBUG
#include "daemon/team/neighbours.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

static struct neighbours *new_neighbours(void)
{
	struct neighbours *neighbours = calloc(1, sizeof *neighbours);

	assert_non_null(neighbours);
	neighbours_init(neighbours);
	return neighbours;
}

/* It is looked at for that long after its start, if its process is gone, and always while it has one. */
static void assert_forgotten_after(uint64_t heartbeat_ns, uint64_t period_ns, uint64_t after_ns)
{
	struct neighbours *first = new_neighbours(), *second = new_neighbours();
	pid_t pid = killed(heartbeat_ns, period_ns);
	uint64_t now_ns = clock_monotonic_ns();

	bool while_a_process = looks_at(first, pid, now_ns + 2 * after_ns);
	waitpid(pid, NULL, 0);
	bool before = looks_at(second, pid, now_ns + after_ns / 2);
	bool later = looks_at(second, pid, now_ns + 2 * after_ns);
	telemetry_unlink(pid);
	free(first);
	free(second);
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

static void set_heartbeat(pid_t pid, uint64_t heartbeat_ns)
{
	char path[64];

	snprintf(path, sizeof path, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)pid);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = pwrite(
		fd, &heartbeat_ns, sizeof heartbeat_ns, offsetof(struct telemetry, heartbeat_ns));
	close(fd);
	assert_int_equal(n, sizeof heartbeat_ns);
}

/* Its process isn't seen here, and it goes on after a while. */
static void test_stopped(void **state)
{
	struct neighbours *neighbours = new_neighbours();
	uint64_t now_ns = clock_monotonic_ns();
	pid_t pid = killed(now_ns, SECOND / 100);
	(void)state;

	waitpid(pid, NULL, 0);
	bool stopped = !looks_at(neighbours, pid, now_ns + 20 * SECOND) &&
		       !looks_at(neighbours, pid, now_ns + 21 * SECOND);
	set_heartbeat(pid, now_ns + 100 * SECOND);
	bool later = looks_at(neighbours, pid, now_ns + 100 * SECOND);
	telemetry_unlink(pid);
	free(neighbours);
	assert_true(stopped);
	assert_true(later);
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
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_heartbeat_in_the_future),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
