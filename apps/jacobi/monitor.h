/* SPDX-License-Identifier: MIT */
/*
 * What one thread does between iterations for the user: it writes the trace, shows a line on the
 * terminal, and takes the signals that end a run.
 */
#ifndef JACOBI_MONITOR_H
#define JACOBI_MONITOR_H

#include "libprogress/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct monitor {
	FILE *trace; /* owned; or NULL */
	FILE *terminal; /* not owned; or NULL */
	sigset_t signals; /* those that end a run and are not ignored; blocked in all threads */
	int signal; /* the one that came, or 0 */
	uint64_t begin_ns, trace_due_ns, look_due_ns;
};

/* Block the signals, and open the trace (NULL: none). quiet: show nothing on the terminal. Call it
 * before threads are started. Returns 0, or the negative errno of the open. */
int monitor_init(struct monitor *monitor, const char *trace, bool quiet);
/* Close the trace. Returns 0, or a negative errno when not all of it could be written. Accepts a
 * zeroed monitor. */
int monitor_deinit(struct monitor *monitor);

/* Start counting time: sets begin_ns. */
void monitor_begin(struct monitor *monitor, uint32_t subdomains);
/* Leave the terminal to others. */
void monitor_end(struct monitor *monitor);

/* Do what is due. When nothing is, it costs a read of the clock. */
void monitor_poll(struct monitor *monitor, const struct progress *progress, uint32_t subdomains);

#endif
