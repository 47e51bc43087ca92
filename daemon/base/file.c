/* SPDX-License-Identifier: MIT */
#include "daemon/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#define PATIENCE_MS 1000

int file_open_output(const char *path, bool anew)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (anew ? O_TRUNC : 0);
	int fd = open(path, flags, 0666);

	return fd < 0 ? -errno : fd;
}

ssize_t file_write_some(int fd, const void *data, size_t bytes)
{
	ssize_t n;

	do
		n = write(fd, data, bytes);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return n;
}

/* Returns 0 or a negative errno. */
static int wait_for_reader(int fd)
{
	struct pollfd writable = {.fd = fd, .events = POLLOUT};
	int n = poll(&writable, 1, PATIENCE_MS);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

int file_write_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t n = file_write_some(fd, at, bytes);
		if (n == 0)
			n = wait_for_reader(fd);
		if (n < 0)
			return (int)n;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}
