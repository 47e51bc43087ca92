/* SPDX-License-Identifier: MIT */
/*
 * The cells of a simulated cluster: the heat equation of jacobi(1), with jacobi's own grid, source and
 * kernel, one update at a time, in whatever order the cluster says.
 *
 * Halos within a rank are the newest that were shown. Those between ranks are as old as the cluster
 * says, by calls of field_deliver().
 */
#ifndef SIM_FIELD_H
#define SIM_FIELD_H

#include <stdbool.h>
#include <stdint.h>

struct field;

struct field_params {
	uint32_t rows, columns; /* cells of the whole grid; 0 and 0: 300 x 300 per worker */
	uint32_t ranks, workers, each; /* workers per rank, subdomains per worker */
	bool strips; /* cut as by jacobi --cut=1d, its default; false: as by --cut=2d */
	/* Height of the Gaussian on the north, as a multiple of the initial value inside; 0: 1, as
	 * in jacobi. */
	double source;
	/* For MODE_SYNC: each halo is of the reader's own iteration, whatever is placed or
	 * delivered. */
	bool lockstep;
};

/* All subdomains are at the start, halos between ranks included. Returns 0, -ERANGE (more
 * subdomains than cells, a grid too large, or a number is 0) or -ENOMEM. */
int field_new(struct field **out, const struct field_params *params);
/* Accepts NULL. */
void field_free(struct field *field);

/* Before there is a field: how many cells it would have, and about how many iterations until its
 * residual is so small a part of the first one. Both are 0 for what field_new() refuses. */
double field_cells(const struct field_params *params);
double field_iterations(const struct field_params *params, double residual);

uint32_t field_subdomains(const struct field *field);
/* The neighbours of a subdomain, by side (enum grid_side: north, south, west, east); UINT32_MAX at
 * the boundary. */
void field_neighbours(const struct field *field, uint32_t subdomain, uint32_t neighbours[4]);

/* By how many iterations the oldest of the newest halos is behind. */
uint64_t field_lag(const struct field *field, uint32_t subdomain);
/* Take these halos, at the beginning of an update. */
void field_fetch(struct field *field, uint32_t subdomain);
/* One iteration with them, shown to the neighbours, at the end of the update. */
void field_step(struct field *field, uint32_t subdomain);

/* Between subdomains of different ranks the halo on that side is not the newest, but the one that
 * was shown at the last field_deliver(), or when the two parted. within: the two are on one rank
 * now. Both functions affect the next fetch, so they may be called in the middle of an update. At
 * the boundary they do nothing. */
void field_place(struct field *field, uint32_t subdomain, unsigned side, bool within);
void field_deliver(struct field *field, uint32_t subdomain, unsigned side);

/* The global l2 norm of the residual, relative to its first value, exact, with the newest halos. A
 * subdomain in the middle of an update counts as before it. Takes as long as an iteration of all
 * subdomains, and changes nothing. */
double field_residual(struct field *field);

#endif
