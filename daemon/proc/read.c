/* SPDX-License-Identifier: MIT */
/*
 * Reading one task's files. A task that ends between two calls shows as ENOENT when
 * its folder is looked up and as ESRCH when its open file is read; callers see ESRCH.
 */
#include "daemon/proc/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/proc/proc.h"

void proc_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int proc_open_at(int dirfd, const char *path, int flags)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | flags);

	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

ssize_t proc_read_fd(int fd, char *buffer, size_t bytes)
{
	size_t filled = 0;

	while (filled < bytes) {
		ssize_t n = read(fd, buffer + filled, bytes - filled);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		filled += (size_t)n;
	}
	return (ssize_t)filled;
}

int proc_read_stat_at(int dirfd, const char *path, struct proc_thread *out)
{
	__attribute__((cleanup(proc_close_fd))) int fd = proc_open_at(dirfd, path, 0);
	char text[PROC_STAT_BYTES];
	ssize_t n;

	if (fd < 0)
		return fd;
	/* One read only: the kernel delivers the line whole, and another call would be needed for
	 * each thread to see the end of the file. */
	do
		n = read(fd, text, sizeof(text));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return proc_parse_stat(text, (size_t)n, out);
}

int proc_read_thread(pid_t pid, pid_t tid, struct proc_thread *out)
{
	struct proc_thread found = {.pid = pid};
	char path[PROC_PATH_BYTES];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	r = proc_read_stat_at(AT_FDCWD, path, &found);
	if (r == 0)
		*out = found;
	return r;
}
