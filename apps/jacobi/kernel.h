/* SPDX-License-Identifier: MIT */
/*
 * The 5-point Jacobi stencil on the cells of one subdomain: each becomes the mean of its four
 * neighbours. Pure; the same to the last bit whatever the instruction set.
 */
#ifndef JACOBI_KERNEL_H
#define JACOBI_KERNEL_H

#include <stddef.h>

/* Cells are in rows, `stride` doubles apart. Each row of `from` has a halo cell on its left and on
 * its right. The halo rows above the first and below the last row are wherever `north` and `south`
 * point. */
struct kernel_field {
	size_t rows, columns, stride; /* neither rows nor columns is 0 */
	const double *from;
	const double *north, *south;
	double *to; /* overlaps none of the others; its halo cells are left alone */
};

/* One iteration. */
void kernel_update(const struct kernel_field *field);

/* One iteration. Returns the sum of the squares of all changes, which is that of the residual of
 * `from`. */
double kernel_update_residual(const struct kernel_field *field);

#endif
