/* SPDX-License-Identifier: MIT */
/*
 * Meetings of all workers: the exact residual, and whether the run is over; see solve.h.
 */
#include "apps/jacobi/solver.h"

#include "daemon/base/clock.h"

#include <math.h>

/* This rank's part of the square of the norm of the residual, relative to the start; NAN when a
 * part isn't known. */
double meeting_squared(void *arg)
{
	const struct solver *solver = arg;
	double sum = 0;

	for (uint32_t slot = 0; slot < solver->task->slots; slot++) {
		double share =
			atomic_load_explicit(&solver->accounts[slot].share, memory_order_relaxed);

		if (solver_has(solver, slot))
			sum += share * share;
	}
	return sum;
}

/* Compute the exact shares, while all stand still. Workers divide the slots by number, because a
 * subdomain that is on its way from one holder to another needs its share, too. */
void meeting_measure(struct solver *solver, uint32_t w)
{
	uint64_t slots = solver->task->slots;
	uint32_t end = (uint32_t)(slots * (w + 1) / solver->task->workers);

	for (uint32_t s = (uint32_t)(slots * w / solver->task->workers); s < end; s++) {
		struct subdomain *sub = &solver->task->subdomains[s];

		if (!solver_has(solver, s))
			continue;
		subdomain_fetch(sub);
		atomic_store_explicit(&solver->accounts[s].share,
			sqrt(subdomain_residual(sub)) / solver->initial, memory_order_relaxed);
	}
}

/* Take the norm of what was measured, while all stand still. */
double meeting_norm(struct solver *solver, double *estimated)
{
	double sums[] = {meeting_squared(solver), *estimated};

	for (uint32_t s = 0; s < solver->task->slots; s++)
		atomic_store_explicit(&solver->accounts[s].share, NAN, memory_order_relaxed);
	if (solver->ranks)
		ranks_sum(solver->ranks, sums, 2);
	*estimated = sqrt(sums[1]);
	return sqrt(sums[0]);
}

static void judge(struct solver *solver)
{
	double estimated = solver->estimated;

	solver->residual = meeting_norm(solver, &estimated);
	solver->verifications++;
	estimate_learn(&solver->estimate, estimated, solver->residual,
		solver->task->options->residual, solver->end_ns, clock_monotonic_ns());
	if (solver_is_solved(solver)) {
		solver->over = true;
		if (!(solver->why & CALL_LIMIT))
			solver->end_ns = clock_monotonic_ns();
	} else if (solver->why & (CALL_LIMIT | CALL_SIGNAL)) {
		solver->over = true;
	}
	if (solver->ranks && !solver->over)
		ranks_resume(solver->ranks, &solver->estimate);
}

/* All workers of this rank are there: find out why they meet. */
static void convene(struct solver *solver)
{
	unsigned why = atomic_exchange(&solver->call, 0);

	if (why & CALL_REWIRE)
		ranks_rewire(solver->ranks);
	solver->meets = why & ~(unsigned)CALL_REWIRE;
	if (!solver->meets)
		return;
	solver->end_ns = clock_monotonic_ns();
	solver->estimated = meeting_squared(solver);
	solver->why = solver->ranks ? ranks_settle(solver->ranks) : why;
}

/* All workers meet, and find out whether the run is over. */
bool meeting(struct solver *solver, struct crew *crew, uint32_t w)
{
	crew_wait(crew);
	if (w == 0)
		convene(solver);
	crew_wait(crew);
	if (!solver->meets)
		return false;
	meeting_measure(solver, w);
	crew_wait(crew);
	if (w == 0)
		judge(solver);
	crew_wait(crew);
	return solver->over;
}
