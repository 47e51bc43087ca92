/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes of the job that publish their progress (libprogress), some time after
 * they started, or late in their life, and hands their segments to the host.
 *
 * What it costs does not grow with the job: processes are looked at one by one only when
 * something has come into, or left, the folder of the segments. For the scanner's thread alone.
 */
#ifndef JUGGLE_PROGRESS_FINDER_H
#define JUGGLE_PROGRESS_FINDER_H

#include <stddef.h>
#include <time.h>

#include "daemon/progress/host.h"

struct progress_finder {
	struct progress_host_setup setup;
	struct progress_host *host; /* NULL before the first segment */
	struct progress_found *found; /* sorted by pid */
	size_t found_count;
	struct timespec changed; /* the folder, when last looked at */
	/* CLOCK_MONOTONIC: processes are to be looked at until, not before, and anyway at */
	uint64_t again_until_ns, next_ns, anyway_ns;
};

void progress_finder_init(struct progress_finder *finder, const struct progress_host_setup *setup);
/* Ends the host. */
void progress_finder_deinit(struct progress_finder *finder);

/* There is a new process: look at once. */
void progress_finder_hurry(struct progress_finder *finder);

/* Is it time to look at the processes? Costs a microsecond. */
bool progress_finder_due(struct progress_finder *finder, uint64_t now_ns);

/* Look at all processes that the job has: n pids, ascending, none twice. Segments that were not
 * there before go to the host; those of processes that are not listed any more are dropped. */
void progress_finder_look(
	struct progress_finder *finder, const pid_t *pid, size_t n, uint64_t now_ns);

#endif
