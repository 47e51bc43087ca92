/* SPDX-License-Identifier: MIT */
/*
 * A run as JSON in the Trace Event Format, for ui.perfetto.dev. Nothing is
 * thinned, as people zoom in there.
 */
#ifndef PLOT_PERFETTO_H
#define PLOT_PERFETTO_H

#include "tools/plot/braid.h"
#include "tools/plot/stays.h"

#include <stdio.h>

/* Numbers of made-up processes, which no process of the kernel can have. */
enum { PERFETTO_CPUS = 1 << 30, PERFETTO_COUNTERS, PERFETTO_SUBDOMAINS };
/* Likewise for their tracks, each kind from one of these on: some viewers take the number of a
 * thread for unique on the machine. */
enum {
	PERFETTO_CPU_TRACKS = 1 << 24,
	PERFETTO_COUNTER_TRACKS = 1 << 25,
	PERFETTO_SUBDOMAIN_TRACKS = 1 << 26
};

/* Write everything. ferror(3) shows whether that failed. Returns 0 or -ENOMEM. */
int perfetto_write(const struct trace_file *trace, const struct plot_run *run,
	const struct braid *braid, FILE *to);

#endif
