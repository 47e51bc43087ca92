/* SPDX-License-Identifier: MIT */
/*
 * One thread of the benchmark: the phases, the same for pthreads, OpenMP and MPI.
 *
 * Only the barrier differs between the three programs, so it is passed as a function. All that is
 * timed is in thread_run().
 */
#ifndef UBENCH_THREAD_H
#define UBENCH_THREAD_H

#include "apps/ubench/slowdown.h"
#include "apps/ubench/work.h"
#include "daemon/base/cpuset.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

/* How many phase times are kept, from the first on. More would disturb what is measured. */
#define JOB_PHASE_TIMES_MAX 10000

/* What all threads do; read-only while they run, except error. */
struct job {
	uint64_t phases;
	uint64_t steps; /* of a phase */
	uint64_t steps_first; /* the same for thread 0, which may have more */
	uint64_t memory_bytes;
	struct slowdown slowdown;
	const struct cpuset *pin; /* thread i to the i-th of these; NULL: don't pin */
	void (*wait)(void *); /* the barrier of all threads, and its argument */
	void *wait_arg;
	atomic_int error; /* negative errno of any thread that could not start */
};

/* What one thread does. It fills whole pairs of cache lines, which CPUs prefetch, so that no
 * thread's counters slow its neighbour. */
struct bench_thread {
	alignas(128) struct work work;
	struct burn burn;
	int index;
	uint64_t started_ns; /* wall clock after the start barrier */
	uint64_t ended_ns; /* and after the last */
	uint64_t *phase_ns; /* where to keep phase times, or NULL; not owned */
};

/* Pin the calling thread if the job says so, and allocate its memory. Call it in the thread itself.
 * Returns 0 or a negative errno, which is also stored in job->error. Call thread_deinit() in any
 * case. */
int thread_init(struct bench_thread *thread, int index, uint64_t *phase_ns, struct job *job);
void thread_deinit(struct bench_thread *thread);

/* Start barrier, phases, barriers. All threads of a job must call it, also those that could not
 * start: then all return at once, without doing the work. */
void thread_run(struct bench_thread *thread, struct job *job);

/* How many phase times thread_run() keeps. */
uint64_t job_phase_times(const struct job *job);

#endif
