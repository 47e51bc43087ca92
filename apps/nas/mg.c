/* SPDX-License-Identifier: MIT */
/*
 * nas-mg: a Poisson problem on a periodic cube, by V-cycles of multigrid. Streams through memory;
 * phases are long on the finest grid and short on the coarse ones.
 */
#include "apps/nas/nas.h"

#include "daemon/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED UINT64_C(314159265)
#define CHARGES 10 /* of each sign */
#define LEVELS_MAX 8
#define ROW_MAX ((1 << LEVELS_MAX) + 2)

struct problem {
	int levels; /* 2^levels cells in each direction; the coarsest grid has 2 */
	int cycles;
	double smoother[3]; /* weights of a cell, of its 6 faces' and of its 12 edges' neighbours */
	double norm; /* published */
};

#define SMOOTHER_SMALL                                                                             \
	{                                                                                          \
		-3.0 / 8, 1.0 / 32, -1.0 / 64                                                      \
	}
#define SMOOTHER_LARGE                                                                             \
	{                                                                                          \
		-3.0 / 17, 1.0 / 33, -1.0 / 61                                                     \
	}

static const struct problem problems[NAS_CLASSES] = {
	[NAS_S] = {5, 4, SMOOTHER_SMALL, 0.5307707005734e-4},
	[NAS_W] = {7, 4, SMOOTHER_SMALL, 0.6467329375339e-5},
	[NAS_A] = {8, 4, SMOOTHER_SMALL, 0.2433365309069e-5},
	[NAS_B] = {8, 20, SMOOTHER_LARGE, 0.1800564401355e-5},
};

/* ---- Grids ---- */

/* Cells 1 to n in each direction. 0 and n + 1 are copies of those at the other end. */
struct grid {
	int n;
	double *cell;
};

static inline double *row(const struct grid *grid, int z, int y)
{
	size_t m = (size_t)grid->n + 2;

	return grid->cell + ((size_t)z * m + (size_t)y) * m;
}

static size_t grid_bytes(const struct grid *grid)
{
	size_t m = (size_t)grid->n + 2;

	return m * m * m * sizeof(*grid->cell);
}

static void fill_zeros(const struct grid *grid)
{
	size_t plane_bytes = grid_bytes(grid) / ((size_t)grid->n + 2);

#pragma omp parallel for schedule(static)
	for (int z = 0; z < grid->n + 2; z++)
		memset(row(grid, z, 0), 0, plane_bytes);
}

static int grid_init(struct grid *grid, int n)
{
	grid->n = n;
	grid->cell = malloc(grid_bytes(grid));
	if (!grid->cell)
		return -ENOMEM;
	fill_zeros(grid); /* so that each thread touches first what it will use */
	return 0;
}

static void copy_ends(const struct grid *grid)
{
	int n = grid->n;
	size_t row_bytes = ((size_t)n + 2) * sizeof(double);

#pragma omp parallel for schedule(static)
	for (int z = 1; z <= n; z++) {
		for (int y = 1; y <= n; y++) {
			double *cells = row(grid, z, y);

			cells[0] = cells[n];
			cells[n + 1] = cells[1];
		}
		memcpy(row(grid, z, 0), row(grid, z, n), row_bytes);
		memcpy(row(grid, z, n + 1), row(grid, z, 1), row_bytes);
	}
	memcpy(row(grid, 0, 0), row(grid, n, 0), row_bytes * ((size_t)n + 2));
	memcpy(row(grid, n + 1, 0), row(grid, 1, 0), row_bytes * ((size_t)n + 2));
}

/* For each x of a row, the sums of the four neighbours at the sides (faces) and of the four across
 * (edges). */
static inline void add_around(const struct grid *grid, int z, int y, double *sides, double *across)
{
	const double *up = row(grid, z, y + 1), *down = row(grid, z, y - 1);
	const double *front = row(grid, z + 1, y), *back = row(grid, z - 1, y);
	const double *up_front = row(grid, z + 1, y + 1), *up_back = row(grid, z - 1, y + 1);
	const double *down_front = row(grid, z + 1, y - 1), *down_back = row(grid, z - 1, y - 1);

	for (int x = 0; x < grid->n + 2; x++) {
		sides[x] = up[x] + down[x] + front[x] + back[x];
		across[x] = up_front[x] + up_back[x] + down_front[x] + down_back[x];
	}
}

/* ---- The parts of a cycle ---- */

/* r = v - A u, with the benchmark's Laplacian A. r may be v. */
static void take_residual(const struct grid *u, const struct grid *v, const struct grid *r)
{
	const double centre = -8.0 / 3, edge = 1.0 / 6, corner = 1.0 / 12;

#pragma omp parallel for schedule(static)
	for (int z = 1; z <= u->n; z++)
		for (int y = 1; y <= u->n; y++) {
			double sides[ROW_MAX], across[ROW_MAX];
			const double *from = row(u, z, y), *right = row(v, z, y);
			double *to = row(r, z, y);

			add_around(u, z, y, sides, across);
			for (int x = 1; x <= u->n; x++)
				to[x] = right[x] - centre * from[x] -
					edge * (across[x] + sides[x - 1] + sides[x + 1]) -
					corner * (across[x - 1] + across[x + 1]);
		}
	copy_ends(r);
}

/* u = u + S r, with the smoother S. */
static void smooth(const struct problem *problem, const struct grid *r, const struct grid *u)
{
	const double *weight = problem->smoother;

#pragma omp parallel for schedule(static)
	for (int z = 1; z <= u->n; z++)
		for (int y = 1; y <= u->n; y++) {
			double sides[ROW_MAX], across[ROW_MAX];
			const double *from = row(r, z, y);
			double *to = row(u, z, y);

			add_around(r, z, y, sides, across);
			for (int x = 1; x <= u->n; x++)
				to[x] += weight[0] * from[x] +
					 weight[1] * (from[x - 1] + from[x + 1] + sides[x]) +
					 weight[2] * (across[x] + sides[x - 1] + sides[x + 1]);
		}
	copy_ends(u);
}

/* From a grid to the next coarser one: a cell is the weighted mean of 27. */
static void restrict_to(const struct grid *fine, const struct grid *coarse)
{
#pragma omp parallel for schedule(static)
	for (int z = 1; z <= coarse->n; z++)
		for (int y = 1; y <= coarse->n; y++) {
			double sides[ROW_MAX], across[ROW_MAX];
			const double *from = row(fine, 2 * z, 2 * y);
			double *to = row(coarse, z, y);

			add_around(fine, 2 * z, 2 * y, sides, across);
			for (int x = 1; x <= coarse->n; x++) {
				int f = 2 * x;

				to[x] = from[f] / 2 + (from[f - 1] + from[f + 1] + sides[f]) / 4 +
					(sides[f - 1] + sides[f + 1] + across[f]) / 8 +
					(across[f - 1] + across[f + 1]) / 16;
			}
		}
	copy_ends(coarse);
}

/* Add the coarse grid to the next finer one, interpolated in three directions. */
static void add_interpolated(const struct grid *coarse, const struct grid *fine)
{
#pragma omp parallel for schedule(static)
	for (int z = 1; z <= fine->n; z++)
		for (int y = 1; y <= fine->n; y++) {
			const double *a = row(coarse, z / 2, y / 2);
			const double *b = row(coarse, z / 2, (y + 1) / 2);
			const double *c = row(coarse, (z + 1) / 2, y / 2);
			const double *d = row(coarse, (z + 1) / 2, (y + 1) / 2);
			double *to = row(fine, z, y), before = (a[0] + b[0] + c[0] + d[0]) / 4;

			for (int x = 1; x <= coarse->n; x++) {
				double here = (a[x] + b[x] + c[x] + d[x]) / 4;

				to[2 * x - 1] += (before + here) / 2;
				to[2 * x] += here;
				before = here;
			}
		}
	copy_ends(fine);
}

static double norm_of(const struct grid *grid)
{
	double sum = 0;

#pragma omp parallel for schedule(static) reduction(+ : sum)
	for (int z = 1; z <= grid->n; z++)
		for (int y = 1; y <= grid->n; y++) {
			const double *cells = row(grid, z, y);

			for (int x = 1; x <= grid->n; x++)
				sum += cells[x] * cells[x];
		}
	return sqrt(sum / pow(grid->n, 3));
}

/* ---- The problem ---- */

struct charge {
	double random;
	double *cell;
};

/* Keep the most extreme ones, the least extreme first. */
static void keep(struct charge *charges, double random, double *cell)
{
	int i = 0;

	if (random <= charges[0].random)
		return;
	for (; i + 1 < CHARGES && charges[i + 1].random < random; i++)
		charges[i] = charges[i + 1];
	charges[i] = (struct charge){random, cell};
}

/* Random numbers for all cells: 1 where the ten largest are, -1 where the ten smallest are. */
static void set_charges(const struct grid *v)
{
	struct charge largest[CHARGES] = {{0}}, smallest[CHARGES] = {{0}}; /* these: 1 - random */
	uint64_t state = SEED;

	for (int z = 1; z <= v->n; z++)
		for (int y = 1; y <= v->n; y++)
			for (int x = 1; x <= v->n; x++) {
				double random = nas_random(&state);

				keep(largest, random, row(v, z, y) + x);
				keep(smallest, 1 - random, row(v, z, y) + x);
			}
	for (int i = 0; i < CHARGES; i++) {
		*largest[i].cell = 1;
		*smallest[i].cell = -1;
	}
	copy_ends(v);
}

/* All grids, by level; level 1 is the coarsest. */
struct levels {
	int top;
	struct grid u[LEVELS_MAX + 1], r[LEVELS_MAX + 1], v;
};

static void cycle(const struct problem *problem, const struct levels *levels)
{
	const struct grid *u = levels->u, *r = levels->r;
	int top = levels->top;

	for (int k = top; k > 1; k--)
		restrict_to(&r[k], &r[k - 1]);
	for (int k = 1; k < top; k++) {
		fill_zeros(&u[k]);
		if (k > 1) {
			add_interpolated(&u[k - 1], &u[k]);
			take_residual(&u[k], &r[k], &r[k]);
		}
		smooth(problem, &r[k], &u[k]);
	}
	add_interpolated(&u[top - 1], &u[top]);
	take_residual(&u[top], &levels->v, &r[top]);
	smooth(problem, &r[top], &u[top]);
	take_residual(&u[top], &levels->v, &r[top]);
}

/* From a solution of zeros. Returns the norm of what remains. */
static double solve(const struct problem *problem, const struct levels *levels)
{
	const struct grid *u = &levels->u[levels->top], *r = &levels->r[levels->top];

	fill_zeros(u);
	take_residual(u, &levels->v, r);
	for (int i = 0; i < problem->cycles; i++)
		cycle(problem, levels);
	return norm_of(r);
}

static void levels_deinit(struct levels *levels)
{
	free(levels->v.cell);
	for (int k = 1; k <= levels->top; k++) {
		free(levels->u[k].cell);
		free(levels->r[k].cell);
	}
}

static int levels_init(struct levels *levels, int top)
{
	*levels = (struct levels){.top = top};
	int rc = grid_init(&levels->v, 1 << top);

	for (int k = 1; k <= top && rc == 0; k++) {
		rc = grid_init(&levels->u[k], 1 << k);
		if (rc == 0)
			rc = grid_init(&levels->r[k], 1 << k);
	}
	return rc;
}

static int run(enum nas_class class, int repeats, struct nas_result *result)
{
	const struct problem *problem = &problems[class];
	struct levels levels;
	int rc = levels_init(&levels, problem->levels);

	if (rc == 0) {
		double norm = 0;

		set_charges(&levels.v);
		result->begin_ns = clock_monotonic_ns();
		for (int i = 0; i < repeats; i++)
			norm = solve(problem, &levels);
		result->end_ns = clock_monotonic_ns();
		result->check[result->checks++] =
			(struct nas_check){"norm", norm, problem->norm, 1e-8};
	}
	levels_deinit(&levels);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct nas_program program = {
		.name = "nas-mg",
		.doc = "A Poisson problem on a cube by multigrid: phases of many lengths, which "
		       "stream through memory.",
		.run = run,
	};

	return nas_main(&program, argc, argv);
}
