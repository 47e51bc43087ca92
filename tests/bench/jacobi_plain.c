/* SPDX-License-Identifier: MIT */
/*
 * The baseline of jacobi_cost: the same iterations as a plain OpenMP loop nest over the whole grid,
 * compiled for this machine. Arguments: threads, iterations. Prints cells updated per second.
 */
#include "daemon/base/clock.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 300 /* of a thread's square of cells */
#define STRIDE (SIDE + 2)

/* Thread by thread, so that each touches its own cells first. */
static void start(double *a, double *b, size_t rows)
{
#pragma omp parallel for schedule(static)
	for (size_t row = 0; row < rows; row++)
		for (size_t i = 0; i < STRIDE; i++)
			a[row * STRIDE + i] = b[row * STRIDE + i] = i > 0 && i <= SIDE;
}

static void iterate(const double *restrict from, double *restrict to, size_t rows)
{
#pragma omp for schedule(static)
	for (size_t row = 1; row <= rows; row++) {
		const double *here = from + row * STRIDE;
		double *out = to + row * STRIDE;

		for (size_t i = 1; i <= SIDE; i++)
			out[i] = 0.25 *
				 (here[i - STRIDE] + here[i + STRIDE] + here[i - 1] + here[i + 1]);
	}
}

int main(int argc, char **argv)
{
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	int iterations = argc == 3 ? atoi(argv[2]) : 0;

	if (threads < 1 || iterations < 1) {
		fputs("usage: jacobi_plain THREADS ITERATIONS\n", stderr);
		return 2;
	}
	size_t rows = (size_t)threads * SIDE;
	double *a = malloc((rows + 2) * STRIDE * sizeof(*a));
	double *b = malloc((rows + 2) * STRIDE * sizeof(*b));
	if (!a || !b)
		return 1;
	omp_set_num_threads(threads);
	start(a, b, rows + 2);

	uint64_t begin_ns = clock_monotonic_ns();
#pragma omp parallel
	for (int i = 0; i < iterations; i++)
		iterate(i % 2 ? b : a, i % 2 ? a : b, rows);
	double seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
	printf("%.6g\n", (double)rows * SIDE * iterations / seconds);
	free(a);
	free(b);
	return 0;
}
