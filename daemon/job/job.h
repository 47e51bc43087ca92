/* SPDX-License-Identifier: MIT */
/*
 * The job as the balancer knows it: its threads are found, met and forgotten here. What a thread had
 * before it was touched goes into the ledger, and a line about it into telemetry and the trace.
 *
 * For one thread alone, that of the balancer process (balancer.c). Functions return 0 or a negative
 * errno.
 */
#ifndef JUGGLE_JOB_H
#define JUGGLE_JOB_H

#include <stdbool.h>

#include "daemon/job/roster.h"
#include "daemon/keeper/ledger.h"
#include "daemon/options.h"
#include "daemon/proc/proc.h"
#include "daemon/sample/sampler.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/trace/writer.h"

struct job {
	const struct options *options;
	struct telemetry *telemetry;
	struct ledger *ledger;
	struct trace *trace; /* NULL: none */
	struct sampler *sampler; /* attaches slots */
	struct proc_scan *scan;
	struct roster roster; /* threads that were met */
	bool foreign; /* -p: the process is another user's, what we may move is below it */
	bool gone; /* and nothing of that is left */
	uint32_t slot_search;
	bool warned_full;
	/* CLOCK_MONOTONIC; what the last scan found: */
	uint64_t scan_ns; /* how long it took, without meeting threads */
	uint64_t scanned_ns; /* when that was */
	bool new_processes;
};

/* The job is what lives below the keeper, or the process of -p and what lives below it. The trace may
 * be set later. */
int job_init(struct job *job, const struct options *options, struct telemetry *telemetry,
	struct ledger *ledger, pid_t keeper);
/* Gives back all masks that were changed, and frees what threads were left. Accepts a zeroed job. */
void job_deinit(struct job *job);

/* Look for new threads. usable: the CPUs that threads are confined to, one each. Returns the threads
 * that were met, for a team; NULL: none. */
struct job_thread *job_scan_threads(struct job *job, const struct cpuset *usable);

/* Threads that ended, or will not be balanced any more: frees the list. */
void job_forget(struct job *job, struct job_thread *list);

#endif
