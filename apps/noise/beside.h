/* SPDX-License-Identifier: MIT */
/*
 * A process beside this one, which is to become a command that knows of none: it is no child of the
 * command's, gets no signal for its process group, holds none of its files, and ends with it.
 */
#ifndef NOISE_BESIDE_H
#define NOISE_BESIDE_H

#include <stdint.h>

struct beside {
	int starter; /* pidfd of the process that forked */
	int ready; /* a pipe's end */
};

/* To be called before there are threads. Returns 0 in the new process, 1 in the caller, which has
 * to beside_await() it, or a negative errno (-ENOSYS before Linux 5.3). */
int beside_fork(struct beside *beside);

/* The caller: wait until the other is ready. Returns 0, -ECHILD when it ended before that,
 * -EAGAIN when it could not be forked. */
int beside_await(struct beside *beside);

/* The new process: let go of standard streams and files, and say that it is ready. Returns 0 or a
 * negative errno. */
int beside_ready(struct beside *beside);

/* The new process, when ready: wait for the end of the other, for so long at most (0: for ever). */
void beside_wait(const struct beside *beside, uint64_t timeout_ns);

#endif
