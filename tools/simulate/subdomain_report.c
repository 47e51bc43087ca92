/* SPDX-License-Identifier: MIT */
/* Results of simulated subdomains; see subdomain_report.h. */
#include "tools/simulate/subdomain_report.h"

#include "tools/command/print.h"

#include <inttypes.h>
#include <stdio.h>

static const char *plural(uint32_t count)
{
	return count == 1 ? "" : "s";
}

/* An iteration is an update of all subdomains of a worker. */
static double iteration_rate(const struct subdomain_report *report, uint32_t i)
{
	return report->outcomes[i].result.rate / report->options->params.each;
}

static double messages_a_period(const struct subdomain_report *report, uint32_t i)
{
	const struct cluster_params *params = &report->options->params;
	const struct cluster_result *result = &report->outcomes[i].result;

	return (double)result->messages / params->ranks * (double)params->dplb_period_ns /
	       (double)result->now_ns;
}

/* ---- JSON ---- */

static json_t *outcome_json(const struct subdomain_report *report, uint32_t i)
{
	const struct subdomain_outcome *outcome = &report->outcomes[i];
	const struct cluster_result *result = &outcome->result;
	uint64_t n = (uint64_t)report->options->params.ranks * report->options->params.workers *
		     report->options->params.each;

	return json_pack("{s:s, s:s, s:f, s:I, s:f, s:f, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:I, s:I, s:o, s:o}",
		"balance", method_balance_name(&outcome->balance).text, "dplb",
		method_dplb_name(&outcome->dplb).text, "time_s", (double)result->now_ns * 1e-9,
		"updates", (json_int_t)result->updates, "iterations",
		(double)result->updates / (double)n, "iterations_per_s", iteration_rate(report, i),
		"spread", (json_int_t)result->spread, "staleness", (json_int_t)result->staleness,
		"staleness_mean", result->staleness_mean, "plb_points",
		(json_int_t)result->plb_points, "plb_moves", (json_int_t)result->plb_moves,
		"dplb_points", (json_int_t)result->dplb_points, "dplb_moves",
		(json_int_t)result->dplb_moves, "dplb_refused", (json_int_t)result->dplb_refused,
		"messages", (json_int_t)result->messages, "messages_rank_max",
		(json_int_t)result->messages_rank_max, "subdomains_rank_min",
		(json_int_t)result->subdomains_rank_min, "subdomains_rank_max",
		(json_int_t)result->subdomains_rank_max, "residual",
		report->options->residual > 0 ? json_real(outcome->residual) : json_null(),
		"time_to_solution_s",
		outcome->solved_s > 0 ? json_real(outcome->solved_s) : json_null());
}

static json_t *report_json(const struct subdomain_report *report)
{
	const struct cluster_params *params = &report->options->params;
	json_t *variants = json_array();

	for (uint32_t i = 0; i < report->count; i++)
		if (json_array_append_new(variants, outcome_json(report, i)) < 0) {
			json_decref(variants);
			return NULL;
		}
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:I, s:o}", "command",
		report->options->between_ranks ? "simulate dplb" : "simulate plb", "version",
		JUGGLE_VERSION, "ranks", (json_int_t)params->ranks, "workers",
		(json_int_t)params->workers, "sockets", (json_int_t)params->sockets, "subdomains",
		(json_int_t)params->each, "mode",
		method_mode_name(params->mode, params->bound).text, "update_s",
		params->update_ns * 1e-9, "capacity", report->capacity, "seed",
		(json_int_t)params->seed, "variant", variants);
}

/* ---- Text ---- */

static void print_solution(const struct subdomain_report *report, uint32_t i)
{
	const struct subdomain_outcome *outcome = &report->outcomes[i];

	if (report->options->residual > 0 && outcome->solved_s > 0)
		printf("  %10.4g", outcome->solved_s);
	else if (report->options->residual > 0)
		printf("  %10s", "not yet");
	putchar('\n');
}

static void print_plb(const struct subdomain_report *report)
{
	printf("%-12s %12s %8s %8s %8s %10s%s\n", "balance", "iterations/s", "spread", "stale",
		"mean", "moves/s", report->options->residual > 0 ? "  solution s" : "");
	for (uint32_t i = 0; i < report->count; i++) {
		const struct cluster_result *result = &report->outcomes[i].result;

		printf("%-12s %12.6g %8" PRIu64 " %8" PRIu64 " %8.1f %10.1f",
			method_balance_name(&report->outcomes[i].balance).text,
			iteration_rate(report, i), result->spread, result->staleness,
			result->staleness_mean,
			(double)result->plb_moves / ((double)result->now_ns * 1e-9));
		print_solution(report, i);
	}
}

static void print_dplb(const struct subdomain_report *report)
{
	bool cells = report->options->residual > 0;

	printf("%-10s %-16s %9s %7s %7s %6s%s\n", "balance", "dplb", "iter/s", "spread", "stale",
		"moves", cells ? "  solution s" : "   refd messages");
	for (uint32_t i = 0; i < report->count; i++) {
		const struct cluster_result *result = &report->outcomes[i].result;

		printf("%-10s %-16s %9.5g %7" PRIu64 " %7" PRIu64 " %6" PRIu64,
			method_balance_name(&report->outcomes[i].balance).text,
			method_dplb_name(&report->outcomes[i].dplb).text, iteration_rate(report, i),
			result->spread, result->staleness, result->dplb_moves);
		if (!cells)
			printf(" %6" PRIu64 " %8.1f", result->dplb_refused,
				messages_a_period(report, i));
		print_solution(report, i);
	}
}

static void print_text(const struct subdomain_report *report)
{
	const struct cluster_params *params = &report->options->params;
	double most = report->capacity / (params->update_ns * 1e-9 * params->each);

	if (report->options->between_ranks)
		printf("%u rank%s of ", (unsigned)params->ranks, plural(params->ranks));
	printf("%u worker%s on %u socket%s, %u subdomain%s each, %s\n\n", (unsigned)params->workers,
		plural(params->workers), (unsigned)params->sockets, plural(params->sockets),
		(unsigned)params->each, plural(params->each),
		method_mode_name(params->mode, params->bound).text);
	if (report->options->between_ranks)
		print_dplb(report);
	else
		print_plb(report);
	printf("\nAt a mean speed of %.4g of full speed, the workers could do\n%.5g iterations/s.\n"
	       "spread: updates of the most advanced subdomain minus those of the least, at the\n"
	       "end. stale: by how many iterations the oldest halo that was read was behind%s",
		report->capacity, most,
		report->options->between_ranks ? ".\n" : ",\nand on average over all updates.\n");
	if (report->options->between_ranks && report->options->residual == 0)
		printf("moves, refd: between ranks, and those refused by ranks that were full by "
		       "then.\n"
		       "messages: of a rank in a period of DPLB.\n");
}

int subdomain_report(const char *program, const struct subdomain_report *report)
{
	if (report->options->command.json)
		return command_print_json(program, report_json(report));
	print_text(report);
	return command_flush(program);
}
