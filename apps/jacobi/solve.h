/* SPDX-License-Identifier: MIT */
/*
 * The solver: workers that step the subdomains they hold, until they have done enough; those of one
 * process, or of several ranks.
 *
 * To stop, or to see whether the residual is small enough, all workers meet. There nothing moves,
 * so that the residual is that of one state of the whole grid; what is known in between is only an
 * estimate, made of parts of different age, with which an asynchronous run could stop too early.
 */
#ifndef JACOBI_SOLVE_H
#define JACOBI_SOLVE_H

#include "apps/jacobi/grid.h"
#include "apps/jacobi/monitor.h"
#include "apps/jacobi/options.h"
#include "apps/jacobi/ranks/transport.h"
#include "apps/jacobi/subdomain.h"
#include "daemon/base/cpuset.h"
#include "libprogress/progress.h"

#include <stdint.h>

/* All are the caller's. */
struct solve_task {
	const struct jacobi_options *options;
	const struct grid *grid;
	struct transport *transport; /* between ranks; NULL: there is one */
	uint32_t workers; /* of this rank */
	uint32_t slots; /* subdomains that this rank can have */
	struct subdomain *subdomains; /* one a slot, zeroed, aligned to EDGE_LINE */
	struct progress *progress; /* one subdomain a slot */
	struct monitor *monitor;
	const struct cpuset *pin; /* the CPUs for the workers; NULL: don't pin */
	uint32_t pin_first; /* worker i goes to the (pin_first + i)-th of them */
};

/* What one rank did. */
struct solve_rank {
	char host[64];
	uint64_t updates; /* that its workers made */
	uint64_t moves; /* subdomains that came to another of its workers */
	uint64_t arrivals, departures; /* from and to other ranks */
	uint32_t subdomains; /* at the end */
	/* Of those: */
	uint64_t least, most; /* updates */
	uint64_t lag_sum, lag_max; /* as in subdomain.h */
};

/* On rank 0 of all ranks. */
struct solve_outcome {
	uint64_t elapsed_ns; /* until the stop was called; or the residual found small enough */
	uint64_t updates; /* of all subdomains */
	uint64_t spread;
	double residual; /* at the end, over that of the start; verified */
	bool converged; /* to what was asked for */
	uint64_t verifications; /* how often all workers met */
	uint64_t moves; /* subdomains that came to another worker of their rank */
	uint64_t rank_moves; /* ... to another rank */
	uint64_t ownership_checks; /* how often all were found on one rank each */
	double staleness_mean; /* of the oldest halo of each update, in iterations */
	uint64_t staleness_max;
	uint64_t bound_exceeded; /* by how much that is more than --mode allows */
	uint32_t rank_count;
	struct solve_rank *ranks;
	/* All, in the order of the grid, if --output wants them. */
	struct subdomain *subdomains;
};

/* Set up the subdomains (the caller deinits them, in any case), start the threads, and run.
 * Collective over ranks: with an error the others wait, and have to be ended. Returns 0, -ENOMEM,
 * -EAGAIN (not so many threads) or what the pinning gave. */
int solve(const struct solve_task *task, struct solve_outcome *outcome);
/* Accepts a zeroed one. */
void solve_outcome_deinit(struct solve_outcome *outcome, const struct grid *grid);

#endif
