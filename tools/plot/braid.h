/* SPDX-License-Identifier: MIT */
/*
 * The braid of subdomains: a line for each, which goes from the lane of one worker to that of
 * another as it changes holder, and has the subdomain's lead. Thinned like charts. Pure, except for
 * memory.
 */
#ifndef PLOT_BRAID_H
#define PLOT_BRAID_H

#include "tools/plot/chart.h"

enum {
	BRAID_PROCESSES_MAX = 1000, /* the first ones; others are left out */
	BRAID_LEVELS = 5, /* of leads, either way; the eye can't tell more apart */
};

struct braid_process {
	int32_t pid, rank;
	uint32_t workers, first_lane;
	uint32_t subdomains, first_line; /* of the largest record; this many lines are kept */
	uint32_t shown; /* lines that are drawn: the first ones */
	uint64_t end_ns; /* of its last record; nothing is known of later times */
};

struct braid_vertex {
	double time_s, lane; /* lane: worker + 0 ... 1 */
	double lead; /* updates ahead of the mean of the process */
	bool begins; /* a new line begins here */
	uint32_t line; /* as in struct braid_event */
};

struct braid {
	struct braid_process *process;
	size_t processes;
	uint32_t lanes;
	size_t subdomains, shown;
	struct braid_vertex *vertex;
	size_t vertices;
	double lead_max; /* of all that is drawn, either way; 1 or more */
	uint32_t bins, rate_bins;
	struct chart_cell *spread; /* [bin], of updates, of each process */
	uint64_t *moves; /* [rate bin], of `give` records */
	uint64_t moves_sum;
};

/* The braid in the window of the run. It has no processes for a trace without subdomains. Returns 0
 * or -ENOMEM. Call braid_deinit() in any case. */
int braid_init(struct braid *braid, const struct trace_file *trace, const struct plot_run *run,
	uint32_t subdomains_max, const struct chart_room *room);
/* Accepts a zeroed one. */
void braid_deinit(struct braid *braid);

enum braid_event_kind {
	BRAID_OWNER, /* from now on the worker should hold it: it does, unless the next one differs */
	BRAID_HOLDER, /* the worker was seen to hold it */
	BRAID_UPDATES,
};

/* The records of one subdomain, in order of time; the trace's. */
struct braid_event {
	uint64_t now_ns;
	size_t order; /* in the file */
	uint32_t line; /* process->first_line + subdomain */
	enum braid_event_kind kind;
	int32_t worker; /* unless UPDATES; or -1 */
	double lead; /* of UPDATES; NAN: nobody's */
};

/* All events of the first `shown` lines of each process, sorted by line, then time, without changes
 * of owner that were found not to have been followed. free() *out. Returns 0 or -ENOMEM. */
int braid_events(const struct braid *braid, const struct trace_file *trace,
	struct braid_event **out, size_t *count);

#endif
