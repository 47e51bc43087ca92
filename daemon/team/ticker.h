/* SPDX-License-Identifier: MIT */
/*
 * A finer scheduler tick, from user space.
 *
 * Threads that spin at a barrier keep their CPU until the kernel's tick (4 ms with HZ=250)
 * takes it from them, while the thread they wait for queues behind them; and those that share a CPU
 * in a short phase take no turns at all. A ticker wakes on one CPU, does nothing, and sleeps again:
 * that makes the kernel choose anew whom to run. It also shows that the CPU has not been taken by others.
 */
#ifndef JUGGLE_TICKER_H
#define JUGGLE_TICKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ticker {
	int os_cpu;
	pthread_t thread;
	bool started; /* the thread has been; when the ticker was first on */
	bool failed; /* it could not be */
	int timer; /* timerfd: setting it wakes nobody */
	uint64_t at_ns, gap_ns; /* to which it is set; 0 and 0: it is off */
	_Atomic bool end;
	_Atomic bool ran;
};

/* A ticker for a CPU, which is off. Its thread begins when it is first on: most jobs need none. From then on the object
 * must not move. */
void ticker_init(struct ticker *ticker, int os_cpu);
/* Has it run since the call before? One whose thread could not be started counts as one that runs, as nothing shows
 * that its CPU has been taken. */
bool ticker_ran(struct ticker *ticker);
/* Ends the thread. Accepts a zeroed object. */
void ticker_deinit(struct ticker *ticker);

/* These two are cheap when nothing changes, and not to be called by several threads at a time. */

/* Run now, and each period from then on. */
void ticker_run(struct ticker *ticker, uint64_t period_ns);
/* Run at that time of CLOCK_MONOTONIC, and again after each gap (0: once). At 0: be off. */
void ticker_run_at(struct ticker *ticker, uint64_t at_ns, uint64_t gap_ns);

#endif
