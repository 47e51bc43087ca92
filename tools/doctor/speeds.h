/* SPDX-License-Identifier: MIT */
/* The speeds of the CPUs that juggle would use, and what they mean for threads. Pure. */
#ifndef DOCTOR_SPEEDS_H
#define DOCTOR_SPEEDS_H

#include "tools/doctor/system.h"

#define DOCTOR_GAIN 1.02 /* a speedup that is worth a word */

/* Do they differ? False when one is not known. */
bool doctor_speeds_differ(const struct doctor_system *system);

/* The speeds, the fastest first, as `--speeds` takes them: "8x1,16x0.55". Returns whether they
 * are known and fit. */
bool doctor_speeds_list(const struct doctor_system *system, char *out, size_t bytes);

/* How many times as fast as pinned n > 0 threads are at best if they take turns on unequal CPUs; 1
 * if the CPUs that they use are equal. */
double doctor_speeds_gain(const struct doctor_system *system, uint32_t n);

/* The CPUs that are less than half as fast as the fastest. Returns the share that they have of the
 * speed of all. */
double doctor_speeds_slow(const struct doctor_system *system, struct cpuset *slow);

#endif
