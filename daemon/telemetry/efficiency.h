/* SPDX-License-Identifier: MIT */
/*
 * How well the threads of a job use their time, from what its runtimes tell: the efficiencies of POP
 * (pop-coe.eu), as TALP reports them, too.
 *
 * POP has one CPU for each thread, and takes all time outside of MPI and OpenMP for useful. Here
 * threads can be more than CPUs, so that only CPU time is useful, and there are measures of CPUs
 * besides. With a CPU for each thread that nobody else uses, both are the same.
 */
#ifndef JUGGLE_TELEMETRY_EFFICIENCY_H
#define JUGGLE_TELEMETRY_EFFICIENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/telemetry/telemetry.h"

/* What was told of a thread from one moment to another, by CLOCK_MONOTONIC. */
struct efficiency_thread {
	uint32_t id; /* the caller's: comes back in struct efficiency */
	uint64_t from_ns, to_ns;
	uint64_t arrivals; /* phases that it ended by waiting for others */
	uint64_t useful_ns; /* CPU time outside these waits */
	uint64_t waited_ns; /* elapsed in them */
	/* Shares of its time, 0 to 1: it was on a CPU; it was ready, and had none. */
	double ran, ready;
};

/*
 * Threads count if they were told for at least half of the time from the first moment to the last,
 * and ended at least a quarter as many phases as their median, or did a quarter of their mean useful
 * time: neither short-lived threads nor a main thread that only starts the others decide. Threads
 * without work do count: they are the worst imbalance.
 *
 * The useful share of a thread is its useful CPU time over the time for which it was told: POP's
 * useful time over elapsed time. All shares are from 0 to 1.
 */
struct efficiency {
	uint32_t threads; /* that count; 0: nothing is known, and all else is 0 */
	double told_s; /* from the first moment to the last, of all threads */
	double load_balance; /* mean useful share over the largest */
	double communication_efficiency; /* the largest useful share */
	double parallel_efficiency; /* the product: the mean useful share */
	/* Of CPUs, all threads included: the CPU time that the job could use, that of min(threads,
	 * CPUs); the share of it that was useful; and the rest as far as threads waited for others
	 * meanwhile, as time and as a share. */
	double capacity_s;
	double useful_share, lost_s, lost_share;
	/* Of the threads that count: */
	uint64_t phases; /* median of their arrivals */
	double phase_s, work_s; /* of a phase: elapsed, and the mean useful CPU time */
	double waiting; /* mean share of time in waits for others */
	double useful; /* sum of the useful shares */
	uint32_t most; /* id of the thread with the largest useful share */
	/* The sum of the least useful shares that one CPU has, when threads are spread evenly and stay
	 * there. */
	double stacked;
	/* How many CPUs others had, at least: by how much threads were ready for longer than they can
	 * wait for each other. */
	double others;
};

/* Of all the time for which a thread was told. Returns false, with *out untouched, if it never was. */
bool efficiency_take(
	const struct telemetry_thread *thread, uint32_t id, struct efficiency_thread *out);

/* Measure n threads that had that many CPUs, a fraction with a quota; above 0. Reorders `thread`. Pure. */
void efficiency_measure(
	struct efficiency_thread *thread, size_t n, double cpus, struct efficiency *out);

#endif
