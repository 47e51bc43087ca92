/* SPDX-License-Identifier: MIT */
/*
 * The workers; see solve.h.
 */
#include "solve.h"

#include "clock.h"
#include "team.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The norm of the residual costs a part of an update, so only every so manieth pays it. */
#define RESIDUAL_EVERY 64

/* Why the workers are called together. */
enum {
	CALL_LIMIT = 1, /* enough iterations */
	CALL_RESIDUAL = 2, /* it seems to be small enough */
	CALL_SIGNAL = 4,
};

struct worker {
	alignas(EDGE_LINE) uint64_t updates;
	uint64_t moves;
	uint64_t rounds;
};

/* What is kept of a subdomain beside its cells. */
struct account {
	/* Its part of the norm of the residual over that of the start, when that was last computed; NAN
	 * when that was before all stood still: so none is left out of an estimate. */
	alignas(EDGE_LINE) _Atomic double share;
	uint32_t worker; /* who updated it last; its holder's */
};

struct solver {
	const struct solve_task *task;
	struct progress *progress;
	struct worker *workers;
	struct account *accounts;
	uint32_t per_worker, subdomains;
	uint64_t updates_limit; /* of a worker */
	/* Written while the others stand still: */
	double initial, residual;
	uint64_t begin_ns, end_ns, verifications;
	bool over;
	/* Written at any time, seldom: */
	alignas(EDGE_LINE) _Atomic unsigned call;
	_Atomic uint64_t meet_at; /* sync: the iteration at which worker 0 wants to meet */
	_Atomic int error;
};

/* The norm of the residual over that of the start; NAN when a part isn't known. */
static double norm(const struct solver *solver)
{
	double squared = 0;

	for (uint32_t s = 0; s < solver->subdomains; s++) {
		double share =
			atomic_load_explicit(&solver->accounts[s].share, memory_order_relaxed);
		squared += share * share;
	}
	return sqrt(squared);
}

static bool seems_converged(const struct solver *solver)
{
	return norm(solver) <= solver->task->options->residual;
}

/* One update of a subdomain that the worker holds and has fetched the halos of. */
static void step(struct solver *solver, uint32_t w, uint32_t s)
{
	struct subdomain *sub = &solver->task->subdomains[s];
	struct account *account = &solver->accounts[s];
	struct worker *worker = &solver->workers[w];
	double share = atomic_load_explicit(&account->share, memory_order_relaxed);

	if ((sub->iteration + 1) % RESIDUAL_EVERY == 0) {
		share = sqrt(subdomain_step_residual(sub)) / solver->initial;
		atomic_store_explicit(&account->share, share, memory_order_relaxed);
	} else {
		subdomain_step(sub);
	}
	progress_update(solver->progress, w, s, sub->iteration, share);
	worker->updates++;
	if (account->worker != w) {
		account->worker = w;
		worker->moves++;
	}
}

/* The exact shares, while all stand still. By first owners: what is on its way from one
 * holder to another has to be seen to as well. */
static void measure(struct solver *solver, uint32_t w)
{
	for (uint32_t s = w * solver->per_worker; s < (w + 1) * solver->per_worker; s++) {
		struct subdomain *sub = &solver->task->subdomains[s];

		subdomain_fetch(sub);
		atomic_store_explicit(&solver->accounts[s].share,
			sqrt(subdomain_residual(sub)) / solver->initial, memory_order_relaxed);
	}
}

/* Take the norm of what was measured, while all stand still. */
static double take_norm(struct solver *solver)
{
	double whole = norm(solver);

	for (uint32_t s = 0; s < solver->subdomains; s++)
		atomic_store_explicit(&solver->accounts[s].share, NAN, memory_order_relaxed);
	return whole;
}

static void judge(struct solver *solver)
{
	unsigned call = atomic_exchange(&solver->call, 0);

	solver->residual = take_norm(solver);
	solver->verifications++;
	if (solver->residual <= solver->task->options->residual) {
		solver->over = true;
		if (!(call & CALL_LIMIT))
			solver->end_ns = clock_wall_ns();
	} else if (call & (CALL_LIMIT | CALL_SIGNAL)) {
		solver->over = true;
	}
}

/* All workers meet, and learn whether it is over. */
static bool meet(struct solver *solver, struct team *team, uint32_t w)
{
	team_wait(team);
	if (w == 0)
		solver->end_ns = clock_wall_ns();
	measure(solver, w);
	team_wait(team);
	if (w == 0)
		judge(solver);
	team_wait(team);
	return solver->over;
}

static void call(struct solver *solver, unsigned why)
{
	atomic_fetch_or_explicit(&solver->call, why, memory_order_relaxed);
}

static bool called(const struct solver *solver)
{
	return atomic_load_explicit(&solver->call, memory_order_relaxed) != 0;
}

/* All the same number of iterations, all decisions at the same one. Subdomains stay where they
 * are: one that is on its way would miss an iteration. */
static void run_sync(struct solver *solver, struct team *team, uint32_t w)
{
	const struct options *options = solver->task->options;
	struct monitor *monitor = solver->task->monitor;
	uint32_t first = w * solver->per_worker, end = first + solver->per_worker;
	const uint32_t *held;

	for (uint64_t iteration = 1;; iteration++) {
		progress_begin(solver->progress, w, &held);
		for (uint32_t s = first; s < end; s++) {
			subdomain_fetch(&solver->task->subdomains[s]);
			step(solver, w, s);
		}
		if (w == 0) {
			monitor_poll(monitor, solver->progress, solver->subdomains);
			/* Whoever is still at the iteration before, or at this, won't see it early. */
			if (monitor->signal && atomic_load(&solver->meet_at) > iteration + 1)
				atomic_store(&solver->meet_at, iteration + 1);
		}
		team_wait(team);

		unsigned why = 0;
		if (iteration == options->iterations)
			why |= CALL_LIMIT;
		if (iteration == atomic_load(&solver->meet_at))
			why |= CALL_SIGNAL;
		if (iteration % RESIDUAL_EVERY == 0 && seems_converged(solver))
			why |= CALL_RESIDUAL;
		if (why == 0)
			continue;
		call(solver, why);
		if (meet(solver, team, w))
			break;
	}
}

/* Each worker at its own pace. */
static void run_async(struct solver *solver, struct team *team, uint32_t w)
{
	const struct options *options = solver->task->options;
	struct monitor *monitor = solver->task->monitor;
	struct worker *worker = &solver->workers[w];

	for (;;) {
		const uint32_t *held;
		uint32_t n = progress_begin(solver->progress, w, &held);
		bool idle = true;

		for (uint32_t i = 0; i < n && !called(solver); i++) {
			if (subdomain_fetch(&solver->task->subdomains[held[i]]) > options->bound)
				continue;
			step(solver, w, held[i]);
			idle = false;
			if (worker->updates == solver->updates_limit)
				call(solver, CALL_LIMIT);
		}
		if (options->self_hosted)
			progress_balance(solver->progress, w);
		if (w == 0) {
			monitor_poll(monitor, solver->progress, solver->subdomains);
			if (monitor->signal)
				call(solver, CALL_SIGNAL);
		}
		if (++worker->rounds % RESIDUAL_EVERY == 0 && seems_converged(solver))
			call(solver, CALL_RESIDUAL);
		if (called(solver)) {
			if (meet(solver, team, w))
				break;
		} else if (idle) {
			sched_yield(); /* to those whom it waits for */
		}
	}
}

/* To where its neighbours are, or will be when they are set up. */
static void connect(const struct solve_task *task, uint32_t s)
{
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		uint32_t n = grid_neighbour(task->grid, s, side);

		if (n != GRID_OUTSIDE)
			subdomain_connect(&task->subdomains[s], side,
				&task->subdomains[n].out[grid_opposite(side)]);
	}
}

/* Where its memory is to lie, the thread that will use it sets it up. */
static int prepare(struct solver *solver, uint32_t w)
{
	const struct solve_task *task = solver->task;
	bool lockstep = task->options->mode == MODE_SYNC;
	int rc = task->pin ? cpuset_pin_caller(cpuset_nth(task->pin, (int)w)) : 0;

	if (rc == 0)
		rc = progress_register(solver->progress, w);
	for (uint32_t i = 0; i < solver->per_worker && rc == 0; i++) {
		uint32_t s = w * solver->per_worker + i;

		solver->accounts[s].worker = w;
		rc = subdomain_init(&task->subdomains[s], task->grid, s, lockstep);
		connect(task, s);
	}
	return rc;
}

static void member(struct team *team, uint32_t w, void *arg)
{
	struct solver *solver = arg;
	int rc = prepare(solver, w);

	if (rc < 0)
		atomic_store(&solver->error, rc);
	team_wait(team);
	if (atomic_load(&solver->error))
		return;

	measure(solver, w);
	team_wait(team);
	if (w == 0) {
		solver->initial = take_norm(solver);
		monitor_begin(solver->task->monitor, solver->subdomains);
		solver->begin_ns = clock_wall_ns();
	}
	team_wait(team);

	if (solver->task->options->mode == MODE_SYNC)
		run_sync(solver, team, w);
	else
		run_async(solver, team, w);
	progress_leave(solver->progress, w);
}

static void collect(const struct solver *solver, struct solve_outcome *out)
{
	const struct solve_task *task = solver->task;
	uint64_t lag_sum = 0;

	*out = (struct solve_outcome){
		.elapsed_ns = solver->end_ns - solver->begin_ns,
		.spread = progress_spread(solver->progress),
		.residual = solver->residual,
		.converged = solver->residual <= task->options->residual,
		.verifications = solver->verifications,
	};
	for (uint32_t w = 0; w < task->workers; w++) {
		out->updates += solver->workers[w].updates;
		out->moves += solver->workers[w].moves;
	}
	for (uint32_t s = 0; s < solver->subdomains; s++) {
		const struct subdomain *sub = &task->subdomains[s];

		lag_sum += sub->lag_sum;
		if (sub->lag_max > out->staleness_max)
			out->staleness_max = sub->lag_max;
	}
	out->staleness_mean = (double)lag_sum / (double)out->updates;
}

static void *zeroed(size_t count, size_t bytes)
{
	void *all = aligned_alloc(EDGE_LINE, count * bytes);

	if (all)
		memset(all, 0, count * bytes);
	return all;
}

int solve(const struct solve_task *task, struct solve_outcome *outcome)
{
	const struct options *options = task->options;
	uint32_t subdomains = grid_subdomains(task->grid);
	struct solver solver = {
		.task = task,
		.progress = task->progress,
		.workers = zeroed(task->workers, sizeof(struct worker)),
		.accounts = zeroed(subdomains, sizeof(struct account)),
		.per_worker = options->subdomains,
		.subdomains = subdomains,
		.updates_limit = options->iterations > UINT64_MAX / options->subdomains
					 ? UINT64_MAX
					 : options->iterations * options->subdomains,
		.initial = 1,
		.meet_at = UINT64_MAX,
	};
	int rc = solver.workers && solver.accounts ? 0 : -ENOMEM;

	if (rc == 0)
		rc = team_run(task->workers, member, &solver);
	if (rc == 0)
		rc = atomic_load(&solver.error);
	monitor_end(task->monitor);
	if (rc == 0)
		collect(&solver, outcome);
	free(solver.accounts);
	free(solver.workers);
	return rc;
}
