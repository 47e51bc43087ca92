/* SPDX-License-Identifier: MIT */
/*
 * What one subdomain shows another: the cells along its side, passed without a lock, a wait or a
 * torn value.
 *
 * It is a triple buffer. The producer fills its own slot and swaps it with the one in the middle.
 * When the middle has something new, the consumer swaps it with its own slot, and reads that in
 * place for as long as it likes. There is one producer and one consumer at a time: the holders of
 * the two subdomains. Passing a subdomain on orders these fields as it orders the cells.
 *
 * Iterations in lockstep use two of the slots in turn instead. A barrier separates the iterations,
 * so no swap is needed, and a late consumer still finds the iteration before.
 */
#ifndef JACOBI_EDGE_H
#define JACOBI_EDGE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define EDGE_SLOTS 3
#define EDGE_LINE 128 /* bytes: CPUs prefetch lines in pairs */

struct edge_slot {
	uint64_t iteration; /* of its cells */
	double *cells; /* not owned */
};

struct edge {
	/* The slot in the middle, and whether the consumer has yet to see it. */
	alignas(EDGE_LINE) _Atomic uint32_t middle;
	/* The producer's: */
	alignas(EDGE_LINE) uint32_t back;
	/* The consumer's: */
	alignas(EDGE_LINE) uint32_t front;
	/* Each is written only by the thread that has the slot: */
	struct {
		alignas(EDGE_LINE) struct edge_slot slot;
	} slots[EDGE_SLOTS];
};

/* Allocate zeroed records, aligned to EDGE_LINE; their size must be a multiple of it. free() them.
 * Returns NULL without memory. */
void *edge_allocate(size_t count, size_t bytes);

/* Bytes that the cells of an edge need. */
size_t edge_bytes(size_t cells);

/* Set up an edge in memory of edge_bytes(cells), which the caller keeps. Both the memory and the
 * edge must be aligned to EDGE_LINE. */
void edge_init(struct edge *edge, size_t cells, void *memory);

/* Producer: get the slot to fill, then hand it to the consumer. Wait-free. */
struct edge_slot *edge_begin(struct edge *edge);
void edge_publish(struct edge *edge);
/* Both at once, for n cells of that iteration in a row. */
void edge_put(struct edge *edge, uint64_t iteration, const double *cells, size_t n);

/* Consumer: the newest slot that was published. It is the consumer's until the next call. Wait-
 * free. */
const struct edge_slot *edge_latest(struct edge *edge);

/* In lockstep, both sides: the slot of an iteration. */
struct edge_slot *edge_of_iteration(struct edge *edge, uint64_t iteration);
/* Producer, in lockstep: fill it. */
void edge_put_lockstep(struct edge *edge, uint64_t iteration, const double *cells, size_t n);

#endif
