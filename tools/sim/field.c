/* SPDX-License-Identifier: MIT */
/*
 * The cells of a simulated cluster; see field.h.
 *
 * Within a rank a subdomain reads the edge that its neighbour shows, as in jacobi(1). On a side
 * towards another rank it has its own edge instead, which is filled on delivery with the
 * neighbour's cells at that moment; these are what it showed last.
 */
#include "tools/sim/field.h"

#include "apps/jacobi/grid.h"
#include "apps/jacobi/kernel.h"
#include "apps/jacobi/subdomain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct member {
	struct subdomain sub;
	struct edge far[GRID_SIDES]; /* the cells that were delivered */
	uint32_t neighbours[GRID_SIDES];
	bool within[GRID_SIDES]; /* reads the neighbour's own edge */
	void *memory; /* owned; of the edges */
};

struct field {
	struct grid grid;
	bool lockstep;
	uint32_t n;
	struct member *members; /* owned */
	double *scratch; /* owned; one edge for each side */
	size_t longest; /* edge, in cells */
	double initial; /* norm of the first residual */
};

/* The cells of a subdomain along a side, which its neighbour sees. */
static void cells_along(const struct subdomain *sub, enum grid_side side, double *to)
{
	const struct grid_block *block = &sub->block;
	uint32_t column = side == GRID_EAST ? block->columns - 1 : 0;

	if (side == GRID_NORTH || side == GRID_SOUTH) {
		const double *row = subdomain_row(sub, side == GRID_SOUTH ? block->rows - 1 : 0);

		memcpy(to, row, block->columns * sizeof(*to));
		return;
	}
	for (uint32_t row = 0; row < block->rows; row++)
		to[row] = subdomain_row(sub, row)[column];
}

static const struct subdomain *neighbour_of(
	const struct field *field, const struct member *member, enum grid_side side)
{
	return &field->members[member->neighbours[side]].sub;
}

static void deliver(struct field *field, struct member *member, enum grid_side side)
{
	const struct subdomain *from = neighbour_of(field, member, side);
	struct edge_slot *slot = edge_begin(&member->far[side]);

	cells_along(from, grid_opposite(side), slot->cells);
	slot->iteration = from->iteration;
	edge_publish(&member->far[side]);
}

static int member_init(struct field *field, uint32_t subdomain)
{
	struct member *member = &field->members[subdomain];
	size_t bytes = 0;
	int rc = subdomain_init(&member->sub, &field->grid, subdomain, field->lockstep);

	if (rc < 0)
		return rc;
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		size_t cells = grid_edge_cells(&member->sub.block, side);

		member->neighbours[side] = grid_neighbour(&field->grid, subdomain, side);
		bytes += edge_bytes(cells);
		if (cells > field->longest)
			field->longest = cells;
	}
	member->memory = edge_allocate(1, bytes);
	if (!member->memory)
		return -ENOMEM;
	char *at = member->memory;
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		size_t cells = grid_edge_cells(&member->sub.block, side);

		edge_init(&member->far[side], cells, at);
		at += edge_bytes(cells);
	}
	return 0;
}

/* Set another initial value inside, shown to the neighbours. The problem is linear: a source of
 * this height from 1 is the same as one of height 1 from its inverse. */
static void fill(struct field *field, struct subdomain *sub, double value)
{
	for (uint32_t row = 0; row < sub->block.rows; row++)
		for (uint32_t i = 0; i < sub->block.columns; i++)
			sub->now[row * sub->stride + i] = value;
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		uint32_t cells = grid_edge_cells(&sub->block, side);

		if (!sub->inner[side])
			continue;
		cells_along(sub, side, field->scratch);
		if (field->lockstep)
			edge_put_lockstep(&sub->out[side], 0, field->scratch, cells);
		else
			edge_put(&sub->out[side], 0, field->scratch, cells);
	}
}

/* Call this once all are there. */
static void connect_all(struct field *field)
{
	uint32_t each = grid_rank_subdomains(&field->grid);

	for (uint32_t s = 0; s < field->n; s++) {
		struct member *member = &field->members[s];

		for (enum grid_side side = 0; side < GRID_SIDES; side++) {
			uint32_t other = member->neighbours[side];

			if (other == GRID_OUTSIDE)
				continue;
			member->within[side] = true;
			subdomain_connect(&member->sub, side,
				&field->members[other].sub.out[grid_opposite(side)]);
			field_place(field, s, side, s / each == other / each);
		}
		subdomain_fetch(&member->sub);
	}
}

static double norm(struct field *field);

static int make_members(struct field *field, double source)
{
	int rc = 0;

	field->n = grid_subdomains(&field->grid);
	field->members = edge_allocate(field->n, sizeof(*field->members));
	if (!field->members)
		return -ENOMEM;
	for (uint32_t s = 0; s < field->n && rc == 0; s++)
		rc = member_init(field, s);
	if (rc < 0)
		return rc;
	field->scratch = calloc(GRID_SIDES * field->longest, sizeof(*field->scratch));
	if (!field->scratch)
		return -ENOMEM;
	for (uint32_t s = 0; s < field->n && source > 0; s++)
		fill(field, &field->members[s].sub, 1 / source);
	connect_all(field);
	field->initial = norm(field);
	return 0;
}

int field_new(struct field **out, const struct field_params *params)
{
	if (!params->ranks || !params->workers || !params->each)
		return -ERANGE;
	struct field *field = calloc(1, sizeof(*field));
	if (!field)
		return -ENOMEM;
	field->lockstep = params->lockstep;
	int rc = grid_init(&field->grid, params->rows, params->columns,
		params->strips ? GRID_CUT_1D : GRID_CUT_2D, params->ranks, params->workers,
		params->each);
	if (rc == 0)
		rc = make_members(field, params->source);
	if (rc < 0) {
		field_free(field);
		return rc;
	}
	*out = field;
	return 0;
}

void field_free(struct field *field)
{
	if (!field)
		return;
	for (uint32_t s = 0; field->members && s < field->n; s++) {
		subdomain_deinit(&field->members[s].sub);
		free(field->members[s].memory);
	}
	free(field->members);
	free(field->scratch);
	free(field);
}

uint32_t field_subdomains(const struct field *field)
{
	return field->n;
}

void field_neighbours(const struct field *field, uint32_t subdomain, uint32_t neighbours[4])
{
	memcpy(neighbours, field->members[subdomain].neighbours, GRID_SIDES * sizeof(*neighbours));
}

uint64_t field_fetch(struct field *field, uint32_t subdomain)
{
	return subdomain_fetch(&field->members[subdomain].sub);
}

void field_step(struct field *field, uint32_t subdomain)
{
	subdomain_step(&field->members[subdomain].sub);
}

/* The halos in use stay where they are, whichever edge is connected: a subdomain may be moved in
 * the middle of an update. */
void field_place(struct field *field, uint32_t subdomain, unsigned side, bool within)
{
	struct member *member = &field->members[subdomain];
	enum grid_side from = grid_opposite((enum grid_side)side);

	if (field->lockstep || member->within[side] == within ||
		member->neighbours[side] == GRID_OUTSIDE)
		return;
	member->within[side] = within;
	if (!within)
		deliver(field, member, (enum grid_side)side);
	subdomain_connect(&member->sub, (enum grid_side)side,
		within ? &field->members[member->neighbours[side]].sub.out[from]
		       : &member->far[side]);
}

void field_deliver(struct field *field, uint32_t subdomain, unsigned side)
{
	struct member *member = &field->members[subdomain];

	if (!field->lockstep && !member->within[side] && member->neighbours[side] != GRID_OUTSIDE)
		deliver(field, member, (enum grid_side)side);
}

/* Swap the halo cells on the left or right of each row with those of an array. */
static void swap_column(struct subdomain *sub, enum grid_side side, double *with)
{
	double *at = side == GRID_WEST ? sub->now - 1 : sub->now + sub->block.columns;

	for (uint32_t row = 0; row < sub->block.rows; row++) {
		double kept = at[row * sub->stride];

		at[row * sub->stride] = with[row];
		with[row] = kept;
	}
}

/* The squared norm of the residual of one subdomain, with what its neighbours show now. The halos
 * of its current update are restored afterwards. */
static double squared_now(struct field *field, struct member *member)
{
	struct subdomain *sub = &member->sub;
	double *halos[GRID_SIDES];

	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		halos[side] = field->scratch + side * field->longest;
		if (sub->inner[side])
			cells_along(neighbour_of(field, member, side), grid_opposite(side),
				halos[side]);
	}
	const struct kernel_field kernel = {
		.rows = sub->block.rows,
		.columns = sub->block.columns,
		.stride = sub->stride,
		.from = sub->now,
		.north = sub->inner[GRID_NORTH] ? halos[GRID_NORTH] : sub->north,
		.south = sub->inner[GRID_SOUTH] ? halos[GRID_SOUTH] : sub->south,
		.to = sub->next, /* scratch, until the next step */
	};
	for (enum grid_side side = GRID_WEST; side <= GRID_EAST; side++)
		if (sub->inner[side])
			swap_column(sub, side, halos[side]);
	double squared = kernel_update_residual(&kernel);
	for (enum grid_side side = GRID_WEST; side <= GRID_EAST; side++)
		if (sub->inner[side])
			swap_column(sub, side, halos[side]);
	return squared;
}

static double norm(struct field *field)
{
	double sum = 0;

	for (uint32_t s = 0; s < field->n; s++)
		sum += squared_now(field, &field->members[s]);
	return sqrt(sum);
}

double field_residual(struct field *field)
{
	return norm(field) / field->initial;
}
