/* SPDX-License-Identifier: MIT */
/*
 * Edges; see edge.h.
 */
#include "apps/jacobi/edge.h"

#include <stdlib.h>
#include <string.h>

#define FRESH UINT32_C(4) /* beside the number of the slot in the middle */
#define NUMBER UINT32_C(3)

void *edge_allocate(size_t count, size_t bytes)
{
	void *all = aligned_alloc(EDGE_LINE, count * bytes);

	return all ? memset(all, 0, count * bytes) : NULL;
}

static void fill(struct edge_slot *slot, uint64_t iteration, const double *cells, size_t n)
{
	memcpy(slot->cells, cells, n * sizeof(*cells));
	slot->iteration = iteration;
}

static size_t slot_bytes(size_t cells)
{
	return (cells * sizeof(double) + EDGE_LINE - 1) / EDGE_LINE * EDGE_LINE;
}

size_t edge_bytes(size_t cells)
{
	return EDGE_SLOTS * slot_bytes(cells);
}

void edge_init(struct edge *edge, size_t cells, void *memory)
{
	atomic_init(&edge->middle, 0);
	edge->back = 1;
	edge->front = 2;
	for (size_t i = 0; i < EDGE_SLOTS; i++)
		edge->slots[i].slot = (struct edge_slot){
			.cells = (double *)(void *)((char *)memory + i * slot_bytes(cells)),
		};
}

struct edge_slot *edge_begin(struct edge *edge)
{
	return &edge->slots[edge->back].slot;
}

void edge_publish(struct edge *edge)
{
	/* Release what was written; acquire the slot that the consumer gave back, so that it is not
	 * written to before the consumer has read it. */
	edge->back =
		atomic_exchange_explicit(&edge->middle, edge->back | FRESH, memory_order_acq_rel) &
		NUMBER;
}

void edge_put(struct edge *edge, uint64_t iteration, const double *cells, size_t n)
{
	fill(edge_begin(edge), iteration, cells, n);
	edge_publish(edge);
}

const struct edge_slot *edge_latest(struct edge *edge)
{
	if (atomic_load_explicit(&edge->middle, memory_order_relaxed) & FRESH)
		edge->front =
			atomic_exchange_explicit(&edge->middle, edge->front, memory_order_acq_rel) &
			NUMBER;
	return &edge->slots[edge->front].slot;
}

struct edge_slot *edge_of_iteration(struct edge *edge, uint64_t iteration)
{
	return &edge->slots[iteration & 1].slot;
}

void edge_put_lockstep(struct edge *edge, uint64_t iteration, const double *cells, size_t n)
{
	fill(edge_of_iteration(edge, iteration), iteration, cells, n);
}
