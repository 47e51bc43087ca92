/* SPDX-License-Identifier: MIT */
/*
 * The cells of a simulated cluster, compared with a loop over the whole grid, which has no
 * subdomains.
 */
#undef NDEBUG
#include "tools/sim/field.h"

#include "apps/jacobi/grid.h"
#include "apps/jacobi/subdomain.h"
#include "tests/unit/random.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the whole grid in one piece, with its boundary */

struct whole {
	uint32_t rows, columns;
	double *now, *next; /* (rows + 2) x (columns + 2) */
	double initial;
};

static double *at(const struct whole *whole, double *cells, uint32_t row, uint32_t column)
{
	return &cells[(size_t)(row + 1) * (whole->columns + 2) + column + 1];
}

/* The squared norm of the residual; leaves the next iteration in `next`. */
static double whole_sweep(const struct whole *whole)
{
	double sum = 0;

	for (uint32_t row = 0; row < whole->rows; row++)
		for (uint32_t column = 0; column < whole->columns; column++) {
			double *here = at(whole, whole->now, row, column);
			double *to = at(whole, whole->next, row, column);
			const double *above = here - whole->columns - 2,
				     *below = here + whole->columns + 2;

			*to = 0.25 * ((*above + *below) + (here[-1] + here[1]));
			sum += (*to - *here) * (*to - *here);
		}
	return sum;
}

static struct whole whole_new(uint32_t rows, uint32_t columns, double height)
{
	const struct grid grid = {.rows = rows, .columns = columns};
	size_t n = (size_t)(rows + 2) * (columns + 2);
	struct whole whole = {
		rows, columns, calloc(n, sizeof(double)), calloc(n, sizeof(double)), 0};

	assert_non_null(whole.now);
	assert_non_null(whole.next);
	for (uint32_t column = 0; column < columns; column++) {
		double source = height * subdomain_source(&grid, column);

		*(at(&whole, whole.now, 0, column) - columns - 2) = source;
		*(at(&whole, whole.next, 0, column) - columns - 2) = source;
		for (uint32_t row = 0; row < rows; row++)
			*at(&whole, whole.now, row, column) = 1;
	}
	whole.initial = sqrt(whole_sweep(&whole));
	return whole;
}

static void whole_step(struct whole *whole)
{
	whole_sweep(whole);
	double *now = whole->next;
	whole->next = whole->now;
	whole->now = now;
}

static double whole_residual(const struct whole *whole)
{
	return sqrt(whole_sweep(whole)) / whole->initial;
}

static void whole_free(struct whole *whole)
{
	free(whole->now);
	free(whole->next);
}

/* ---- helpers */

static struct field *field_of(const struct field_params *params)
{
	struct field *it = NULL;

	assert_int_equal(field_new(&it, params), 0);
	assert_int_equal(field_subdomains(it), params->ranks * params->workers * params->each);
	return it;
}

static struct field *field(
	uint32_t rows, uint32_t columns, uint32_t ranks, uint32_t workers, uint32_t each)
{
	const struct field_params params = {
		.rows = rows, .columns = columns, .ranks = ranks, .workers = workers, .each = each};

	return field_of(&params);
}

static void deliver_all(struct field *it, uint32_t subdomain)
{
	for (unsigned side = 0; side < 4; side++)
		field_deliver(it, subdomain, side);
}

static void place_all(struct field *it, uint32_t subdomain, bool within)
{
	for (unsigned side = 0; side < 4; side++)
		field_place(it, subdomain, side, within);
}

/* Returns how far these halos are behind. */
static uint64_t fetch(struct field *it, uint32_t subdomain)
{
	uint64_t lag = field_lag(it, subdomain);

	field_fetch(it, subdomain);
	return lag;
}

/* One iteration of all; halos between ranks are delivered before it. Returns the greatest lag. */
static uint64_t iterate(struct field *it)
{
	uint64_t worst = 0;

	for (uint32_t s = 0; s < field_subdomains(it); s++) {
		deliver_all(it, s);
		uint64_t lag = fetch(it, s);

		worst = lag > worst ? lag : worst;
	}
	for (uint32_t s = 0; s < field_subdomains(it); s++)
		field_step(it, s);
	return worst;
}

/* ---- tests */

static void refused(void **state)
{
	const struct field_params wrong[] = {
		{.rows = 3, .columns = 3, .ranks = 1, .workers = 4, .each = 4},
		{.rows = 3, .columns = 3, .ranks = 4, .workers = 1, .each = 1},
		{.rows = 3, .columns = 9, .ranks = 1, .workers = 4, .each = 1, .strips = true},
		{.rows = 1U << 30, .columns = 8, .ranks = 1, .workers = 4, .each = 1},
		{.rows = 8, .columns = 8, .ranks = 0, .workers = 1, .each = 1},
		{.rows = 8, .columns = 8, .ranks = 1, .workers = 0, .each = 1},
		{.rows = 8, .columns = 8, .ranks = 1, .workers = 1, .each = 0},
	};
	struct field *it = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(field_new(&it, &wrong[i]), -ERANGE);
	assert_null(it);
	field_free(NULL);
}

/* Told before, by each of the two laws, and for a source that is all there is. */
static void iterations(void **state)
{
	static const struct {
		uint32_t rows, columns;
		double source, residual;
	} cases[] = {{96, 96, 0, 0.1}, {96, 96, 0, 0.01}, {96, 96, 0, 1e-3}, {48, 48, 0, 1e-4},
		{24, 120, 0, 1e-4}, {120, 24, 0, 1e-3}, {96, 96, 1e3, 0.05}};
	const struct field_params wrong = {
		.rows = 3, .columns = 3, .ranks = 1, .workers = 4, .each = 4};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct field_params params = {.rows = cases[i].rows,
			.columns = cases[i].columns,
			.ranks = 1,
			.workers = 1,
			.each = 1,
			.source = cases[i].source};
		double told = field_iterations(&params, cases[i].residual), done = 0;
		struct field *it = NULL;
		assert_int_equal(field_new(&it, &params), 0);
		while (field_residual(it) > cases[i].residual) {
			iterate(it);
			done++;
		}
		if (fabs(told / done - 1) > 0.1)
			fail_msg("%g iterations told, %g made", told, done);
		assert_float_equal(field_cells(&params), (double)params.rows * params.columns, 0);
		field_free(it);
	}
	assert_float_equal(field_cells(&wrong), 0, 0);
	assert_float_equal(field_iterations(&wrong, 0.1), 0, 0);
	assert_true(isfinite(field_iterations(
		&(struct field_params){
			.rows = 1, .columns = 1, .ranks = 1, .workers = 1, .each = 1},
		1e-9)));
}

static void neighbours(void **state)
{
	struct field *it = field(12, 12, 2, 2, 2);

	(void)state;
	for (uint32_t s = 0; s < field_subdomains(it); s++) {
		uint32_t near[4], back[4];

		field_neighbours(it, s, near);
		for (unsigned side = 0; side < 4; side++) {
			if (near[side] == UINT32_MAX)
				continue;
			field_neighbours(it, near[side], back);
			assert_int_equal(back[side ^ 1], s);
		}
	}
	field_free(it);
}

/* Wherever it is cut, the residual is that of the whole grid in each iteration. */
static void lockstep(void **state)
{
	static const uint32_t cuts[][3] = {
		{1, 1, 1}, {1, 4, 1}, {1, 3, 4}, {2, 2, 2}, {3, 1, 2}, {5, 4, 4}};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cuts) / sizeof(*cuts); i++) {
		const uint32_t *cut = cuts[i / 2];
		const double height = i % 3 ? 1 : 1.5 * (double)i; /* 0 means the default, 1 */
		const struct field_params params = {.rows = 37,
			.columns = 41,
			.ranks = cut[0],
			.workers = cut[1],
			.each = cut[2],
			.strips = i % 2,
			.source = height,
			.lockstep = true};
		struct whole whole = whole_new(37, 41, height > 0 ? height : 1);
		struct field *it = field_of(&params);

		for (int iteration = 0; iteration < 60; iteration++) {
			assert_float_equal(field_residual(it), whole_residual(&whole), 1e-13);
			for (uint32_t s = 0; s < field_subdomains(it); s++) {
				assert_int_equal(fetch(it, s), 0);
				/* In turn: a neighbour may be an iteration ahead. */
				field_step(it, s);
			}
			whole_step(&whole);
		}
		field_free(it);
		whole_free(&whole);
	}
}

/* Without lockstep, but all at the same iteration. */
static void in_step(void **state)
{
	struct whole whole = whole_new(30, 50, 100);
	const struct field_params params = {
		.rows = 30, .columns = 50, .ranks = 3, .workers = 2, .each = 4, .source = 100};
	struct field *it = field_of(&params);

	(void)state;
	for (int iteration = 0; iteration < 100; iteration++) {
		assert_int_equal(iterate(it), 0);
		whole_step(&whole);
		assert_float_equal(field_residual(it), whole_residual(&whole), 1e-13);
	}
	field_free(it);
	whole_free(&whole);
}

/* Two fields make the same steps; one is asked for its residual in the middle of updates. */
static void asking_changes_nothing(void **state)
{
	struct field *asked = field(24, 36, 2, 3, 2), *left = field(24, 36, 2, 3, 2);
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		uint32_t s = (uint32_t)random_int(&seed, 0, field_subdomains(asked) - 1);
		uint32_t other = (uint32_t)random_int(&seed, 0, field_subdomains(asked) - 1);

		if (random_int(&seed, 0, 2) == 0) {
			deliver_all(asked, s);
			deliver_all(left, s);
		}
		assert_int_equal(fetch(asked, s), fetch(left, s));
		if (other != s) {
			field_fetch(asked, other);
			field_fetch(left, other);
			field_step(asked, other);
			field_step(left, other);
		}
		field_residual(asked);
		field_step(asked, s);
		field_step(left, s);
	}
	assert_true(field_residual(asked) == field_residual(left));
	field_free(asked);
	field_free(left);
}

static void converges(void **state)
{
	struct field *it = field(16, 24, 2, 2, 3);
	uint64_t seed = 7;
	int steps = 0;

	(void)state;
	for (; steps < 400000 && field_residual(it) > 1e-10; steps += 500)
		for (int i = 0; i < 500; i++) {
			uint32_t s = (uint32_t)random_int(&seed, 0, field_subdomains(it) - 1);

			if (random_int(&seed, 0, 4) == 0)
				deliver_all(it, s);
			if (random_int(&seed, 0, 9) == 0)
				place_all(it, s, random_int(&seed, 0, 1));
			field_fetch(it, s);
			field_step(it, s);
		}
	assert_true(field_residual(it) <= 1e-10);
	field_free(it);
}

/* Side by side, on two ranks: only what is delivered is seen. */
static void as_old_as_delivered(void **state)
{
	struct field *it = field(8, 16, 2, 1, 1);
	uint32_t near[4];
	uint64_t age = 0;

	(void)state;
	field_neighbours(it, 0, near);
	assert_int_equal(near[GRID_EAST], 1);
	for (uint64_t i = 0; i < 50; i++) {
		field_fetch(it, 1);
		field_step(it, 1);
		if (i % 7 == 3) {
			field_deliver(it, 0, GRID_EAST);
			age = i + 1;
		}
		assert_int_equal(fetch(it, 0), i - (age < i ? age : i));
		field_step(it, 0);
	}
	field_free(it);
}

/* This holds for the delivered values, too: from a halo that is delivered before the neighbour goes
 * on, nothing newer is seen, not even by a subdomain that runs ahead. */
static void delivered_late(void **state)
{
	struct field *late = field(8, 16, 2, 1, 1), *prompt = field(8, 16, 2, 1, 1);
	struct field *const both[] = {late, prompt};

	(void)state;
	for (int i = 0; i < 2; i++) {
		iterate(both[i]);
		field_deliver(both[i], 0, GRID_EAST);
		field_fetch(both[i], 1);
		field_step(both[i], 1);
	}
	field_deliver(prompt, 0, GRID_EAST);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fetch(both[i], 0), 0);
		field_step(both[i], 0);
	}
	assert_true(field_residual(late) != field_residual(prompt));

	/* Equally old: the same to the last bit. */
	struct field *again = field(8, 16, 2, 1, 1);
	iterate(again);
	field_deliver(again, 0, GRID_EAST);
	field_fetch(again, 0);
	field_step(again, 0);
	field_fetch(again, 1);
	field_step(again, 1);
	assert_true(field_residual(late) == field_residual(again));
	field_free(late);
	field_free(prompt);
	field_free(again);
}

/* Back and forth, between updates and in the middle of them. */
static void placed_to_and_fro(void **state)
{
	struct field *moved = field(24, 40, 2, 2, 4), *left = field(24, 40, 2, 2, 4);
	uint64_t seed = 11;

	(void)state;
	for (int iteration = 0; iteration < 200; iteration++) {
		for (uint32_t s = 0; s < field_subdomains(moved); s++) {
			place_all(moved, s, random_int(&seed, 0, 1));
			place_all(moved, s, random_int(&seed, 0, 1));
			deliver_all(moved, s);
			deliver_all(left, s);
			assert_int_equal(fetch(moved, s), 0);
			assert_int_equal(fetch(left, s), 0);
		}
		for (uint32_t s = 0; s < field_subdomains(moved); s++) {
			place_all(moved, s, random_int(&seed, 0, 1));
			place_all(
				moved, (s + 5) % field_subdomains(moved), random_int(&seed, 0, 1));
			field_step(moved, s);
			field_step(left, s);
		}
		assert_true(field_residual(moved) == field_residual(left));
	}
	field_free(moved);
	field_free(left);
}

/* A subdomain that parts from a neighbour keeps what it last saw of it. */
static void parted(void **state)
{
	struct field *it = field(16, 8, 1, 2, 1);

	(void)state;
	for (int i = 0; i < 5; i++) {
		field_fetch(it, 1);
		field_step(it, 1);
	}
	field_place(it, 0, GRID_SOUTH, false);
	for (uint64_t i = 0; i < 9; i++) {
		field_fetch(it, 1);
		field_step(it, 1);
		assert_int_equal(fetch(it, 0), i > 5 ? i - 5 : 0);
		field_step(it, 0);
	}
	field_place(it, 0, GRID_SOUTH, true);
	assert_int_equal(fetch(it, 0), 0);
	field_free(it);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(iterations),
		cmocka_unit_test(neighbours),
		cmocka_unit_test(lockstep),
		cmocka_unit_test(in_step),
		cmocka_unit_test(asking_changes_nothing),
		cmocka_unit_test(converges),
		cmocka_unit_test(as_old_as_delivered),
		cmocka_unit_test(delivered_late),
		cmocka_unit_test(placed_to_and_fro),
		cmocka_unit_test(parted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
