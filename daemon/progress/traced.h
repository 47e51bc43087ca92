/* SPDX-License-Identifier: MIT */
/*
 * What the trace records of a program that publishes its progress: the owners of its subdomains,
 * their moves, and samples of who holds each subdomain and how far it has come (juggle(1), TRACE
 * FORMAT).
 *
 * Moves are recorded as they are made. The rest is recorded at most every 50 ms, and at most at
 * 10,000 numbers a second for each process, to bound the size of the trace and the host's CPU time.
 */
#ifndef JUGGLE_PROGRESS_TRACE_H
#define JUGGLE_PROGRESS_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/trace/writer.h"
#include "libprogress/reader/reader.h"

/* For larger programs only the number of moves is recorded. */
#define PROGRESS_TRACE_SUBDOMAINS_MAX 65536u

/* The largest count that readers of traces accept. Larger ones, from damaged segments, are recorded
 * as this. */
#define PROGRESS_TRACE_UPDATES_MAX ((UINT64_C(1) << 62) - 1)

/* What is recorded of one process. */
struct progress_trace;

/* Returns NULL without a trace, without memory, or for a program that is too large. The other
 * functions accept NULL, and record what they can. Freed by progress_trace_free(). */
struct progress_trace *progress_trace_new(
	struct trace *trace, pid_t pid, const struct progress_info *info);
void progress_trace_free(struct progress_trace *p);

/* Record moves that were made. */
void progress_trace_moves(struct progress_trace *p, struct trace *trace, pid_t pid, uint64_t now_ns,
	const struct policy_plb_move *move, uint32_t moves);

/* Record what was read of all workers and subdomains. Before the next sample is due it records
 * nothing, except at the last look. Owners are recorded the first time, and when they differ from
 * those in the trace; holders as long as a subdomain has another one than its owner, and once
 * more. */
void progress_trace_look(struct progress_trace *p, uint64_t now_ns,
	const struct progress_worker_view *worker, const struct progress_subdomain_view *subdomain,
	bool last);

/* When the next sample is due; UINT64_MAX: never. Pure. */
uint64_t progress_trace_next(const struct progress_trace *p);

#endif
