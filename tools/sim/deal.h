/* SPDX-License-Identifier: MIT */
/*
 * Which thread goes to which CPU at a balancing point: Fig. 4 of Hofmeyr et al. (2012), lines 7 to
 * 32. Between the fluid model (ideal.h) and the machine (threads.h), which both deal by it.
 *
 * What the figure leaves open:
 * - Of threads that are equally far those that have a fast CPU keep it.
 * - The figure says which threads share a CPU and whether it is a fast one; which of the fast, or of
 *   the slow, is left open, and such that threads stay where they are.
 * - Threads at the barrier stay, too, unless they would keep the next phase from beginning with
 *   threads evenly distributed.
 */
#ifndef SIM_DEAL_H
#define SIM_DEAL_H

#include <stdint.h>

struct deal {
	uint32_t n, m;
	uint32_t *order; /* threads by progress, the least first; those at the barrier are last */
	uint32_t *cpu; /* of each thread, from 0 */
	uint32_t unblocked; /* at the last point: so many of order */
	uint32_t *spare, *count, *label, *taken; /* scratch */
	void *block;
};

/* All threads are on CPU 0 until the first deal. Returns 0 or -ENOMEM. */
int deal_init(struct deal *deal, uint32_t n, uint32_t m);
/* Accepts a zeroed one. */
void deal_deinit(struct deal *deal);

/* Deal anew. progress: of each thread in this phase; from `full` on it is at the barrier. Less than
 * epsilon apart is equal. Returns how many threads got another CPU. */
uint32_t deal_threads(struct deal *deal, const double *progress, double full, double epsilon);

/* A part of a phase that makes up for rounding, for deal_threads() and whoever compares moments: far
 * less than the smallest difference in progress (Lemma 1) that there is. */
double deal_epsilon(uint32_t n, uint32_t m, double phase, double period);

#endif
