/* SPDX-License-Identifier: MIT */
/*
 * Has the calling thread been on its CPU all the time? The kernel tells without a system call, by the
 * area for restartable sequences that the C library registers for each thread (2.35 and later).
 */
#ifndef LIBPHASES_PREEMPT_H
#define LIBPHASES_PREEMPT_H

#include <stdbool.h>

/* Begin to watch the calling thread. */
void preempt_watch(void);

/* Whether the calling thread has neither lost its CPU nor been interrupted by a signal since
 * preempt_watch(). False where that isn't known, as from Linux 6.19 on. */
bool preempt_never(void);

#endif
