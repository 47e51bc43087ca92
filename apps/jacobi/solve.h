/* SPDX-License-Identifier: MIT */
/*
 * The solver: workers that step the subdomains they hold, until they have done enough.
 *
 * To stop, or to see whether the residual is small enough, all workers meet. There nothing moves,
 * so that the residual is that of one state of the whole grid; what is known in between is only an
 * estimate, made of parts of different age, with which an asynchronous run could stop too early.
 */
#ifndef JACOBI_SOLVE_H
#define JACOBI_SOLVE_H

#include "cpuset.h"
#include "grid.h"
#include "monitor.h"
#include "options.h"
#include "progress.h"
#include "subdomain.h"

#include <stdint.h>

/* All are the caller's. */
struct solve_task {
	const struct options *options;
	const struct grid *grid;
	uint32_t workers;
	struct subdomain *subdomains; /* zeroed, aligned to EDGE_LINE */
	struct progress *progress;
	struct monitor *monitor;
	const struct cpuset *pin; /* worker i to the i-th of these; NULL: don't pin */
};

struct solve_outcome {
	uint64_t elapsed_ns; /* until the stop was called; or the residual found small enough */
	uint64_t updates; /* of all subdomains */
	uint64_t spread;
	double residual; /* at the end, over that of the start; verified */
	bool converged; /* to what was asked for */
	uint64_t verifications; /* how often all workers met */
	uint64_t moves; /* subdomains that came to another worker */
	double staleness_mean; /* of the oldest halo of each update, in iterations */
	uint64_t staleness_max;
};

/* Set up the subdomains (the caller deinits them, in any case), start the threads, and run.
 * Returns 0, -ENOMEM, -EAGAIN (not so many threads) or what the pinning gave. */
int solve(const struct solve_task *task, struct solve_outcome *outcome);

#endif
