/* SPDX-License-Identifier: MIT */
/*
 * Poisson's equation on strips, for schwarz.c and schwarz_mpi.c: a problem whose subdomains have
 * unequal work.
 *
 * The unit square is cut into strips, each higher than the one before. An update of a strip solves
 * its equations exactly, together with some rows of its neighbours, for the newest values around;
 * it writes back only its own rows (restricted additive Schwarz). The solver is a banded Cholesky
 * factorisation, so a strip of twice the height takes four times as long. The equations are an
 * M-matrix: they converge however old the values are that an update finds (Frommer and Szyld,
 * "Asynchronous two-stage iterative methods", 1994).
 *
 * The right-hand side is the eigenvector of the smallest eigenvalue, so the solution is known, and
 * its relative error is never more than the relative residual.
 */
#ifndef STRIPS_H
#define STRIPS_H

#include <argp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define STRIPS_OVERLAP 4u /* rows of each neighbour that an update solves for, too */
#define STRIPS_ROUNDS_MAX 100u

struct strips_options {
	uint32_t strips; /* of each thread, or rank, at the start */
	uint32_t points; /* of a row and a column */
	uint32_t ratio, updates;
	double tolerance;
};

struct strip {
	uint32_t row, rows; /* its own; the first one, from 1 */
	uint32_t from, height; /* those that it solves for */
	double *factor; /* height + 1 numbers for each unknown: the diagonal, and below it; NULL at first */
	double *x; /* unknowns, column by column */
	uint64_t iteration; /* touched by its holder alone */
	_Atomic double residual2; /* square of its residual when it was last updated */
};

struct strips {
	struct strips_options options;
	uint32_t count;
	struct strip *strip;
	/* The unknowns, in rows and columns from 1, with a border of zeros. Everybody reads what
	 * others write at any time: each number is of some iteration, which is all that it takes. */
	_Atomic double *u;
	double *source; /* right-hand side of each row and column, without border: a product */
	double source2; /* square of the residual of zeros */
};

/* The part of the command line that is about the problem: a child of argp, whose input is struct
 * strips_options, zeroed; it fills in the defaults. */
extern const struct argp strips_argp;
/* For other options: a whole number, or the index of a name in a list; or the end by argp_error(). */
uint32_t strips_read_count(
	struct argp_state *state, const char *arg, uint32_t least, uint32_t most);
uint32_t strips_read_name(
	struct argp_state *state, const char *arg, const char *const *names, uint32_t n);

/* Can the square be cut into that many strips, with so many rows each? */
bool strips_fit(const struct strips_options *options, uint32_t count, uint32_t rows);

/* Cut it. Returns false without memory; call strips_deinit() in both cases. */
bool strips_init(struct strips *all, const struct strips_options *options, uint32_t count);
void strips_deinit(struct strips *all);

/* Before the first update of a strip. Returns false without memory. */
bool strip_factorise(struct strip *strip, uint32_t points);

/* Solve for the strip once more; for its holder. Sets and returns its residual before that,
 * squared. */
double strip_update(struct strips *all, struct strip *strip);

/* By what strips found when they were last updated, in all; others have written since. */
bool strips_seem_solved(const struct strips *all, double residual2);

/* Of the whole square, relative, in the l2 norm. */
double strips_residual(const struct strips *all);
double strips_error(const struct strips *all);

#endif
