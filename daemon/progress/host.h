/* SPDX-License-Identifier: MIT */
/*
 * Balances the subdomains of programs that publish their progress (libprogress), in a thread of
 * its own: progressive load balancing, once in every period that the program asks for, with
 * at most 1 % of a CPU for all programs together.
 *
 * The scanner hands segments over (progress_finder.h); whichever of the two lets go of a
 * segment last frees it. All claims are given back at the end.
 */
#ifndef JUGGLE_PROGRESS_HOST_H
#define JUGGLE_PROGRESS_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/options.h"
#include "daemon/progress/published.h"
#include "daemon/progress/traced.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/trace/writer.h"
#include "libprogress/reader/reader.h"

struct progress_host;

/* What outlives the host. */
struct progress_host_setup {
	const struct options *options;
	struct telemetry *telemetry;
	struct trace *trace; /* NULL: none */
	struct published *published;
};

enum progress_segment_state {
	PROGRESS_SEGMENT_LIVE,
	PROGRESS_SEGMENT_ENDED, /* the scanner has let go: its process is gone */
	PROGRESS_SEGMENT_DROPPED, /* the host has: closed, or damaged */
};

struct progress_segment {
	pid_t pid;
	_Atomic uint32_t state; /* enum progress_segment_state */
	bool damaged; /* why it was dropped; said already */
	/* The host's: */
	struct progress_reader *reader;
	struct telemetry_progress *shown; /* NULL: there was no slot for it */
	bool balance; /* else only watched */
	struct progress_worker_view *worker; /* scratch */
	struct progress_subdomain_view *subdomain; /* scratch; NULL: no memory, no spread */
	uint32_t *tid; /* of each worker, when they were last looked at */
	struct progress_trace *traced; /* NULL: not in detail */
	/* When to visit it, and when, at a visit, to do each of these: */
	uint64_t due_ns, point_ns, workers_ns, show_ns, closed_ns;
	struct progress_segment *next;
};

/* Start the thread. Returns 0 or a negative errno. */
int progress_host_new(struct progress_host **out, const struct progress_host_setup *setup);
/* Gives claims back and ends the thread. Accepts NULL. Segments that the scanner has not let
 * go of are left in state DROPPED. */
void progress_host_free(struct progress_host *host);

/* Hand over the segment of a process: takes the reader. Returns it, for
 * progress_segment_let_go(), or NULL (no memory), with the reader closed. */
struct progress_segment *progress_host_add(
	struct progress_host *host, pid_t pid, struct progress_reader *reader);

/* Never to be used again by the caller, who says why. The host does so, too. */
void progress_segment_let_go(struct progress_segment *segment, enum progress_segment_state why);

/* Tell once what is wrong with the segment of a process: errors of progress_reader.h. */
void progress_host_tell(const struct options *options, pid_t pid, int error, uint32_t version);

/* When to look at the subdomains again after a look at now_ns: when the trace wants its next sample
 * (sample_ns, progress_trace_next()), or earlier, to show the spread; seldom where there are so many
 * that looks would use up what the host may use. Pure. */
uint64_t progress_host_next_look(uint64_t now_ns, uint32_t subdomains, uint64_t sample_ns);

/* Largest minus smallest number of updates of those that somebody holds. Pure. */
uint64_t progress_host_spread(const struct progress_subdomain_view *subdomain, uint32_t n);

/* When the next points may be, for their CPU time to stay within the share that the host may
 * use: those that began at start_ns have cost cost_ns, the next are due at due_ns. *mean_ns
 * smooths the cost, 0 at first. Pure. */
uint64_t progress_host_pace(
	uint64_t *mean_ns, uint64_t cost_ns, uint64_t start_ns, uint64_t due_ns);

#endif
