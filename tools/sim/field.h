/* SPDX-License-Identifier: MIT */
/*
 * The cells of a simulated cluster: the heat equation of jacobi(1), with its own code (grid,
 * subdomain, kernel), one subdomain updated at a time, in whatever order the cluster says.
 *
 * Halos within a rank are the newest that were shown, those between ranks as old as the cluster says:
 * it calls field_deliver().
 */
#ifndef SIM_FIELD_H
#define SIM_FIELD_H

#include <stdbool.h>
#include <stdint.h>

struct field;

struct field_params {
	uint32_t rows, columns; /* cells of the whole grid; 0 and 0: 300 x 300 a worker */
	uint32_t ranks, workers, each; /* workers of each rank, subdomains of each worker */
	bool strips; /* cut as by jacobi --cut=1d, its default, else as by --cut=2d */
	/* Height of the Gaussian on the north, over what is inside at the start; 0: 1, as jacobi
	 * has it. */
	double source;
	/* For MODE_SYNC: each halo is that of the reader's own iteration, whatever is placed or
	 * delivered. */
	bool lockstep;
};

/* All at the start; halos between ranks are what all have then. Returns 0, -ERANGE (more subdomains than
 * cells to cut between, a grid too large, none of something) or -ENOMEM. */
int field_new(struct field **out, const struct field_params *params);
/* Accepts NULL. */
void field_free(struct field *field);

uint32_t field_subdomains(const struct field *field);
/* The subdomains next to one, by side (enum grid_side: north, south, west, east), UINT32_MAX at the
 * boundary. */
void field_neighbours(const struct field *field, uint32_t subdomain, uint32_t neighbours[4]);

/* Take the newest halos: the moment an update begins. Returns by how many iterations the oldest is
 * behind. */
uint64_t field_fetch(struct field *field, uint32_t subdomain);
/* One iteration with them, shown to the neighbours: the moment it ends. */
void field_step(struct field *field, uint32_t subdomain);

/* Between subdomains of different ranks the halo on that side is not the newest, but what was shown
 * when field_deliver() was last called for it, or when the two parted. within: the two are on one
 * rank now. Both are for the halos fetched next: they may be called in the middle of an update, and
 * on a side at the boundary do nothing. */
void field_place(struct field *field, uint32_t subdomain, unsigned side, bool within);
void field_deliver(struct field *field, uint32_t subdomain, unsigned side);

/* The global l2 norm of the residual over its first value, exact, with the newest halos: in the
 * middle of an update a subdomain counts as it was before. It takes as long as an iteration of all, and
 * changes nothing. */
double field_residual(struct field *field);

#endif
