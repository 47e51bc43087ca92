/* SPDX-License-Identifier: MIT */
/*
 * The solution as a file: NumPy's .npy, because it keeps every bit, is read by one call in the
 * languages that people plot in, and is described in a page.
 */
#ifndef JACOBI_OUTPUT_H
#define JACOBI_OUTPUT_H

#include "apps/jacobi/grid.h"
#include "apps/jacobi/subdomain.h"

#include <stdio.h>

/* Write all cells, row by row from the north, to a stream. Returns 0 or a negative errno. */
int output_write(FILE *stream, const struct grid *grid, const struct subdomain *subdomains);

#endif
