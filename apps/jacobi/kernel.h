/* SPDX-License-Identifier: MIT */
/*
 * The 5-point Jacobi stencil on the cells of one subdomain: each becomes the mean of its four
 * neighbours. Pure; the same to the last bit whatever the instruction set.
 */
#ifndef JACOBI_KERNEL_H
#define JACOBI_KERNEL_H

#include <stddef.h>

/* Cells lie in rows, `stride` doubles apart. Left and right of each row of `from` stands a halo
 * cell. The row above the first and that below the last are wherever `north` and `south` point. */
struct kernel_field {
	size_t rows, columns, stride; /* neither rows nor columns is 0 */
	const double *from;
	const double *north, *south;
	double *to; /* overlaps none of the others; its halo cells are left alone */
};

/* One iteration. */
void kernel_update(const struct kernel_field *field);

/* One iteration; returns the sum of the squares of what it changed: of the residual of `from`. */
double kernel_update_residual(const struct kernel_field *field);

#endif
