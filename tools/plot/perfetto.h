/* SPDX-License-Identifier: MIT */
/*
 * A run as JSON in the Trace Event Format, for ui.perfetto.dev and chrome://tracing: nothing is thinned,
 * people zoom in there.
 */
#ifndef PLOT_PERFETTO_H
#define PLOT_PERFETTO_H

#include "tools/plot/braid.h"
#include "tools/plot/stays.h"

#include <stdio.h>

/* Processes that are none in the kernel get numbers that none can have there. */
enum { PERFETTO_CPUS = 1 << 30, PERFETTO_COUNTERS, PERFETTO_SUBDOMAINS };
/* Likewise their tracks, each kind from one of these on: there are viewers that take a thread's number
 * for unique on the machine. */
enum {
	PERFETTO_CPU_TRACKS = 1 << 24,
	PERFETTO_COUNTER_TRACKS = 1 << 25,
	PERFETTO_SUBDOMAIN_TRACKS = 1 << 26
};

/* Write all; what can't be written shows in ferror(3). Returns 0 or -ENOMEM. */
int perfetto_write(const struct trace_file *trace, const struct plot_run *run,
	const struct braid *braid, FILE *to);

#endif
