/* SPDX-License-Identifier: MIT */
#include "tools/command/output.h"
#include "daemon/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 16)

int output_scratch(void)
{
	FILE *file = tmpfile();

	if (file == NULL)
		return -errno;
	int fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
	int r = fd < 0 ? -errno : fd;
	fclose(file);
	return r;
}

/* The signals by which people end a program. */
static void endings(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGTERM);
}

/* Is one of them blocked and pending? */
static bool interrupted(void)
{
	sigset_t pending, ending;

	endings(&ending);
	sigpending(&pending);
	sigandset(&pending, &pending, &ending);
	return sigisemptyset(&pending) == 0;
}

static int copy(int from, int to, uint64_t *bytes)
{
	char *buffer = malloc(COPY_BYTES);
	int r = buffer != NULL ? 0 : -ENOMEM;

	*bytes = 0;
	while (r == 0) {
		if (interrupted()) {
			r = -EINTR;
			break;
		}
		ssize_t n = pread(from, buffer, COPY_BYTES, (off_t)*bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : 0;
			break;
		}
		r = file_write_all(to, buffer, (size_t)n, UINT64_MAX);
		*bytes += (uint64_t)n;
	}
	free(buffer);
	return r;
}

static int copy_to(int from, const char *path, uint64_t *bytes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : copy(from, fd, bytes);

	if (fd >= 0 && close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

/* Write a file beside the old one, then rename it over the old one. */
static int write_beside(int from, const char *path, mode_t mode, uint64_t *bytes)
{
	char *name = NULL;

	if (asprintf(&name, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	int fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0) {
		int r = -errno;
		free(name);
		return r;
	}
	int r = copy(from, fd, bytes);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(name, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(name);
	free(name);
	return r;
}

/* A signal that ends us leaves no file behind. */
static int replace(int from, const char *path, mode_t mode, uint64_t *bytes)
{
	sigset_t ending, before;

	endings(&ending);
	sigprocmask(SIG_BLOCK, &ending, &before);
	int r = write_beside(from, path, mode, bytes);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

int output_commit(int scratch, const char *path, uint64_t *bytes)
{
	struct stat old;

	*bytes = 0;
	if (path == NULL)
		return copy(scratch, STDOUT_FILENO, bytes);
	if (stat(path, &old) < 0) {
		mode_t mask = umask(0);
		umask(mask);
		/* There is no file, or a dangling link: replace it. */
		return replace(scratch, path, 0666 & ~mask, bytes);
	}
	if (S_ISDIR(old.st_mode))
		return -EISDIR;
	if (!S_ISREG(old.st_mode))
		return copy_to(scratch, path, bytes);
	char *real = realpath(path, NULL); /* follow a link, so that it stays one */
	if (real == NULL)
		return -errno;
	int r = replace(scratch, real, old.st_mode & 0777, bytes);
	free(real);
	return r;
}
