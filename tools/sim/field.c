/* SPDX-License-Identifier: MIT */
/*
 * The cells of a simulated cluster; see field.h.
 *
 * One thread does everything, in an order that is known. So halos are copied straight from the cells
 * of the neighbour, without the buffers in which the subdomains of jacobi(1) show each other their
 * edges; and cells lie close together. On a side towards another rank there is a copy, made on
 * delivery, of the neighbour's cells at that moment.
 */
#include "tools/sim/field.h"

#include "apps/jacobi/grid.h"
#include "apps/jacobi/kernel.h"
#include "apps/jacobi/subdomain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE_DOUBLES 8 /* of a line of the cache */
#define PI 3.14159265358979323846

struct member {
	double *now, *next; /* the first cells of this iteration, and of the one to come */
	double *north, *south; /* halo rows; those on the west and east are beside the cells */
	double *far[GRID_SIDES]; /* the cells that were delivered */
	uint64_t iteration, far_iteration[GRID_SIDES];
	uint32_t rows, columns, stride; /* stride: from row to row, in doubles */
	uint32_t neighbours[GRID_SIDES];
	bool within[GRID_SIDES]; /* sees the neighbour's own cells */
};

struct field {
	struct grid grid;
	bool lockstep;
	uint32_t n;
	struct member *members; /* owned */
	double *memory; /* owned; cells and halos, and the room for squared_now() */
	double *columns[2], *cells; /* in it: room for two columns, and for a subdomain's cells */
	double initial; /* norm of the first residual */
};

/* Cells that are `step` doubles apart. */
struct strip {
	double *at;
	size_t step, n;
};

static bool is_row(enum grid_side side)
{
	return side == GRID_NORTH || side == GRID_SOUTH;
}

/* The cells of a subdomain along a side, which its neighbour sees. */
static struct strip edge_of(const struct member *member, double *cells, enum grid_side side)
{
	if (side == GRID_SOUTH)
		cells += (size_t)(member->rows - 1) * member->stride;
	if (side == GRID_EAST)
		cells += member->columns - 1;
	return is_row(side) ? (struct strip){cells, 1, member->columns}
			    : (struct strip){cells, member->stride, member->rows};
}

static struct strip halo_of(const struct member *member, enum grid_side side)
{
	if (is_row(side))
		return (struct strip){
			side == GRID_NORTH ? member->north : member->south, 1, member->columns};
	return (struct strip){side == GRID_WEST ? member->now - 1 : member->now + member->columns,
		member->stride, member->rows};
}

static struct strip far_of(const struct member *member, enum grid_side side)
{
	return (struct strip){member->far[side], 1, is_row(side) ? member->columns : member->rows};
}

static void copy(struct strip to, struct strip from)
{
	for (size_t i = 0; i < to.n; i++)
		to.at[i * to.step] = from.at[i * from.step];
}

static const struct member *neighbour_of(
	const struct field *field, const struct member *member, enum grid_side side)
{
	return &field->members[member->neighbours[side]];
}

/* What the neighbour on that side shows now. */
static struct strip shown(
	const struct field *field, const struct member *member, enum grid_side side)
{
	const struct member *from = neighbour_of(field, member, side);

	return edge_of(from, from->now, grid_opposite(side));
}

static void deliver(struct field *field, struct member *member, enum grid_side side)
{
	copy(far_of(member, side), shown(field, member, side));
	member->far_iteration[side] = neighbour_of(field, member, side)->iteration;
}

/* ---- Set up ---- */

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Of one array of cells: between rows are the halo cell on the right of one and the one on the left
 * of the next, and before the first row that on its left. */
static size_t cells_doubles(const struct member *member)
{
	return LINE_DOUBLES + (size_t)member->rows * member->stride;
}

/* Of all that a subdomain has, in whole lines. */
static size_t member_doubles(const struct member *member)
{
	return 4 * round_up(member->columns, LINE_DOUBLES) + 2 * cells_doubles(member) +
	       2 * round_up(member->rows, LINE_DOUBLES);
}

static void measure(struct field *field, uint32_t subdomain)
{
	struct grid_block block = grid_block(&field->grid, subdomain);
	struct member *member = &field->members[subdomain];

	*member = (struct member){
		.rows = block.rows,
		.columns = block.columns,
		.stride = (uint32_t)round_up(block.columns + 2, LINE_DOUBLES),
	};
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		member->neighbours[side] = grid_neighbour(&field->grid, subdomain, side);
		member->within[side] = member->neighbours[side] != GRID_OUTSIDE;
	}
}

/* Lay a subdomain out in zeroed memory, and set its cells. Returns where the next one begins. */
static double *lay_out(struct field *field, uint32_t subdomain, double *at, double inside)
{
	struct member *member = &field->members[subdomain];
	uint32_t first = grid_block(&field->grid, subdomain).column;
	size_t row = round_up(member->columns, LINE_DOUBLES);
	size_t column = round_up(member->rows, LINE_DOUBLES);

	member->north = at;
	member->south = at += row;
	member->now = (at += row) + LINE_DOUBLES;
	member->next = (at += cells_doubles(member)) + LINE_DOUBLES;
	at += cells_doubles(member);
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		member->far[side] = at;
		at += is_row(side) ? row : column;
	}
	for (uint32_t i = 0; i < member->columns; i++)
		member->north[i] = subdomain_source(&field->grid, first + i);
	for (uint32_t r = 0; r < member->rows; r++)
		for (uint32_t i = 0; i < member->columns; i++)
			member->now[(size_t)r * member->stride + i] = inside;
	return at;
}

static double norm(struct field *field);

static int make_members(struct field *field, double source)
{
	uint32_t each = grid_rank_subdomains(&field->grid);
	size_t doubles = 0, longest = 0, largest = 0;
	/* The problem is linear: a source of this height from 1 is the same as one of height 1 from
	 * its inverse. */
	double inside = source > 0 ? 1 / source : 1;

	field->n = grid_subdomains(&field->grid);
	field->members = calloc(field->n, sizeof(*field->members));
	if (!field->members)
		return -ENOMEM;
	for (uint32_t s = 0; s < field->n; s++) {
		const struct member *member = &field->members[s];

		measure(field, s);
		doubles += member_doubles(member);
		if (member->rows > longest)
			longest = member->rows;
		if (cells_doubles(member) > largest)
			largest = cells_doubles(member);
	}
	longest = round_up(longest, LINE_DOUBLES);
	doubles += 2 * longest + largest;
	size_t bytes = doubles * sizeof(double);
	field->memory = aligned_alloc(LINE_DOUBLES * sizeof(double), bytes);
	if (!field->memory)
		return -ENOMEM;
	memset(field->memory, 0, bytes);
	double *at = field->memory;
	for (uint32_t s = 0; s < field->n; s++)
		at = lay_out(field, s, at, inside);
	field->columns[0] = at;
	field->columns[1] = at + longest;
	field->cells = at + 2 * longest;
	for (uint32_t s = 0; s < field->n; s++) {
		for (enum grid_side side = 0; side < GRID_SIDES; side++)
			field_place(field, s, side,
				field->members[s].neighbours[side] / each == s / each);
		field_fetch(field, s);
	}
	field->initial = norm(field);
	return 0;
}

static int cut(struct grid *grid, const struct field_params *params)
{
	if (!params->ranks || !params->workers || !params->each)
		return -ERANGE;
	return grid_init(grid, params->rows, params->columns,
		params->strips ? GRID_CUT_1D : GRID_CUT_2D, params->ranks, params->workers,
		params->each);
}

int field_new(struct field **out, const struct field_params *params)
{
	struct grid grid;
	int rc = cut(&grid, params);
	if (rc < 0)
		return rc;
	struct field *field = calloc(1, sizeof(*field));
	if (!field)
		return -ENOMEM;
	field->lockstep = params->lockstep;
	field->grid = grid;
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
	free(field->members);
	free(field->memory);
	free(field);
}

double field_cells(const struct field_params *params)
{
	struct grid grid;

	return cut(&grid, params) == 0 ? (double)grid.rows * grid.columns : 0;
}

/* At first each side is as if it were alone: the change of the boundary's neighbours spreads like a
 * random walk that is absorbed there, of variance k / 2 after k iterations, and so the residual is
 * (4 / (2 pi))^(1/4) * k^(-3/4) of the first one. Later the slowest mode is left, and the one law
 * passes into the other where they fall equally fast. */
double field_iterations(const struct field_params *params, double residual)
{
	struct grid grid;

	if (cut(&grid, params) < 0)
		return 0;
	double rate = -log((cos(PI / (grid.rows + 1.0)) + cos(PI / (grid.columns + 1.0))) / 2);
	double alone = pow(2 / PI, 0.25), bend = fmax(0.75 / rate, 1);
	double iterations = pow(alone / residual, 4 / 3.0);

	if (iterations <= bend)
		return iterations;
	return bend + log(alone * pow(bend, -0.75) / residual) / rate;
}

/* ---- Run ---- */

uint32_t field_subdomains(const struct field *field)
{
	return field->n;
}

void field_neighbours(const struct field *field, uint32_t subdomain, uint32_t neighbours[4])
{
	memcpy(neighbours, field->members[subdomain].neighbours, GRID_SIDES * sizeof(*neighbours));
}

/* In lockstep a neighbour that is ahead still has the iteration before. */
static bool is_ahead(
	const struct field *field, const struct member *member, const struct member *other)
{
	return field->lockstep && other->iteration > member->iteration;
}

/* The iteration of the halo on that side, if it were taken now. */
static uint64_t iteration_of(
	const struct field *field, const struct member *member, enum grid_side side)
{
	if (!member->within[side])
		return member->far_iteration[side];
	const struct member *other = neighbour_of(field, member, side);

	return other->iteration - is_ahead(field, member, other);
}

static struct strip source_of(
	const struct field *field, const struct member *member, enum grid_side side)
{
	if (!member->within[side])
		return far_of(member, side);
	const struct member *other = neighbour_of(field, member, side);
	double *cells = is_ahead(field, member, other) ? other->next : other->now;

	return edge_of(other, cells, grid_opposite(side));
}

uint64_t field_lag(const struct field *field, uint32_t subdomain)
{
	const struct member *member = &field->members[subdomain];
	uint64_t lag = 0;

	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		if (member->neighbours[side] == GRID_OUTSIDE)
			continue;
		uint64_t iteration = iteration_of(field, member, side);
		if (iteration + lag < member->iteration)
			lag = member->iteration - iteration;
	}
	return lag;
}

void field_fetch(struct field *field, uint32_t subdomain)
{
	const struct member *member = &field->members[subdomain];

	for (enum grid_side side = 0; side < GRID_SIDES; side++)
		if (member->neighbours[side] != GRID_OUTSIDE)
			copy(halo_of(member, side), source_of(field, member, side));
}

static struct kernel_field kernel_of(const struct member *member, double *to)
{
	return (struct kernel_field){
		.rows = member->rows,
		.columns = member->columns,
		.stride = member->stride,
		.from = member->now,
		.north = member->north,
		.south = member->south,
		.to = to,
	};
}

void field_step(struct field *field, uint32_t subdomain)
{
	struct member *member = &field->members[subdomain];
	const struct kernel_field kernel = kernel_of(member, member->next);
	double *now = member->next;

	kernel_update(&kernel);
	member->next = member->now;
	member->now = now;
	member->iteration++;
}

void field_place(struct field *field, uint32_t subdomain, unsigned side, bool within)
{
	struct member *member = &field->members[subdomain];

	if (field->lockstep || member->within[side] == within ||
		member->neighbours[side] == GRID_OUTSIDE)
		return;
	member->within[side] = within;
	if (!within)
		deliver(field, member, (enum grid_side)side);
}

void field_deliver(struct field *field, uint32_t subdomain, unsigned side)
{
	struct member *member = &field->members[subdomain];

	if (!field->lockstep && !member->within[side] && member->neighbours[side] != GRID_OUTSIDE)
		deliver(field, member, (enum grid_side)side);
}

/* ---- The residual ---- */

static void swap(struct strip a, double *with)
{
	for (size_t i = 0; i < a.n; i++) {
		double kept = a.at[i * a.step];

		a.at[i * a.step] = with[i];
		with[i] = kept;
	}
}

/* The sum of squares of one subdomain, with what its neighbours show now. Rows are read where they
 * are; the columns of its current update are put back afterwards. */
static double squared_now(struct field *field, struct member *member)
{
	struct kernel_field kernel = kernel_of(member, field->cells);

	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		if (member->neighbours[side] == GRID_OUTSIDE)
			continue;
		struct strip from = shown(field, member, side);
		if (side == GRID_NORTH)
			kernel.north = from.at;
		else if (side == GRID_SOUTH)
			kernel.south = from.at;
		else {
			copy((struct strip){field->columns[side == GRID_EAST], 1, from.n}, from);
			swap(halo_of(member, side), field->columns[side == GRID_EAST]);
		}
	}
	double squared = kernel_update_residual(&kernel);
	for (enum grid_side side = GRID_WEST; side <= GRID_EAST; side++)
		if (member->neighbours[side] != GRID_OUTSIDE)
			swap(halo_of(member, side), field->columns[side == GRID_EAST]);
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
