/* SPDX-License-Identifier: MIT */
/* Which CPUs form a domain: those of each NUMA node that hwloc finds. The only user of hwloc. */
#ifndef JUGGLE_TOPOLOGY_H
#define JUGGLE_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/base/cpuset.h"

struct topology_cpu {
	int32_t os_cpu;
	int32_t domain; /* 0, 1, ... in the order of the CPUs; not the number of a NUMA node */
};

struct topology {
	struct topology_cpu *cpu; /* sorted by domain, then os_cpu */
	size_t cpus;
	size_t domains;
};

/* Sort the CPUs of a mask into domains. With `joint` all are in one. CPUs that hwloc does not know
 * form a domain of their own. Takes some milliseconds. Returns 0, -EINVAL for an empty mask, or
 * -ENOMEM. Free with topology_deinit(). */
int topology_init(struct topology *topology, const struct cpuset *cpus, int joint);
/* Accepts a zeroed object. */
void topology_deinit(struct topology *topology);

#endif
