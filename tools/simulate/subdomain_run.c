/* SPDX-License-Identifier: MIT */
/* Simulates subdomains, one variant after the other; see subdomain_run.h. */
#include "tools/simulate/subdomain_run.h"

#include "tools/command/print.h"
#include "tools/command/progress_line.h"
#include "tools/sim/field.h"
#include "tools/simulate/subdomain_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICES 200 /* of a run, at least */
#define SLICE_UPDATES 1e6 /* at most, to keep the progress line up to date */
#define CHECK_ITERATIONS 50
#define SERIES_POINTS 2000

struct variant_run {
	const char *program;
	const struct subdomain_options *options;
	struct command_progress progress;
	uint32_t number; /* of the variant */
	struct cluster *cluster;
	struct field *field;
	FILE *series;
	uint64_t *updates; /* of each subdomain */
	struct subdomain_outcome *outcome;
};

static uint32_t variants(const struct subdomain_options *options)
{
	return options->balances * options->dplbs;
}

static void show_progress(struct variant_run *run, double done)
{
	done = done < 0 ? 0 : done > 1 ? 1 : done;
	command_progress(&run->progress, (run->number + done) / variants(run->options));
}

/* ---- Pictures ---- */

static void write_series(struct variant_run *run)
{
	uint64_t n = cluster_subdomains(run->cluster), sum = 0;
	uint64_t lines = run->options->lines < n ? run->options->lines : n;
	struct cluster_result result;

	cluster_get(run->cluster, &result);
	cluster_updates(run->cluster, run->updates);
	for (uint64_t s = 0; s < n; s++)
		sum += run->updates[s];
	fprintf(run->series, "%.6f", (double)result.now_ns * 1e-9);
	for (uint64_t i = 0; i < lines; i++)
		fprintf(run->series, "\t%.2f",
			(double)run->updates[i * n / lines] - (double)sum / (double)n);
	fputc('\n', run->series);
}

static int open_series(struct variant_run *run)
{
	const struct subdomain_options *options = run->options;

	if (!options->series)
		return 0;
	run->updates = calloc(cluster_subdomains(run->cluster), sizeof(*run->updates));
	if (!run->updates)
		return command_fail(run->program, "out of memory");
	run->series = fopen(options->series, "w");
	if (!run->series)
		return command_fail(
			run->program, "%s: cannot write: %s", options->series, strerror(errno));
	fputs("# time_s, then the lead of each subdomain over the mean, in updates\n", run->series);
	return 0;
}

static int close_series(struct variant_run *run)
{
	FILE *series = run->series;
	bool failed = series && ferror(series);

	run->series = NULL;
	free(run->updates);
	run->updates = NULL;
	if (series && (fclose(series) != 0 || failed))
		return command_fail(run->program, "%s: cannot write", run->options->series);
	return 0;
}

/* ---- How far ---- */

/* A slice of the run, in virtual time, with no more work than is done in a moment. */
static uint64_t slice_ns(const struct variant_run *run, uint64_t whole_ns)
{
	const struct cluster_params *params = &run->options->params;
	double most = SLICE_UPDATES * params->update_ns / params->ranks / params->workers;
	uint64_t parts = run->series ? SERIES_POINTS : SLICES, slice = whole_ns / parts;

	if (most < params->update_ns)
		most = params->update_ns;
	if ((double)slice > most)
		slice = (uint64_t)most;
	return slice > 0 ? slice : 1;
}

static void step(struct variant_run *run, uint64_t until_ns)
{
	cluster_run(run->cluster, until_ns);
	if (run->series)
		write_series(run);
}

static void run_for(struct variant_run *run, uint64_t time_ns)
{
	uint64_t slice = slice_ns(run, time_ns);

	for (uint64_t now_ns = 0; now_ns < time_ns;) {
		now_ns = time_ns - now_ns > slice ? now_ns + slice : time_ns;
		step(run, now_ns);
		show_progress(run, (double)now_ns / (double)time_ns);
	}
}

/* Updates after which the run ends: practically never without --iterations. */
static double wanted_updates(const struct variant_run *run)
{
	uint64_t iterations = run->options->iterations;

	return iterations > 0 ? (double)iterations * (double)cluster_subdomains(run->cluster)
			      : INFINITY;
}

/* When to check again whether that many updates are made, by the rate so far; after `most_ns` at
 * most. */
static uint64_t next_look_ns(const struct variant_run *run, const struct cluster_result *result,
	double want, uint64_t most_ns, uint64_t limit_ns)
{
	double left_ns = (double)most_ns, least_ns = run->options->params.update_ns;

	if (result->updates > 0)
		left_ns = (want - (double)result->updates) * (double)result->now_ns /
			  (double)result->updates;
	if (left_ns < least_ns)
		left_ns = least_ns;
	uint64_t step_ns = left_ns < (double)most_ns ? (uint64_t)left_ns : most_ns;
	return limit_ns - result->now_ns > step_ns ? result->now_ns + step_ns : limit_ns;
}

static void run_iterations(struct variant_run *run, uint64_t limit_ns)
{
	const struct cluster_params *params = &run->options->params;
	double want = wanted_updates(run), round_ns = params->update_ns * params->each;
	double guess = round_ns * (double)run->options->iterations;
	uint64_t slice = slice_ns(run, guess < 1e18 ? (uint64_t)guess : UINT64_C(1) << 60);
	struct cluster_result result = {0};

	while ((double)result.updates < want && result.now_ns < limit_ns) {
		step(run, next_look_ns(run, &result, want, slice, limit_ns));
		cluster_get(run->cluster, &result);
		show_progress(run, (double)result.updates / want);
	}
}

/* The moment is interpolated linearly between the logarithms of two residuals. */
static void run_residual(struct variant_run *run, uint64_t limit_ns)
{
	const struct subdomain_options *options = run->options;
	double check = options->params.update_ns * options->params.each * CHECK_ITERATIONS;
	uint64_t check_ns = options->check_ns > 0 ? options->check_ns : (uint64_t)check + 1;
	double before = 1, residual = 1, want = options->residual, most = wanted_updates(run);
	struct cluster_result result = {0};

	while (residual > want && result.now_ns < limit_ns && (double)result.updates < most) {
		uint64_t now_ns = result.now_ns;

		step(run, next_look_ns(run, &result, most, check_ns, limit_ns));
		cluster_get(run->cluster, &result);
		before = residual;
		residual = field_residual(run->field);
		if (residual <= want) {
			double part =
				residual > 0 ? log(before / want) / log(before / residual) : 1;
			run->outcome->solved_s =
				((double)now_ns + part * (double)(result.now_ns - now_ns)) * 1e-9;
		}
		show_progress(run, fmax(log(residual) / log(want), (double)result.updates / most));
	}
	run->outcome->residual = residual;
}

/* ---- A variant ---- */

static int make_cluster(struct variant_run *run, struct cluster_params *params)
{
	const struct subdomain_options *options = run->options;
	const struct field_params field = subdomain_field(options);
	int rc = options->residual > 0 ? field_new(&run->field, &field) : 0;

	if (rc == -ERANGE)
		return command_wrong(run->program,
			"--grid: fewer cells than subdomains to cut into, or more than 16777216 "
			"rows or columns");
	if (rc == 0)
		rc = cluster_new(&run->cluster, params, run->field);
	if (rc == -EINVAL)
		return command_wrong(run->program,
			"this is more than can be simulated: use fewer ranks, --workers or "
			"--subdomains, a lower --high, or shorter times");
	return rc < 0 ? command_fail(run->program, "%s", strerror(-rc)) : 0;
}

static enum policy_plb_mode plb_mode(enum progress_balancing balancing)
{
	return balancing == PROGRESS_BALANCE_JOINT    ? POLICY_PLB_JOINT
	       : balancing == PROGRESS_BALANCE_HYBRID ? POLICY_PLB_HYBRID
						      : POLICY_PLB_SPLIT;
}

static int run_variant(struct variant_run *run, const double *speeds)
{
	const struct subdomain_options *options = run->options;
	const struct subdomain_outcome *outcome = run->outcome;
	struct cluster_params params = options->params;
	uint64_t limit_ns = options->time_ns > 0 ? options->time_ns : UINT64_C(1) << 61;

	params.speed = speeds;
	params.plb = outcome->balance.kind != PROGRESS_BALANCE_NONE;
	params.plb_params.mode = plb_mode(outcome->balance.kind);
	params.plb_params.hybrid_every = outcome->balance.hybrid_every;
	params.dplb = outcome->dplb.kind;
	params.reach = outcome->dplb.reach;
	params.dplb_params.all_behind = params.dplb == DPLB_NEIGHBOURS;
	params.dplb_params.keep =
		policy_dplb_keep(params.workers, params.plb_params.low, params.plb_params.pairs);
	uint64_t most = (uint64_t)params.plb_params.high * params.workers;
	uint64_t each = (uint64_t)params.each * params.workers;
	most = most > each ? most : each;
	params.room = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
	int status = make_cluster(run, &params);
	if (status == 0)
		status = open_series(run);
	if (status == 0) {
		if (options->residual > 0)
			run_residual(run, limit_ns);
		else if (options->iterations > 0)
			run_iterations(run, limit_ns);
		else
			run_for(run, limit_ns);
		cluster_get(run->cluster, &run->outcome->result);
	}
	int closed = close_series(run);
	cluster_free(run->cluster);
	field_free(run->field);
	run->cluster = NULL;
	run->field = NULL;
	return status != 0 ? status : closed;
}

static int run_all(const char *program, const struct subdomain_options *options)
{
	struct subdomain_outcome outcomes[SUBDOMAIN_CHOICES_MAX * SUBDOMAIN_CHOICES_MAX] = {0};
	struct variant_run run = {.program = program, .options = options};
	int status = 0;
	double *speeds = subdomain_speeds(program, options, &status), sum = 0;

	if (!speeds)
		return status;
	command_progress_begin(&run.progress, &options->command);
	for (; status == 0 && run.number < variants(options); run.number++) {
		run.outcome = &outcomes[run.number];
		run.outcome->balance = options->balance[run.number / options->dplbs];
		run.outcome->dplb = options->dplb[run.number % options->dplbs];
		status = run_variant(&run, speeds);
	}
	command_progress_end(&run.progress);
	size_t workers = (size_t)options->params.ranks * options->params.workers;
	for (size_t i = 0; i < workers; i++)
		sum += speeds[i];
	free(speeds);
	if (status != 0)
		return status;
	const struct subdomain_report report = {.options = options,
		.capacity = sum / (double)workers,
		.outcomes = outcomes,
		.count = variants(options)};
	return subdomain_report(program, &report);
}

int subdomain_main(const struct argp *argp, int argc, char **argv,
	struct subdomain_options *options, void (*choose)(struct subdomain_options *options))
{
	struct command_options command;
	int rc = command_parse(argp, argc, argv, options, &command);

	if (rc != 0)
		return rc < 0 ? COMMAND_WRONG : 0;
	options->command = command;
	choose(options);
	rc = subdomain_complete(argv[0], options);
	return rc != 0 ? rc : run_all(argv[0], options);
}
