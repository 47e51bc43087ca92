/* SPDX-License-Identifier: MIT */
/*
 * A finer scheduler tick, from user space.
 *
 * Threads that spin at a barrier keep their CPU until the kernel's tick (4 ms with HZ=250)
 * takes it from them, while the thread they wait for queues behind them. A ticker wakes on one
 * CPU, does nothing, and sleeps again: that makes the kernel choose anew whom to run. It also shows
 * that the CPU has not been taken by others.
 */
#ifndef JUGGLE_TICKER_H
#define JUGGLE_TICKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"

struct ticker {
	pthread_t thread;
	bool started;
	int os_cpu;
	uint64_t period_ns;
	_Atomic uint32_t state; /* futex */
	_Atomic uint32_t ran; /* 1 when it has, while on */
	_Atomic uint32_t tid; /* futex */
	struct cpuset mask; /* of the thread that started it */
};

/* Start a ticker for a CPU; it is off. The object must not move. Returns 0 or a negative
 * errno. */
int ticker_init(struct ticker *ticker, int os_cpu, uint64_t period_ns);
/* Has it run since the call before? */
bool ticker_ran(struct ticker *ticker);
/* Ends the thread; takes up to a period. Accepts a zeroed object. */
void ticker_deinit(struct ticker *ticker);
/* Cheap when nothing changes. Not to be called by several threads at a time. */
void ticker_set(struct ticker *ticker, bool on);

#endif
