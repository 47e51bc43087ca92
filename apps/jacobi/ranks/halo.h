/* SPDX-License-Identifier: MIT */
/*
 * Halos between ranks: DPLB, Section 3.2.
 *
 * A subdomain with a neighbour on another rank has an edge of its own for that side. This layer
 * fills that edge with what it reads from the other rank's window, and copies the subdomain's own
 * side to this rank's window. A reader remembers where the neighbour was. Each halo contains the id
 * and the owner of its subdomain. When these no longer match, the reader follows the forwarding
 * record to the new rank, and searches the directory there for the slot. If the record is gone
 * already, it asks the rank where the subdomain was at first. No other rank takes part.
 *
 * Connecting and disconnecting happen while the rank's workers stand still; everything else at any
 * time, under the lock of ranks.h.
 */
#ifndef JACOBI_HALO_H
#define JACOBI_HALO_H

#include "apps/jacobi/ranks/site.h"

struct halo_link;

struct halos {
	struct site *site;
	struct halo_link *links; /* four for each slot */
	uint32_t *active; /* links to other ranks */
	uint32_t active_count;
	uint32_t cursor;
	uint64_t round; /* of halos_refresh() */
	char *memory;
};

/* Returns 0 or -ENOMEM. Undone by halos_deinit(), which accepts a zeroed object; no get may be in
 * flight then. */
int halos_init(struct halos *halos, struct site *site);
void halos_deinit(struct halos *halos);

/* What is on one side of a subdomain that moves; `cells` is NULL at the boundary. */
struct halo_seed {
	struct site_place place; /* of the neighbour */
	uint64_t iteration;
	const double *cells;
};

/* A subdomain came to that slot: connect it with its neighbours on this rank, and start reading
 * from those elsewhere. seeds: what it knew of them on its old rank. */
void halos_connect(struct halos *halos, uint32_t slot, const struct halo_seed seeds[GRID_SIDES]);

/* It leaves for that place: its neighbours here will read from there, and its halos say so. Returns
 * what it knows of its sides; the cells stay valid until the workers go on. */
void halos_disconnect(struct halos *halos, uint32_t slot, struct site_place to,
	struct halo_seed seeds[GRID_SIDES]);

/* How many halos fewer would pass between ranks, if the subdomain in that slot moved to that rank? */
int32_t halos_saved(const struct halos *halos, uint32_t slot, uint32_t to);

/* At the start: subdomains are where the grid places them, and none has been updated. */
void halos_connect_all(struct halos *halos);

/* Show other ranks what is new, and read what they show; only a part of it, if there is much. Calls
 * transport_poll(). */
void halos_step(struct halos *halos);

/* Show all that is new at once, while workers stand still. */
void halos_show(struct halos *halos);

/* Read all halos again. halos_are_fresh() returns true when all were read after this call. */
void halos_refresh(struct halos *halos);
bool halos_are_fresh(const struct halos *halos);

/* In lockstep: are all halos of this iteration here? They stay here until the end of the next
 * one. */
bool halos_have(const struct halos *halos, uint64_t iteration);

/* At the end: take what was asked for. Returns whether nothing is in flight any more. */
bool halos_drain(struct halos *halos);

#endif
