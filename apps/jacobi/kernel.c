/* SPDX-License-Identifier: MIT */
/*
 * The stencil; see kernel.h. It is written for the compiler to vectorise, once for each of the
 * instruction sets in KERNEL_CLONES (see meson.build), of which the loader chooses the best.
 *
 * Compile it without contraction: a fused multiply-add would round differently.
 */
#include "apps/jacobi/kernel.h"

#ifdef KERNEL_CLONES
/* Only on static functions: clang up to 16 gives others a name that their callers don't know. */
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

/* Only what is inlined into a clone is compiled for its instruction set. */
#define INLINE static inline __attribute__((always_inline))

#define LANES 8 /* partial sums, so that all vector lengths add up in the same order */

struct row {
	const double *above, *here, *below;
	double *to;
};

INLINE struct row row_of(const struct kernel_field *field, size_t row)
{
	const double *here = field->from + row * field->stride;

	return (struct row){
		.above = row ? here - field->stride : field->north,
		.here = here,
		.below = row + 1 < field->rows ? here + field->stride : field->south,
		.to = field->to + row * field->stride,
	};
}

INLINE void update(size_t columns, const double *restrict above, const double *restrict here,
	const double *restrict below, double *restrict to)
{
	const double *left = here - 1, *right = here + 1;

	for (size_t i = 0; i < columns; i++)
		to[i] = 0.25 * ((above[i] + below[i]) + (left[i] + right[i]));
}

CLONES static void update_rows(const struct kernel_field *field)
{
	for (size_t i = 0; i < field->rows; i++) {
		struct row row = row_of(field, i);

		update(field->columns, row.above, row.here, row.below, row.to);
	}
}

CLONES static double update_rows_residual(const struct kernel_field *field)
{
	const size_t whole = field->columns - field->columns % LANES;
	double sum[LANES] = {0}, total = 0;

	for (size_t i = 0; i < field->rows; i++) {
		struct row row = row_of(field, i);

		update(field->columns, row.above, row.here, row.below, row.to);
		for (size_t k = 0; k < whole; k += LANES)
			for (size_t lane = 0; lane < LANES; lane++) {
				double change = row.to[k + lane] - row.here[k + lane];
				sum[lane] += change * change;
			}
		for (size_t k = whole; k < field->columns; k++)
			total += (row.to[k] - row.here[k]) * (row.to[k] - row.here[k]);
	}
	for (size_t lane = 0; lane < LANES; lane++)
		total += sum[lane];
	return total;
}

void kernel_update(const struct kernel_field *field)
{
	update_rows(field);
}

double kernel_update_residual(const struct kernel_field *field)
{
	return update_rows_residual(field);
}
