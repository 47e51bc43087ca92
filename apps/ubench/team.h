/* SPDX-License-Identifier: MIT */
/*
 * A run whose threads share one process: what pthreads and OpenMP have in common.
 */
#ifndef UBENCH_TEAM_H
#define UBENCH_TEAM_H

#include "apps/ubench/options.h"
#include "apps/ubench/worker.h"

#include <stdint.h>

struct team {
	const struct model *model;
	const struct options *options;
	int threads;
	struct job job;
	struct barrier barrier; /* when the options name one of barrier.h */
	struct worker *workers; /* one a thread */
	uint64_t *phase_ns; /* thread 0's */
};

/* One thread's life, called in thread `index` (0 to threads - 1). */
void team_member(struct team *team, int index);

/* What a program adds to a run. */
struct team_launch {
	int threads; /* when the options name no number */
	int cpus; /* that the threads may use, for ideal_s */
	const struct cpuset *mask; /* for --pin */
	void (*wait)(void *); /* the runtime's own barrier, NULL when it has none */
	/* Have team_member() called in team->threads threads and return when all are done.
	 * Returns 0 or a negative errno; on an error the process is about to end. */
	int (*run)(struct team *team);
};

/* Calibrate, run, report. Returns the exit status. */
int team_main(
	const struct model *model, const struct options *options, const struct team_launch *launch);

#endif
