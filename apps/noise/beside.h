/* SPDX-License-Identifier: MIT */
/*
 * A process beside this one, which is about to become a command that must not notice it. So the new
 * process is not a child of the command, gets no signals for its process group, holds none of its
 * files open, and ends with it.
 */
#ifndef NOISE_BESIDE_H
#define NOISE_BESIDE_H

#include <stdint.h>

struct beside {
	int starter; /* pidfd of the process that forked */
	int ready; /* a pipe's end */
};

/* Call it before there are threads. Returns 0 in the new process; 1 in the caller, which must call
 * beside_await(); or a negative errno (-ENOSYS before Linux 5.3). */
int beside_fork(struct beside *beside);

/* In the caller: wait until the new process is ready. Returns 0, -ECHILD when it ended before that,
 * -EAGAIN when it could not be forked. */
int beside_await(struct beside *beside);

/* In the new process: close standard streams and files, and report that it is ready. Returns 0 or a
 * negative errno. */
int beside_ready(struct beside *beside);

/* In the new process, when ready: wait for the end of the other, at most that long (0: for
 * ever). */
void beside_wait(const struct beside *beside, uint64_t timeout_ns);

#endif
