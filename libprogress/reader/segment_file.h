/* SPDX-License-Identifier: MIT */
/*
 * Another process's file in /dev/shm, opened and read so that it can do no harm: for the readers of
 * libprogress's segments and of juggle's.
 *
 * No mapping: a file that is cut short while it is read gives an error, never SIGBUS. All return 0 or a
 * negative errno code, and may be used by several threads at once.
 */
#ifndef SEGMENT_FILE_H
#define SEGMENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open /dev/shm/NAME.UID.PID. Returns a descriptor; -ENOENT, -EACCES, or -EPERM for what only
 * somebody else can have put there: a link, a socket, a folder. Never waits. */
int segment_file_open(const char *name, uid_t uid, pid_t pid, bool writable);

/* Is it a regular file of that user, for nobody else? -EPERM if not. Sets its size. */
int segment_file_check(int fd, uid_t uid, uint64_t *size_bytes);

/* Read all of it. -EBADMSG when there is less. */
int segment_file_read(int fd, void *buffer, size_t bytes, uint64_t offset);

#endif
