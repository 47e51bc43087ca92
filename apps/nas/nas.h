/* SPDX-License-Identifier: MIT */
/*
 * What three kernels of the NAS Parallel Benchmarks have in common: random numbers, the command
 * line, and the comparison with published results.
 *
 * They are written from the published description (Bailey et al., "The NAS Parallel Benchmarks",
 * RNR-94-007), so that tools/reproduce/juggle has programs of these kinds to run. Their times are
 * no results of the NAS Parallel Benchmarks, which are a program of their own. All threads wait at
 * barriers of the OpenMP runtime, as its environment variables tell it.
 */
#ifndef NAS_NAS_H
#define NAS_NAS_H

#include <stddef.h>
#include <stdint.h>

enum nas_class { NAS_S, NAS_W, NAS_A, NAS_B, NAS_CLASSES };

/* ---- Random numbers: x <- 5^13 x mod 2^46, divided by 2^46 ---- */

#define NAS_MULTIPLIER UINT64_C(1220703125)
#define NAS_MODULUS_MASK ((UINT64_C(1) << 46) - 1)

/* The next number, above 0 and below 1. */
static inline double nas_random(uint64_t *state)
{
	*state = *state * NAS_MULTIPLIER & NAS_MODULUS_MASK;
	return (double)*state * 0x1p-46;
}

/* The state after that many numbers more. */
uint64_t nas_random_skip(uint64_t state, uint64_t numbers);

/* ---- The program ---- */

/* A result of the kernel, and what was published for the class. */
struct nas_check {
	const char *name;
	double found;
	double published;
	double tolerance; /* relative */
};

struct nas_result {
	uint64_t begin_ns, end_ns; /* of the part that counts, without preparations */
	size_t checks;
	struct nas_check check[2];
};

struct nas_program {
	const char *name;
	const char *doc;
	/* Run the class, and the part that counts as often as wanted; the results are those of the
	 * last time. Returns 0 or -ENOMEM. */
	int (*run)(enum nas_class class, int repeats, struct nas_result *result);
};

/* All that main() does. Returns the exit status. */
int nas_main(const struct nas_program *program, int argc, char **argv);

#endif
