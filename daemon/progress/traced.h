/* SPDX-License-Identifier: MIT */
/*
 * What the trace tells of a program that publishes its progress: who owns its subdomains, who gets
 * one from whom, and samples of how far each has come (juggle(1), TRACE FORMAT).
 *
 * Moves are told as they are made. Owners and updates are told now and then, at most every 50 ms
 * and in all 10,000 numbers a second for each process, so that neither the trace nor the time that
 * its host may use goes into them.
 */
#ifndef JUGGLE_PROGRESS_TRACE_H
#define JUGGLE_PROGRESS_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/trace/writer.h"
#include "libprogress/reader/reader.h"

/* Of larger programs only the number of moves is told. */
#define PROGRESS_TRACE_SUBDOMAINS_MAX 65536u

/* Larger counts, of damaged segments, are told as this: what a reader of traces takes. */
#define PROGRESS_TRACE_UPDATES_MAX ((UINT64_C(1) << 62) - 1)

/* Of one process. */
struct progress_trace;

/* Returns NULL without a trace, for a program that is too large, or without memory; the others
 * accept that, and tell what can be told without. To be freed by progress_trace_free(). */
struct progress_trace *progress_trace_new(
	struct trace *trace, pid_t pid, const struct progress_info *info);
void progress_trace_free(struct progress_trace *p);

/* These moves have been made. */
void progress_trace_moves(struct progress_trace *p, struct trace *trace, pid_t pid, uint64_t now_ns,
	const struct policy_plb_move *move, uint32_t moves);

/* All subdomains were read, perhaps too early for the next sample: then nothing is told, but at the
 * last look. Owners are told at first, and when they are not those that the trace says. */
void progress_trace_look(struct progress_trace *p, uint64_t now_ns,
	const struct progress_subdomain_view *subdomain, bool last);

/* When the next sample is wanted; UINT64_MAX: never. Pure. */
uint64_t progress_trace_next(const struct progress_trace *p);

#endif
