/* SPDX-License-Identifier: MIT */
/*
 * Balances the subdomains of programs that publish their progress (libprogress), in a thread of its
 * own: progressive load balancing, once in every period that the program asks for, with at most 1 %
 * of a CPU for all programs together.
 *
 * The finder (finder.h) opens segments and gives them to the host. A segment is freed when both
 * have released it. At its end the host gives all claims back.
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

/* These objects must outlive the host. */
struct progress_host_setup {
	const struct options *options;
	struct telemetry *telemetry;
	struct trace *trace; /* NULL: none */
	struct published *published;
};

enum progress_segment_state {
	PROGRESS_SEGMENT_LIVE,
	PROGRESS_SEGMENT_ENDED, /* the finder has released it: its process is gone */
	PROGRESS_SEGMENT_DROPPED, /* the host has released it: it was closed, or is damaged */
};

struct progress_segment {
	pid_t pid;
	_Atomic uint32_t state; /* enum progress_segment_state */
	bool damaged; /* the host dropped it as damaged, and said so */
	/* Only for the host: */
	struct progress_reader *reader;
	struct telemetry_progress *shown; /* NULL: telemetry was full */
	bool balance; /* false: only watch it */
	struct progress_worker_view *worker; /* scratch */
	struct progress_subdomain_view *subdomain; /* scratch; NULL: no memory, no spread */
	uint32_t *tid; /* of each worker, as last read */
	struct progress_trace *traced; /* NULL: the trace has no details of it */
	/* When the next visit is due, and when, at a visit, each of its tasks is due: */
	uint64_t due_ns, point_ns, workers_ns, show_ns, closed_ns;
	struct progress_segment *next;
};

/* Start the thread. Returns 0 or a negative errno. */
int progress_host_new(struct progress_host **out, const struct progress_host_setup *setup);
/* Gives claims back and ends the thread. Accepts NULL. Segments that the finder has not released
 * remain, in state DROPPED. */
void progress_host_free(struct progress_host *host);

/* Give the segment of a process to the host, which takes over the reader. Returns the segment, to
 * be released by progress_segment_release(); or NULL without memory, with the reader closed. */
struct progress_segment *progress_host_add(
	struct progress_host *host, pid_t pid, struct progress_reader *reader);

/* The caller (the finder or the host) will not use the segment any more, and says why. The second
 * call frees it. */
void progress_segment_release(struct progress_segment *segment, enum progress_segment_state why);

/* Print why the segment of a process can't be used. `error` is one of progress_reader_open(). */
void progress_host_warn(const struct options *options, pid_t pid, int error, uint32_t version);

/* When to read the subdomains again after now_ns: when the trace needs its next sample (sample_ns,
 * from progress_trace_next()), or earlier to show the spread. With many subdomains the spread is
 * shown less often, to stay within the host's share of CPU time. Pure. */
uint64_t progress_host_next_look(uint64_t now_ns, uint32_t subdomains, uint64_t sample_ns);

/* Of the subdomains that have a holder: how many they are, and the smallest and the largest number of
 * updates; all 0 when none has. Pure. */
struct progress_host_held {
	uint64_t held, least, most;
};
struct progress_host_held progress_host_held(
	const struct progress_subdomain_view *subdomain, uint32_t n);

/* When the next points may begin, for the host to stay within its share of CPU time. The last ones
 * began at start_ns and cost cost_ns; the next are due at due_ns. *mean_ns keeps the smoothed cost,
 * 0 at first. Pure. */
uint64_t progress_host_pace(
	uint64_t *mean_ns, uint64_t cost_ns, uint64_t start_ns, uint64_t due_ns);

#endif
