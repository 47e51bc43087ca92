/* SPDX-License-Identifier: MIT */
/*
 * What the trace records of an interval: all that is new in the observation and the decision, so
 * that the same policy makes the same decisions when the trace is replayed (juggle(1), TRACE
 * FORMAT). All functions accept a NULL trace and are thread-safe.
 */
#ifndef JUGGLE_TRACE_WRITE_POINT_H
#define JUGGLE_TRACE_WRITE_POINT_H

#include "daemon/policy/policy.h"
#include "daemon/topology/topology.h"
#include "daemon/trace/writer.h"

/* Record the CPUs and domains from now on. */
void trace_cpus(struct trace *trace, uint64_t now_ns, const struct topology *topology);

/* Record that this policy begins to balance its domain. Call it after policy_init(). */
void trace_team(struct trace *trace, const struct policy *policy);

/* Record an interval. Call it after policy_step() with that observation, before rows are
 * removed. */
void trace_point(struct trace *trace, const struct policy *policy,
	const struct policy_observation *observation);

#endif
