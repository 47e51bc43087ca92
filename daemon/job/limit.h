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
#include "daemon/job/others.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/topology/topology.h"

struct limit {
	struct quota quota;
	struct telemetry *telemetry; /* where the quota and the throttled time are shown */
	uint64_t start_ns, looked_ns;
	bool looked;
	/* NULL: all CPUs were used until now, and so what others run on them does not matter. */
	struct others *others;
	int left; /* how often CPUs were left to others */
};

void limit_init(struct limit *limit, struct telemetry *telemetry, uint64_t now_ns);
/* Accepts a zeroed one. */
void limit_deinit(struct limit *limit);

/* Is it time for a look? Once a second; more often at first, as a job may begin by moving to another
 * group. */
bool limit_due(const struct limit *limit, uint64_t now_ns);

/* Look, and show it. pid: the job's main process. When it is gone, all remains as it was. */
void limit_look(struct limit *limit, pid_t pid, uint64_t now_ns);

/* After each look: should other CPUs of these be used instead, as others need those that are? */
bool limit_is_crowded(struct limit *limit, const struct cpuset *used, const struct cpuset *cpus);

/* Reduce a set of CPUs to as many as the quota allows. setup: as for topology_init(). */
void limit_cut(const struct limit *limit, const struct topology_setup *setup, struct cpuset *cpus);

#endif
