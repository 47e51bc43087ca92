/* SPDX-License-Identifier: MIT */
/*
 * A run whose threads share one process: what pthreads and OpenMP have in common.
 */
#ifndef UBENCH_BENCH_H
#define UBENCH_BENCH_H

#include "apps/ubench/options.h"
#include "apps/ubench/thread.h"

#include <stdint.h>

struct bench {
	const struct ubench_options *options;
	int threads;
	struct job job;
	struct barrier barrier; /* when the options name one of barrier.h */
	struct bench_thread *thread; /* one a thread */
	uint64_t *phase_ns; /* thread 0's */
};

/* One thread's life, called in thread `index` (0 to threads - 1). */
void bench_member(struct bench *bench, int index);

/* What a program adds to a run. */
struct bench_launch {
	int threads; /* when the options name no number */
	int cpus; /* that the threads may use, for ideal_s */
	const struct cpuset *mask; /* for --pin */
	void (*wait)(void *); /* the runtime's own barrier, NULL when it has none */
	/* Have bench_member() called in bench->threads threads and return when all are done.
	 * Returns 0 or a negative errno; on an error the process is about to end. */
	int (*run)(struct bench *bench);
};

/* Calibrate, run, report. Returns the exit status. */
int bench_main(const struct model *model, const struct ubench_options *options,
	const struct bench_launch *launch);

#endif
