/* SPDX-License-Identifier: MIT */
/* The CPUs to use: which of them form a domain, which share a core or a cache, and how fast they are. Its
 * source file is the only user of hwloc. */
#ifndef JUGGLE_TOPOLOGY_H
#define JUGGLE_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/base/cpuset.h"

struct topology_cpu {
	int32_t os_cpu;
	int32_t domain; /* 0, 1, ... in the order of the CPUs; not the number of a NUMA node */
	int32_t core; /* 0, 1, ...; hardware threads of one core share it */
	int32_t cache; /* 0, 1, ...; the last-level cache, as for TOPOLOGY_LLC */
	double speed; /* of a thread that has the CPU, and its core, for itself; the fastest has 1 */
};

struct topology {
	struct topology_cpu *cpu; /* sorted by domain, then os_cpu */
	size_t cpus;
	size_t domains;
	/* "equal" (or nothing is known), "option", "cpu_capacity", "CPU kinds", "CPPC" or
	 * "frequency"; a constant */
	const char *speeds_from;
};

/* In thousandths, at least 1: as policies, traces and telemetry have it. */
static inline uint32_t topology_speed(const struct topology_cpu *cpu)
{
	return cpu->speed > 0.001 ? (uint32_t)(1000 * cpu->speed + 0.5) : 1;
}

enum topology_domains {
	TOPOLOGY_SPLIT, /* a domain for each NUMA node */
	TOPOLOGY_LLC, /* for each last-level cache; a NUMA node where there is none beyond L1 */
	TOPOLOGY_JOINT, /* one for all CPUs */
};

/* The words of --domains, in the order of the enum, and NULL. */
extern const char *const topology_domains_names[];

struct topology_setup {
	enum topology_domains domains;
	/* Of --speeds, NULL without: speed[i] is that of the ith CPU of this set. */
	const double *speed;
	const struct cpuset *speed_cpus;
	const char *sysfs; /* NULL: /sys */
};

/* Look at the CPUs of a mask. CPUs that hwloc does not know form a domain of their own, and each has
 * a core of its own. Takes some milliseconds. Returns 0, -EINVAL for an empty mask, or -ENOMEM. Free
 * with topology_deinit(). */
int topology_init(
	struct topology *topology, const struct cpuset *cpus, const struct topology_setup *setup);
/* Accepts a zeroed object. */
void topology_deinit(struct topology *topology);

/* Does the system tell without hwloc that CPUs of the mask differ in speed? Reads a file or two for each. */
bool topology_speeds_differ(const struct cpuset *cpus, const struct topology_setup *setup);

#endif
