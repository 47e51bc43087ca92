/* SPDX-License-Identifier: MIT */
/*
 * How long n equal threads take on m CPUs: the theory of Hofmeyr et al. (2012), "Juggle", Sections
 * 3 and 4, whose equations each function names. Pure and thread-safe.
 *
 * The model (Section 3): identical threads, CPUs of one speed, shared fairly by the threads on
 * them; balancing and moving cost nothing. A thread needs e on a CPU of its own until it blocks at
 * the barrier that ends a phase. Times are in any one unit; results are in the same.
 *
 * The paper names CPUs of unequal speed as future work. Here they are covered where a function says
 * so: threads use the min(n, m) fastest CPUs, and take turns there.
 */
#ifndef THEORY_H
#define THEORY_H

#include <stdbool.h>
#include <stdint.h>

/* The largest n for theory_best_static() and theory_reactive() where speeds are unequal. */
#define THEORY_UNEQUAL_MAX 4096

struct theory_case {
	uint32_t threads; /* n */
	uint32_t cpus; /* m, not 0 */
	const double *speed; /* > 0, of the m CPUs, the fastest first; NULL: all 1. Not owned. */
	double phase; /* e > 0: of one phase, on a CPU of its own, of speed 1 */
	double period; /* lambda > 0 */
	double phases; /* l: number of phases, at least 1 */
};

/* Do the CPUs that the threads use differ in speed? */
bool theory_unequal(const struct theory_case *c);

/* Does the theory apply: are there more threads than CPUs, and not a multiple of them, or are the
 * CPUs unequal? Otherwise every balancer takes as long as static placement, and so the functions
 * below return. */
bool theory_unbalanced(const struct theory_case *c);

/* Is the period as long as a static phase, or longer? Then each phase has at most one balancing
 * point. */
bool theory_long_period(const struct theory_case *c);

/* ---- Static: placed evenly, never moved ---- */

/* Eq. 1 for one phase, Eq. 16 for l of them: l e ceil(n/m). On unequal CPUs, the fastest have one
 * thread more, or all threads, and the slowest place decides. */
double theory_static(const struct theory_case *c);

/* The same, placed best: on unequal CPUs, fast ones may have several threads more. */
double theory_best_static(const struct theory_case *c);

/* ---- Proactive: Juggle ---- */

/* Eq. 14 for one phase, Eq. 15 for l: l e n/m, the time of perfect balance (lambda -> 0), and never
 * more than that of any period. On unequal CPUs, l e n / sum of the speeds used. */
double theory_perfect(const struct theory_case *c);

/* This and the next two are for CPUs of one speed.
 *
 * Theorem 1: the least lag behind a thread that always runs at fast speed, at any balancing point:
 * lambda / (ceil(n/m) floor(n/m)). It is also the difference of Lemma 1. */
double theory_lag(const struct theory_case *c);

/* Eq. 2: e floor(n/m) + lambda / (ceil floor), of one phase that begins at a balancing point; for
 * lambda < e ceil(n/m). Else NAN. */
double theory_lag_bound(const struct theory_case *c);

/* Theorem 2, Eq. 24: the shortest time of a phase with a single balancing point in it, which is
 * then at e ceil floor / (ceil + floor) (Eq. 23). When more threads are slow than fast at first,
 * that of static placement (Section 3.2.1).
 *
 * It is a bound only for n < 2 m with no more slow threads than fast ones: the proof forgets that
 * threads beside one that has completed get faster. 3 threads on 2 CPUs take down to 1.5 e (here 2
 * e), 9 on 4 down to 2.25 e (here 2.4 e). */
double theory_balanced_once(const struct theory_case *c);

/* Eq. 27: the mean time of such a phase, with the point anywhere in it: e (ceil(n/m) - 1/4), but
 * not less than Eq. 14. On unequal CPUs, halfway between static and Eq. 14. */
double theory_balanced_once_mean(const struct theory_case *c);

/* How many of l phases have a balancing point in them, at most, when lambda >= e ceil(n/m). The
 * first has none, because it ends before the first point. */
double theory_balanced_phases(const struct theory_case *c);

/* The lower bound of the completion time, when all begins at a balancing point. For lambda < e
 * ceil(n/m): the larger of Eqs. 2 and 14 for the first phase, and Eq. 14 for each further one,
 * because that begins anywhere between two points and may take less than Eq. 2. Otherwise Eq. 17,
 * with Eq. 14 instead of Eq. 24 where the latter is no bound; so Eq. 18 is not used. It does not
 * fall as lambda grows. On unequal CPUs, the same with Eq. 14 instead of Eqs. 2 and 24. */
double theory_juggle_bound(const struct theory_case *c);

/* An estimate of the time: for lambda < e ceil(n/m), Eq. 25 with the larger of Eqs. 2 and 14;
 * otherwise Eq. 26. It lies between the bound and static. Like the paper's, it is too long when
 * lambda is just below e ceil(n/m) and there are many phases. On unequal CPUs, what a
 * phase takes beyond Eq. 14 grows with lambda, up to half of what static placement loses: that is
 * exact for n = m = 2, on average over where phases begin, and rough otherwise. */
double theory_juggle(const struct theory_case *c);

/* ---- Reactive: threads are spread anew as soon as some block, as Linux does at best ---- */

/* Eqs. 28 to 30, times l e, for 1 < n/m < 2. For a larger n/m the paper has no equation; there the
 * same process is followed step by step. By Eq. 30, 16 threads on 12 CPUs take 1.5 e; by the text
 * of Section 5.3 they are as fast as with Juggle, 4/3 e. On unequal CPUs, the balancer knows their
 * speeds, and which threads are behind: more than most kernels do. */
double theory_reactive(const struct theory_case *c);

/* ---- Speedup (Section 5): how much faster than static placement ---- */

/* theory_static() over a time. */
double theory_speedup(const struct theory_case *c, double time);
/* Its upper bound for Juggle: over theory_juggle_bound(). */
double theory_speedup_bound(const struct theory_case *c);

#endif
