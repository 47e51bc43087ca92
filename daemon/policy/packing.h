/* SPDX-License-Identifier: MIT */
/*
 * Fewer CPUs for phases that are too short for turns (beyond the paper). A thread that sleeps at a barrier leaves
 * its CPU idle, and to wake an idle CPU takes as long as such a phase, above all on a virtual machine. Where
 * threads use so little of the CPUs that fewer would do, phases may pass faster on those, as they are never idle.
 * A trial shows it.
 */
#ifndef JUGGLE_POLICY_PACKING_H
#define JUGGLE_POLICY_PACKING_H

#include <stdbool.h>
#include <stdint.h>

struct policy_window;

/* The window of a trial, at least. It may cost the job a third of its time, and what is before the window, too. */
#define POLICY_PACKING_NS UINT64_C(20000000)

struct policy_packing {
	uint32_t cpus; /* so many CPUs would do; 0: no fewer than all */
	uint32_t turn; /* which ones: the first of them */
	uint32_t threads; /* all that follows is of so many */
	/* Left to the kernel, and packed: */
	struct policy_packing_means {
		double useful; /* CPU time of all threads outside waits, in CPUs */
		double phases; /* per ns, of all threads */
		double need_ns; /* CPU time of a thread in a phase */
		uint32_t windows; /* behind these, up to a limit; 0: nothing is known */
	} mean[2];
	uint32_t wait, gap; /* windows until the other way is tried, and after the next outcome */
	uint32_t strange; /* windows in a row whose phases need something else than before */
	bool trial; /* the window under way is the first of its kind */
	double packed_ns; /* time in which threads were packed, since the last outcome */
	double cost_ns; /* time that being packed is now known to have cost the job */
};

/* Begin anew, with threads left to the kernel. The next trial is on other CPUs. */
void policy_packing_reset(struct policy_packing *packing);

/* Take in a window in which threads were packed, or were left to the kernel. A trial may cost the job as much time as
 * that. Returns whether they are to be packed in the next window. */
bool policy_packing_next(struct policy_packing *packing, const struct policy_window *window,
	bool packed, double budget_ns);

#endif
