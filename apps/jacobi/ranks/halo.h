/* SPDX-License-Identifier: MIT */
/*
 * Halos between ranks: DPLB, Section 3.2.
 *
 * A subdomain whose neighbour is on another rank gets its halo from an edge of its own, which is
 * filled here with what was read from the other's window; and its own edge on that side is copied to
 * this rank's window. A reader knows where the neighbour was. What it reads tells who it is
 * and which rank owns it: when that is no longer so, it follows the forwarding record to the new
 * rank, searches the directory there for the slot, and, should the record be gone already, asks
 * the rank where the subdomain was at first. Nobody else takes part.
 *
 * Connecting and disconnecting happen while the rank's workers stand still; the rest at any time,
 * under the lock of ranks.h.
 */
#ifndef JACOBI_HALO_H
#define JACOBI_HALO_H

#include "apps/jacobi/ranks/site.h"

struct halo_link;

struct halos {
	struct site *site;
	struct halo_link *links; /* four of each slot */
	uint32_t *active; /* links to other ranks */
	uint32_t active_count;
	uint32_t cursor;
	uint64_t round; /* of halos_refresh() */
	char *memory;
};

/* Returns 0 or -ENOMEM; to be undone by halos_deinit(), which accepts a zeroed one, once no get is
 * under way. */
int halos_init(struct halos *halos, struct site *site);
void halos_deinit(struct halos *halos);

/* What stands on one side of a subdomain that moves; `cells` is NULL at the boundary. */
struct halo_seed {
	struct site_place place; /* of the neighbour */
	uint64_t iteration;
	const double *cells;
};

/* A subdomain came to that slot: connect it with its neighbours here, and begin to read from those
 * elsewhere. seeds: what it knew where it came from. */
void halos_connect(struct halos *halos, uint32_t slot, const struct halo_seed seeds[GRID_SIDES]);

/* It goes to that place: its neighbours here will read from there, and its halos tell so. Returns
 * what it knows of its sides; the cells are there until the workers go on. */
void halos_disconnect(struct halos *halos, uint32_t slot, struct site_place to,
	struct halo_seed seeds[GRID_SIDES]);

/* At the start: subdomains lie where the grid has them, none has been updated. */
void halos_connect_all(struct halos *halos);

/* Show what is new to other ranks, and read what they show; some of it, if there is much. Calls
 * transport_poll(). */
void halos_step(struct halos *halos);

/* Show all that is new at once; workers stand still. */
void halos_show(struct halos *halos);

/* Read all again: halos_are_fresh() when what was read was asked for after this call. */
void halos_refresh(struct halos *halos);
bool halos_are_fresh(const struct halos *halos);

/* In lockstep: are all halos of this iteration here? At the next one they still are. */
bool halos_have(const struct halos *halos, uint64_t iteration);

/* At the end: take what was asked for. Returns whether nothing is under way any more. */
bool halos_drain(struct halos *halos);

#endif
