/* SPDX-License-Identifier: MIT */
#include "libprogress/reader/segment_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm"
#define DESCRIPTORS_MOST                                                                           \
	1024 /* of a process, that are looked at: whoever has a million can't keep us busy */

/* O_NONBLOCK: a FIFO that somebody put there must not hold us up. */
static int flags(bool writable)
{
	return (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
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

/* Does an open file belong to that process? It may also have inherited its parent's. */
static bool is_of(int fd, const struct segment_file_kind *kind, uid_t uid, pid_t pid)
{
	uint64_t size_bytes, magic;
	int32_t owner;

	return segment_file_check(fd, uid, &size_bytes) == 0 &&
	       segment_file_read(fd, &magic, sizeof magic, 0) == 0 && magic == kind->magic &&
	       segment_file_read(fd, &owner, sizeof owner, kind->pid_offset) == 0 && owner == pid;
}

/* Is an open file of a process one without a name in that folder? Says so without opening it, nor asking a
 * server of files that may never answer. */
static bool is_unnamed_in(const struct statx *folder, int files, const char *name)
{
	struct statx file;

	return statx(files, name, AT_STATX_DONT_SYNC, STATX_NLINK, &file) == 0 &&
	       file.stx_nlink == 0 && file.stx_dev_major == folder->stx_dev_major &&
	       file.stx_dev_minor == folder->stx_dev_minor;
}

int segment_file_open_unnamed(const struct segment_file_kind *kind, uid_t uid, pid_t pid,
	bool writable, char path[SEGMENT_FILE_PATH_BYTES])
{
	const struct dirent *file;
	struct statx shm;
	char folder[32];
	int found = -1, seen = 0;

	/* Names of 65,000 processes that are not there shall not take long. */
	if ((kill(pid, 0) < 0 && errno == ESRCH) || statx(AT_FDCWD, FOLDER, 0, 0, &shm) < 0)
		return -ENOENT;
	snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
	DIR *files = opendir(folder);
	while (files != NULL && found < 0 && seen++ < DESCRIPTORS_MOST &&
		(file = readdir(files)) != NULL) {
		if (!is_unnamed_in(&shm, dirfd(files), file->d_name))
			continue;
		found = openat(dirfd(files), file->d_name, flags(writable));
		if (found >= 0 && is_of(found, kind, uid, pid)) {
			snprintf(path, SEGMENT_FILE_PATH_BYTES, "%s/%.20s", folder, file->d_name);
		} else if (found >= 0) {
			close(found);
			found = -1;
		}
	}
	if (files != NULL)
		closedir(files);
	return found >= 0 ? found : -ENOENT;
}

int segment_file_open(const struct segment_file_kind *kind, uid_t uid, pid_t pid, bool writable)
{
	char path[SEGMENT_FILE_PATH_BYTES];
	uint64_t size_bytes;
	struct stat st;

	snprintf(path, sizeof path, FOLDER "/%s.%u.%d", kind->name, (unsigned)uid, (int)pid);
	int fd = open(path, flags(writable) | O_NOFOLLOW);
	int error = fd < 0 ? -errno : segment_file_check(fd, uid, &size_bytes);
	if (error == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	if (error == -ENOENT)
		return error;
	bool planted = lstat(path, &st) == 0 && st.st_uid != uid && st.st_uid != 0;
	fd = segment_file_open_unnamed(kind, uid, pid, writable, path);
	if (fd >= 0 || planted)
		return fd;
	return error == -ELOOP || error == -ENXIO || error == -EISDIR ? -EPERM : error;
}

bool segment_file_removed(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return true;
	return st.st_nlink == 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
}
