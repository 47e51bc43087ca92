/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes of the job that publish their progress (libprogress), however late they begin
 * to, and gives their segments to the host.
 *
 * Its cost does not grow with the job: it checks the processes only when a file has appeared in the
 * folder of the segments, or left it. Only for the balancer's main thread.
 */
#ifndef JUGGLE_PROGRESS_FINDER_H
#define JUGGLE_PROGRESS_FINDER_H

#include <stddef.h>

#include "daemon/base/folder_watch.h"
#include "daemon/progress/host.h"

struct progress_finder {
	struct progress_host_setup setup;
	struct progress_host *host; /* NULL before the first segment */
	struct progress_found *found; /* sorted by pid */
	size_t found_count;
	struct folder_watch folder;
	/* By CLOCK_MONOTONIC: look never before next_ns, and in any case at anyway_ns. */
	uint64_t next_ns, anyway_ns;
};

void progress_finder_init(struct progress_finder *finder, const struct progress_host_setup *setup);
/* Ends the host. */
void progress_finder_deinit(struct progress_finder *finder);

/* There is a new process: look soon. */
void progress_finder_hurry(struct progress_finder *finder);

/* Is it time to look at the processes? Costs a microsecond. */
bool progress_finder_due(struct progress_finder *finder, uint64_t now_ns);

/* Look at all processes of the job: n pids in ascending order, each once. Gives new segments to the
 * host, and releases the segments of processes that are no longer listed. */
void progress_finder_look(
	struct progress_finder *finder, const pid_t *pid, size_t n, uint64_t now_ns);

#endif
