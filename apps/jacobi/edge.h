/* SPDX-License-Identifier: MIT */
/*
 * What one subdomain shows another: the cells along its side, handed over without a lock, a
 * wait or a torn value.
 *
 * A triple buffer. The producer fills its own slot and swaps it with the one in the middle; the
 * consumer, when there is something new in the middle, swaps it with its own, and reads it in place
 * for as long as it likes. One producer and one consumer at a time: those who hold the two
 * subdomains, whose passing on orders the fields here as it does the cells.
 *
 * For iterations in lockstep two of the slots are used in turn instead: what a barrier separates
 * needs no swap, and a consumer that is late still finds the iteration before.
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
	/* Of whoever has the slot: */
	struct {
		alignas(EDGE_LINE) struct edge_slot slot;
	} slots[EDGE_SLOTS];
};

/* Allocate zeroed records, aligned to EDGE_LINE, of which their size is a multiple: free() them.
 * NULL when there is no memory. */
void *edge_allocate(size_t count, size_t bytes);

/* Bytes that the cells of an edge need. */
size_t edge_bytes(size_t cells);

/* Set up an edge. The memory has edge_bytes(cells) and stays the caller's; both it and the edge are
 * aligned to EDGE_LINE. */
void edge_init(struct edge *edge, size_t cells, void *memory);

/* Producer: get the slot to fill, then hand it to the consumer. Wait-free. */
struct edge_slot *edge_begin(struct edge *edge);
void edge_publish(struct edge *edge);
/* Both at once, where the n cells of that iteration lie in a row. */
void edge_put(struct edge *edge, uint64_t iteration, const double *cells, size_t n);

/* Consumer: the newest slot that was published. It is the consumer's until the next call. Wait-
 * free. */
const struct edge_slot *edge_latest(struct edge *edge);

/* In lockstep, both sides: the slot of an iteration. */
struct edge_slot *edge_of_iteration(struct edge *edge, uint64_t iteration);
/* Producer, in lockstep: fill it. */
void edge_put_lockstep(struct edge *edge, uint64_t iteration, const double *cells, size_t n);

#endif
