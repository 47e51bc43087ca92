/* SPDX-License-Identifier: MIT */
/*
 * The layer between ranks: halos, subdomains and what ranks know of each other, for the solver.
 *
 * The workers of a rank take turns: after an update each calls ranks_pump(), and whichever finds the
 * lock free does a bounded piece of work for all; nobody waits for it. What changes the place of
 * a subdomain needs all workers of the rank, and only those, to stand still for a moment: ranks_pump()
 * says so. To find out whether the solution is good enough all ranks meet, as the workers of
 * one rank do.
 *
 * "Collective" is what all ranks have to call in the same order, each by one of its workers, while its
 * others stand still; it waits for the others, and serves them meanwhile.
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

/* All are the caller's, and stay. */
struct ranks_setup {
	struct transport *transport;
	const struct jacobi_options *options;
	const struct grid *grid;
	uint32_t workers;
	uint32_t slots; /* ranks_slots() */
	struct subdomain *subdomains; /* one a slot; zeroed but for the first, which are set up */
	struct progress *progress; /* one subdomain a slot */
	/* The sum of the squares of the residual's parts that are on this rank; NAN when one isn't
	 * known. From any thread. */
	double (*squared)(void *arg);
	struct mover_calls calls;
	void *arg;
};

/* Slots that a rank needs: for the most subdomains that its workers may have. */
uint32_t ranks_slots(
	const struct jacobi_options *options, const struct grid *grid, uint32_t workers);

/* Collective. Returns 0, or -ENOMEM, after which nothing collective is possible any more. When it
 * returns all halos are those of the start. */
int ranks_create(const struct ranks_setup *setup, struct ranks **out);
/* Collective, once nothing moves: after a meeting. Accepts NULL. */
void ranks_destroy(struct ranks *ranks);

/* Why workers should stand still. */
enum {
	RANKS_REWIRE = 1, /* this rank's, for ranks_rewire() */
	RANKS_MEET = 2, /* all, for ranks_settle() */
};

/* Do what is due; never waits. From any worker, at any time. idle: it has nothing else to do; others
 * get a small part of their time taken. Returns what there is to stand still for. */
unsigned ranks_pump(struct ranks *ranks, bool idle);

/* Connect what came, disconnect what goes. The workers of this rank stand still. */
void ranks_rewire(struct ranks *ranks);

/* Ask all to meet, from any worker; `why` is a bit of the caller's. */
void ranks_wish(struct ranks *ranks, unsigned why);

/* Collective: all are there. Afterwards no subdomain is under way, all halos are the newest there can
 * be, and each subdomain was seen on exactly one rank. Ends the job when one was not. Returns
 * the wishes of all ranks. */
unsigned ranks_settle(struct ranks *ranks);
/* Collective: after what there was to do, let go on. estimate: what the meeting found about it. */
void ranks_resume(struct ranks *ranks, const struct estimate *estimate);

/* Collective, in lockstep: wait for the halos of this iteration. */
void ranks_exchange(struct ranks *ranks, uint64_t iteration);

/* Collective: over all ranks; n at most 64. The same on all, to the last bit. */
void ranks_sum(struct ranks *ranks, double *values, uint32_t n);

/* Collective: rank 0 gets what each rank gives, in their order, the others nothing. */
void ranks_gather(struct ranks *ranks, const void *one, size_t bytes, void *all);

/* Collective: rank 0 gets all subdomains, in the order of the grid, zeroed before; the others give
 * NULL. Those of rank 0 are lent. Returns 0 or, on rank 0, -ENOMEM or -EBADMSG; all can go on. */
int ranks_collect(struct ranks *ranks, struct subdomain *all);

struct ranks_counts {
	uint32_t subdomains; /* that this rank has */
	uint64_t arrivals, departures;
	uint64_t checks; /* meetings at which all subdomains were counted */
};
struct ranks_counts ranks_counts(const struct ranks *ranks);

#endif
