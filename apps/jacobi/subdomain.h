/* SPDX-License-Identifier: MIT */
/*
 * A subdomain: its cells, what it shows its neighbours and what it takes from them. It knows of no
 * threads: whoever holds it calls these functions, one at a time.
 *
 * The problem is that of PLB, Section 4.2: the heat equation; zero on three sides, a
 * Gaussian on the north, 1 inside at the start.
 */
#ifndef JACOBI_SUBDOMAIN_H
#define JACOBI_SUBDOMAIN_H

#include "edge.h"
#include "grid.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

struct subdomain {
	struct edge out[GRID_SIDES]; /* what it shows */
	/* Of its holder, until the end: */
	alignas(EDGE_LINE) struct grid_block block;
	bool lockstep;
	struct edge *in[GRID_SIDES]; /* what its neighbours show; NULL at the boundary */
	const double *north, *south; /* halo rows, in place */
	size_t stride; /* doubles from row to row */
	double *now, *next; /* the first cells of the iteration, and of the one to come */
	uint64_t iteration;
	/* By how many iterations halos were older than what was updated with them: */
	uint64_t lag; /* the oldest of those that were fetched last */
	uint64_t lag_sum, lag_max; /* over all updates */
	void *memory; /* owned */
};

/* The boundary on the north, above that column. */
double subdomain_source(const struct grid *grid, uint32_t column);

/* Set up one of an array of all subdomains of a grid, which is aligned, and show its edges. To
 * be called for each before any is fetched or stepped, by the thread in whose NUMA node the memory
 * should lie. lockstep: all are stepped once before any is stepped again. Returns 0 or -ENOMEM;
 * undone by subdomain_deinit(). */
int subdomain_init(struct subdomain *all, uint32_t index, const struct grid *grid, bool lockstep);
/* Accepts a zeroed one. */
void subdomain_deinit(struct subdomain *subdomain);

/* Take the newest halos (lockstep: those of its own iteration). Returns by how many
 * iterations the oldest is behind. */
uint64_t subdomain_fetch(struct subdomain *subdomain);

/* One iteration with the halos fetched last, counted and shown to the neighbours. */
void subdomain_step(struct subdomain *subdomain);
/* Likewise; returns the squared l2 norm of the residual before it. */
double subdomain_step_residual(struct subdomain *subdomain);

/* The squared l2 norm of the residual with the halos fetched last; changes no cell. */
double subdomain_residual(struct subdomain *subdomain);

/* The first cell of a row, from 0. */
const double *subdomain_row(const struct subdomain *subdomain, uint32_t row);

#endif
