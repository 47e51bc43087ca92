/* SPDX-License-Identifier: MIT */
/*
 * The solver: workers, of one process or of several ranks, that update the subdomains they hold
 * until they have done enough.
 *
 * To stop, or to see whether the residual is small enough, all workers meet. Nothing moves there,
 * so that the residual is that of one state of the whole grid. Between meetings only an estimate is
 * known, from parts of different age, and an asynchronous run that relied on it could stop too
 * early.
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

/* The caller owns all of these. */
struct solve_task {
	const struct jacobi_options *options;
	const struct grid *grid;
	struct transport *transport; /* between ranks; NULL: only one rank */
	uint32_t workers; /* of this rank */
	uint32_t slots; /* subdomains that this rank can have */
	struct subdomain *subdomains; /* one per slot, zeroed, aligned to EDGE_LINE */
	struct progress *progress; /* one subdomain per slot */
	struct monitor *monitor;
	const struct cpuset *pin; /* the CPUs for the workers; NULL: don't pin */
	uint32_t pin_first; /* worker i goes to the (pin_first + i)-th of them */
};

/* What one rank did. */
struct solve_rank {
	char host[64];
	uint64_t updates; /* that its workers made */
	uint64_t moves; /* moves of subdomains between its workers */
	uint64_t arrivals, departures; /* from and to other ranks */
	uint32_t subdomains; /* at the end */
	/* Of those: */
	uint64_t least, most; /* updates */
	uint64_t lag_sum, lag_max; /* as in subdomain.h */
};

/* What all ranks did; known on rank 0. */
struct solve_outcome {
	uint64_t elapsed_ns; /* until the run was to stop, or the residual was found small enough */
	uint64_t updates; /* of all subdomains */
	uint64_t spread;
	double residual; /* at the end, relative to the start; verified */
	bool converged; /* to what was asked for */
	uint64_t verifications; /* how often all workers met */
	uint64_t moves; /* moves of subdomains between workers of a rank */
	uint64_t rank_moves; /* ... and between ranks */
	uint64_t ownership_checks; /* how often each subdomain was found on exactly one rank */
	double staleness_mean; /* of the oldest halo of each update, in iterations */
	uint64_t staleness_max;
	uint64_t bound_exceeded; /* by how much the largest exceeds what --mode allows */
	uint32_t rank_count;
	struct solve_rank *ranks;
	/* All subdomains, in the order of the grid, if --output needs them. */
	struct subdomain *subdomains;
};

/* Set up the subdomains, start the threads, and run. The caller deinits the subdomains in any case.
 * Collective over ranks: after an error the other ranks wait, and must be ended. Returns 0,
 * -ENOMEM, -EAGAIN (too many threads) or an error of pinning. */
int solve(const struct solve_task *task, struct solve_outcome *outcome);
/* Accepts a zeroed one. */
void solve_outcome_deinit(struct solve_outcome *outcome, const struct grid *grid);

#endif
