/* SPDX-License-Identifier: MIT */
#include "daemon/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/clock.h"

#define NAME_BYTES 8192
#define READER_NS 1000000000 /* what the reader of a FIFO has to open it */
#define READER_PAUSE_NS 5000000
#define LOCK_PAUSE_NS 1000000

static bool is_fifo(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

int file_open_output(const char *path, bool anew)
{
	const struct timespec pause = {.tv_nsec = READER_PAUSE_NS};
	uint64_t until_ns = clock_monotonic_ns() + READER_NS;
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (anew ? O_TRUNC : 0);

	for (;;) {
		int fd = open(path, flags, 0666);
		if (fd >= 0)
			return fd;
		if (errno != ENXIO)
			return -errno;
		if (!is_fifo(path))
			return -EOPNOTSUPP;
		if (clock_monotonic_ns() >= until_ns)
			return -ENXIO;
		nanosleep(&pause, NULL);
	}
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
static int wait_for_reader(int fd, uint64_t until_ns)
{
	struct pollfd writable = {.fd = fd, .events = POLLOUT};
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns >= until_ns)
		return -ETIMEDOUT;
	uint64_t ms = (until_ns - now_ns) / 1000000 + 1;
	if (poll(&writable, 1, ms < INT_MAX ? (int)ms : INT_MAX) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

int file_write_all(int fd, const void *data, size_t bytes, uint64_t until_ns)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t n = file_write_some(fd, at, bytes);
		if (n == 0)
			n = wait_for_reader(fd, until_ns);
		if (n < 0)
			return (int)n;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Returns 0, also where files can't be locked, or -ETIMEDOUT. */
static int lock(int fd, uint64_t until_ns)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return 0;
		if (clock_monotonic_ns() >= until_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int file_write_whole(int fd, const void *data, size_t bytes, uint64_t until_ns)
{
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		r = lock(fd, until_ns);
	if (r == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)
		r = -errno;
	return r < 0 ? r : file_write_all(fd, data, bytes, until_ns);
}

int file_read_text(const char *root, const char *path, char *out, size_t bytes)
{
	char name[NAME_BYTES];
	size_t filled = 0;
	ssize_t r = 0;

	out[0] = '\0';
	if ((size_t)snprintf(name, sizeof(name), "%s%s", root, path) >= sizeof(name))
		return -ENAMETOOLONG;
	/* Without O_NONBLOCK, opening a pipe in place of a file would block. */
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	while (filled + 1 < bytes && (r = read(fd, out + filled, bytes - 1 - filled)) > 0)
		filled += (size_t)r;
	int error = r < 0 ? -errno : 0;
	close(fd);
	out[error == 0 ? filled : 0] = '\0';
	size_t length = strlen(out);
	if (length > 0 && out[length - 1] == '\n')
		out[length - 1] = '\0';
	return error;
}

void file_close_from(int first)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
#endif
	long count = sysconf(_SC_OPEN_MAX);
	for (int fd = first; fd < count; fd++)
		close(fd);
}
