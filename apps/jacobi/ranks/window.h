/* SPDX-License-Identifier: MIT */
/*
 * What a rank shows the others in its window, and where.
 *
 * The window of each rank has the same layout: what it tells of itself (survey.h), a directory of the
 * subdomains in its slots, a record of the whereabouts of those that it had at first, and the halos
 * of its slots. Readers get pieces of it at any time, also while they are written, so what is
 * longer than a word carries a seal: a hash by which a torn copy is told.
 */
#ifndef JACOBI_WINDOW_H
#define JACOBI_WINDOW_H

#include "apps/jacobi/grid.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_NOBODY UINT32_MAX /* no subdomain, no rank */
#define WINDOW_SURVEY_BYTES 256 /* for survey.h */

/* Slot by slot. An owner other than the rank itself is a forwarding record: the subdomain was here,
 * and went there. It lasts until the slot is used again. */
struct window_entry {
	uint32_t id;
	uint32_t owner;
};

/* Of each subdomain that the rank had at first, wherever it is now; for those who come too late for
 * a forwarding record. It may lag behind. */
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

/* The layout for a grid with so many slots in each rank. */
void window_init(struct window *window, const struct grid *grid, uint32_t slots);

/* Where a halo is. There are two of each side: iterations in lockstep take turns, others use the
 * first. */
size_t window_halo_at(
	const struct window *window, uint32_t slot, enum grid_side side, unsigned which);

/* The hash of a sealed record of so many bytes, all but its first 8, where it is to stand.
 * Records are whole words. */
uint64_t window_seal(const void *record, size_t bytes);
bool window_is_sealed(const void *record, size_t bytes);

#endif
