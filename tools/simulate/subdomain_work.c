/* SPDX-License-Identifier: MIT */
/* How much there is to simulate; see subdomain_work.h. */
#include "tools/simulate/subdomain_work.h"

#include "tools/command/progress_line.h"

#include <math.h>

#define WORK_MAX 1e11 /* updates: about two hours */
#define WORK_A_SECOND 1e7 /* and fewer where it is in no cache */
#define CELLS_A_SECOND 1.5e9
#define POINTS_AN_ITERATION 3 /* that take as long */
#define LOOKS_AN_ITERATION 10 /* this many looks take as long as an iteration */

/* That --time and --iterations allow. */
static double limit_of(const struct subdomain_options *options)
{
	double iteration_ns = options->params.update_ns * options->params.each;
	double iterations =
		options->time_ns > 0 ? (double)options->time_ns / iteration_ns : INFINITY;

	if (options->iterations > 0 && (double)options->iterations < iterations)
		iterations = (double)options->iterations;
	return iterations;
}

/* About how many updates that many iterations have, and subdomains at balancing points. */
static double work_of(const struct subdomain_options *options, double iterations)
{
	const struct cluster_params *params = &options->params;
	double n = (double)params->ranks * params->workers * params->each;
	double iteration_ns = params->update_ns * params->each;
	double looks = params->ranks > 1 ? iterations * iteration_ns / (double)params->look_ns : 0;
	double points = iterations * iteration_ns / (double)params->plb_period_ns;
	double work = 0;

	for (uint32_t i = 0; i < options->balances; i++)
		work += iterations + looks / LOOKS_AN_ITERATION +
			(options->balance[i].kind == PROGRESS_BALANCE_NONE
					? 0
					: points / POINTS_AN_ITERATION);
	return work * n * options->dplbs;
}

bool subdomain_work_fits(const struct subdomain_options *options)
{
	return options->residual > 0 || work_of(options, limit_of(options)) <= WORK_MAX;
}

void subdomain_announce(const char *program, const struct subdomain_options *options)
{
	double iterations = limit_of(options), cells = 0;
	const char *how = "about", *less = "a shorter --time";

	if (options->residual > 0) {
		const struct field_params field = subdomain_field(options);
		double needed = field_iterations(&field, options->residual);
		cells = field_cells(&field) * options->balances * options->dplbs;
		how = iterations < needed ? "at most about" : how;
		less = "a larger --residual or a smaller --grid";
		iterations = fmin(iterations, needed);
	}
	command_announce(&options->command, program, how,
		work_of(options, iterations) / WORK_A_SECOND + iterations * cells / CELLS_A_SECOND,
		less);
}
