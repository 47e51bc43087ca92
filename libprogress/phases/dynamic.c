/* SPDX-License-Identifier: MIT */
#include "libprogress/phases/dynamic.h"

#include "libprogress/phases/wait.h"

/* For each thread. Three threads on two CPUs gained by turns where each had one chunk, and lost by them where each had
 * five. */
#define CHUNKS_LEAST 4

/* The runtime's, if all of the program sees it. */
extern int omp_get_num_threads(void) __attribute__((weak));

double dynamic_chunks(double begin, double end, double step, double chunk)
{
	double iterations = step != 0 ? (end - begin) / step : 0;

	if (iterations <= 0)
		return 0;
	return chunk > 1 ? iterations / chunk : iterations;
}

void dynamic_loop(double chunks)
{
	int threads = omp_get_num_threads ? omp_get_num_threads() : 1;

	if (threads > 1 && chunks >= CHUNKS_LEAST * threads)
		wait_dynamic();
}
