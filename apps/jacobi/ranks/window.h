/* SPDX-License-Identifier: MIT */
/*
 * What a rank shows the others in its window, and where.
 *
 * All windows have the same layout: the rank's record for survey.h, a directory of the subdomains
 * in its slots, a record of where its first subdomains are now, and the halos of its slots. Others
 * may read it at any time, also while it is written. So whatever is longer than a word has a seal:
 * a hash that exposes a torn copy.
 */
#ifndef JACOBI_WINDOW_H
#define JACOBI_WINDOW_H

#include "apps/jacobi/grid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_NOBODY UINT32_MAX /* no subdomain, no rank */
#define WINDOW_SURVEY_BYTES 384 /* for survey.h; as all parts a multiple of EDGE_LINE */

/* One per slot. An owner other than the rank itself makes it a forwarding record: the subdomain was
 * here and went there. It lasts until the slot is used again. */
struct window_entry {
	uint32_t id;
	uint32_t owner;
};

/* One for each subdomain that the rank had at first, wherever that is now; for ranks that come too
 * late for a forwarding record. It may lag behind. */
struct window_home {
	uint32_t rank;
	uint32_t moves; /* how often it had moved when it came there */
};

/* Before the cells of a halo. */
struct window_halo {
	uint64_t seal; /* of all that follows */
	uint64_t iteration;
	uint32_t id; /* whose cells these are */
	uint32_t owner; /* the rank, or another: it went there */
};

struct window {
	uint32_t slots;
	/* In bytes from the beginning; survey comes first: */
	size_t directory, homes, halos;
	size_t halo_bytes[GRID_SIDES];
	size_t slot_bytes;
	size_t bytes; /* of all */
};

/* The layout for a grid with that many slots in each rank. */
void window_init(struct window *window, const struct grid *grid, uint32_t slots);

/* Where a halo is. Each side has two: iterations in lockstep take turns, others use the first. */
size_t window_halo_at(
	const struct window *window, uint32_t slot, enum grid_side side, unsigned which);

/* The seal of a record of that size: a hash of all but its first 8 bytes, where the seal belongs.
 * Records are whole words. */
uint64_t window_seal(const void *record, size_t bytes);
bool window_is_sealed(const void *record, size_t bytes);

#endif
