/* SPDX-License-Identifier: MIT */
/*
 * The cut of the grid; see grid.h.
 */
#include "apps/jacobi/grid.h"

#include <errno.h>
#include <stdbool.h>

#define SUBDOMAINS_MAX (UINT32_MAX / 2)

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

int grid_init(struct grid *grid, uint32_t rows, uint32_t columns, enum grid_cut cut, uint32_t ranks,
	uint32_t workers, uint32_t subdomains_per_worker)
{
	bool given = rows && columns;
	uint32_t across_max = cut == GRID_CUT_1D ? 1 : GRID_SIDE_MAX;
	uint32_t band = columns / ranks; /* or one more */
	int rc;

	*grid = (struct grid){.rows = rows, .columns = columns, .ranks = ranks};
	if ((uint64_t)ranks * workers > SUBDOMAINS_MAX / subdomains_per_worker)
		return -ERANGE;
	rc = factor(workers, given ? rows : 1, given ? (double)columns / ranks : 1,
		given ? rows : GRID_SIDE_MAX, given && band < across_max ? band : across_max,
		&grid->workers_down, &grid->workers_across);
	if (rc < 0)
		return rc;
	if (!given) {
		uint64_t across = (uint64_t)ranks * grid->workers_across;

		if (grid->workers_down > GRID_SIDE_MAX / GRID_WORKER_SIDE ||
			across > GRID_SIDE_MAX / GRID_WORKER_SIDE)
			return -ERANGE;
		grid->rows = GRID_WORKER_SIDE * grid->workers_down;
		grid->columns = GRID_WORKER_SIDE * (uint32_t)across;
		band = grid->columns / ranks;
	}
	if (grid->rows > GRID_SIDE_MAX || grid->columns > GRID_SIDE_MAX)
		return -ERANGE;
	return factor(subdomains_per_worker, (double)grid->rows / grid->workers_down,
		(double)grid->columns / ranks / grid->workers_across,
		grid->rows / grid->workers_down,
		cut == GRID_CUT_1D ? 1 : band / grid->workers_across, &grid->split_down,
		&grid->split_across);
}

/* The pattern of blocks: the same height in all ranks, the same width within each. */
static uint32_t blocks_down(const struct grid *grid)
{
	return grid->workers_down * grid->split_down;
}

static uint32_t blocks_across(const struct grid *grid)
{
	return grid->workers_across * grid->split_across;
}

uint32_t grid_rank_subdomains(const struct grid *grid)
{
	return blocks_down(grid) * blocks_across(grid);
}

uint32_t grid_subdomains(const struct grid *grid)
{
	return grid->ranks * grid_rank_subdomains(grid);
}

/* Where a subdomain lies in the pattern of all subdomains. */
static void position(const struct grid *grid, uint32_t subdomain, uint32_t *down, uint32_t *across)
{
	uint32_t split = grid->split_down * grid->split_across;
	uint32_t rank = subdomain / grid_rank_subdomains(grid);
	uint32_t worker = subdomain % grid_rank_subdomains(grid) / split, part = subdomain % split;

	*down = worker / grid->workers_across * grid->split_down + part / grid->split_across;
	*across = rank * blocks_across(grid) + worker % grid->workers_across * grid->split_across +
		  part % grid->split_across;
}

/* Where piece i of n equal ones (to a cell) begins. */
static uint32_t begin(uint32_t cells, uint32_t i, uint32_t n)
{
	return (uint32_t)((uint64_t)cells * i / n);
}

/* Where the blocks begin that are the i-th from the west. */
static uint32_t begin_across(const struct grid *grid, uint32_t i)
{
	uint32_t rank = i / blocks_across(grid);
	uint32_t band = begin(grid->columns, rank, grid->ranks);
	uint32_t columns = begin(grid->columns, rank + 1, grid->ranks) - band;

	return band + begin(columns, i % blocks_across(grid), blocks_across(grid));
}

struct grid_block grid_block(const struct grid *grid, uint32_t subdomain)
{
	uint32_t down, across;

	position(grid, subdomain, &down, &across);
	uint32_t row = begin(grid->rows, down, blocks_down(grid));
	uint32_t column = begin_across(grid, across);
	return (struct grid_block){
		.row = row,
		.column = column,
		.rows = begin(grid->rows, down + 1, blocks_down(grid)) - row,
		.columns = begin_across(grid, across + 1) - column,
	};
}

uint32_t grid_neighbour(const struct grid *grid, uint32_t subdomain, enum grid_side side)
{
	uint32_t down, across;

	position(grid, subdomain, &down, &across);
	/* 0 - 1 is out of range as well. */
	down += side == GRID_SOUTH ? 1 : side == GRID_NORTH ? UINT32_MAX : 0;
	across += side == GRID_EAST ? 1 : side == GRID_WEST ? UINT32_MAX : 0;
	if (down >= blocks_down(grid) || across >= grid->ranks * blocks_across(grid))
		return GRID_OUTSIDE;

	uint32_t rank = across / blocks_across(grid);
	across %= blocks_across(grid);
	uint32_t worker =
		down / grid->split_down * grid->workers_across + across / grid->split_across;
	uint32_t part = down % grid->split_down * grid->split_across + across % grid->split_across;
	return rank * grid_rank_subdomains(grid) + worker * grid->split_down * grid->split_across +
	       part;
}
