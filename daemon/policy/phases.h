/* SPDX-License-Identifier: MIT */
/*
 * The phases of the job: how long its threads compute from one barrier to the next, as far as that
 * shows from outside (beyond the paper).
 *
 * At a barrier that blocks, all threads but the last go to sleep. At one that yields, those that
 * wait pass the CPU among themselves, and switch thousands of times a second. A barrier that spins
 * leaves no sign at all, like a phase that has not ended yet.
 */
#ifndef JUGGLE_POLICY_PHASES_H
#define JUGGLE_POLICY_PHASES_H

#include <stdbool.h>
#include <stdint.h>

/* One kind of sign, and the phases that it shows. */
struct policy_signs {
	double phase_ns; /* CPU time of a thread in a phase, smoothed; 0: no sign was seen */
	double run_ns; /* CPU time of a thread since the last sign ... */
	double barriers; /* ... and barriers passed meanwhile: a fraction of one */
};

struct policy_phases {
	struct policy_signs sleeps, yields;
	uint32_t loud; /* intervals in a row in which threads yielded */
	uint64_t yielded_ns; /* when they last did */
};

/* An interval, in which a thread ran for that long (mean; 0: not known), and all threads of these
 * CPUs together were switched to that often. */
void policy_phases_switches(struct policy_phases *phases, uint64_t now_ns, uint64_t elapsed_ns,
	double run_ns, double switches, uint32_t cpus);

/* A window, in which each of these threads ran for that long and went to sleep that often
 * (means). */
void policy_phases_sleeps(
	struct policy_phases *phases, double run_ns, double sleeps, uint32_t threads);

/* The length of a phase: by sleeps if threads do sleep, else by yields. Without signs, no more is
 * known than that it is longer than the time since the beginning, unless threads spin: 0. */
double policy_phases_length_ns(const struct policy_phases *phases, bool sleeps, bool yields);

#endif
