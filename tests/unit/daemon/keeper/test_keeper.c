// SPDX-License-Identifier: MIT
/*
 * Startup when the kernel refuses something in the middle of it: juggle fails with a message, or the
 * command runs without being balanced, and the name of juggle's telemetry segment does not stay behind.
 *
 * The linker puts the functions __wrap_NAME() here in place of NAME().
 */
#undef NDEBUG
#include "daemon/keeper/keeper.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/telemetry/writer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message("SKIPPED: " __VA_ARGS__);                                            \
		skip();                                                                            \
	} while (0)

enum { WRONG_SEGMENT = 90 }; /* the exit status that means this */

/* Which call fails, counted from 1; 0: none. It counts down in the process of juggle. */
static int signalfd_fails, pipe2_fails, vfork_fails, fork_fails;
static pid_t juggle;
static bool has_child;

int __real_signalfd(int fd, const sigset_t *mask, int flags);
int __wrap_signalfd(int fd, const sigset_t *mask, int flags);
int __real_pipe2(int fd[2], int flags);
int __wrap_pipe2(int fd[2], int flags);
pid_t __real_fork(void);
pid_t __wrap_vfork(void);
pid_t __wrap_fork(void);

static void segment_path(pid_t pid, char *out, size_t bytes)
{
	snprintf(out, bytes, "/dev/shm/juggle.%u.%d", (unsigned)getuid(), (int)pid);
}

static bool has_segment(pid_t pid)
{
	char path[64];

	segment_path(pid, path, sizeof path);
	return access(path, F_OK) == 0;
}

/* The segment has no name before there is a child to remove it. */
static bool fails(int *count, int error)
{
	if (getpid() != juggle || *count == 0 || --*count > 0)
		return false;
	if (has_segment(juggle) && !has_child)
		_exit(WRONG_SEGMENT);
	errno = error;
	return true;
}

int __wrap_signalfd(int fd, const sigset_t *mask, int flags)
{
	return fails(&signalfd_fails, EMFILE) ? -1 : __real_signalfd(fd, mask, flags);
}

int __wrap_pipe2(int fd[2], int flags)
{
	return fails(&pipe2_fails, EMFILE) ? -1 : __real_pipe2(fd, flags);
}

/* No child may return from a function that has called vfork(), so this must be a true fork. */
pid_t __wrap_vfork(void)
{
	return fails(&vfork_fails, EAGAIN) ? -1 : __real_fork();
}

pid_t __wrap_fork(void)
{
	if (fails(&fork_fails, EAGAIN))
		return -1;
	has_child = true;
	return __real_fork();
}

struct start {
	const char *command;
	int signalfd_fails, pipe2_fails, vfork_fails, fork_fails;
	int exit_status;
	const char *message;
};

_Noreturn static void run_juggle(const struct start *start, FILE *messages)
{
	/* With a report, the balancer starts at once. */
	char *arguments[] = {"juggle", "-P", "observe", "--report", "/dev/null", "--",
		(char *)start->command, NULL};
	struct options options;

	unsetenv("JUGGLE_OPTIONS");
	options_parse(&options, COUNT(arguments) - 1, arguments);
	dup2(fileno(messages), STDERR_FILENO);
	juggle = getpid();
	signalfd_fails = start->signalfd_fails;
	pipe2_fails = start->pipe2_fails;
	vfork_fails = start->vfork_fails;
	fork_fails = start->fork_fails;
	_exit(keeper_run(&options));
}

/* Run juggle as a process of its own, and check what it leaves behind. */
static void check(const struct start *start)
{
	FILE *messages = tmpfile();
	char text[256] = "";
	int status;

	assert_non_null(messages);
	pid_t pid = __real_fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_juggle(start, messages);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), start->exit_status);
	assert_false(has_segment(pid));
	rewind(messages);
	size_t bytes = fread(text, 1, sizeof text - 1, messages);
	text[bytes] = '\0';
	assert_string_equal(text, start->message);
	fclose(messages);
}

static void test_nothing_stays_behind(void **state)
{
	static const struct start starts[] = {
		{"true", 0, 0, 0, 0, 0, ""},
		{"true", 1, 0, 0, 0, 125, "juggle: signalfd: Too many open files\n"},
		{"true", 0, 1, 0, 0, 0,
			"juggle: cannot start the balancer: Too many open files; "
			"the command runs without it\n"},
		{"true", 0, 2, 0, 0, 0,
			"juggle: cannot start the balancer: Too many open files; "
			"the command runs without it\n"},
		{"true", 0, 3, 0, 0, 125, "juggle: cannot execute true: Too many open files\n"},
		{"true", 0, 0, 0, 1, 0,
			"juggle: cannot start the balancer: Resource temporarily unavailable; "
			"the command runs without it\n"},
		{"true", 0, 0, 1, 0, 125,
			"juggle: cannot execute true: Resource temporarily unavailable\n"},
		{"/dev/null", 0, 0, 0, 0, 126,
			"juggle: cannot execute /dev/null: Permission denied\n"},
		{"/dev/null/none", 0, 0, 0, 0, 126,
			"juggle: cannot execute /dev/null/none: Not a directory\n"},
	};
	struct telemetry *t;
	int fd;
	(void)state;

	assert_int_equal(telemetry_create(&t, &fd), 0);
	telemetry_unmap(t);
	close(fd);
	if (fd < 0)
		SKIP("/dev/shm cannot be used\n");
	for (size_t i = 0; i < COUNT(starts); i++)
		check(&starts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_stays_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
