/* SPDX-License-Identifier: MIT */
/*
 * What a trace tells of the program and of its run, as far as a simulation needs it: how many
 * threads, how much work, how long its phases are, how long it took and how far threads got apart.
 */
#ifndef REPLAY_MODEL_H
#define REPLAY_MODEL_H

#include "daemon/trace/reader.h"

struct replay_model {
	uint32_t
		threads; /* compute threads: in each domain as many as there were for the longest time */
	uint64_t begin_ns, end_ns; /* from when to when they all were there; of CLOCK_MONOTONIC */
	double work_ns; /* CPU time that was used in between */
	double asleep; /* share of the threads' time in which they slept: waited, if at a barrier */
	double balanced; /* share of the points at which all threads were placed by juggle */
	bool idle_auto; /* some thread was judged by its CPU use: --idle auto */
	uint64_t points, migrations;
	double lag_ns, lag_mean_ns; /* difference in CPU time used, at balancing points */
	/* The length of a phase in CPU time, from where threads fell asleep; 0: it does not show. */
	uint64_t phase_ns;
};

/* Returns 0, -ENODATA (no stretch of two balancing points with the same threads) or -ENOMEM. Pure but
 * for memory. O(size of the trace * log threads). */
int replay_model_init(struct replay_model *model, const struct trace_file *trace);

/* The length of a phase from differences between the CPU times at which a thread was found asleep.
 * These are whole numbers of phases, and one phase most often. Sorts the differences. Returns the
 * length, from min_ns to max_ns, or 0 when too few differences agree. */
uint64_t replay_model_phase(double *difference_ns, size_t count, double min_ns, double max_ns);

#endif
