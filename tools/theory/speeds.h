/* SPDX-License-Identifier: MIT */
/*
 * What theory.c needs for CPUs of unequal speed, beyond the paper: for cases where
 * theory_unequal(). Pure and thread-safe. Times are of one phase.
 */
#ifndef THEORY_SPEEDS_H
#define THEORY_SPEEDS_H

#include "tools/theory/theory.h"

/* The sum of the speeds of the CPUs that the threads use: the min(n, m) fastest. */
double speeds_power(const struct theory_case *c);

/* Spread evenly, the fastest CPUs first, and never moved. */
double speeds_static(const struct theory_case *c);

/* Never moved, and spread such that the last thread is done as early as possible. */
double speeds_best_static(const struct theory_case *c);

/* Spread over all CPUs that they can use, and again whenever some have completed, those farthest
 * behind to where they are fastest. */
double speeds_reactive(const struct theory_case *c);

#endif
