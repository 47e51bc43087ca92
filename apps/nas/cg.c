/* SPDX-License-Identifier: MIT */
/*
 * nas-cg: the smallest eigenvalue of a sparse random matrix, by inverse power iteration, with 25
 * steps of conjugate gradients each. Reads memory at random; phases are as short as one product of
 * matrix and vector, or of two vectors.
 */
#include "apps/nas/nas.h"

#include "daemon/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SEED UINT64_C(314159265)
#define STEPS 25
#define CONDITION 0.1
#define ENTRIES_MAX 14 /* of a random vector: one more than there are random entries */

struct problem {
	int n; /* unknowns */
	int random_entries; /* of each random vector */
	int iterations;
	double shift;
	double zeta; /* published */
};

static const struct problem problems[NAS_CLASSES] = {
	[NAS_S] = {1400, 7, 15, 10, 8.5971775078648},
	[NAS_W] = {7000, 8, 15, 12, 10.362595087124},
	[NAS_A] = {14000, 11, 15, 20, 17.130235054029},
	[NAS_B] = {75000, 13, 75, 60, 22.712745482631},
};

/* ---- The matrix: a sum of outer products of sparse random vectors, and of a diagonal ---- */

struct vector {
	int entries;
	int index[ENTRIES_MAX];
	double value[ENTRIES_MAX];
};

/* Rows that are compressed: those of row i are from first[i] to first[i + 1]. */
struct matrix {
	int n;
	int64_t *first;
	int *column;
	double *value;
};

static int find(const struct vector *vector, int index)
{
	int i = 0;

	while (i < vector->entries && vector->index[i] != index)
		i++;
	return i;
}

/* Draw entries at random places, and set the one of `own` to a half. */
static void draw(struct vector *vector, const struct problem *problem, int own, uint64_t *state)
{
	int power = 1;

	while (power < problem->n)
		power *= 2;
	vector->entries = 0;
	while (vector->entries < problem->random_entries) {
		double value = nas_random(state);
		int index = (int)(power * nas_random(state));

		if (index >= problem->n || find(vector, index) < vector->entries)
			continue;
		vector->index[vector->entries] = index;
		vector->value[vector->entries++] = value;
	}
	int at = find(vector, own);
	if (at == vector->entries)
		vector->index[vector->entries++] = own;
	vector->value[at] = 0.5;
}

/* Add to one entry of a row, whose columns are ascending. Returns the new length. */
static int64_t add_entry(int *columns, double *values, int64_t length, int column, double value)
{
	int64_t at = length;

	while (at > 0 && columns[at - 1] >= column)
		at--;
	if (at < length && columns[at] == column) {
		values[at] += value;
		return length;
	}
	memmove(columns + at + 1, columns + at, (size_t)(length - at) * sizeof(*columns));
	memmove(values + at + 1, values + at, (size_t)(length - at) * sizeof(*values));
	columns[at] = column;
	values[at] = value;
	return length + 1;
}

/* Make a row from all vectors that have an entry in it. Returns its length. */
static int64_t fill_row(const struct problem *problem, const struct vector *vectors,
	const int *members, int64_t count, int row, int *columns, double *values)
{
	int64_t length = 0;

	for (int64_t k = 0; k < count; k++) {
		const struct vector *vector = &vectors[members[k]];
		/* Their weights fall from 1 to the reciprocal of the condition number. */
		double weight = pow(CONDITION, (double)members[k] / problem->n);
		double factor = weight * vector->value[find(vector, row)];

		for (int i = 0; i < vector->entries; i++)
			length = add_entry(columns, values, length, vector->index[i],
				factor * vector->value[i]);
	}
	return add_entry(columns, values, length, row, CONDITION - problem->shift);
}

/* The vectors that have an entry in each row: of row i from first[i] to first[i + 1]; and the most
 * entries that it can have, from most[i] to most[i + 1]. */
static int list_members(
	const struct vector *vectors, int n, int64_t *first, int64_t *most, int **members)
{
	int64_t *next = malloc((size_t)n * sizeof(*next));

	for (int i = 0; i < n; i++)
		for (int k = 0; k < vectors[i].entries; k++) {
			first[vectors[i].index[k] + 1]++;
			most[vectors[i].index[k] + 1] += vectors[i].entries;
		}
	for (int i = 0; i < n; i++) {
		first[i + 1] += first[i];
		most[i + 1] += most[i];
	}
	*members = malloc((size_t)first[n] * sizeof(**members));
	bool allocated = next && *members;
	if (allocated) {
		memcpy(next, first, (size_t)n * sizeof(*next));
		for (int i = 0; i < n; i++)
			for (int k = 0; k < vectors[i].entries; k++)
				(*members)[next[vectors[i].index[k]]++] = i;
	}
	free(next);
	return allocated ? 0 : -ENOMEM;
}

/* Rows were made apart from each other; move them together. */
static void compress(struct matrix *matrix, const int64_t *begin, const int64_t *length)
{
	for (int i = 0; i < matrix->n; i++) {
		memmove(matrix->column + matrix->first[i], matrix->column + begin[i],
			(size_t)length[i] * sizeof(*matrix->column));
		memmove(matrix->value + matrix->first[i], matrix->value + begin[i],
			(size_t)length[i] * sizeof(*matrix->value));
		matrix->first[i + 1] = matrix->first[i] + length[i];
	}
}

static void free_matrix(struct matrix *matrix)
{
	free(matrix->first);
	free(matrix->column);
	free(matrix->value);
}

/* Returns 0 or -ENOMEM; free_matrix() in any case. */
static int make_matrix(const struct problem *problem, uint64_t state, struct matrix *matrix)
{
	size_t n = (size_t)problem->n;
	struct vector *vectors = malloc(n * sizeof(*vectors));
	int64_t *first = calloc(n + 1, sizeof(*first)), *most = calloc(n + 1, sizeof(*most));
	int64_t *length = calloc(n, sizeof(*length));
	int *members = NULL;
	int rc = -ENOMEM;

	*matrix = (struct matrix){.n = problem->n, .first = calloc(n + 1, sizeof(*first))};
	if (!vectors || !first || !most || !length || !matrix->first)
		goto out;
	for (int i = 0; i < problem->n; i++)
		draw(&vectors[i], problem, i, &state);
	rc = list_members(vectors, problem->n, first, most, &members);
	if (rc < 0)
		goto out;
	matrix->column = malloc((size_t)most[n] * sizeof(*matrix->column));
	matrix->value = malloc((size_t)most[n] * sizeof(*matrix->value));
	if (!matrix->column || !matrix->value) {
		rc = -ENOMEM;
		goto out;
	}
#pragma omp parallel for schedule(static)
	for (int i = 0; i < problem->n; i++)
		length[i] = fill_row(problem, vectors, members + first[i], first[i + 1] - first[i],
			i, matrix->column + most[i], matrix->value + most[i]);
	compress(matrix, most, length);
out:
	free(vectors);
	free(first);
	free(most);
	free(length);
	free(members);
	return rc;
}

/* ---- The iteration ---- */

static double dot(const double *left, const double *right, int n)
{
	double sum = 0;

#pragma omp parallel for schedule(static) reduction(+ : sum)
	for (int i = 0; i < n; i++)
		sum += left[i] * right[i];
	return sum;
}

static void multiply(const struct matrix *matrix, const double *vector, double *product)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < matrix->n; i++) {
		double sum = 0;

		for (int64_t k = matrix->first[i]; k < matrix->first[i + 1]; k++)
			sum += matrix->value[k] * vector[matrix->column[k]];
		product[i] = sum;
	}
}

struct vectors {
	double *x, *z, *r, *p, *q;
};

/* Solve matrix z = x, as far as that many steps go. */
static void solve(const struct matrix *matrix, const struct vectors *v)
{
	int n = matrix->n;

#pragma omp parallel for schedule(static)
	for (int i = 0; i < n; i++) {
		v->z[i] = 0;
		v->r[i] = v->p[i] = v->x[i];
	}
	double square = dot(v->r, v->r, n);
	for (int step = 0; step < STEPS; step++) {
		multiply(matrix, v->p, v->q);
		double alpha = square / dot(v->p, v->q, n), before = square;

#pragma omp parallel for schedule(static)
		for (int i = 0; i < n; i++) {
			v->z[i] += alpha * v->p[i];
			v->r[i] -= alpha * v->q[i];
		}
		square = dot(v->r, v->r, n);
		double beta = square / before;
#pragma omp parallel for schedule(static)
		for (int i = 0; i < n; i++)
			v->p[i] = v->r[i] + beta * v->p[i];
	}
}

static double iterate(
	const struct problem *problem, const struct matrix *matrix, const struct vectors *v)
{
	int n = problem->n;
	double zeta = 0;

#pragma omp parallel for schedule(static)
	for (int i = 0; i < n; i++)
		v->x[i] = 1;
	for (int iteration = 0; iteration < problem->iterations; iteration++) {
		solve(matrix, v);
		zeta = problem->shift + 1 / dot(v->x, v->z, n);
		double norm = sqrt(dot(v->z, v->z, n));
#pragma omp parallel for schedule(static)
		for (int i = 0; i < n; i++)
			v->x[i] = v->z[i] / norm;
	}
	return zeta;
}

static int run(enum nas_class class, int repeats, struct nas_result *result)
{
	const struct problem *problem = &problems[class];
	size_t n = (size_t)problem->n;
	double *cells = malloc(5 * n * sizeof(*cells));
	/* The benchmark takes one number before. */
	uint64_t state = nas_random_skip(SEED, 1);
	struct matrix matrix = {0};
	int rc = cells ? make_matrix(problem, state, &matrix) : -ENOMEM;

	if (rc == 0) {
		double zeta = 0;
		const struct vectors v = {
			cells, cells + n, cells + 2 * n, cells + 3 * n, cells + 4 * n};

		result->begin_ns = clock_monotonic_ns();
		for (int i = 0; i < repeats; i++)
			zeta = iterate(problem, &matrix, &v);
		result->end_ns = clock_monotonic_ns();
		result->check[result->checks++] =
			(struct nas_check){"zeta", zeta, problem->zeta, 1e-10};
	}
	free_matrix(&matrix);
	free(cells);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct nas_program program = {
		.name = "nas-cg",
		.doc = "The smallest eigenvalue of a sparse matrix by conjugate gradients: many "
		       "short phases, memory read at random.",
		.run = run,
	};

	return nas_main(&program, argc, argv);
}
