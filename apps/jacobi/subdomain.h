/* SPDX-License-Identifier: MIT */
/*
 * A subdomain: its cells, what it shows its neighbours and what it takes from them. It knows
 * nothing of threads: its holder calls these functions, one at a time.
 *
 * The problem is that of PLB, Section 4.2: the heat equation, with zero on three sides, a Gaussian
 * on the north, and 1 inside at the start.
 */
#ifndef JACOBI_SUBDOMAIN_H
#define JACOBI_SUBDOMAIN_H

#include "apps/jacobi/edge.h"
#include "apps/jacobi/grid.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

struct subdomain {
	struct edge out[GRID_SIDES]; /* what it shows */
	/* The rest is only for its holder: */
	alignas(EDGE_LINE) uint32_t id; /* in the grid */
	struct grid_block block;
	bool lockstep;
	bool inner[GRID_SIDES]; /* not at the boundary: there is a neighbour */
	struct edge *in[GRID_SIDES]; /* what its neighbours show; NULL until it is connected */
	const double *north, *south; /* halo rows, in place */
	size_t stride; /* doubles from row to row */
	double *now, *next; /* the first cells of the iteration, and of the one to come */
	uint64_t iteration;
	/* By how many iterations halos were older than the subdomain, when it was updated with
	 * them: */
	uint64_t lag; /* the oldest of those that were fetched last */
	uint64_t lag_sum, lag_max; /* over all updates */
	void *memory; /* owned */
};

/* The boundary value on the north, above that column. */
double subdomain_source(const struct grid *grid, uint32_t column);

/* Set up a subdomain of a grid at iteration 0, and show its edges. Call it in a thread of the NUMA
 * node where the memory should be. It must be aligned to EDGE_LINE. lockstep: all subdomains are
 * stepped once before any is stepped again. Returns 0 or -ENOMEM; undone by subdomain_deinit(). */
int subdomain_init(struct subdomain *sub, const struct grid *grid, uint32_t id, bool lockstep);

/* Set what is on that side, unless it is the boundary: the edge that the neighbour shows (its out[]
 * of the opposite side), or one that somebody fills in its place. Call it before the subdomain is
 * first fetched or stepped, and again when the neighbour moves. Then it must be fetched before it
 * is stepped, because its halos may be in the previous edge. */
void subdomain_connect(struct subdomain *sub, enum grid_side side, struct edge *edge);

/* A subdomain as bytes, for another process of the same program: cells, iteration and counts, but
 * not what it got from its neighbours. */
size_t subdomain_packed_bytes(const struct subdomain *sub);
void subdomain_pack(const struct subdomain *sub, void *to);
/* As subdomain_init(), from what was packed. It shows its edges, and must be connected and fetched.
 * `from` need not be aligned. Also returns -EBADMSG: it isn't that subdomain's. */
int subdomain_unpack(struct subdomain *sub, const struct grid *grid, uint32_t id, bool lockstep,
	const void *from, size_t bytes);

/* Accepts a zeroed one. */
void subdomain_deinit(struct subdomain *subdomain);

/* Take the newest halos (in lockstep, those of its own iteration). Returns by how many iterations
 * the oldest is behind. */
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
