/* SPDX-License-Identifier: MIT */
/*
 * The threads of a trace as stays: a thread, a CPU, from when to when. All pictures of where
 * threads were begin with these. Pure, except for memory.
 */
#ifndef PLOT_STAYS_H
#define PLOT_STAYS_H

#include "daemon/trace/reader.h"

#define PLOT_HIDDEN UINT32_MAX

struct plot_thread {
	int32_t tid, pid; /* pid: 0 when the trace does not have it */
	const char *comm; /* its last name; owned by the trace; "" when it does not have it */
	uint32_t shown; /* index among the drawn threads, or PLOT_HIDDEN */
	size_t records; /* in the window */
};

struct plot_stay {
	uint32_t thread; /* index in run->thread */
	uint32_t cpu; /* index in run->cpu */
	uint32_t slot; /* no two stays of the same slot of a CPU overlap */
	uint64_t from_ns, to_ns; /* from < to */
};

struct plot_cpu {
	int32_t os_cpu; /* -1: left to the kernel; all these threads share this entry */
	uint32_t slots;
};

struct plot_span {
	uint64_t from_ns, to_ns;
};

/* What to look at. */
struct plot_choice {
	uint64_t from_ns, to_ns; /* since the start; to_ns UINT64_MAX: to the end */
	uint32_t threads_max; /* draw at most this many, in the order in which they were found */
	const int32_t *tid; /* only these, if any */
	size_t tids;
};

struct plot_run {
	uint64_t begin_ns; /* CLOCK_MONOTONIC at time 0 of the pictures: when juggle started */
	uint64_t from_ns, to_ns; /* the window, by the same clock; from < to */
	struct plot_thread *thread; /* all of the trace */
	size_t threads, threads_seen, threads_shown; /* in total, in the window, drawn */
	struct plot_stay *stay; /* by start, then thread */
	size_t stays;
	struct plot_cpu *cpu; /* ascending, -1 last */
	size_t cpus;
	struct plot_span *aside; /* when no domain was balanced; ascending, without overlaps */
	size_t asides;
	size_t points; /* with threads, in the window */
	uint64_t migrations; /* in the window */
	uint32_t *index; /* hash table of tid */
	size_t index_size; /* a power of 2 */
};

/* Returns 0, -ENODATA (no thread computed in the window; from_ns and to_ns are those of the run),
 * -ENOENT (none of choice->tid is there) or -ENOMEM. Call plot_run_deinit() in any case. The trace
 * must outlive it. O(records log records). */
int plot_run_init(
	struct plot_run *run, const struct trace_file *trace, const struct plot_choice *choice);
/* Accepts a zeroed one. */
void plot_run_deinit(struct plot_run *run);

/* The index in run->thread of a tid; UINT32_MAX for one that isn't in the trace. */
uint32_t plot_run_find(const struct plot_run *run, int32_t tid);

/* Is the point to be drawn: in the window, and with threads? */
bool plot_run_has(const struct plot_run *run, const struct trace_point *point);

/* Seconds since the start; negative before it. */
double plot_run_s(const struct plot_run *run, uint64_t now_ns);

#endif
