/* SPDX-License-Identifier: MIT */
/*
 * The barriers of ubench itself: one for each way of waiting.
 *
 * How a thread waits decides what the kernel's balancer sees: a sleeping thread leaves its run
 * queue, a spinning one does not. So each barrier waits in one way only, unlike those of OpenMP and
 * MPI runtimes.
 */
#ifndef UBENCH_BARRIER_H
#define UBENCH_BARRIER_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

enum barrier_kind {
	BARRIER_BLOCK, /* sleep: pthread_barrier_t */
	BARRIER_YIELD, /* poll, with sched_yield(2) in between */
	BARRIER_SPIN, /* poll, with the CPU's pause instruction in between */
	BARRIER_OMP, /* the runtime's own, not one of barrier.c */
	BARRIER_MPI,
	BARRIER_KINDS,
};

struct barrier {
	enum barrier_kind kind;
	unsigned threads;
	pthread_barrier_t block;
	/* Apart, so that those who arrive don't disturb those who poll. */
	alignas(64) atomic_uint arrived;
	alignas(64) atomic_uint sense; /* changes when all have arrived */
};

/* The name in options and reports; kind must be below BARRIER_KINDS. */
const char *barrier_name(enum barrier_kind kind);

/* For that many threads (at least 1); kind is one of the first three. Returns 0 or a
 * negative errno. */
int barrier_init(struct barrier *barrier, enum barrier_kind kind, unsigned threads);
void barrier_deinit(struct barrier *barrier);

/* Wait until all threads have arrived. What any wrote before, all see afterwards. */
void barrier_wait(struct barrier *barrier);

#endif
