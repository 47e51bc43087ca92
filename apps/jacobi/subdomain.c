/* SPDX-License-Identifier: MIT */
/*
 * A subdomain; see subdomain.h.
 */
#include "apps/jacobi/subdomain.h"

#include "apps/jacobi/kernel.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIAS_BYTES 4096
#define LINE_DOUBLES (EDGE_LINE / sizeof(double))
#define SOURCE_WIDTH 0.125 /* standard deviation, as a fraction of the side */
#define PACKED_MAGIC UINT32_C(0x6a616362) /* "jacb" */

/* The header of a packed subdomain. The cells follow, row by row. */
struct packed {
	uint32_t magic;
	uint32_t id;
	struct grid_block block;
	uint64_t iteration;
	uint64_t lag_sum, lag_max;
};

static_assert(sizeof(struct packed) == 48, "no padding: it would be sent unset");

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

		if (!sub->inner[side])
			continue;
		struct edge_slot *slot =
			sub->lockstep ? edge_of_iteration(edge, sub->iteration) : edge_begin(edge);
		copy_edge(sub, side, slot->cells);
		slot->iteration = sub->iteration;
		if (!sub->lockstep)
			edge_publish(edge);
	}
}

/* How far apart two byte addresses are, for a CPU that compares them modulo ALIAS_BYTES first. */
static size_t apart(size_t a, size_t b)
{
	size_t distance = (a - b) % ALIAS_BYTES;

	return distance < ALIAS_BYTES / 2 ? distance : ALIAS_BYTES - distance;
}

/* Doubles of a field of cells. The other field follows. CPUs take loads for dependent on earlier
 * stores to other pages at the same place; so what is read, three rows, and what is written should
 * not lie at the same place of their pages. That costs up to an eighth of the time of an update. */
static size_t field_doubles(size_t rows, size_t stride)
{
	size_t least = round_up(LINE_DOUBLES + rows * stride, LINE_DOUBLES), best = least,
	       best_apart = 0;

	for (size_t n = least; n < least + ALIAS_BYTES / sizeof(double); n += LINE_DOUBLES) {
		size_t bytes = n * sizeof(double), row = stride * sizeof(double);
		size_t here = apart(bytes, 0), above = apart(bytes, row),
		       below = apart(bytes, 0 - row);
		size_t nearest = here < above ? here : above;
		nearest = nearest < below ? nearest : below;
		if (nearest > best_apart) {
			best_apart = nearest;
			best = n;
		}
	}
	return best;
}

/* Set up all but the values of the cells. */
static int lay_out(struct subdomain *sub, const struct grid *grid, uint32_t id, bool lockstep)
{
	struct grid_block block = grid_block(grid, id);
	size_t edges_bytes = 0;

	*sub = (struct subdomain){.id = id, .block = block, .lockstep = lockstep};
	/* Between rows: the halo cell on the right of one row, and the one on the left of the
	 * next. */
	sub->stride = round_up(block.columns + 2, 8);
	size_t halo = round_up(block.columns, LINE_DOUBLES);
	size_t field = field_doubles(block.rows, sub->stride);
	for (enum grid_side side = 0; side < GRID_SIDES; side++)
		edges_bytes += edge_bytes(grid_edge_cells(&block, side));

	sub->memory = edge_allocate(1, (2 * halo + 2 * field) * sizeof(double) + edges_bytes);
	if (!sub->memory)
		return -ENOMEM;

	double *north = sub->memory, *south = north + halo;
	sub->now = south + halo + LINE_DOUBLES;
	sub->next = sub->now + field;
	char *edges = (char *)(south + halo + 2 * field);
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		size_t cells = grid_edge_cells(&block, side);

		sub->inner[side] = grid_neighbour(grid, id, side) != GRID_OUTSIDE;
		edge_init(&sub->out[side], cells, edges);
		edges += edge_bytes(cells);
	}
	for (uint32_t i = 0; i < block.columns; i++)
		north[i] = subdomain_source(grid, block.column + i);
	sub->north = north;
	sub->south = south;
	return 0;
}

int subdomain_init(struct subdomain *sub, const struct grid *grid, uint32_t id, bool lockstep)
{
	int rc = lay_out(sub, grid, id, lockstep);

	if (rc < 0)
		return rc;
	for (uint32_t row = 0; row < sub->block.rows; row++)
		for (uint32_t i = 0; i < sub->block.columns; i++)
			sub->now[row * sub->stride + i] = 1;
	show(sub);
	return 0;
}

void subdomain_connect(struct subdomain *sub, enum grid_side side, struct edge *edge)
{
	sub->in[side] = edge;
}

static size_t packed_bytes(const struct grid_block *block)
{
	return sizeof(struct packed) + (size_t)block->rows * block->columns * sizeof(double);
}

size_t subdomain_packed_bytes(const struct subdomain *sub)
{
	return packed_bytes(&sub->block);
}

void subdomain_pack(const struct subdomain *sub, void *to)
{
	const struct packed head = {
		.magic = PACKED_MAGIC,
		.id = sub->id,
		.block = sub->block,
		.iteration = sub->iteration,
		.lag_sum = sub->lag_sum,
		.lag_max = sub->lag_max,
	};
	size_t row_bytes = sub->block.columns * sizeof(double);
	char *cells = (char *)to + sizeof(head);

	memcpy(to, &head, sizeof(head));
	for (uint32_t row = 0; row < sub->block.rows; row++)
		memcpy(cells + row * row_bytes, sub->now + row * sub->stride, row_bytes);
}

/* Does the header fit that subdomain? No halo is older than the start. */
static bool fits(const struct packed *head, const struct grid_block *block, uint32_t id)
{
	return head->magic == PACKED_MAGIC && head->id == id && head->block.row == block->row &&
	       head->block.column == block->column && head->block.rows == block->rows &&
	       head->block.columns == block->columns && head->lag_max <= head->iteration &&
	       head->lag_sum >= head->lag_max;
}

int subdomain_unpack(struct subdomain *sub, const struct grid *grid, uint32_t id, bool lockstep,
	const void *from, size_t bytes)
{
	struct grid_block block = grid_block(grid, id);
	size_t row_bytes = block.columns * sizeof(double);
	const char *cells = (const char *)from + sizeof(struct packed);
	struct packed head;

	if (bytes != packed_bytes(&block))
		return -EBADMSG;
	memcpy(&head, from, sizeof(head));
	if (!fits(&head, &block, id))
		return -EBADMSG;

	int rc = lay_out(sub, grid, id, lockstep);
	if (rc < 0)
		return rc;
	for (uint32_t row = 0; row < block.rows; row++)
		memcpy(sub->now + row * sub->stride, cells + row * row_bytes, row_bytes);
	sub->iteration = head.iteration;
	sub->lag_sum = head.lag_sum;
	sub->lag_max = head.lag_max;
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

		if (!sub->inner[side])
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

/* Make the new iteration the current one. */
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
	/* The cells of the next iteration are scratch until it is computed. */
	const struct kernel_field field = field_of(sub);

	return kernel_update_residual(&field);
}

const double *subdomain_row(const struct subdomain *sub, uint32_t row)
{
	return sub->now + row * sub->stride;
}
