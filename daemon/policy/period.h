/* SPDX-License-Identifier: MIT */
/* The period that suits a job (beyond the paper; juggle(7) derives it). */
#ifndef JUGGLE_POLICY_PERIOD_H
#define JUGGLE_POLICY_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

/* Why a period was chosen, for reports. */
enum policy_pace {
	POLICY_PACE_ASIDE, /* nothing is moved: as seldom as news are looked for */
	POLICY_PACE_OPTION, /* the user's */
	POLICY_PACE_UNKNOWN, /* no sign of phases: the default */
	POLICY_PACE_SLEEPS, /* by the phases that sleeps show, and the cost of a point */
	POLICY_PACE_YIELDS, /* the same with yields */
	POLICY_PACE_QUIET, /* longer, since nothing had to be moved for long */
	POLICY_PACE_COST, /* longer, since a point takes long */
	POLICY_PACE_TOLD, /* the same with phases that the program's runtime tells */
	POLICY_PACE_SHORT, /* the longest: threads are where they should be, and phases too short for turns */
	POLICY_PACE_DRY, /* longer than a phase: CPUs that run dry end intervals */
};
enum { POLICY_PACES = POLICY_PACE_DRY + 1 };
/* The pace in words; "unknown" for any other value. */
const char *policy_pace_text(enum policy_pace pace);

#define POLICY_PERIOD_LEAST_NS 2e6
#define POLICY_PERIOD_MOST_NS 50e6
/* What a point costs where nothing better is known: measured on a virtual machine, with two moves. */
#define POLICY_POINT_NS 120e3

/* How long a phase takes, with perfect turns, in which each of n threads needs that much CPU time; m > 0 CPUs. */
double policy_wall_ns(double need_ns, uint32_t n, uint32_t m);

/* The period at which the cost of balancing points and what is lost before each barrier are
 * smallest together, within the limits above. phase_ns is the CPU time of a thread in a phase
 * (e), point_ns the CPU time of a balancing point; n threads on m > 0 CPUs. */
double policy_best_period_ns(double phase_ns, double point_ns, uint32_t n, uint32_t m);

/* With that period, is what turns gain in a phase more than what they cost? gain is that of perfect
 * turns (policy_turns_gain()). True where it is 0, too: there turns gain only beside other work, and how
 * much can't be known. */
bool policy_turns_pay(double phase_ns, double point_ns, uint32_t n, uint32_t m, double gain);

#endif
