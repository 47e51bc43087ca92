/* SPDX-License-Identifier: MIT */
/*
 * Keeping off a CPU on which the calling thread had to wait. The kernel wakes a thread where it ran
 * last, even if a real-time thread or a hypervisor has taken that CPU for long, and may leave it
 * there for a tenth of a second.
 */
#ifndef JUGGLE_TEAM_SHUN_H
#define JUGGLE_TEAM_SHUN_H

#include <stdint.h>

#include "daemon/base/cpuset.h"

struct shun {
	struct cpuset mask; /* of the thread, otherwise */
	int os_cpu; /* shunned; -1: none */
	uint64_t late_ns; /* how long the thread waited there */
	uint64_t until_ns;
	int slept_on; /* the CPU where the thread went to sleep */
};

/* For the calling thread, before its first sleep. */
void shun_init(struct shun *shun);
/* Others have taken that CPU. */
void shun_taken(struct shun *shun, int os_cpu, uint64_t now_ns);
/* Before each sleep. */
void shun_sleep(struct shun *shun);
/* After it, when the thread runs that much later than it wanted to. */
void shun_wake(struct shun *shun, uint64_t late_ns, uint64_t now_ns);

#endif
