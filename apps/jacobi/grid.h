/* SPDX-License-Identifier: MIT */
/*
 * The grid of cells, and its division into subdomains. Pure: no memory, no threads.
 *
 * Over MPI each rank has a band of columns (DPLB, Section 4: one dimension, along x). Subdomains
 * are numbered rank by rank, and within a rank worker by worker. So ranks and workers start with
 * contiguous blocks of numbers of equal size, and each block is a connected piece of the grid.
 */
#ifndef JACOBI_GRID_H
#define JACOBI_GRID_H

#include <stdint.h>

#define GRID_SIDE_MAX (UINT32_C(1) << 24) /* rows or columns */
#define GRID_WORKER_SIDE 300 /* cells per worker, each way, by default: PLB, Section 4.2 */
#define GRID_OUTSIDE UINT32_MAX /* no subdomain: beyond the boundary */

enum grid_cut {
	GRID_CUT_1D, /* into strips of rows */
	GRID_CUT_2D, /* into blocks with short edges */
};

enum grid_side { GRID_NORTH, GRID_SOUTH, GRID_WEST, GRID_EAST, GRID_SIDES };

struct grid {
	uint32_t rows, columns; /* of cells, without the boundary */
	uint32_t ranks;
	uint32_t workers_down, workers_across; /* of one rank */
	uint32_t split_down, split_across; /* of the piece of one worker */
};

/* The cells of a subdomain. */
struct grid_block {
	uint32_t row, column; /* of its first cell */
	uint32_t rows, columns;
};

/* Cut a grid for `ranks` ranks of `workers` workers each; none of the numbers is 0. With rows and
 * columns 0 it has GRID_WORKER_SIDE x GRID_WORKER_SIDE cells for each worker. Returns 0, or
 * -ERANGE: there would be more pieces than cells, a grid larger than GRID_SIDE_MAX, or more than
 * UINT32_MAX / 2 subdomains. */
int grid_init(struct grid *grid, uint32_t rows, uint32_t columns, enum grid_cut cut, uint32_t ranks,
	uint32_t workers, uint32_t subdomains_per_worker);

/* Subdomains of all ranks. */
uint32_t grid_subdomains(const struct grid *grid);

/* Subdomains that each rank has at first. Those of rank r begin with number r times this. */
uint32_t grid_rank_subdomains(const struct grid *grid);

/* The cells of a subdomain, of which there is at least one. */
struct grid_block grid_block(const struct grid *grid, uint32_t subdomain);

/* The subdomain on that side, or GRID_OUTSIDE. The two share the whole edge. */
uint32_t grid_neighbour(const struct grid *grid, uint32_t subdomain, enum grid_side side);

/* The same side as seen by the neighbour there. */
static inline enum grid_side grid_opposite(enum grid_side side)
{
	return (enum grid_side)((unsigned)side ^ 1);
}

/* Cells along that side of a block. */
static inline uint32_t grid_edge_cells(const struct grid_block *block, enum grid_side side)
{
	return side == GRID_NORTH || side == GRID_SOUTH ? block->columns : block->rows;
}

#endif
