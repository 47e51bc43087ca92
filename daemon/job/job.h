/* SPDX-License-Identifier: MIT */
/*
 * The job: how its threads are found, met and forgotten. Meeting a thread records its affinity mask
 * in the ledger, and shows the thread in telemetry and the trace.
 *
 * Only for the balancer's main thread (balancer.c). Functions return 0 or a negative errno.
 */
#ifndef JUGGLE_JOB_H
#define JUGGLE_JOB_H

#include <stdbool.h>

#include "daemon/job/ledger.h"
#include "daemon/job/roster.h"
#include "daemon/options.h"
#include "daemon/proc/proc.h"
#include "daemon/sample/sampler.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/trace/writer.h"

struct job {
	const struct options *options;
	struct telemetry *telemetry;
	int telemetry_fd; /* of its file; negative: there is none */
	struct ledger *ledger;
	struct trace *trace; /* NULL: none */
	const struct told *told; /* NULL: nothing is */
	struct sampler *sampler; /* attaches slots */
	struct proc_scan *scan;
	struct roster roster; /* threads that were met */
	bool foreign; /* -p: the process is another user's; only processes below it are balanced */
	bool gone; /* foreign, and none of those is left */
	uint32_t slot_search; /* where to look for the next slot of telemetry */
	uint32_t listed; /* how many of those the roster has taken */
	bool warned_full;
	/* Of the last scan: */
	uint64_t last_scan_ns; /* the CPU time that it took, without meeting threads */
	uint64_t
		scan_ns; /* the same of the cheaper of the last two: new threads are read but once */
	uint64_t scanned_ns; /* when it was, by CLOCK_MONOTONIC */
	bool new_processes; /* it found some */
};

/* The job is all processes below the keeper; with -p, that process and all below it. The trace,
 * what is told, and the file of telemetry may be set later. */
int job_init(struct job *job, const struct options *options, struct telemetry *telemetry,
	struct ledger *ledger, pid_t keeper);
/* Restores all masks that were changed, and frees the threads that are left. Accepts a zeroed
 * job. */
void job_deinit(struct job *job);

enum job_scan_reason {
	JOB_SCAN_EAGER, /* there may be new threads, and the job is starting */
	JOB_SCAN_WANTED, /* there may be new threads */
	JOB_SCAN_ANYWAY, /* nothing tells of any, but births can be missed, and threads of others become ours */
};

/* When is the next scan due? The more it takes, the later. */
uint64_t job_next_scan_ns(const struct job *job, enum job_scan_reason reason);

/* Look for new threads. Returns the list of
 * new threads, for a team; NULL: none. */
struct job_thread *job_scan_threads(struct job *job);

/* Which of its own CPUs can juggle use? All that its cpuset leaves to any process that computes: see
 * reach_find(). For the time when no thread is confined, and the caller owns them all. */
void job_find_usable(struct job *job, const struct cpuset *own, struct cpuset *usable);

/* Forget, and free, a list of threads that ended or won't be balanced any more. */
void job_forget(struct job *job, struct job_thread *list);

#endif
