/* SPDX-License-Identifier: MIT */
/*
 * Opening and reading another process's file in /dev/shm so that it can do no harm, for the readers
 * of libprogress's segments and of juggle's.
 *
 * It uses no mapping, so that a file that is cut short meanwhile gives an error, never SIGBUS. All
 * functions return 0 or a negative errno code, and are thread-safe.
 */
#ifndef SEGMENT_FILE_H
#define SEGMENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What to know of a kind of files: the beginning of their names, and where their content says whose
 * they are. */
struct segment_file_kind {
	const char *name;
	uint64_t magic; /* the first eight bytes */
	size_t pid_offset; /* of an int32_t */
};

enum { SEGMENT_FILE_PATH_BYTES = 64 };

/* Open the file of a process: /dev/shm/NAME.UID.PID, or, where another user has taken this name, the one
 * without a name that the process keeps open there. Returns a descriptor, -ENOENT, -EACCES, or
 * -EPERM for a link, a socket or a folder. Never waits. */
int segment_file_open(const struct segment_file_kind *kind, uid_t uid, pid_t pid, bool writable);

/* Open the one without a name, and set its path. Returns a descriptor or -ENOENT. */
int segment_file_open_unnamed(const struct segment_file_kind *kind, uid_t uid, pid_t pid,
	bool writable, char path[SEGMENT_FILE_PATH_BYTES]);

/* Is the file of no use any more? It has no name, and no living process keeps its lock. */
bool segment_file_removed(int fd);

/* Check that the file is a regular one of that user, and closed to all others; -EPERM if not. Sets
 * *size_bytes. */
int segment_file_check(int fd, uid_t uid, uint64_t *size_bytes);

/* Read exactly that many bytes. -EBADMSG when the file has fewer. */
int segment_file_read(int fd, void *buffer, size_t bytes, uint64_t offset);

#endif
