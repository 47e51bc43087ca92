/* SPDX-License-Identifier: MIT */
/*
 * A thread of the job as the balancer knows it. Made by the scanner, handed to a team,
 * handed back when it has ended; at any time one of the two owns it.
 */
#ifndef JUGGLE_WORKER_H
#define JUGGLE_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/options.h"
#include "daemon/policy/policy.h"
#include "daemon/progress/published.h"
#include "daemon/sample/sampler.h"
#include "daemon/telemetry/telemetry.h"

struct worker {
	struct sampler_slot slot;
	uint64_t start_ticks;
	int ledger; /* its entry */
	struct telemetry_thread *shown; /* NULL: there was no slot for it */
	struct policy_idle idle;
	bool idle_by_rule; /* --idle names it: always idle */
	bool compute_by_rule; /* --idle excludes the test: never idle */
	enum published_role role; /* what its process tells of it, and, if it is a worker: */
	bool balanced; /* its subdomains move */
	bool counted; /* the total below is valid */
	uint64_t updates; /* at the last look */
	int64_t gained; /* of them since the look before; -1: not known */
	uint64_t met_ns;
	bool renamed; /* its name was looked at again, after the exec that may follow a fork */
	bool off_limits; /* we may not touch it */
	bool chosen; /* its team was picked for it: it is a compute thread there */
	bool seen; /* the totals below are valid */
	uint64_t run_ns; /* totals at the last look */
	uint64_t wait_ns;
	uint64_t slices;
	uint64_t progress;
	uint64_t left_run_ns; /* total when it was last moved, away from the CPU with index ... */
	int32_t left_cpu;
	uint64_t looked_ns; /* when that was */
	uint64_t blocks; /* times it went to sleep, when window ... */
	uint64_t blocks_window; /* ... of this number began */
	uint64_t migrations;
	_Atomic bool pinned; /* was ever confined, by us or from birth; read by the scanner */
	struct worker *next; /* in a list that changes hands */
};

/* What --idle says of a thread of that name: sets idle_by_rule and compute_by_rule. */
void worker_apply_idle_rule(struct worker *worker, const struct options *options, const char *comm);

/* Show its name, with what could break a line of text, or JSON, replaced. */
void worker_show_comm(struct worker *worker, const char *comm);

#endif
