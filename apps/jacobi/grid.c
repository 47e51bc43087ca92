/* SPDX-License-Identifier: MIT */
/*
 * The cut of the grid; see grid.h.
 */
#include "grid.h"

#include <errno.h>
#include <stdbool.h>

#define CELLS_PER_WORKER 300 /* on each side: PLB, Section 4.2 */

/* Cut pieces of rows x columns cells into n = *down x *across, with the shortest edges, into
 * strips of rows where there is a choice. At most max_down x max_across. */
static int factor(uint32_t n, double rows, double columns, uint32_t max_down, uint32_t max_across,
	uint32_t *down, uint32_t *across)
{
	double shortest = -1;

	for (uint32_t d = n; d > 0; d--) {
		uint32_t a = n / d;
		double edge = rows / d + columns / a;

		if (n % d || d > max_down || a > max_across || (shortest >= 0 && edge >= shortest))
			continue;
		shortest = edge;
		*down = d;
		*across = a;
	}
	return shortest < 0 ? -ERANGE : 0;
}

int grid_init(struct grid *grid, uint32_t rows, uint32_t columns, enum grid_cut cut,
	uint32_t workers, uint32_t subdomains_per_worker)
{
	bool given = rows && columns;
	uint32_t across_max = cut == GRID_CUT_1D ? 1 : GRID_SIDE_MAX;
	int rc;

	*grid = (struct grid){.rows = rows, .columns = columns};
	rc = factor(workers, given ? rows : 1, given ? columns : 1, given ? rows : GRID_SIDE_MAX,
		given && columns < across_max ? columns : across_max, &grid->workers_down,
		&grid->workers_across);
	if (rc < 0)
		return rc;
	if (!given) {
		grid->rows = CELLS_PER_WORKER * grid->workers_down;
		grid->columns = CELLS_PER_WORKER * grid->workers_across;
	}
	if (grid->rows > GRID_SIDE_MAX || grid->columns > GRID_SIDE_MAX)
		return -ERANGE;
	return factor(subdomains_per_worker, (double)grid->rows / grid->workers_down,
		(double)grid->columns / grid->workers_across, grid->rows / grid->workers_down,
		cut == GRID_CUT_1D ? 1 : grid->columns / grid->workers_across, &grid->split_down,
		&grid->split_across);
}

uint32_t grid_subdomains(const struct grid *grid)
{
	return grid->workers_down * grid->workers_across * grid->split_down * grid->split_across;
}

/* Where a subdomain lies in the pattern of all subdomains. */
static void position(const struct grid *grid, uint32_t subdomain, uint32_t *down, uint32_t *across)
{
	uint32_t split = grid->split_down * grid->split_across;
	uint32_t worker = subdomain / split, part = subdomain % split;

	*down = worker / grid->workers_across * grid->split_down + part / grid->split_across;
	*across = worker % grid->workers_across * grid->split_across + part % grid->split_across;
}

/* Where piece i of n equal ones (to a cell) begins. */
static uint32_t begin(uint32_t cells, uint32_t i, uint32_t n)
{
	return (uint32_t)((uint64_t)cells * i / n);
}

struct grid_block grid_block(const struct grid *grid, uint32_t subdomain)
{
	uint32_t blocks_down = grid->workers_down * grid->split_down;
	uint32_t blocks_across = grid->workers_across * grid->split_across;
	uint32_t down, across;

	position(grid, subdomain, &down, &across);
	uint32_t row = begin(grid->rows, down, blocks_down);
	uint32_t column = begin(grid->columns, across, blocks_across);
	return (struct grid_block){
		.row = row,
		.column = column,
		.rows = begin(grid->rows, down + 1, blocks_down) - row,
		.columns = begin(grid->columns, across + 1, blocks_across) - column,
	};
}

uint32_t grid_neighbour(const struct grid *grid, uint32_t subdomain, enum grid_side side)
{
	uint32_t down, across;

	position(grid, subdomain, &down, &across);
	/* 0 - 1 is out of range as well. */
	down += side == GRID_SOUTH ? 1 : side == GRID_NORTH ? UINT32_MAX : 0;
	across += side == GRID_EAST ? 1 : side == GRID_WEST ? UINT32_MAX : 0;
	if (down >= grid->workers_down * grid->split_down ||
		across >= grid->workers_across * grid->split_across)
		return GRID_OUTSIDE;

	uint32_t worker =
		down / grid->split_down * grid->workers_across + across / grid->split_across;
	uint32_t part = down % grid->split_down * grid->split_across + across % grid->split_across;
	return worker * grid->split_down * grid->split_across + part;
}
