/* SPDX-License-Identifier: MIT */
/*
 * The work that a phase consists of, and how long it takes on a CPU of its own.
 *
 * Work is counted in steps, a chain in which each needs the result of the one before: no compiler
 * can vectorise it or leave it out, and two threads on one CPU take exactly twice as long. Time
 * enters only through the rate, so a phase is a fixed amount of work even when the CPU slows down
 * or is shared, as a test of balancing needs it.
 */
#ifndef UBENCH_WORK_H
#define UBENCH_WORK_H

#include <stdint.h>

/* With a memory footprint, each WORK_STEPS_PER_LINE steps touch one cache line. Without one
 * the loop has the same shape, so a footprint that fits the cache hardly alters the rate. */
#define WORK_STEPS_PER_LINE 16
#define WORK_LINE_BYTES 64

/* One thread's share. Used by one thread at a time; all zero is a valid, finished one. */
struct work {
	uint64_t state; /* of the chain; its last value proves that the steps were done */
	uint64_t *lines; /* footprint, owned; NULL when there is none */
	uint64_t line_count;
	uint64_t line_next; /* where the next phase goes on */
};

/* Prepare the work of thread `index`. The caller allocates and first touches its memory, so that it
 * is on the caller's NUMA node. Returns 0 or -ENOMEM. */
int work_init(struct work *work, int index, uint64_t memory_bytes);
void work_deinit(struct work *work);

/* Do that many steps, rounded up to a multiple of WORK_STEPS_PER_LINE. */
void work_run(struct work *work, uint64_t steps);

/* How many steps take phase_ns at that rate; at least one. */
uint64_t work_steps(uint64_t rate_steps_per_ms, uint64_t phase_ns);

/* Measure the calling thread's rate with that footprint: the best of many samples by thread CPU
 * time, because a disturbance can only make a sample slower. Takes about 0.2 s of CPU time. Returns
 * 0 or -ENOMEM. */
int work_calibrate(uint64_t memory_bytes, uint64_t *rate_steps_per_ms);

#endif
