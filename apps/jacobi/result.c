/* SPDX-License-Identifier: MIT */
/*
 * The result; see result.h.
 */
#include "apps/jacobi/result.h"

#include "daemon/base/json_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static double elapsed_s(const struct solve_outcome *outcome)
{
	return (double)outcome->elapsed_ns / 1e9;
}

static double updates_per_s(const struct solve_outcome *outcome)
{
	return (double)outcome->updates / elapsed_s(outcome);
}

/* Subdomains differ by a row or column at most, and their numbers of updates by the spread at most,
 * so the mean size of a subdomain will do. */
static double cells_per_s(const struct solve_task *task, const struct solve_outcome *outcome)
{
	return updates_per_s(outcome) * task->grid->rows * task->grid->columns /
	       grid_subdomains(task->grid);
}

/* Iterations of the whole problem per second. PLB, Section 3.1, has it per thread; that changes
 * when subdomains move. */
static double iteration_rate(const struct solve_task *task, const struct solve_outcome *outcome)
{
	return updates_per_s(outcome) / grid_subdomains(task->grid);
}

static void print_ranks(const struct solve_task *task, const struct solve_outcome *outcome)
{
	printf("ranks           %" PRIu32 ", %s, dplb %s, %" PRIu64
	       " subdomains moved between ranks\n",
		outcome->rank_count, transport_library(task->transport),
		method_dplb_name(&task->options->dplb).text, outcome->rank_moves);
	printf("%10s %12s %11s %8s %8s %10s  %s\n", "rank", "updates", "subdomains", "came", "went",
		"staleness", "host");
	for (uint32_t r = 0; r < outcome->rank_count; r++) {
		const struct solve_rank *rank = &outcome->ranks[r];

		printf("%10" PRIu32 " %12" PRIu64 " %11" PRIu32 " %8" PRIu64 " %8" PRIu64
		       " %10" PRIu64 "  %s\n",
			r, rank->updates, rank->subdomains, rank->arrivals, rank->departures,
			rank->lag_max, rank->host);
	}
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

int result_print(const struct solve_task *task, const struct solve_outcome *outcome)
{
	const struct jacobi_options *options = task->options;
	uint64_t threads = (uint64_t)task->workers * outcome->rank_count;

	printf("%" PRIu32 " x %" PRIu32 " cells, %" PRIu64 " thread%s with %" PRIu32
	       " subdomain%s, %s, balance %s\n",
		task->grid->rows, task->grid->columns, threads, plural(threads),
		options->subdomains, plural(options->subdomains),
		method_mode_name(options->mode, options->bound).text,
		method_balance_name(&options->balance).text);
	printf("time            %.6g s\n", elapsed_s(outcome));
	printf("iteration rate  %.6g /s\n", iteration_rate(task, outcome));
	printf("updates         %" PRIu64 ", %.6g /s, %.4g cells/s\n", outcome->updates,
		updates_per_s(outcome), cells_per_s(task, outcome));
	printf("spread          %" PRIu64 "\n", outcome->spread);
	printf("staleness       %.4g mean, %" PRIu64 " largest\n", outcome->staleness_mean,
		outcome->staleness_max);
	if (options->mode == MODE_SSYNC && outcome->bound_exceeded > 0)
		printf("                %" PRIu64 " more than the bound\n",
			outcome->bound_exceeded);
	printf("residual        %.6e%s, verified (%" PRIu64 " time%s)\n", outcome->residual,
		options->residual > 0 && !outcome->converged ? ", not small enough" : "",
		outcome->verifications, plural(outcome->verifications));
	printf("moves           %" PRIu64 "\n", outcome->moves);
	if (task->transport)
		print_ranks(task, outcome);
	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout))
		return errno ? -errno : -EIO;
	return 0;
}

static json_t *pack_ranks(const struct solve_task *task, const struct solve_outcome *outcome)
{
	const struct jacobi_options *options = task->options;
	json_t *list = json_array();

	for (uint32_t r = 0; list && r < outcome->rank_count; r++) {
		const struct solve_rank *rank = &outcome->ranks[r];
		json_t *one = json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I}", "rank",
			(json_int_t)r, "host", rank->host, "updates", (json_int_t)rank->updates,
			"subdomains", (json_int_t)rank->subdomains, "moves_in",
			(json_int_t)rank->arrivals, "moves_out", (json_int_t)rank->departures,
			"staleness_max", (json_int_t)rank->lag_max);

		if (json_array_append_new(list, one) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	json_t *threshold = options->dplb_threshold == 0 /* each rank's own */
				    ? json_null()
				    : json_real(fmax(options->dplb_threshold, 0));
	return json_pack("{s:I, s:s?, s:s, s:f, s:o, s:I, s:I, s:I, s:o}", "ranks",
		(json_int_t)outcome->rank_count, "mpi",
		task->transport ? transport_library(task->transport) : NULL, "dplb",
		method_dplb_name(&options->dplb).text, "dplb_period_s",
		(double)options->dplb_period_ns / 1e9, "dplb_threshold", threshold, "rank_moves",
		(json_int_t)outcome->rank_moves, "ownership_checks",
		(json_int_t)outcome->ownership_checks, "bound_exceeded",
		(json_int_t)outcome->bound_exceeded, "rank", list);
}

int result_write(const struct solve_task *task, const struct solve_outcome *outcome)
{
	const struct jacobi_options *options = task->options;

	json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:f, s:b}",
		"program", "jacobi", "version", JUGGLE_VERSION, "threads",
		(json_int_t)task->workers, "subdomains", (json_int_t)options->subdomains, "rows",
		(json_int_t)task->grid->rows, "columns", (json_int_t)task->grid->columns, "cut",
		method_cut_name(options->cut), "mode",
		method_mode_name(options->mode, options->bound).text, "balance",
		method_balance_name(&options->balance).text, "host",
		options->self_hosted ? "self" : "daemon", "period_s",
		(double)options->period_ns / 1e9, "pin", options->pin);
	json_t *found = json_pack("{s:f, s:f, s:I, s:f, s:f, s:I, s:f, s:I, s:f, s:b, s:I, s:I}",
		"elapsed_s", elapsed_s(outcome), "iteration_rate", iteration_rate(task, outcome),
		"updates", (json_int_t)outcome->updates, "updates_per_s", updates_per_s(outcome),
		"cells_per_s", cells_per_s(task, outcome), "spread", (json_int_t)outcome->spread,
		"staleness_mean", outcome->staleness_mean, "staleness_max",
		(json_int_t)outcome->staleness_max, "residual", outcome->residual, "converged",
		outcome->converged, "verifications", (json_int_t)outcome->verifications, "moves",
		(json_int_t)outcome->moves);

	json_t *ranks = pack_ranks(task, outcome);

	if (!object || !found || !ranks || json_object_update(object, found) < 0 ||
		json_object_update(object, ranks) < 0) {
		json_decref(object);
		object = NULL;
	}
	json_decref(found);
	json_decref(ranks);
	return json_file_write(options->json, object);
}
