/* SPDX-License-Identifier: MIT */
/*
 * The results of the workers; see solve.h.
 */
#include "apps/jacobi/solver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* What this rank did. */
static void sum_up(const struct solver *solver, struct solve_rank *out)
{
	const struct solve_task *task = solver->task;
	const struct ranks_counts counts =
		solver->ranks ? ranks_counts(solver->ranks) : (struct ranks_counts){0};

	*out = (struct solve_rank){
		.arrivals = counts.arrivals,
		.departures = counts.departures,
		.least = UINT64_MAX,
	};
	if (task->transport)
		snprintf(out->host, sizeof(out->host), "%s", transport_host(task->transport));
	for (uint32_t w = 0; w < task->workers; w++) {
		out->updates += solver->workers[w].updates;
		out->moves += solver->workers[w].moves;
	}
	for (uint32_t s = 0; s < task->slots; s++) {
		const struct subdomain *sub = &task->subdomains[s];
		uint64_t updates = progress_updates(solver->progress, s);

		if (!solver_has(solver, s))
			continue;
		out->subdomains++;
		out->least = updates < out->least ? updates : out->least;
		out->most = updates > out->most ? updates : out->most;
		out->lag_sum += sub->lag_sum;
		out->lag_max = sub->lag_max > out->lag_max ? sub->lag_max : out->lag_max;
	}
}

/* What all did. */
static void add_up(const struct solver *solver, struct solve_outcome *out)
{
	const struct jacobi_options *options = solver->task->options;
	uint64_t least = UINT64_MAX, most = 0, lag_sum = 0;

	for (uint32_t r = 0; r < out->rank_count; r++) {
		const struct solve_rank *rank = &out->ranks[r];

		out->updates += rank->updates;
		out->moves += rank->moves;
		out->rank_moves += rank->arrivals;
		least = rank->least < least ? rank->least : least;
		most = rank->most > most ? rank->most : most;
		lag_sum += rank->lag_sum;
		if (rank->lag_max > out->staleness_max)
			out->staleness_max = rank->lag_max;
	}
	out->spread = most - least;
	out->staleness_mean = (double)lag_sum / (double)out->updates;
	if (out->staleness_max > options->bound)
		out->bound_exceeded = out->staleness_max - options->bound;
}

/* All ranks call it; rank 0 gets what they have. */
int outcome_collect(const struct solver *solver, struct solve_outcome *out)
{
	const struct solve_task *task = solver->task;
	uint32_t ranks = solver->ranks ? transport_ranks(task->transport) : 1;
	bool first = !solver->ranks || transport_rank(task->transport) == 0;
	bool wants_all = first && task->options->output;
	struct solve_rank own;

	*out = (struct solve_outcome){
		.elapsed_ns = solver->end_ns - solver->begin_ns,
		.residual = solver->residual,
		.converged = solver_is_solved(solver),
		.verifications = solver->verifications,
		.ownership_checks = solver->ranks ? ranks_counts(solver->ranks).checks : 0,
		.rank_count = ranks,
		.ranks = first ? calloc(ranks, sizeof(*out->ranks)) : NULL,
		.subdomains = wants_all ? edge_allocate(grid_subdomains(task->grid),
						  sizeof(struct subdomain))
					: NULL,
	};
	if ((first && !out->ranks) || (wants_all && !out->subdomains))
		return -ENOMEM;
	sum_up(solver, &own);
	if (solver->ranks)
		ranks_gather(solver->ranks, &own, sizeof(own), out->ranks);
	else
		out->ranks[0] = own;
	if (first)
		add_up(solver, out);
	if (solver->ranks)
		return task->options->output ? ranks_collect(solver->ranks, out->subdomains) : 0;
	for (uint32_t s = 0; wants_all && s < task->slots; s++) {
		out->subdomains[s] = task->subdomains[s];
		out->subdomains[s].memory = NULL;
	}
	return 0;
}

void solve_outcome_deinit(struct solve_outcome *outcome, const struct grid *grid)
{
	for (uint32_t s = 0; outcome->subdomains && s < grid_subdomains(grid); s++)
		subdomain_deinit(&outcome->subdomains[s]);
	free(outcome->subdomains);
	free(outcome->ranks);
	*outcome = (struct solve_outcome){0};
}
