/* SPDX-License-Identifier: MIT */
/*
 * The workers; see solve.h.
 */
#include "apps/jacobi/solver.h"
#include "apps/pin.h"

#include "daemon/base/clock.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>

/* The norm of the residual costs a part of an update: one update in RESIDUAL_EVERY computes it. */
#define RESIDUAL_EVERY 64

static bool seems_converged(struct solver *solver)
{
	double norm = sqrt(meeting_squared(solver));

	return estimate_is_small(
		&solver->estimate, norm, solver->task->options->residual, clock_monotonic_ns());
}

/* After each turn: was there anything to update? */
static void note_wait(struct solver_worker *worker, bool idle)
{
	uint64_t now_ns = idle ? clock_monotonic_ns() : 0;

	if (idle && worker->idle_ns > 0)
		atomic_fetch_add_explicit(
			&worker->waited_ns, now_ns - worker->idle_ns, memory_order_relaxed);
	worker->idle_ns = now_ns;
}

/* All workers of this rank, together. */
static uint64_t waited_ns(void *arg)
{
	const struct solver *solver = arg;
	uint64_t sum_ns = 0;

	for (uint32_t w = 0; w < solver->task->workers; w++)
		sum_ns += atomic_load_explicit(&solver->workers[w].waited_ns, memory_order_relaxed);
	return sum_ns;
}

/* Subdomains leave for, and arrive from, other ranks. */
static double leaves(void *arg, uint32_t slot)
{
	const struct solver *solver = arg;

	return atomic_load_explicit(&solver->accounts[slot].share, memory_order_relaxed);
}

static void arrives(void *arg, uint32_t slot, double share)
{
	struct solver *solver = arg;
	struct account *account = &solver->accounts[slot];

	atomic_store_explicit(&account->share, share, memory_order_relaxed);
	account->worker = progress_holder(solver->progress, slot);
}

/* Update a subdomain that the worker holds, with the halos that it has fetched. */
static void update(struct solver *solver, uint32_t w, uint32_t s)
{
	struct subdomain *sub = &solver->task->subdomains[s];
	struct account *account = &solver->accounts[s];
	struct solver_worker *worker = &solver->workers[w];
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

static void call(struct solver *solver, unsigned why)
{
	atomic_fetch_or_explicit(&solver->call, why, memory_order_relaxed);
}

static bool called(const struct solver *solver)
{
	return atomic_load_explicit(&solver->call, memory_order_relaxed) != 0;
}

/* A meeting of all, wherever they are. */
static void want(struct solver *solver, unsigned why)
{
	if (solver->ranks)
		ranks_wish(solver->ranks, why);
	else
		call(solver, why);
}

/* Do a piece of the work between ranks. */
static void pump(struct solver *solver, bool idle)
{
	unsigned why = ranks_pump(solver->ranks, idle);

	if (why & RANKS_REWIRE)
		call(solver, CALL_REWIRE);
	if (why & RANKS_MEET)
		call(solver, CALL_RANKS);
}

/* In lockstep, after an iteration: wait for the other ranks. From time to time all exchange their
 * norms, so that all decide the same. */
static void exchange(struct solver *solver, uint64_t iteration)
{
	double all[2];

	ranks_exchange(solver->ranks, iteration);
	if (iteration % RESIDUAL_EVERY != 0)
		return;
	all[0] = meeting_squared(solver);
	all[1] = solver->task->monitor->signal != 0;
	ranks_sum(solver->ranks, all, 2);
	solver->seen = sqrt(all[0]);
	if (all[1] > 0)
		atomic_store(&solver->meet_at, iteration);
}

/* Worker 0 does this before it waits. It plans the meeting for the next iteration: other workers
 * may still be in this one or the one before, and must not meet earlier. */
static void look_on(struct solver *solver, uint64_t iteration)
{
	struct monitor *monitor = solver->task->monitor;

	monitor_poll(monitor, solver->progress, solver->task->slots);
	if (!solver->ranks && monitor->signal && atomic_load(&solver->meet_at) > iteration + 1)
		atomic_store(&solver->meet_at, iteration + 1);
}

static unsigned why_now(struct solver *solver, uint64_t iteration)
{
	const struct jacobi_options *options = solver->task->options;
	unsigned why = 0;

	if (iteration == options->iterations)
		why |= CALL_LIMIT;
	if (iteration == atomic_load(&solver->meet_at))
		why |= CALL_SIGNAL;
	if (iteration % RESIDUAL_EVERY == 0 &&
		(solver->ranks ? solver->seen <= options->residual : seems_converged(solver)))
		why |= CALL_RESIDUAL;
	return why;
}

/* All workers make the same number of iterations, back and forth through their subdomains (see
 * below), and decide at the same one. Subdomains stay where they are: one that is on its way would
 * miss an iteration. */
static void run_sync(struct solver *solver, struct crew *crew, uint32_t w)
{
	uint32_t first = w * solver->per_worker;
	const uint32_t *held;

	for (uint64_t iteration = 1;; iteration++) {
		progress_begin(solver->progress, w, &held);
		for (uint32_t i = 0; i < solver->per_worker; i++) {
			uint32_t s = first + (iteration % 2 ? i : solver->per_worker - 1 - i);
			subdomain_fetch(&solver->task->subdomains[s]);
			update(solver, w, s);
			if (solver->ranks)
				pump(solver, false);
		}
		if (w == 0)
			look_on(solver, iteration);
		crew_wait(crew);
		if (solver->ranks) {
			if (w == 0)
				exchange(solver, iteration);
			crew_wait(crew);
		}

		unsigned why = why_now(solver, iteration);
		if (why == 0)
			continue;
		want(solver, why);
		call(solver, CALL_RANKS);
		if (meeting(solver, crew, w))
			break;
	}
}

/* Each worker at its own pace, back and forth through what it holds: the last ones are still in its
 * cache. */
static void run_async(struct solver *solver, struct crew *crew, uint32_t w)
{
	const struct jacobi_options *options = solver->task->options;
	struct monitor *monitor = solver->task->monitor;
	struct solver_worker *worker = &solver->workers[w];

	for (bool back = false;; back = !back) {
		const uint32_t *held;
		uint32_t n = progress_begin(solver->progress, w, &held);
		bool idle = true;

		for (uint32_t i = 0; i < n && !called(solver); i++) {
			uint32_t s = held[back ? n - 1 - i : i];
			if (progress_rests(solver->progress, w, s) ||
				subdomain_fetch(&solver->task->subdomains[s]) > options->bound)
				continue;
			update(solver, w, s);
			idle = false;
			if (worker->updates == solver->updates_limit)
				want(solver, CALL_LIMIT);
			if (solver->ranks)
				pump(solver, false);
		}
		if (options->self_hosted)
			progress_balance(solver->progress, w);
		if (w == 0) {
			monitor_poll(monitor, solver->progress, solver->task->slots);
			if (monitor->signal)
				want(solver, CALL_SIGNAL);
		}
		note_wait(worker, idle);
		if (solver->ranks)
			pump(solver, idle);
		else if (++worker->rounds % RESIDUAL_EVERY == 0 && seems_converged(solver))
			call(solver, CALL_RESIDUAL);
		if (called(solver)) {
			if (meeting(solver, crew, w))
				break;
		} else if (idle) {
			sched_yield(); /* to the workers that it waits for */
		}
	}
}

/* Connect a subdomain with its neighbours on this rank, whether they are set up yet or not. Those
 * of other ranks are connected later. */
static void connect(const struct solve_task *task, uint32_t s)
{
	uint32_t each = grid_rank_subdomains(task->grid);
	uint32_t id = task->subdomains[s].id, first = id - s;

	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		uint32_t n = grid_neighbour(task->grid, id, side);

		if (n != GRID_OUTSIDE && n >= first && n - first < each)
			subdomain_connect(&task->subdomains[s], side,
				&task->subdomains[n - first].out[grid_opposite(side)]);
	}
}

/* The thread that will use the memory sets it up, so that it lies in that thread's NUMA node. */
static int prepare_worker(struct solver *solver, uint32_t w)
{
	const struct solve_task *task = solver->task;
	uint32_t rank = task->transport ? transport_rank(task->transport) : 0;
	bool lockstep = task->options->mode == MODE_SYNC;
	int rc = task->pin ? pin_caller(cpuset_nth(task->pin, (int)(task->pin_first + w))) : 0;

	if (rc == 0)
		rc = progress_register(solver->progress, w);
	for (uint32_t i = 0; i < solver->per_worker && rc == 0; i++) {
		uint32_t s = w * solver->per_worker + i;

		solver->accounts[s].worker = w;
		rc = subdomain_init(&task->subdomains[s], task->grid,
			rank * grid_rank_subdomains(task->grid) + s, lockstep);
		connect(task, s);
	}
	return rc;
}

static int join_ranks(struct solver *solver)
{
	const struct solve_task *task = solver->task;
	const struct ranks_setup setup = {
		.transport = task->transport,
		.options = task->options,
		.grid = task->grid,
		.workers = task->workers,
		.slots = task->slots,
		.subdomains = task->subdomains,
		.progress = task->progress,
		.waited_ns = waited_ns,
		.squared = meeting_squared,
		.calls = {.leaves = leaves, .arrives = arrives},
		.arg = solver,
	};

	return ranks_create(&setup, &solver->ranks);
}

static void member(struct crew *crew, uint32_t w, void *arg)
{
	struct solver *solver = arg;
	int rc = prepare_worker(solver, w);

	if (rc < 0)
		atomic_store(&solver->error, rc);
	crew_wait(crew);
	if (w == 0 && solver->task->transport && !atomic_load(&solver->error))
		atomic_store(&solver->error, join_ranks(solver));
	crew_wait(crew);
	if (atomic_load(&solver->error))
		return;

	meeting_measure(solver, w);
	crew_wait(crew);
	if (w == 0) {
		double unknown = NAN;

		solver->initial = meeting_norm(solver, &unknown);
		monitor_begin(solver->task->monitor, solver->task->slots);
		solver->begin_ns = solver->task->monitor->begin_ns;
		solver->estimate = estimate_begin(solver->begin_ns);
	}
	crew_wait(crew);

	if (solver->task->options->mode == MODE_SYNC)
		run_sync(solver, crew, w);
	else
		run_async(solver, crew, w);
	progress_leave(solver->progress, w);
}

int solve(const struct solve_task *task, struct solve_outcome *outcome)
{
	const struct jacobi_options *options = task->options;
	struct solver solver = {
		.task = task,
		.progress = task->progress,
		.workers = edge_allocate(task->workers, sizeof(struct solver_worker)),
		.accounts = edge_allocate(task->slots, sizeof(struct account)),
		.per_worker = options->subdomains,
		.updates_limit = options->iterations > UINT64_MAX / options->subdomains
					 ? UINT64_MAX
					 : options->iterations * options->subdomains,
		.initial = 1,
		.meet_at = UINT64_MAX,
	};
	int rc = solver.workers && solver.accounts ? 0 : -ENOMEM;

	*outcome = (struct solve_outcome){0};
	if (rc == 0)
		rc = crew_run(task->workers, member, &solver);
	if (rc == 0)
		rc = atomic_load(&solver.error);
	monitor_end(task->monitor);
	if (rc == 0) {
		rc = outcome_collect(&solver, outcome);
		if (rc == 0)
			ranks_destroy(solver.ranks);
	}
	free(solver.accounts);
	free(solver.workers);
	return rc;
}
