/* SPDX-License-Identifier: MIT */
/*
 * Keeping a thread off a CPU on which it had to wait. The kernel wakes a thread where it ran last, even if
 * a real-time thread or a hypervisor has taken that CPU for long. Where the other CPUs are busy, it leaves
 * it there for half a second and longer; and where groups of threads share them (control groups, sessions), it
 * has let a whole group wait on one CPU for 30 seconds (Linux 6.18, beside threads that yield). So watchers,
 * threads on two CPUs, take it away when it is late: when it doesn't wake, and when it doesn't sleep again.
 */
#ifndef JUGGLE_TEAM_SHUN_H
#define JUGGLE_TEAM_SHUN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"

enum { SHUN_WATCHERS = 2 }; /* one of them is not where the thread is */

struct shun {
	int timer; /* timerfd: setting it wakes nobody; -1: nobody watches */
	pthread_t watcher[SHUN_WATCHERS];
	size_t watchers;
	pid_t pid, tid; /* of the thread */
	struct cpuset mask; /* its own, otherwise */
	int slept_on; /* the CPU where the thread went to sleep */
	pthread_mutex_t lock; /* of all that follows */
	bool end; /* of the watchers */
	uint64_t due_ns; /* when the thread is to wake, or to sleep again; 0: nothing is watched */
	uint64_t woke_ns; /* since then it is awake, or where it is now; 0: it sleeps */
	bool moved; /* by a watcher, since the thread last woke */
	int os_cpu; /* shunned; -1: none */
	uint64_t late_ns; /* how long the thread waited there */
	uint64_t until_ns;
};

/* For the calling thread, before its first sleep. Starts the watchers; without them, all else works. The
 * object must not move. */
void shun_init(struct shun *shun);
/* Ends the watchers, from any thread. */
void shun_deinit(struct shun *shun);

/* The following are for the thread that called shun_init(). */

/* Others have taken that CPU. */
void shun_taken(struct shun *shun, int os_cpu, uint64_t now_ns);
/* Before each sleep that is to end at that time of CLOCK_MONOTONIC, or earlier (0: watch nothing). */
void shun_sleep(struct shun *shun, uint64_t due_ns);
/* After it, when the thread runs that much later than it wanted to. From then on it is watched until it sleeps
 * again. */
void shun_wake(struct shun *shun, uint64_t late_ns, uint64_t now_ns);

#endif
