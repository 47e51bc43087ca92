/* SPDX-License-Identifier: MIT */
/*
 * nas-ep: pairs of Gaussian random numbers, by the polar method. Threads share nothing until the
 * end, so that a run is one phase, and uses no memory.
 */
#include "apps/nas/nas.h"

#include "daemon/base/clock.h"

#include <math.h>
#include <string.h>

#define SEED UINT64_C(271828183)
#define BLOCK_PAIRS (INT64_C(1) << 16)
#define ANNULI 10

struct sums {
	double x, y;
	int64_t count[ANNULI]; /* of pairs by their larger absolute value */
};

static void add_block(int64_t block, struct sums *sums)
{
	uint64_t state = nas_random_skip(SEED, 2 * (uint64_t)(block * BLOCK_PAIRS));

	for (int64_t i = 0; i < BLOCK_PAIRS; i++) {
		double x = 2 * nas_random(&state) - 1;
		double y = 2 * nas_random(&state) - 1;
		double square = x * x + y * y;

		if (square > 1)
			continue;
		double factor = sqrt(-2 * log(square) / square);
		x *= factor;
		y *= factor;
		sums->x += x;
		sums->y += y;
		sums->count[(int)fmax(fabs(x), fabs(y))]++;
	}
}

static struct sums add_all(int64_t blocks)
{
	double x = 0, y = 0;
	int64_t count[ANNULI] = {0};

#pragma omp parallel reduction(+ : x, y, count)
	{
		struct sums sums = {0};

#pragma omp for schedule(static) nowait
		for (int64_t block = 0; block < blocks; block++)
			add_block(block, &sums);
		x += sums.x;
		y += sums.y;
		for (int i = 0; i < ANNULI; i++)
			count[i] += sums.count[i];
	}
	struct sums all = {.x = x, .y = y};
	memcpy(all.count, count, sizeof(count));
	return all;
}

static int run(enum nas_class class, int repeats, struct nas_result *result)
{
	static const struct {
		int pairs_log2;
		double x, y;
	} published[NAS_CLASSES] = {
		[NAS_S] = {24, -3.247834652034740e3, -6.958407078382297e3},
		[NAS_W] = {25, -2.863319731645753e3, -6.320053679109499e3},
		[NAS_A] = {28, -4.295875165629892e3, -1.580732573678431e4},
		[NAS_B] = {30, 4.033815542441498e4, -2.660669192809235e4},
	};
	int64_t blocks = (INT64_C(1) << published[class].pairs_log2) / BLOCK_PAIRS;
	struct sums sums;

	result->begin_ns = clock_monotonic_ns();
	for (int i = 0; i < repeats; i++)
		sums = add_all(blocks);
	result->end_ns = clock_monotonic_ns();

	result->check[result->checks++] =
		(struct nas_check){"sx", sums.x, published[class].x, 1e-8};
	result->check[result->checks++] =
		(struct nas_check){"sy", sums.y, published[class].y, 1e-8};
	return 0;
}

int main(int argc, char **argv)
{
	static const struct nas_program program = {
		.name = "nas-ep",
		.doc = "Pairs of Gaussian random numbers: one long phase, without memory.",
		.run = run,
	};

	return nas_main(&program, argc, argv);
}
