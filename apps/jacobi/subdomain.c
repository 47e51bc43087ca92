/* SPDX-License-Identifier: MIT */
/*
 * A subdomain; see subdomain.h.
 */
#include "subdomain.h"

#include "kernel.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE_DOUBLES (EDGE_LINE / sizeof(double))
#define SOURCE_WIDTH 0.125 /* standard deviation, as a part of the side */

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

double subdomain_source(const struct grid *grid, uint32_t column)
{
	double x = ((column + 0.5) / grid->columns - 0.5) / SOURCE_WIDTH;

	return exp(-0.5 * x * x);
}

/* Copy the cells along a side. */
static void copy_edge(const struct subdomain *sub, enum grid_side side, double *to)
{
	const double *from = sub->now;

	if (side == GRID_SOUTH)
		from += (sub->block.rows - 1) * sub->stride;
	if (side == GRID_EAST)
		from += sub->block.columns - 1;
	if (side == GRID_NORTH || side == GRID_SOUTH) {
		memcpy(to, from, sub->block.columns * sizeof(*to));
		return;
	}
	for (uint32_t row = 0; row < sub->block.rows; row++)
		to[row] = from[row * sub->stride];
}

/* Show the neighbours this iteration. */
static void show(struct subdomain *sub)
{
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		struct edge *edge = &sub->out[side];

		if (!sub->in[side])
			continue;
		struct edge_slot *slot =
			sub->lockstep ? edge_of_iteration(edge, sub->iteration) : edge_begin(edge);
		copy_edge(sub, side, slot->cells);
		slot->iteration = sub->iteration;
		if (!sub->lockstep)
			edge_publish(edge);
	}
}

int subdomain_init(struct subdomain *all, uint32_t index, const struct grid *grid, bool lockstep)
{
	struct subdomain *sub = &all[index];
	struct grid_block block = grid_block(grid, index);
	size_t edges_bytes = 0;

	*sub = (struct subdomain){.block = block, .lockstep = lockstep};
	/* The halo cell on the right of a row, then that on the left of the next. */
	sub->stride = round_up(block.columns + 2, 8);
	size_t halo = round_up(block.columns, LINE_DOUBLES);
	size_t field = round_up(LINE_DOUBLES + block.rows * sub->stride, LINE_DOUBLES);
	for (enum grid_side side = 0; side < GRID_SIDES; side++)
		edges_bytes += edge_bytes(grid_edge_cells(&block, side));

	size_t bytes = (2 * halo + 2 * field) * sizeof(double) + edges_bytes;
	sub->memory = aligned_alloc(EDGE_LINE, bytes);
	if (!sub->memory)
		return -ENOMEM;
	memset(sub->memory, 0, bytes);

	double *north = sub->memory, *south = north + halo;
	sub->now = south + halo + LINE_DOUBLES;
	sub->next = sub->now + field;
	char *edges = (char *)(south + halo + 2 * field);
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		uint32_t neighbour = grid_neighbour(grid, index, side);
		size_t cells = grid_edge_cells(&block, side);

		if (neighbour != GRID_OUTSIDE)
			sub->in[side] = &all[neighbour].out[grid_opposite(side)];
		edge_init(&sub->out[side], cells, edges);
		edges += edge_bytes(cells);
	}
	for (uint32_t i = 0; i < block.columns; i++)
		north[i] = subdomain_source(grid, block.column + i);
	sub->north = north;
	sub->south = south;
	for (uint32_t row = 0; row < block.rows; row++)
		for (uint32_t i = 0; i < block.columns; i++)
			sub->now[row * sub->stride + i] = 1;
	show(sub);
	return 0;
}

void subdomain_deinit(struct subdomain *sub)
{
	free(sub->memory);
	sub->memory = NULL;
}

uint64_t subdomain_fetch(struct subdomain *sub)
{
	sub->lag = 0;
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		struct edge *edge = sub->in[side];

		if (!edge)
			continue;
		const struct edge_slot *slot =
			sub->lockstep ? edge_of_iteration(edge, sub->iteration) : edge_latest(edge);
		if (slot->iteration + sub->lag < sub->iteration)
			sub->lag = sub->iteration - slot->iteration;
		if (side == GRID_NORTH)
			sub->north = slot->cells;
		else if (side == GRID_SOUTH)
			sub->south = slot->cells;
		else {
			double *to =
				side == GRID_WEST ? sub->now - 1 : sub->now + sub->block.columns;
			for (uint32_t row = 0; row < sub->block.rows; row++)
				to[row * sub->stride] = slot->cells[row];
		}
	}
	return sub->lag;
}

static struct kernel_field field_of(const struct subdomain *sub)
{
	return (struct kernel_field){
		.rows = sub->block.rows,
		.columns = sub->block.columns,
		.stride = sub->stride,
		.from = sub->now,
		.north = sub->north,
		.south = sub->south,
		.to = sub->next,
	};
}

/* What was computed becomes what is shown. */
static void advance(struct subdomain *sub)
{
	double *now = sub->next;

	sub->next = sub->now;
	sub->now = now;
	sub->iteration++;
	sub->lag_sum += sub->lag;
	if (sub->lag > sub->lag_max)
		sub->lag_max = sub->lag;
	show(sub);
}

void subdomain_step(struct subdomain *sub)
{
	const struct kernel_field field = field_of(sub);

	kernel_update(&field);
	advance(sub);
}

double subdomain_step_residual(struct subdomain *sub)
{
	double squared = subdomain_residual(sub);

	advance(sub);
	return squared;
}

double subdomain_residual(struct subdomain *sub)
{
	/* The iteration to come is room for scratch until it is advanced to. */
	const struct kernel_field field = field_of(sub);

	return kernel_update_residual(&field);
}

const double *subdomain_row(const struct subdomain *sub, uint32_t row)
{
	return sub->now + row * sub->stride;
}
