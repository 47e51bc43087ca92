/* SPDX-License-Identifier: MIT */
/* One balancing point of Juggle (Sections 2.1 to 2.3, Fig. 3). */
#ifndef JUGGLE_POLICY_SWAP_H
#define JUGGLE_POLICY_SWAP_H

#include "daemon/policy/policy.h"

struct policy_swap_params {
	int64_t margin_ns; /* xi: the error margin of the ahead/behind test */
	/* Relative. A CPU is fast when its speed is above the mean by this much. No CPU is when the
	 * fastest is not above the middle between it and the slowest by this much. */
	double speed_margin;
	int64_t forget_periods; /* a lead or lag decays over this many; 0: never */
	uint32_t speed_periods; /* a CPU's speed is smoothed over this many; 0 or 1: it is not */
	unsigned to_the_letter; /* a sum of these; 0: nothing */
};

enum { /* What is done as the paper has it, and not as listed below: */
	POLICY_PAPER_MARGIN = 1, /* the margin is xi */
	POLICY_PAPER_SLEEPERS = 2, /* progress alone says who is behind */
	POLICY_PAPER_FAST = 4, /* a CPU is fast above the mean speed */
	/* Line 9 of Fig. 3: a slow CPU is passed over when the fast CPU whose turn it is has no slot left;
	 * otherwise it gets the next fast CPU that has one. */
	POLICY_PAPER_LINE_9 = 8,
	POLICY_PAPER_CACHES = 16, /* it matters not which CPUs share a cache */
	POLICY_PAPER = 31, /* all of these */
};

/* The parameters of -P juggle; the margin is the user's. Speeds are smoothed over some 130 ms: the
 * times of running threads are up to a tick old, and other work comes and goes. */
static inline struct policy_swap_params policy_swap_defaults(int64_t margin_ns, uint64_t elapsed_ns)
{
	uint64_t periods = elapsed_ns > 0 ? 128000000 / elapsed_ns : 64;

	return (struct policy_swap_params){.margin_ns = margin_ns,
		.speed_margin = 0.02,
		.forget_periods = 16,
		.speed_periods = (uint32_t)(periods > 64  ? 64
					    : periods < 8 ? 8
							  : periods)};
}

/* Classify CPUs as fast or slow and threads as ahead or behind, and swap behind threads on slow
 * CPUs with ahead threads on fast ones (Fig. 3): slowest CPU first, fastest CPU first, cyclically.
 * Only swaps, so every CPU keeps its number of threads.
 *
 * elapsed_ns is the length of the period that gain_ns, run_ns and wait_ns cover. order is scratch
 * for 2 * m indices. Threads without a CPU are left alone. Sets threads[].cpu. Returns the number
 * of threads that move (always even). O(n + m log m), and for each swap the threads of two CPUs; with
 * several caches, of all.
 *
 * Beyond the paper:
 * - Of CPUs with several last-level caches, two that share one are preferred where they do nearly as well.
 * - Where few of many CPUs are slow, the others are hardly faster than the mean, and their threads
 *   hardly ahead of it. So the margins shrink there.
 * - Threads that sleep while their CPU stands still count as ahead, those that starve as behind.
 * - Leads and lags are forgotten gradually. Otherwise a thread that once did serial work would
 *   count as ahead for the rest of the run.
 * - The share of a CPU that the job gets is smoothed over speed_periods. The kernel updates the
 *   times of running threads only at its ticks, which can be further apart than balancing
 * points. */
size_t policy_swap(const struct policy_swap_params *params, uint64_t elapsed_ns,
	struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m,
	uint32_t *order);

/* Its first part, Section 2.1: how fast the CPUs were in the period; and the rest of it. */
void policy_measure_cpus(const struct policy_swap_params *params, uint64_t elapsed_ns,
	struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m);
size_t policy_swap_measured(const struct policy_swap_params *params, struct policy_thread *threads,
	size_t n, struct policy_cpu *cpus, size_t m, uint32_t *order);

#endif
