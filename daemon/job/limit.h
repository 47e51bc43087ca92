/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs the quota of the job's control groups leaves it: more would run only to be throttled
 * together sooner. The quota is that of the job's main process; juggle may be in another group. Not
 * thread-safe.
 */
#ifndef JUGGLE_LIMIT_H
#define JUGGLE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"
#include "daemon/base/quota.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/topology/topology.h"

struct limit {
	struct quota quota;
	struct telemetry *telemetry; /* where the quota and the throttled time are shown */
	uint64_t start_ns, looked_ns;
	bool looked;
};

void limit_init(struct limit *limit, struct telemetry *telemetry, uint64_t now_ns);

/* Is it time for a look? Once a second; more often at first, as a job may begin by moving to another
 * group. */
bool limit_due(const struct limit *limit, uint64_t now_ns);

/* Look, and show it. pid: the job's main process. When it is gone, all remains as it was. */
void limit_look(struct limit *limit, pid_t pid, uint64_t now_ns);

/* Reduce a set of CPUs to as many as the quota allows. setup: as for topology_init(). */
void limit_cut(const struct limit *limit, const struct topology_setup *setup, struct cpuset *cpus);

#endif
