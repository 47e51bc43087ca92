/* SPDX-License-Identifier: MIT */
/*
 * The program and its run, estimated from a trace for a simulation: the number of threads, the
 * work, the length of phases and of the run, and how far threads got apart.
 */
#ifndef REPLAY_MODEL_H
#define REPLAY_MODEL_H

#include "daemon/trace/reader.h"

struct replay_model {
	uint32_t threads; /* compute threads: of each domain the number that lasted longest */
	uint64_t begin_ns, end_ns; /* when they all were there, by CLOCK_MONOTONIC */
	double work_ns; /* CPU time that they used in between */
	double asleep; /* share of the threads' time in which they slept */
	double balanced; /* share of the points at which juggle had placed all threads */
	bool idle_auto; /* CPU use decided which threads are idle: --idle auto */
	uint64_t points, migrations;
	double lag_ns, lag_mean_ns; /* differences in CPU time at balancing points: largest, mean */
	/* CPU time of a phase, from the times at which threads fell asleep; 0: it does not show. */
	uint64_t phase_ns;
};

/* O(size of the trace * log threads). Returns 0, -ENODATA (no two successive balancing points with
 * the same threads) or -ENOMEM. */
int replay_model_init(struct replay_model *model, const struct trace_file *trace);

/* The length of a phase, from differences between the CPU times at which a thread was asleep. They
 * are whole numbers of phases, most often one. Sorts the differences. Returns the length, from
 * min_ns to max_ns, or 0 when too few differences agree. */
uint64_t replay_model_phase(double *difference_ns, size_t count, double min_ns, double max_ns);

#endif
