/* SPDX-License-Identifier: MIT */
/*
 * Ranks that solve a small grid over the network of transport_fake.h, and an observer that checks
 * all of them after each update. Is each subdomain on exactly one rank, or on its way once? Was
 * each halo what the neighbour had at that iteration? For tests of apps/jacobi/ranks.
 *
 * One worker drives each rank, as the solver would, with the real libprogress. A process can have
 * only one segment, so the name of each is removed before the next is created.
 */
#ifndef TEST_RANKS_WORLD_H
#define TEST_RANKS_WORLD_H

#include "apps/jacobi/grid.h"
#include "apps/jacobi/options.h"
#include "tests/unit/apps/jacobi/ranks/transport_fake.h"

#include <stdbool.h>
#include <stdint.h>

/* Results of a run. */
struct world_outcome {
	uint64_t updates, arrivals, meetings;
	uint64_t reused; /* slots that held another subdomain before */
	uint64_t returned; /* subdomains that returned to a rank where they had been */
	uint64_t stale; /* updates with a halo that was not the neighbour's newest */
	uint64_t rates; /* times that a rank had to know its rate */
};

/* One run, with a grid, options and network chosen at random from that seed. Any fault ends the
 * process. */
void world_run(uint64_t seed, struct world_outcome *outcome);

/* The same in lockstep: the cells must equal those of a loop over the whole grid, to the last
 * bit. */
void world_run_sync(uint64_t seed);

#endif
