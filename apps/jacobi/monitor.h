/* SPDX-License-Identifier: MIT */
/*
 * What one thread does between iterations for the user who looks on: the trace, the line on the
 * terminal, and the signals that end a run.
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
	sigset_t signals; /* that end a run and are not ignored; blocked by all threads */
	int signal; /* the one that came, or 0 */
	uint64_t begin_ns, trace_due_ns, look_due_ns;
};

/* Block the signals, and open the trace (NULL: none). quiet: nothing on the terminal. To be
 * called before threads are started. Returns 0, or the negative errno of the open. */
int monitor_init(struct monitor *monitor, const char *trace, bool quiet);
/* Close the trace. Returns 0, or a negative errno when it could not all be written. Accepts a
 * zeroed one. */
int monitor_deinit(struct monitor *monitor);

/* Times are counted from begin_ns, which is now. */
void monitor_begin(struct monitor *monitor, uint32_t subdomains);
/* Leave the terminal to others. */
void monitor_end(struct monitor *monitor);

/* Do what is due. When nothing is, it costs a read of the clock. */
void monitor_poll(struct monitor *monitor, const struct progress *progress, uint32_t subdomains);

#endif
