/* SPDX-License-Identifier: MIT */
/*
 * Reading small files of /proc, for the files of this folder: the one place that knows which errno
 * means that a task is gone.
 */
#ifndef JUGGLE_PROC_READ_H
#define JUGGLE_PROC_READ_H

#include <stddef.h>
#include <sys/types.h>

struct proc_thread;

/* A stat line has 52 numbers and a short name: at most some 1,150 bytes. */
#define PROC_STAT_BYTES 2048
/* "2147483647/task/2147483647/children" and to spare. */
#define PROC_PATH_BYTES 64

/* For __attribute__((cleanup)): closes a descriptor unless it is negative. */
void proc_close_fd(const int *fd);

/* Open path below dirfd for reading. Returns a descriptor that the caller closes,
 * -ESRCH when the task or file isn't there, or another negative errno. */
int proc_open_at(int dirfd, const char *path, int flags);

/* Fill buffer from fd's position to the end of the file, or until it is full. Returns
 * the number of bytes, -ESRCH when the task is gone, or another negative errno. */
ssize_t proc_read_fd(int fd, char *buffer, size_t bytes);

/* Read the stat file at path below dirfd; sets all of *out but pid. Returns 0, -ESRCH,
 * -EBADMSG, or another negative errno. */
int proc_read_stat_at(int dirfd, const char *path, struct proc_thread *out);

#endif
