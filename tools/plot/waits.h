/* SPDX-License-Identifier: MIT */
/*
 * For which share of its time each thread waited for others, where runtimes told of phases: what
 * was neither useful CPU time, nor spent without a CPU. Pure, except for memory.
 */
#ifndef PLOT_WAITS_H
#define PLOT_WAITS_H

#include "tools/plot/stays.h"

struct plot_wait {
	uint32_t thread; /* index in run->thread */
	uint32_t domain;
	uint64_t from_ns, to_ns; /* from < to */
	double share; /* 0 to 1 */
	uint64_t arrivals; /* phases that it has ended */
};

/* Those of all threads in the window, in the order of the trace's points. free() *out. Returns 0 or
 * -ENOMEM. */
int plot_waits(const struct trace_file *trace, const struct plot_run *run, struct plot_wait **out,
	size_t *n);

#endif
