/* SPDX-License-Identifier: MIT */
/* How two ways differ; see contrast.h. */
#include "tools/compare/contrast.h"

#include <math.h>
#include <stdlib.h>

#define CONFIDENCE_WANTED 0.95
#define SUMS (CONTRAST_PAIRS_MAX * (CONTRAST_PAIRS_MAX + 1) / 2)

const char *contrast_verdict_name(enum contrast_verdict verdict)
{
	static const char *const names[] = {"unknown", "same", "faster", "slower"};

	return names[verdict];
}

static int ascending(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

double contrast_quantile(double *value, size_t n, double share)
{
	qsort(value, n, sizeof *value, ascending);
	double at = share * (double)(n - 1);
	size_t below = (size_t)at;
	double part = at - (double)below;

	return below + 1 < n ? value[below] + part * (value[below + 1] - value[below])
			     : value[below];
}

/* How many of the smallest, and of the largest, of n (n + 1) / 2 sums are outside the range, so that it
 * is as narrow as the confidence allows. Each rank counts for either sign with probability 1/2. */
static size_t leave_out(size_t n, double *confidence)
{
	double chance[SUMS + 1] = {1}; /* of each sum of the ranks */
	size_t sums = 0, out = 0;
	double below = 0; /* the chance that the sum is at most `out` */

	for (size_t rank = 1; rank <= n; rank++) {
		sums += rank;
		for (size_t s = sums + 1; s-- > 0;)
			chance[s] = (chance[s] + (s >= rank ? chance[s - rank] : 0)) / 2;
	}
	below = chance[0];
	while (out < sums && 2 * (below + chance[out + 1]) <= 1 - CONFIDENCE_WANTED)
		below += chance[++out];
	*confidence = 1 - 2 * below;
	return out;
}

void contrast_take(const double *base_s, const double *times_s, size_t n, struct contrast *out)
{
	double mean[SUMS]; /* of each two logarithms, and of each with itself */
	size_t means = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++)
			mean[means++] =
				(log(base_s[i] / times_s[i]) + log(base_s[k] / times_s[k])) / 2;
	out->speedup = exp(contrast_quantile(mean, means, 0.5));
	size_t outside = leave_out(n, &out->confidence);
	out->least = exp(mean[outside]);
	out->most = exp(mean[means - 1 - outside]);
	if (out->confidence < CONTRAST_CONFIDENCE_LEAST)
		out->verdict = CONTRAST_UNKNOWN;
	else if (out->least > 1)
		out->verdict = CONTRAST_FASTER;
	else
		out->verdict = out->most < 1 ? CONTRAST_SLOWER : CONTRAST_SAME;
}
