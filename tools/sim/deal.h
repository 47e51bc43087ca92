/* SPDX-License-Identifier: MIT */
/*
 * Which thread goes to which CPU at a balancing point: Fig. 4 of Hofmeyr et al. (2012), lines 7 to
 * 32. The fluid model (ideal.h) and the machine (threads.h) share it.
 *
 * The figure leaves some choices open:
 * - Of threads that are equally far, those on a fast CPU keep it.
 * - The figure says which threads share a CPU and whether that is a fast one, but not which of the
 *   fast, or of the slow, CPUs it is. Here threads stay where they are if possible.
 * - Threads at the barrier stay, too, unless the next phase would then not begin with threads
 *   evenly distributed.
 */
#ifndef SIM_DEAL_H
#define SIM_DEAL_H

#include <stdint.h>

struct deal {
	uint32_t n, m;
	uint32_t *order; /* threads by progress, the least first; those at the barrier are last */
	uint32_t *cpu; /* of each thread, from 0 */
	uint32_t unblocked; /* at the last point: how many of order */
	uint32_t *spare, *count, *label, *taken; /* scratch */
	void *block;
};

/* All threads are on CPU 0 until the first deal. Returns 0 or -ENOMEM. */
int deal_init(struct deal *deal, uint32_t n, uint32_t m);
/* Accepts a zeroed one. */
void deal_deinit(struct deal *deal);

/* Deal again. progress: that of each thread in this phase; from `full` on it is at the barrier.
 * Values less than epsilon apart are equal. Returns how many threads got another CPU. */
uint32_t deal_threads(struct deal *deal, const double *progress, double full, double epsilon);

/* A tolerance for rounding in deal_threads() and comparisons of moments: far less than the smallest
 * possible difference in progress (Lemma 1). */
double deal_epsilon(uint32_t n, uint32_t m, double phase, double period);

#endif
