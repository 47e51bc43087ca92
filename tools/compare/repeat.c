/* SPDX-License-Identifier: MIT */
/* The runs of a comparison, in turn; see compare.h. */
#include "tools/compare/compare.h"

#include "daemon/base/cpuset.h"
#include "daemon/proc/proc.h"
#include "tools/command/print.h"
#include "tools/compare/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct repeats {
	const char *program;
	const struct compare_options *options;
	struct comparison *comparison;
	struct run_watch watch;
	struct run_beside beside;
	double total, done; /* runs: those of this comparison, and those that have ended */
	double spent_s; /* on these */
};

/* ---- Stolen time ---- */

/* The sums over the CPUs of our affinity mask; 0 where not known. */
static struct proc_cpu_times sum_cpu_times(void)
{
	struct proc_cpu_times *times = calloc(CPUSET_CPUS_MAX, sizeof *times), sum = {0};
	struct cpuset mask;

	if (times != NULL && cpuset_of_thread(0, &mask) == 0 &&
		proc_read_cpu_times(times, CPUSET_CPUS_MAX) == 0)
		for (int j = 0; j < CPUSET_CPUS_MAX; j++)
			if (cpuset_has(&mask, j)) {
				sum.total_ticks += times[j].total_ticks;
				sum.stolen_ticks += times[j].stolen_ticks;
			}
	free(times);
	return sum;
}

static double stolen_since(struct proc_cpu_times before)
{
	struct proc_cpu_times now = sum_cpu_times();

	/* Counters of a CPU may go back a little, or begin anew when it comes online. */
	if (now.total_ticks <= before.total_ticks || now.stolen_ticks < before.stolen_ticks)
		return 0;
	return (double)(now.stolen_ticks - before.stolen_ticks) /
	       (double)(now.total_ticks - before.total_ticks);
}

/* ---- A run ---- */

/* A command line for a message. */
static const char *join_words(char *const *command, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (; *command != NULL && used < bytes; command++)
		used += (size_t)snprintf(
			text + used, bytes - used, "%s%s", used > 0 ? " " : "", *command);
	return text;
}

/* What went wrong with a run, if anything; returns an exit status. */
static int check_end(struct repeats *r, char *const *command, const struct output *output,
	const struct run_end *end)
{
	char line[400];

	join_words(command, line, sizeof line);
	if (end->late)
		return command_fail(r->program, "still running after %.3g s: %s",
			(double)r->options->timeout_ns * 1e-9, line);
	if (end->status != 0) {
		command_progress_end(r->watch.progress);
		fwrite(output->tail, 1, output->tail_bytes, stderr);
		if (output->tail_bytes > 0 && output->tail[output->tail_bytes - 1] != '\n')
			fputc('\n', stderr);
		return command_fail(r->program, "exit status %d from: %s", end->status, line);
	}
	if (r->options->time_after != NULL && !(output->time_s > 0))
		return command_fail(r->program, "no time after '%s' was printed by: %s",
			r->options->time_after, line);
	return 0;
}

/* Returns an exit status; *time_s is what counts. comparison->signal is set where one came. */
static int run_once(struct repeats *r, char *const *command, double *time_s)
{
	struct output output = {
		.shown = r->options->show_output, .time_after = r->options->time_after};
	struct run_end end;
	int status;

	r->watch.done = r->done / r->total;
	r->watch.share = 1 / r->total;
	r->watch.expected_s = r->done > 0 ? r->spent_s / r->done : 0;
	int error = run_to_end(&r->watch, command, &output, &end);
	if (error < 0)
		return command_fail(r->program, "%s: %s", command[0], strerror(-error));
	r->comparison->signal = end.signal;
	if (end.signal != 0)
		return 0;
	int result = check_end(r, command, &output, &end);
	if (result != 0)
		return result;
	if (r->options->beside != NULL && run_beside_has_ended(&r->beside, &status))
		return command_fail(r->program, "--beside: exit status %d from: %s", status,
			r->options->beside);
	r->done++;
	r->spent_s += end.elapsed_s;
	*time_s = r->options->time_after != NULL ? output.time_s : end.elapsed_s;
	return 0;
}

static int warm_up(struct repeats *r)
{
	double time_s;
	int status = 0;

	for (uint32_t i = 0; i < r->options->warmups && status == 0 && r->comparison->signal == 0;
		i++)
		status = run_once(r, r->options->ways.command, &time_s);
	return status;
}

/* The first way of juggle tells what it did. */
static size_t find_teller(const struct ways *ways)
{
	size_t i = 0;

	while (i < ways->n && !way_is_juggle(&ways->way[i]))
		i++;
	return i;
}

/* Each way once. The order varies, since the machine's condition changes. */
static int repeat(struct repeats *r)
{
	struct ways *ways = &r->comparison->ways;
	uint32_t round = r->comparison->repeats;
	size_t teller = find_teller(ways);

	for (size_t k = 0; k < ways->n; k++) {
		size_t i = (k + round) % ways->n;
		struct outcome outcome;
		int status = run_once(r, ways->way[i].command, &ways->way[i].time_s[round]);
		if (status != 0 || r->comparison->signal != 0)
			return status;
		if (way_is_juggle(&ways->way[i]))
			outcome_take(
				ways->report_fd, i == teller ? &r->comparison->outcome : &outcome);
	}
	r->comparison->repeats++;
	return 0;
}

static int run_all(struct repeats *r)
{
	int status = warm_up(r);
	struct proc_cpu_times before = sum_cpu_times();

	while (status == 0 && r->comparison->signal == 0 &&
		r->comparison->repeats < r->options->repeats)
		status = repeat(r);
	r->comparison->stolen = stolen_since(before);
	return status;
}

int compare_run(const char *program, const struct compare_options *options,
	const struct command_options *common, struct comparison *comparison)
{
	struct command_progress progress;
	struct command_options shown = *common;
	struct repeats repeats = {.program = program,
		.options = options,
		.comparison = comparison,
		.watch = {.timeout_ns = options->timeout_ns, .progress = &progress},
		.total = options->warmups + (double)comparison->ways.n * options->repeats};
	int status = 0, error = run_watch_init(&repeats.watch);

	if (error < 0)
		return command_fail(program, "%s", strerror(-error));
	if (options->beside != NULL)
		error = run_beside_start(&repeats.watch, options->beside, &repeats.beside);
	shown.quiet |= options->show_output; /* which it would be mixed with */
	command_progress_begin(&progress, &shown);
	status = error < 0 ? command_fail(program, "--beside: %s", strerror(-error))
			   : run_all(&repeats);
	command_progress_end(&progress);
	run_beside_stop(&repeats.beside);
	run_watch_deinit(&repeats.watch);
	return status;
}
