/* SPDX-License-Identifier: MIT */
/*
 * How much others need the CPUs of which the job uses only some, and whether it is time to use some of
 * the rest instead. Where many containers have quotas, they may all begin on the same CPUs. Pure.
 */
#ifndef JUGGLE_OTHERS_H
#define JUGGLE_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/cpuset.h"
#include "daemon/proc/proc.h"

struct others {
	struct proc_cpu_times
		times[CPUSET_CPUS_MAX]; /* for the caller to fill in, before each look */
	/* By the last look, by OS number: */
	struct proc_cpu_times before[CPUSET_CPUS_MAX];
	double share[CPUSET_CPUS_MAX]; /* of a CPU's time, that others had */
	uint64_t run_ns, looked_ns;
	int crowded_looks; /* one after the other */
};

/* Look. used: CPUs that the job's threads are confined to. run_ns: what these have run since any
 * moment. Returns whether, for that many looks, others have needed the used CPUs so much more than some
 * of the rest of these that the job should leave them. */
bool others_look(struct others *others, const struct cpuset *used, const struct cpuset *cpus,
	uint64_t run_ns, uint64_t now_ns, int patience);

/* The share of a CPU in coarse steps, so that small differences don't matter. */
int others_step(const struct others *others, int os_cpu);

#endif
