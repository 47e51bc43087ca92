/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the solver share: solve.c (the workers), meeting.c (meetings of all) and
 * outcome.c (the results).
 */
#ifndef JACOBI_SOLVER_H
#define JACOBI_SOLVER_H

#include "apps/crew.h"
#include "apps/jacobi/estimate.h"
#include "apps/jacobi/ranks/ranks.h"
#include "apps/jacobi/solve.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why the workers are called together. */
enum {
	CALL_LIMIT = 1, /* enough iterations */
	CALL_RESIDUAL = 2, /* it seems to be small enough */
	CALL_SIGNAL = 4,
	CALL_RANKS = 8, /* other ranks called */
	CALL_REWIRE = 16, /* only this rank: subdomains come or go */
};

struct solver_worker {
	alignas(EDGE_LINE) uint64_t updates;
	_Atomic uint64_t waited_ns; /* while there was nothing to update; others may read it */
	uint64_t moves;
	uint64_t rounds;
	uint64_t idle_ns; /* since when; 0: it is not idle */
};

/* What is kept of a subdomain beside its cells. */
struct account {
	/* Its part of the norm of the residual, relative to the norm at the start, as last
	 * computed. NAN when that was before the last meeting: then there is no estimate yet. */
	alignas(EDGE_LINE) _Atomic double share;
	uint32_t worker; /* the one that updated it last; only its holder uses this */
};

struct solver {
	const struct solve_task *task;
	struct progress *progress;
	struct ranks *ranks; /* NULL: only one rank */
	struct solver_worker *workers;
	struct account *accounts; /* one per slot */
	uint32_t per_worker; /* subdomains at the start */
	uint64_t updates_limit; /* of a worker */
	/* Written while the others stand still: */
	double initial, residual;
	struct estimate estimate; /* of the residual */
	double estimated; /* square of the estimate, before this meeting */
	uint64_t begin_ns, end_ns, verifications;
	double seen; /* sync, several ranks: the norm over all ranks at their last exchange */
	unsigned why; /* of this meeting */
	bool meets; /* with all ranks; false: only to rewire */
	bool over;
	/* Written at any time, seldom: */
	alignas(EDGE_LINE) _Atomic unsigned call;
	_Atomic uint64_t meet_at; /* sync: the iteration at which worker 0 wants to meet */
	_Atomic int error;
};

/* Is there a subdomain in that slot? */
static inline bool solver_has(const struct solver *solver, uint32_t slot)
{
	return progress_holder(solver->progress, slot) != PROGRESS_NOBODY;
}

/* Is the residual as small as asked for? Without a threshold, even 0 does not stop the run. */
static inline bool solver_is_solved(const struct solver *solver)
{
	double threshold = solver->task->options->residual;

	return threshold > 0 && solver->residual <= threshold;
}

/* This rank's part of the square of the norm of the residual, relative to the start, as far as it
 * is known while workers run; NAN when a part isn't. arg: the solver. */
double meeting_squared(void *arg);

/* meeting_measure(): all workers of the rank compute the exact shares. meeting_norm(): afterwards
 * worker 0 adds the norm up over all ranks. *estimated is the square of this rank's estimate before
 * the call, and the estimate over all ranks after it. */
void meeting_measure(struct solver *solver, uint32_t w);
double meeting_norm(struct solver *solver, double *estimated);

/* All workers meet, because of solver->call. Returns whether the run is over. */
bool meeting(struct solver *solver, struct crew *crew, uint32_t w);

/* Collect the results. All ranks call it; rank 0 gets the outcome. Returns 0 or -ENOMEM. */
int outcome_collect(const struct solver *solver, struct solve_outcome *out);

#endif
