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

/* Open /dev/shm/NAME.UID.PID. Returns a descriptor, -ENOENT, -EACCES, or -EPERM for a link, a
 * socket or a folder, which only somebody else can have put there. Never waits. */
int segment_file_open(const char *name, uid_t uid, pid_t pid, bool writable);

/* Check that the file is a regular one of that user, and closed to all others; -EPERM if not. Sets
 * *size_bytes. */
int segment_file_check(int fd, uid_t uid, uint64_t *size_bytes);

/* Read exactly that many bytes. -EBADMSG when the file has fewer. */
int segment_file_read(int fd, void *buffer, size_t bytes, uint64_t offset);

#endif
