/* SPDX-License-Identifier: MIT */
/*
 * The layer between ranks: halos, subdomains, and what ranks know of each other, for the solver.
 *
 * The workers of a rank take turns. After an update each calls ranks_pump(), and the one that finds
 * the lock free does a bounded piece of work for all; no worker waits for it. To move a subdomain,
 * all workers of its rank, and only those, must stand still for a moment; ranks_pump() says so. To
 * find out whether the solution is good enough, all ranks meet, as the workers of one rank do.
 *
 * All ranks must call "collective" functions in the same order, each from one of its workers, while
 * its other workers stand still. Such a function waits for the other ranks, and serves them
 * meanwhile.
 */
#ifndef JACOBI_RANKS_H
#define JACOBI_RANKS_H

#include "apps/jacobi/estimate.h"
#include "apps/jacobi/options.h"
#include "apps/jacobi/ranks/mover.h"
#include "apps/jacobi/ranks/site.h"

#include <stdbool.h>
#include <stdint.h>

struct ranks;

/* The caller owns all of these; they must outlive the ranks. */
struct ranks_setup {
	struct transport *transport;
	const struct jacobi_options *options;
	const struct grid *grid;
	uint32_t workers;
	uint32_t slots; /* ranks_slots() */
	struct subdomain *subdomains; /* one per slot; the first are set up, the others zeroed */
	struct progress *progress; /* one subdomain per slot */
	/* For how long all workers of this rank, together, had nothing to update; from any of them. */
	uint64_t (*waited_ns)(void *arg);
	/* Returns the sum of the squares of this rank's parts of the residual; NAN when one isn't
	 * known. From any thread. */
	double (*squared)(void *arg);
	struct mover_calls calls;
	void *arg;
};

/* The slots that a rank needs, for the largest number of subdomains that its workers may have. */
uint32_t ranks_slots(
	const struct jacobi_options *options, const struct grid *grid, uint32_t workers);

/* Collective. Returns 0, with all halos those of the start; or -ENOMEM, after which no collective
 * call is possible any more. */
int ranks_create(const struct ranks_setup *setup, struct ranks **out);
/* Collective. Call it when nothing moves: after a meeting. Accepts NULL. */
void ranks_destroy(struct ranks *ranks);

/* Why workers should stand still. */
enum {
	RANKS_REWIRE = 1, /* those of this rank, for ranks_rewire() */
	RANKS_MEET = 2, /* all, for ranks_settle() */
};

/* Do what is due. From any worker, at any time; never waits. idle: the caller has nothing else to
 * do; from other workers it takes only a small part of their time. Returns why the workers should
 * stand still, if they should. */
unsigned ranks_pump(struct ranks *ranks, bool idle);

/* Connect the subdomains that came, and disconnect those that leave, while the workers of this rank
 * stand still. */
void ranks_rewire(struct ranks *ranks);

/* Ask all ranks to meet, from any worker. `why` is a bit of the caller's. */
void ranks_wish(struct ranks *ranks, unsigned why);

/* Collective: start the meeting. Afterwards no subdomain is on its way, all halos are as new as
 * they can be, and each subdomain was seen on exactly one rank. If one was not, this ends the job.
 * Returns the reasons of all ranks. */
unsigned ranks_settle(struct ranks *ranks);
/* Collective: end the meeting. estimate: what the meeting has shown about the estimate. */
void ranks_resume(struct ranks *ranks, const struct estimate *estimate);

/* Collective, in lockstep: wait for the halos of this iteration. */
void ranks_exchange(struct ranks *ranks, uint64_t iteration);

/* Collective: sum n values, at most 64, over all ranks. The result is the same on all, to the last
 * bit. */
void ranks_sum(struct ranks *ranks, double *values, uint32_t n);

/* Collective: rank 0 gets the record of each rank, in order; the others get nothing. */
void ranks_gather(struct ranks *ranks, const void *one, size_t bytes, void *all);

/* Collective: rank 0 gets all subdomains, in the order of the grid, into `all`, zeroed before; the
 * others pass NULL. Rank 0's own subdomains are lent. Returns 0; or, on rank 0, -ENOMEM or
 * -EBADMSG. All can go on in any case. */
int ranks_collect(struct ranks *ranks, struct subdomain *all);

struct ranks_counts {
	uint32_t subdomains; /* that this rank has */
	uint64_t arrivals, departures;
	uint64_t checks; /* meetings at which all subdomains were counted */
};
struct ranks_counts ranks_counts(const struct ranks *ranks);

#endif
