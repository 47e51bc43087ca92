/* SPDX-License-Identifier: MIT */
/*
 * A process beside a command; see beside.h. It stays in the session: nice values may count only
 * within one.
 */
#include "apps/noise/beside.h"

#include "daemon/base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What comes through the pipe. */
enum { WORD_READY = 'r', WORD_NOT_FORKED = 'f' };

int beside_fork(struct beside *beside)
{
	const char not_forked = WORD_NOT_FORKED;
	int ends[2];

	beside->starter = (int)syscall(SYS_pidfd_open, getpid(), 0u);
	if (beside->starter < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC) < 0)
		goto fail;
	/* Fork twice, so that the command has no child that it knows nothing of. */
	pid_t between = fork();
	if (between < 0) {
		close(ends[0]);
		close(ends[1]);
		goto fail;
	}
	if (between == 0) {
		setpgid(0, 0);
		pid_t pid = fork();
		if (pid < 0 && write(ends[1], &not_forked, 1) < 0)
			_exit(1);
		if (pid != 0)
			_exit(0);
		close(ends[0]);
		beside->ready = ends[1];
		return 0;
	}
	close(ends[1]);
	beside->ready = ends[0];
	while (waitpid(between, NULL, 0) < 0 && errno == EINTR) {
	}
	return 1;
fail:;
	int rc = -errno;
	close(beside->starter);
	return rc;
}

int beside_await(struct beside *beside)
{
	char word = 0;
	ssize_t n;

	do
		n = read(beside->ready, &word, 1);
	while (n < 0 && errno == EINTR);
	close(beside->ready);
	close(beside->starter);
	if (n == 1 && word == WORD_READY)
		return 0;
	return n == 1 ? -EAGAIN : -ECHILD;
}

/* A reader of the other ends, such as mpirun, waits until all writers have closed theirs. */
static int close_files(const struct beside *beside)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	DIR *all = opendir("/proc/self/fd");
	int rc = null < 0 || !all ? -errno : 0;
	struct dirent *entry;

	for (int fd = 0; fd <= 2 && rc == 0; fd++)
		rc = dup2(null, fd) < 0 ? -errno : 0;
	while (rc == 0 && (entry = readdir(all))) {
		int fd = atoi(entry->d_name); /* 0 for "." and ".." */

		if (fd > 2 && fd != dirfd(all) && fd != beside->starter && fd != beside->ready)
			close(fd);
	}
	if (all)
		closedir(all);
	return rc;
}

int beside_ready(struct beside *beside)
{
	const char ready = WORD_READY;
	int rc = close_files(beside);

	if (rc == 0 && write(beside->ready, &ready, 1) < 0)
		rc = -errno;
	close(beside->ready);
	return rc;
}

void beside_wait(const struct beside *beside, uint64_t timeout_ns)
{
	struct pollfd starter = {.fd = beside->starter, .events = POLLIN};
	struct timespec timeout = clock_timespec(timeout_ns);

	while (ppoll(&starter, 1, timeout_ns ? &timeout : NULL, NULL) < 0 && errno == EINTR) {
	}
}
