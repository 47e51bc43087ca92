/* SPDX-License-Identifier: MIT */
/*
 * Series over time for pictures, thinned: however long the trace, there are no more numbers than a
 * picture has room for. Pure, except for memory.
 */
#ifndef PLOT_CHART_H
#define PLOT_CHART_H

#include "tools/plot/stays.h"

/* What there is room for. */
struct chart_room {
	uint32_t bins; /* along the time axis, at most */
	uint32_t rate_bins; /* bars of rates along it */
	size_t numbers; /* of all threads of a panel, about */
	size_t bars; /* rectangles of a panel */
	size_t vertices; /* of all lines of a braid, about */
	uint32_t steps; /* of each of these, at most */
};

/* A picture of about a thousand pixels; and a page, in which people zoom. */
extern const struct chart_room chart_picture, chart_page;

struct chart_value {
	double time_s, value;
};

/* The values in one bin; the extremes stand for all. */
struct chart_cell {
	uint32_t count; /* 0: nothing */
	struct chart_value least, most;
};

struct chart {
	uint32_t bins, rate_bins;
	double from_s, to_s;
	size_t threads; /* that are drawn */
	struct chart_cell *lead; /* s ahead of the mean at that point */
	struct chart_cell *progress; /* [thread][bin], s of CPU time since the window began */
	struct chart_cell *mean; /* [bin], mean progress of all threads in the window */
	struct chart_cell *spread; /* [bin], s between the first and the last thread */
	uint64_t *moves; /* [rate bin] */
	struct chart_cell *waits; /* [thread][bin], mean share of time in waits for others */
	struct chart_cell *phases; /* [bin], phases per second, the mean of all threads */
	bool told; /* some thread has such a share */
};

/* A thread on a CPU. */
struct chart_bar {
	uint32_t row; /* as asked for */
	uint32_t thread, cpu; /* as in struct plot_stay */
	uint64_t from_ns, to_ns;
};

/* Returns 0 or -ENOMEM. To be undone by chart_deinit() in any case. */
int chart_init(struct chart *chart, const struct trace_file *trace, const struct plot_run *run,
	const struct chart_room *room);
/* Accepts a zeroed one. */
void chart_deinit(struct chart *chart);

/* Put a value into its bin. */
void chart_add(struct chart_cell *cell, double time_s, double value);
/* The bin of a time, when from_s to to_s is divided into `bins`. */
uint32_t chart_bin(uint32_t bins, double from_s, double to_s, double time_s);

/* Are there too many threads or CPUs to tell rows of CPUs apart, by colours of threads? Then each thread
 * gets a row. */
enum { CHART_COLOURS = 8 };
bool chart_by_thread(const struct plot_run *run);

/* Rows of a CPU: one for each slot, and at least one. */
uint32_t chart_cpu_rows(const struct plot_cpu *cpu);

/* The stays of drawn threads as bars. by_thread has a row for each such thread; otherwise there are
 * the rows of each CPU, in order. There are at most room->bars and one for each row. When there
 * are more stays, a bar of a stretch of time shows the thread (or CPU) that was there for the
 * longest part. free() *out. Returns 0 or -ENOMEM. */
int chart_bars(const struct plot_run *run, bool by_thread, const struct chart_room *room,
	struct chart_bar **out, size_t *count, size_t *rows);

#endif
