/* SPDX-License-Identifier: MIT */
/*
 * The parts of the Jacobi solver: the division of the grid, the kernel, edges and subdomains,
 * without the solver's threads. Results must equal those of a loop over the whole grid, to the last
 * bit.
 */
#undef NDEBUG
#include "apps/jacobi/edge.h"
#include "apps/jacobi/grid.h"
#include "apps/jacobi/kernel.h"
#include "apps/jacobi/subdomain.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double *zeros(size_t n)
{
	double *all = calloc(n, sizeof(*all));

	assert_non_null(all);
	return all;
}

/* ---- the cut */

static void check_cover(const struct grid *grid)
{
	uint32_t n = grid_subdomains(grid);
	uint8_t *seen = calloc((size_t)grid->rows * grid->columns, 1);

	assert_non_null(seen);
	for (uint32_t s = 0; s < n; s++) {
		struct grid_block block = grid_block(grid, s);

		assert_true(block.rows && block.columns);
		assert_true(block.row + block.rows <= grid->rows);
		assert_true(block.column + block.columns <= grid->columns);
		for (uint32_t row = 0; row < block.rows; row++)
			for (uint32_t i = 0; i < block.columns; i++)
				seen[(size_t)(block.row + row) * grid->columns + block.column +
					i]++;
	}
	for (size_t i = 0; i < (size_t)grid->rows * grid->columns; i++)
		assert_int_equal(seen[i], 1);
	free(seen);
}

static void check_neighbours(const struct grid *grid)
{
	for (uint32_t s = 0; s < grid_subdomains(grid); s++) {
		struct grid_block block = grid_block(grid, s);

		for (enum grid_side side = 0; side < GRID_SIDES; side++) {
			uint32_t n = grid_neighbour(grid, s, side);
			const bool at_boundary[GRID_SIDES] = {
				[GRID_NORTH] = block.row == 0,
				[GRID_SOUTH] = block.row + block.rows == grid->rows,
				[GRID_WEST] = block.column == 0,
				[GRID_EAST] = block.column + block.columns == grid->columns,
			};

			assert_int_equal(n == GRID_OUTSIDE, at_boundary[side]);
			if (n == GRID_OUTSIDE)
				continue;
			struct grid_block other = grid_block(grid, n);
			assert_int_equal(grid_neighbour(grid, n, grid_opposite(side)), s);
			assert_int_equal(grid_edge_cells(&block, side),
				grid_edge_cells(&other, grid_opposite(side)));
			assert_int_equal(other.row, side == GRID_SOUTH   ? block.row + block.rows
						    : side == GRID_NORTH ? block.row - other.rows
									 : block.row);
			assert_int_equal(
				other.column, side == GRID_EAST   ? block.column + block.columns
					      : side == GRID_WEST ? block.column - other.columns
								  : block.column);
		}
	}
}

static void cuts(void **state)
{
	(void)state;
	for (uint32_t rows = 1; rows <= 14; rows++)
		for (uint32_t columns = 1; columns <= 14; columns += 3)
			for (uint32_t workers = 1; workers <= 5; workers++)
				for (uint32_t split = 1; split <= 5; split++) {
					struct grid grid;

					int rc = grid_init(&grid, rows, columns, GRID_CUT_1D, 1,
						workers, split);
					assert_int_equal(
						rc, workers * split > rows && rows / workers < split
							    ? -ERANGE
							    : 0);
					if (rc == 0) {
						assert_int_equal(
							grid_subdomains(&grid), workers * split);
						check_cover(&grid);
						check_neighbours(&grid);
					}
					if (grid_init(&grid, rows, columns, GRID_CUT_2D, 1, workers,
						    split) == 0) {
						assert_int_equal(
							grid_subdomains(&grid), workers * split);
						check_cover(&grid);
						check_neighbours(&grid);
					}
				}
}

static void cut_defaults(void **state)
{
	struct grid grid;
	struct grid_block block;

	(void)state;
	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_1D, 1, 3, 4), 0);
	assert_int_equal(grid.rows, 900);
	assert_int_equal(grid.columns, 300);
	block = grid_block(&grid, 5);
	assert_int_equal(block.row, 375);
	assert_int_equal(block.rows, 75);
	assert_int_equal(block.columns, 300);

	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_2D, 1, 6, 4), 0);
	assert_int_equal(grid.rows, 900);
	assert_int_equal(grid.columns, 600);
	block = grid_block(&grid, 4); /* the second worker's first */
	assert_int_equal(block.row, 0);
	assert_int_equal(block.column, 300);
	assert_int_equal(block.rows, 150);
	assert_int_equal(block.columns, 150);

	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_1D, 1, 1, 300), 0);
	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_1D, 1, 1, 301), -ERANGE);
	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_1D, 1, 65536, 1), -ERANGE);
	assert_int_equal(grid_init(&grid, 1, 7, GRID_CUT_2D, 1, 7, 1), 0);
	assert_int_equal(grid_init(&grid, 7, 7, GRID_CUT_2D, 1, 50, 1), -ERANGE);
}

/* Each rank has a band of columns, and all divide theirs alike. */
static void check_bands(const struct grid *grid, uint32_t ranks)
{
	uint32_t per_rank = grid_rank_subdomains(grid), west = 0;

	assert_int_equal(grid_subdomains(grid), ranks * per_rank);
	for (uint32_t rank = 0; rank < ranks; rank++) {
		uint32_t east = west;

		for (uint32_t i = 0; i < per_rank; i++) {
			struct grid_block first = grid_block(grid, i);
			struct grid_block block = grid_block(grid, rank * per_rank + i);

			assert_int_equal(block.row, first.row);
			assert_int_equal(block.rows, first.rows);
			assert_true(block.column >= west);
			if (block.column + block.columns > east)
				east = block.column + block.columns;
		}
		assert_true(east - west == grid->columns / ranks ||
			    east - west == (grid->columns + ranks - 1) / ranks);
		west = east;
	}
	assert_int_equal(west, grid->columns);
}

static void check_cut_for_ranks(uint32_t rows, uint32_t columns, enum grid_cut cut, uint32_t ranks,
	uint32_t workers, uint32_t split)
{
	struct grid grid, narrow;
	int rc = grid_init(&grid, rows, columns, cut, ranks, workers, split);

	/* A band can be divided if a grid as wide as the narrowest band can. */
	assert_true(rc == 0 || rc == -ERANGE);
	if (columns < ranks)
		assert_int_equal(rc, -ERANGE);
	else if (columns % ranks == 0)
		assert_int_equal(
			rc, grid_init(&narrow, rows, columns / ranks, cut, 1, workers, split));
	if (rc < 0)
		return;
	assert_int_equal(grid_rank_subdomains(&grid), workers * split);
	check_cover(&grid);
	check_neighbours(&grid);
	check_bands(&grid, ranks);
}

static void bands(void **state)
{
	(void)state;
	for (uint32_t ranks = 2; ranks <= 5; ranks++)
		for (uint32_t rows = 1; rows <= 9; rows += 2)
			for (uint32_t columns = 1; columns <= 23; columns += 2)
				for (uint32_t workers = 1; workers <= 4; workers++)
					for (uint32_t split = 1; split <= 4; split++)
						for (enum grid_cut cut = GRID_CUT_1D;
							cut <= GRID_CUT_2D; cut++)
							check_cut_for_ranks(rows, columns, cut,
								ranks, workers, split);
}

static void band_defaults(void **state)
{
	struct grid grid;
	struct grid_block block;

	(void)state;
	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_1D, 4, 3, 2), 0);
	assert_int_equal(grid.rows, 900);
	assert_int_equal(grid.columns, 1200);
	assert_int_equal(grid_rank_subdomains(&grid), 6);
	block = grid_block(&grid, 3 * 6 + 1); /* the last rank's second */
	assert_int_equal(block.row, 150);
	assert_int_equal(block.column, 900);
	assert_int_equal(block.rows, 150);
	assert_int_equal(block.columns, 300);
	assert_int_equal(grid_neighbour(&grid, 3 * 6 + 1, GRID_WEST), 2 * 6 + 1);
	assert_int_equal(grid_neighbour(&grid, 3 * 6 + 1, GRID_EAST), GRID_OUTSIDE);

	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_2D, 2, 6, 4), 0);
	assert_int_equal(grid.rows, 900);
	assert_int_equal(grid.columns, 1200);

	assert_int_equal(grid_init(&grid, 9, 3, GRID_CUT_1D, 4, 1, 1), -ERANGE);
	assert_int_equal(grid_init(&grid, 9, 9, GRID_CUT_1D, 2, 5, 2), -ERANGE);
	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_1D, 65536, 1, 1), -ERANGE);
	assert_int_equal(grid_init(&grid, 0, 0, GRID_CUT_1D, 65536, 65536, 1), -ERANGE);
	assert_int_equal(
		grid_init(&grid, 1u << 24, 1u << 24, GRID_CUT_2D, 1u << 11, 1u << 10, 1u << 10),
		-ERANGE);
}

/* ---- the kernel */

/* Numbers whose sums need rounding. */
static double any(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(*seed >> 11) / 3e15;
}

static void kernel(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t rows = 1; rows <= 3; rows++)
		for (size_t columns = 1; columns <= 70; columns++) {
			size_t stride = columns + 2, n = (rows + 2) * stride;
			double *from = zeros(n), *to = zeros(n), *wanted = zeros(n);
			double squared = 0, got;

			for (size_t i = 0; i < n; i++)
				from[i] = any(&seed);
			for (size_t row = 1; row <= rows; row++)
				for (size_t i = row * stride + 1; i <= row * stride + columns;
					i++) {
					wanted[i] = 0.25 * ((from[i - stride] + from[i + stride]) +
								   (from[i - 1] + from[i + 1]));
					squared += (wanted[i] - from[i]) * (wanted[i] - from[i]);
				}
			const struct kernel_field field = {
				.rows = rows,
				.columns = columns,
				.stride = stride,
				.from = from + stride + 1,
				.north = from + 1,
				.south = from + (rows + 1) * stride + 1,
				.to = to + stride + 1,
			};
			kernel_update(&field);
			assert_memory_equal(to, wanted, n * sizeof(*to));
			memset(to, 0, n * sizeof(*to));
			got = kernel_update_residual(&field);
			assert_memory_equal(to, wanted, n * sizeof(*to));
			assert_true(got > squared * (1 - 1e-12) && got < squared * (1 + 1e-12));
			free(from);
			free(to);
			free(wanted);
		}
}

/* ---- edges */

enum { EDGE_CELLS = 37, EDGE_ROUNDS = 20000 };

static void *produce(void *arg)
{
	struct edge *edge = arg;

	for (uint64_t round = 1; round <= EDGE_ROUNDS; round++) {
		struct edge_slot *slot = edge_begin(edge);

		slot->iteration = round;
		for (size_t i = 0; i < EDGE_CELLS; i++)
			slot->cells[i] = (double)round;
		edge_publish(edge);
	}
	return NULL;
}

static void edges_are_never_torn(void **state)
{
	struct edge *edge = edge_allocate(1, sizeof(*edge));
	void *memory = edge_allocate(1, edge_bytes(EDGE_CELLS));
	pthread_t producer;
	uint64_t last = 0;

	(void)state;
	assert_non_null(edge);
	assert_non_null(memory);
	edge_init(edge, EDGE_CELLS, memory);
	assert_int_equal(edge_latest(edge)->iteration, 0);
	assert_int_equal(pthread_create(&producer, NULL, produce, edge), 0);
	while (last < EDGE_ROUNDS) {
		const struct edge_slot *slot = edge_latest(edge);

		assert_true(slot->iteration >= last);
		last = slot->iteration;
		for (size_t i = 0; i < EDGE_CELLS; i++)
			assert_true(slot->cells[i] == (double)last);
	}
	pthread_join(producer, NULL);
	free(memory);
	free(edge);
}

static void edges_show_the_newest(void **state)
{
	struct edge *edge = edge_allocate(1, sizeof(*edge));
	void *memory = edge_allocate(1, edge_bytes(1));

	(void)state;
	assert_non_null(edge);
	assert_non_null(memory);
	edge_init(edge, 1, memory);
	for (uint64_t i = 1; i < 20; i++) {
		edge_begin(edge)->iteration = i;
		edge_publish(edge);
		if (i % 3 == 0)
			assert_int_equal(edge_latest(edge)->iteration, i);
		else /* the consumer's copy stays as it is */
			assert_int_equal(edge->slots[edge->front].slot.iteration, i - i % 3);
	}
	free(memory);
	free(edge);
}

/* A producer that has its cells in a row, with either function. */
static void edges_are_put(void **state)
{
	struct edge *edge = edge_allocate(1, sizeof(*edge));
	void *memory = edge_allocate(1, edge_bytes(3));
	const double first[3] = {1, 2, 3}, second[3] = {4, 5, 6};

	(void)state;
	assert_non_null(edge);
	assert_non_null(memory);
	edge_init(edge, 3, memory);
	edge_put(edge, 7, first, 3);
	edge_put(edge, 8, second, 3);
	assert_int_equal(edge_latest(edge)->iteration, 8);
	assert_memory_equal(edge_latest(edge)->cells, second, sizeof(second));

	edge_init(edge, 3, memory);
	edge_put_lockstep(edge, 7, first, 3);
	edge_put_lockstep(edge, 8, second, 3);
	assert_int_equal(edge_of_iteration(edge, 7)->iteration, 7);
	assert_memory_equal(edge_of_iteration(edge, 7)->cells, first, sizeof(first));
	assert_memory_equal(edge_of_iteration(edge, 8)->cells, second, sizeof(second));
	free(memory);
	free(edge);
}

/* ---- subdomains */

/* Connect a subdomain with its neighbours, in both directions. */
static void connect(struct subdomain *all, const struct grid *grid, uint32_t s)
{
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		uint32_t n = grid_neighbour(grid, s, side);

		if (n == GRID_OUTSIDE)
			continue;
		subdomain_connect(&all[s], side, &all[n].out[grid_opposite(side)]);
		subdomain_connect(&all[n], grid_opposite(side), &all[s].out[side]);
	}
}

static struct subdomain *all_of(const struct grid *grid, bool lockstep)
{
	uint32_t n = grid_subdomains(grid);
	struct subdomain *all = edge_allocate(n, sizeof(*all));

	assert_non_null(all);
	for (uint32_t s = 0; s < n; s++)
		assert_int_equal(subdomain_init(&all[s], grid, s, lockstep), 0);
	for (uint32_t s = 0; s < n; s++)
		connect(all, grid, s);
	return all;
}

static void free_all(struct subdomain *all, const struct grid *grid)
{
	for (uint32_t s = 0; s < grid_subdomains(grid); s++)
		subdomain_deinit(&all[s]);
	free(all);
}

/* The solution after that many iterations, by a loop over the whole grid; to be freed. */
static double *whole(const struct grid *grid, uint64_t iterations)
{
	size_t stride = grid->columns + 2, n = (grid->rows + 2) * stride;
	double *now = zeros(n), *next = zeros(n);

	for (uint32_t i = 0; i < grid->columns; i++)
		now[i + 1] = next[i + 1] = subdomain_source(grid, i);
	for (uint32_t row = 1; row <= grid->rows; row++)
		for (uint32_t i = 1; i <= grid->columns; i++)
			now[row * stride + i] = 1;
	for (; iterations > 0; iterations--) {
		for (uint32_t row = 1; row <= grid->rows; row++)
			for (size_t i = row * stride + 1; i <= row * stride + grid->columns; i++)
				next[i] = 0.25 * ((now[i - stride] + now[i + stride]) +
							 (now[i - 1] + now[i + 1]));
		double *swap = now;
		now = next;
		next = swap;
	}
	free(next);
	return now;
}

static void assert_equals_whole(
	const struct subdomain *all, const struct grid *grid, uint64_t iterations)
{
	double *wanted = whole(grid, iterations);

	for (uint32_t s = 0; s < grid_subdomains(grid); s++) {
		struct grid_block block = grid_block(grid, s);

		for (uint32_t row = 0; row < block.rows; row++)
			assert_memory_equal(subdomain_row(&all[s], row),
				wanted + (size_t)(block.row + row + 1) * (grid->columns + 2) +
					block.column + 1,
				block.columns * sizeof(double));
	}
	free(wanted);
}

/* Pack and unpack one, as if it had come to another process, over old contents. */
static void move(struct subdomain *all, const struct grid *grid, uint32_t s, bool lockstep)
{
	size_t bytes = subdomain_packed_bytes(&all[s]);
	char *packed = malloc(bytes + 1);

	assert_non_null(packed);
	subdomain_pack(&all[s], packed + 1);
	subdomain_deinit(&all[s]);
	memset(&all[s], 0xaa, sizeof(all[s]));
	assert_int_equal(subdomain_unpack(&all[s], grid, s, lockstep, packed + 1, bytes), 0);
	free(packed);
	connect(all, grid, s);
}

/* In lockstep the order within an iteration makes no difference, nor do moves, ranks or the
 * division. */
static void check_lockstep(enum grid_cut cut, uint32_t ranks, bool moves)
{
	struct grid grid;

	assert_int_equal(grid_init(&grid, 23, 19, cut, ranks, 3, 4), 0);
	struct subdomain *all = all_of(&grid, true);
	uint32_t n = grid_subdomains(&grid);

	for (uint64_t iteration = 0; iteration < 50; iteration++) {
		if (moves)
			move(all, &grid, (uint32_t)(iteration * 5) % n, true);
		for (uint32_t i = 0; i < n; i++) {
			struct subdomain *sub = &all[iteration % 2 ? i : n - 1 - i];

			assert_int_equal(subdomain_fetch(sub), 0);
			if (iteration % 7)
				subdomain_step(sub);
			else
				assert_true(subdomain_step_residual(sub) >= 0);
		}
	}
	assert_equals_whole(all, &grid, 50);
	free_all(all, &grid);
}

static void lockstep_equals_whole(void **state)
{
	(void)state;
	for (enum grid_cut cut = GRID_CUT_1D; cut <= GRID_CUT_2D; cut++)
		for (uint32_t ranks = 1; ranks <= 3; ranks++)
			for (int moves = 0; moves <= 1; moves++)
				check_lockstep(cut, ranks, moves);
}

/* Without lockstep, one order of updates gives the same bits and counts, whether some subdomains
 * move or not. */
static void moved_go_on(void **state)
{
	struct grid grid;
	uint64_t seed = 5;

	(void)state;
	assert_int_equal(grid_init(&grid, 12, 15, GRID_CUT_2D, 2, 2, 3), 0);
	struct subdomain *stay = all_of(&grid, false), *go = all_of(&grid, false);
	uint32_t n = grid_subdomains(&grid);
	for (int i = 0; i < 3000; i++) {
		uint32_t s = (uint32_t)(any(&seed) * 1e9) % n;

		if (i % 10 == 0)
			move(go, &grid, (uint32_t)(any(&seed) * 1e9) % n, false);
		assert_int_equal(subdomain_fetch(&stay[s]), subdomain_fetch(&go[s]));
		subdomain_step(&stay[s]);
		subdomain_step(&go[s]);
	}
	for (uint32_t s = 0; s < n; s++) {
		assert_int_equal(go[s].id, s);
		assert_int_equal(go[s].iteration, stay[s].iteration);
		assert_int_equal(go[s].lag_sum, stay[s].lag_sum);
		assert_int_equal(go[s].lag_max, stay[s].lag_max);
		for (uint32_t row = 0; row < stay[s].block.rows; row++)
			assert_memory_equal(subdomain_row(&go[s], row),
				subdomain_row(&stay[s], row),
				stay[s].block.columns * sizeof(double));
	}
	free_all(stay, &grid);
	free_all(go, &grid);
}

/* A neighbour that is elsewhere: what it showed is put into an edge here. */
static void edge_in_place_of_a_neighbour(void **state)
{
	struct grid grid;
	struct edge *there = edge_allocate(1, sizeof(*there));
	void *memory = edge_allocate(1, edge_bytes(5));

	(void)state;
	assert_non_null(there);
	assert_non_null(memory);
	assert_int_equal(grid_init(&grid, 5, 8, GRID_CUT_1D, 2, 1, 1), 0);
	struct subdomain *all = all_of(&grid, false);
	edge_init(there, 5, memory);
	subdomain_connect(&all[1], GRID_WEST, there);
	for (uint64_t i = 0; i < 20; i++) {
		const struct edge_slot *slot = edge_latest(&all[0].out[GRID_EAST]);

		edge_put(there, slot->iteration, slot->cells, 5);
		for (uint32_t s = 0; s < 2; s++)
			assert_int_equal(subdomain_fetch(&all[s]), 0);
		for (uint32_t s = 0; s < 2; s++)
			subdomain_step(&all[s]);
	}
	assert_equals_whole(all, &grid, 20);
	free_all(all, &grid);
	free(memory);
	free(there);
}

static void damaged_are_refused(void **state)
{
	/* Bytes of the head: magic, number, each of the block's four, and a lag before the
	 * start. */
	static const size_t at[] = {0, 4, 8, 12, 16, 20, 47};
	struct grid grid;
	struct subdomain *other = edge_allocate(1, sizeof(*other));

	(void)state;
	assert_non_null(other);
	assert_int_equal(grid_init(&grid, 6, 8, GRID_CUT_1D, 2, 1, 2), 0);
	struct subdomain *all = all_of(&grid, false);
	size_t bytes = subdomain_packed_bytes(&all[1]);
	char *packed = malloc(bytes);
	assert_non_null(packed);
	subdomain_pack(&all[1], packed);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		packed[at[i]] ^= 1;
		assert_int_equal(subdomain_unpack(other, &grid, 1, false, packed, bytes), -EBADMSG);
		packed[at[i]] ^= 1;
	}
	for (size_t cut = 0; cut < bytes; cut++)
		assert_int_equal(subdomain_unpack(other, &grid, 1, false, packed, cut), -EBADMSG);
	assert_int_equal(subdomain_unpack(other, &grid, 0, false, packed, bytes), -EBADMSG);
	assert_null(other->memory);
	assert_int_equal(subdomain_unpack(other, &grid, 1, false, packed, bytes), 0);
	subdomain_deinit(other);
	free(other);
	free(packed);
	free_all(all, &grid);
}

static void lag_is_counted(void **state)
{
	struct grid grid;

	(void)state;
	assert_int_equal(grid_init(&grid, 4, 4, GRID_CUT_1D, 1, 2, 1), 0);
	struct subdomain *all = all_of(&grid, false);
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(subdomain_fetch(&all[0]), i);
		subdomain_step(&all[0]);
	}
	assert_int_equal(all[0].lag_sum, 0 + 1 + 2 + 3 + 4);
	assert_int_equal(all[0].lag_max, 4);
	assert_int_equal(subdomain_fetch(&all[1]), 0); /* newer is not stale */
	free_all(all, &grid);
}

/* Any order that does not leave a subdomain behind for ever ends at the same solution. */
static void chaos_converges(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (enum grid_cut cut = GRID_CUT_1D; cut <= GRID_CUT_2D; cut++) {
		struct grid grid;
		double squared = 0;

		assert_int_equal(grid_init(&grid, 12, 9, cut, 1, 2, 3), 0);
		struct subdomain *all = all_of(&grid, false);
		uint32_t n = grid_subdomains(&grid);
		for (int i = 0; i < 20000; i++) {
			struct subdomain *sub = &all[(uint32_t)(any(&seed) * 1e9) % n];

			subdomain_fetch(sub);
			subdomain_step(sub);
		}
		double *wanted = whole(&grid, 5000);
		for (uint32_t s = 0; s < n; s++) {
			struct grid_block block = grid_block(&grid, s);

			subdomain_fetch(&all[s]);
			squared += subdomain_residual(&all[s]);
			for (uint32_t row = 0; row < block.rows; row++)
				for (uint32_t i = 0; i < block.columns; i++) {
					double difference =
						subdomain_row(&all[s], row)[i] -
						wanted[(block.row + row + 1) * (grid.columns + 2) +
							block.column + i + 1];
					assert_true(difference < 1e-12 && difference > -1e-12);
				}
		}
		assert_true(squared < 1e-24);
		free(wanted);
		free_all(all, &grid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts),
		cmocka_unit_test(cut_defaults),
		cmocka_unit_test(bands),
		cmocka_unit_test(band_defaults),
		cmocka_unit_test(kernel),
		cmocka_unit_test(edges_are_never_torn),
		cmocka_unit_test(edges_show_the_newest),
		cmocka_unit_test(edges_are_put),
		cmocka_unit_test(lockstep_equals_whole),
		cmocka_unit_test(moved_go_on),
		cmocka_unit_test(edge_in_place_of_a_neighbour),
		cmocka_unit_test(damaged_are_refused),
		cmocka_unit_test(lag_is_counted),
		cmocka_unit_test(chaos_converges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
