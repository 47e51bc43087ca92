/* SPDX-License-Identifier: MIT */
#include "libprogress/reader/segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int segment_file_open(const char *name, uid_t uid, pid_t pid, bool writable)
{
	char path[64];

	snprintf(path, sizeof path, "/dev/shm/%s.%u.%d", name, (unsigned)uid, (int)pid);
	/* O_NONBLOCK: a FIFO that somebody put there must not hold us up. */
	int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ELOOP || errno == ENXIO || errno == EISDIR ? -EPERM : -errno;
}

int segment_file_check(int fd, uid_t uid, uint64_t *size_bytes)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != uid || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return -EPERM;
	*size_bytes = (uint64_t)st.st_size;
	return 0;
}

int segment_file_read(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, buffer, bytes, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == bytes ? 0 : -EBADMSG;
}
