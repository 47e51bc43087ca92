/* SPDX-License-Identifier: MIT */
/* How much of the time of each CPU the hypervisor takes, by /proc/stat. */
#ifndef JUGGLE_TEAM_STOLEN_H
#define JUGGLE_TEAM_STOLEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/proc/proc.h"

struct stolen {
	/* By OS number, in thousandths, in steps that are large enough to act on. One thread writes,
	 * any may read. */
	_Atomic uint32_t share[CPUSET_CPUS_MAX];
	struct {
		struct proc_cpu_times times; /* at the last look */
		double share; /* smoothed */
	} cpu[CPUSET_CPUS_MAX];
	bool any; /* the hypervisor ever took something */
	uint64_t look_ns; /* no earlier look is due */
};

/* Look again, if it is time to. */
void stolen_look(struct stolen *stolen, uint64_t now_ns);

/* Take in the times of a CPU, as stolen_look() does, at most every half second. */
void stolen_take(struct stolen *stolen, int32_t os_cpu, const struct proc_cpu_times *times);

static inline uint32_t stolen_of(const struct stolen *stolen, int32_t os_cpu)
{
	return atomic_load_explicit(&stolen->share[os_cpu], memory_order_relaxed);
}

#endif
