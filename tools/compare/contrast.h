/* SPDX-License-Identifier: MIT */
/*
 * How two ways to run a command differ, by times that were taken in turn: whatever slows the machine
 * for a while slows both of a pair.
 *
 * The test is Wilcoxon's signed-rank test of the logarithms of the pairs' ratios, and the range is
 * what it leaves: all speedups that the times do not contradict. It knows no distribution; it only
 * takes for granted that a pair would differ by as much in the other direction as often, if the two
 * ways were the same.
 */
#ifndef COMPARE_CONTRAST_H
#define COMPARE_CONTRAST_H

#include <stddef.h>

#define CONTRAST_PAIRS_MAX 100

/* Less says nothing. 5 pairs reach 0.9375, 4 only 0.875. */
#define CONTRAST_CONFIDENCE_LEAST 0.9

enum contrast_verdict {
	CONTRAST_UNKNOWN, /* too few pairs to tell */
	CONTRAST_SAME, /* no difference shows */
	CONTRAST_FASTER,
	CONTRAST_SLOWER,
};
/* A name for JSON. */
const char *contrast_verdict_name(enum contrast_verdict verdict);

struct contrast {
	double speedup; /* how many times as fast as the base, by the middle of all pairs of pairs */
	double least, most; /* the range in which it is */
	double confidence; /* that it is: at least 0.95, or as much as so few pairs can give */
	enum contrast_verdict verdict;
};

/* The speedup of times over those of the base, which are n pairs from 1 to CONTRAST_PAIRS_MAX. All
 * are above 0. Pure. */
void contrast_take(const double *base_s, const double *times_s, size_t n, struct contrast *out);

/* The value below which that share of n > 0 values is, between two of them in proportion. Sorts
 * them. */
double contrast_quantile(double *value, size_t n, double share);

#endif
