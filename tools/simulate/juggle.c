/* SPDX-License-Identifier: MIT */
/*
 * jugglectl simulate juggle: what balancing threads would gain on any machine, with juggle's own
 * policy and with others for comparison.
 */
#include "tools/simulate/juggle.h"

#include "tools/command/print.h"
#include "tools/command/progress_line.h"
#include "tools/command/subcommands.h"
#include "tools/sim/ideal.h"
#include "tools/theory/theory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 1000 /* steps of a run, for progress and pictures */
#define HOPELESS 100 /* give up after this many times the pinned time at worst */
#define MAP_RATIOS 500 /* periods over phases: 0.01, 0.02 ... 5 (Fig. 14) */
#define MAP_S 7e-6 /* the map's time, over the cube of the number of threads */

/* ---- Runs ---- */

struct outcome {
	bool ran;
	struct threads_result result;
};

struct session {
	const struct simulate_juggle *options;
	const char *program;
	struct command_progress progress;
	double steps, steps_done; /* as threads_steps() estimates them */
	struct outcome outcome[NAMES_BALANCERS_MAX];
	FILE *series;
};

static void write_row(FILE *file, const struct threads_sim *sim)
{
	struct threads_result result;
	struct threads_view view;

	threads_get(sim, &result);
	fprintf(file, "%.9g", (double)result.time_ns / 1e9);
	for (uint32_t i = 0; threads_look(sim, i, &view); i++)
		fprintf(file, "\t%.9g", view.progress_ns / 1e9);
	fputc('\n', file);
}

/* Run one balancer. Returns an exit status. */
static int run(struct session *session, size_t balancer, FILE *series)
{
	struct threads_params params = session->options->params;
	struct outcome *outcome = &session->outcome[balancer];
	struct threads_sim *sim;

	names_set_balancer(&params, balancer);
	int r = threads_new(&sim, &params);
	if (r < 0)
		return command_fail(session->program, "%s", strerror(-r));
	double step = simulate_worst_ns(&params) / STEPS, until = 0;
	double steps = threads_steps(&params);
	if (series != NULL)
		fputs("# time_s, then the progress of each thread in seconds of work\n0", series);
	for (uint32_t i = 0; series != NULL && i < params.threads; i++)
		fputs(i + 1 < params.threads ? "\t0" : "\t0\n", series);
	bool ended = false;
	while (!ended && until < (double)STEPS * HOPELESS * step) {
		until += step < 1 ? 1 : step;
		ended = threads_run(sim, (uint64_t)until);
		if (series != NULL)
			write_row(series, sim);
		command_progress(&session->progress,
			(session->steps_done + steps * threads_done(sim)) / session->steps);
	}
	threads_get(sim, &outcome->result);
	threads_free(sim);
	outcome->ran = true;
	session->steps_done += steps;
	if (ended)
		return 0;
	return command_fail(session->program,
		"no end in sight with policy %s: moves and points "
		"cost more than they gain; use a longer --period",
		session->options->name[balancer]);
}

static int run_all(struct session *session)
{
	const struct simulate_juggle *options = session->options;
	int status = 0;

	session->steps = simulate_steps(options);
	/* Always simulate pinned threads: speedups are relative to them. */
	command_progress_begin(&session->progress, &options->common);
	for (size_t i = 0; i < options->balancers && status == 0; i++)
		if (i == NAMES_PINNED || options->wanted[i])
			status = run(session, i, options->wanted[i] ? session->series : NULL);
	command_progress_end(&session->progress);
	return status;
}

/* ---- Results ---- */

static double seconds(const struct outcome *outcome)
{
	return (double)outcome->result.time_ns / 1e9;
}

static double speedup(const struct session *session, size_t policy)
{
	const struct outcome *pinned = &session->outcome[NAMES_PINNED];

	return (double)pinned->result.time_ns / (double)session->outcome[policy].result.time_ns;
}

static int fastest_first(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one < *other) - (*one > *other);
}

/* The time if all CPUs were kept busy with work (Eq. 15, extended to other speeds and loads). */
static double perfect(const struct session *session)
{
	const struct threads_params *params = &session->options->params;
	double speed[SIMULATE_CPUS_MAX], power = 0, each = 0;

	for (size_t j = 0; j < params->cpus; j++) {
		const struct threads_cpu *cpu = &params->cpu[j];
		speed[j] = cpu->speed * (1 - (cpu->loads > 0 ? cpu->load->share : 0));
	}
	qsort(speed, params->cpus, sizeof *speed, fastest_first);
	/* No thread is on two CPUs at once: any k threads can't use more than the k fastest
	 * CPUs. */
	for (size_t k = 0; k < params->cpus && k < params->threads; k++) {
		double threads = k + 1 < params->cpus ? (double)(k + 1) : params->threads;
		power += speed[k];
		each = fmax(each, threads / power);
	}
	double time = (double)params->phase_ns * (double)params->phases * each / 1e9;
	return seconds(&session->outcome[NAMES_PINNED]) / time;
}

static bool equal_cpus(const struct threads_params *params)
{
	for (size_t j = 0; j < params->cpus; j++)
		if (params->cpu[j].speed != params->cpu[0].speed || params->cpu[j].loads > 0)
			return false;
	return true;
}

/* The case that the theory covers: equal threads and CPUs, balanced as one domain. Returns false
 * for other cases. */
static bool theory_case(const struct session *session, struct theory_case *c)
{
	const struct threads_params *params = &session->options->params;

	*c = (struct theory_case){.threads = params->threads,
		.cpus = (uint32_t)params->cpus,
		.phase = (double)params->phase_ns / params->cpu[0].speed,
		.period = (double)params->period_ns,
		.phases = (double)params->phases};
	return equal_cpus(params) && params->imbalance <= 0 &&
	       (params->domains == 1 || params->joint);
}

/* The speedup by theory (Sections 3.2.2 and 4), or NAN. */
static double theory_of(const struct session *session, size_t policy)
{
	struct theory_case c;

	if (!theory_case(session, &c))
		return NAN;
	if (policy == NAMES_PINNED)
		return 1;
	if (policy == NAMES_REACTIVE)
		return session->options->params.barrier == THREADS_BLOCK
			       ? theory_speedup(&c, theory_reactive(&c))
			       : 1;
	const struct policy_kind *kind = names_kind(policy);
	if (session->options->params.period_auto && kind != NULL && kind->period_ns > 0)
		c.period = (double)kind->period_ns;
	return theory_speedup(&c, theory_juggle(&c));
}

static json_t *policy_json(const struct session *session, size_t policy)
{
	const struct outcome *outcome = &session->outcome[policy];
	const struct threads_result *result = &outcome->result;

	/* json_real() returns NULL for numbers that are not finite, and "o?" makes that null. */
	return json_pack("{s:s, s:f, s:f, s:o?, s:I, s:f, s:I, s:I, s:f, s:f, s:f, s:f}", "name",
		session->options->name[policy], "time_s", seconds(outcome), "speedup",
		speedup(session, policy), "theory_speedup", json_real(theory_of(session, policy)),
		"points", (json_int_t)result->points, "balanced", result->balanced,
		"regime_changes", (json_int_t)result->regime_changes, "migrations",
		(json_int_t)result->migrations, "migrations_per_s",
		(double)result->migrations / seconds(outcome), "busy", result->busy, "lag_s",
		result->lag_ns / 1e9, "lag_mean_s", result->lag_mean_ns / 1e9);
}

static int print_json(const struct session *session)
{
	const struct threads_params *params = &session->options->params;
	json_t *list = json_array();
	struct theory_case c;

	for (size_t i = 0; i < session->options->balancers; i++)
		if (session->options->wanted[i])
			json_array_append_new(list, policy_json(session, i));
	/* The bound assumes periods of equal length. */
	bool bounded = theory_case(session, &c) && params->jitter <= 0;
	double bound = bounded ? theory_speedup_bound(&c) : NAN;
	return command_print_json(session->program,
		json_pack("{s:s, s:s, s:I, s:I, s:f, s:I, s:f, s:b, s:b, s:s, s:I, s:I, s:b, s:f, "
			  "s:o?, "
			  "s:o}",
			"program", session->program, "version", JUGGLE_VERSION, "threads",
			(json_int_t)params->threads, "cpus", (json_int_t)params->cpus, "phase_s",
			(double)params->phase_ns / 1e9, "phases", (json_int_t)params->phases,
			"period_s", (double)params->period_ns / 1e9, "period_auto",
			params->period_auto, "always", params->always, "barrier",
			names_barrier[params->barrier], "seed", (json_int_t)params->seed, "domains",
			(json_int_t)params->domains, "joint", params->joint, "perfect_speedup",
			perfect(session), "bound_speedup", json_real(bound), "policies", list));
}

static void print_meaning(const struct session *session)
{
	const struct threads_params *params = &session->options->params;
	size_t shown = names_of_kind(&policy_kind_juggle);

	for (size_t i = 0; !session->options->wanted[shown] && i < session->options->balancers; i++)
		if (session->options->wanted[i])
			shown = i;
	if (params->threads <= params->cpus)
		printf("There is a CPU for each thread.\n");
	else
		printf("%u threads share %zu CPU%s.\n", params->threads, params->cpus,
			params->cpus == 1 ? "" : "s");
	if (shown != NAMES_PINNED)
		printf("With %s the program is %.2f times as fast as pinned.\n",
			session->options->name[shown], speedup(session, shown));
	printf("If no CPU were ever idle without need it would be %.2f times as fast.\n",
		perfect(session));
}

static int print_text(const struct session *session)
{
	printf("%-10s %9s %8s %7s %9s %9s %6s %6s %8s\n", "policy", "time (s)", "speedup", "theory",
		"moves", "moves/s", "busy", "placed", "lag (ms)");
	for (size_t i = 0; i < session->options->balancers; i++) {
		const struct outcome *outcome = &session->outcome[i];
		const struct threads_result *result = &outcome->result;
		if (!session->options->wanted[i])
			continue;
		double theory = theory_of(session, i);
		printf("%-10s %9.6g %8.3f ", session->options->name[i], seconds(outcome),
			speedup(session, i));
		if (isfinite(theory))
			printf("%7.3f", theory);
		else
			printf("%7s", "-");
		printf(" %9llu %9.4g %5.1f%%", (unsigned long long)result->migrations,
			(double)result->migrations / seconds(outcome), 100 * result->busy);
		if (i == NAMES_REACTIVE || i == NAMES_IDEAL)
			printf(" %6s", "-");
		else
			printf(" %5.1f%%", 100 * result->balanced);
		if (result->points > 0)
			printf(" %8.4g\n", result->lag_ns / 1e6);
		else
			printf(" %8s\n", "-");
	}
	putchar('\n');
	print_meaning(session);
	return command_flush(session->program);
}

/* ---- Heat map ---- */

/* Fig. 14: one row, for all periods. Returns 0 or -ENOMEM. */
static int map_row(uint32_t n, uint32_t m, double row[MAP_RATIOS])
{
	for (uint32_t k = 0; k < MAP_RATIOS; k++) {
		const struct ideal_case c = {
			.threads = n, .cpus = m, .phase = 100, .period = k + 1, .phases = 1};
		struct ideal_result result;
		int r = ideal_run(&c, &result);
		if (r < 0)
			return r;
		row[k] = c.phase * ((n - 1) / m + 1) / result.time;
	}
	return 0;
}

static int row_json(json_t *rows, uint32_t n, uint32_t m, const double row[MAP_RATIOS])
{
	json_t *values = json_array();

	for (uint32_t k = 0; k < MAP_RATIOS; k++)
		json_array_append_new(values, json_real(row[k]));
	return json_array_append_new(rows, json_pack("{s:I, s:I, s:o}", "threads", (json_int_t)n,
						   "cpus", (json_int_t)m, "speedup", values));
}

static json_t *map_ratios(void)
{
	json_t *ratios = json_array();

	for (uint32_t k = 0; k < MAP_RATIOS; k++)
		json_array_append_new(ratios, json_real((k + 1) / 100.0));
	return ratios;
}

static int print_map(struct session *session)
{
	const struct simulate_juggle *options = session->options;
	json_t *rows = options->common.json ? json_array() : NULL;
	double row[MAP_RATIOS];
	int r = 0;

	if (!options->common.json)
		puts("# threads\tcpus\tperiod/phase\tspeedup");
	command_progress_begin(&session->progress, &options->common);
	for (uint32_t n = 3; n <= options->threads_max && r == 0; n++)
		for (uint32_t m = 2; m < n && r == 0; m++) {
			r = map_row(n, m, row);
			if (options->common.json && r == 0)
				r = row_json(rows, n, m, row);
			for (uint32_t k = 0; k < MAP_RATIOS && !options->common.json && r == 0; k++)
				printf("%u\t%u\t%.2f\t%.5f\n", n, m, (k + 1) / 100.0, row[k]);
			command_progress(&session->progress,
				(double)n * n /
					((double)options->threads_max * options->threads_max));
		}
	command_progress_end(&session->progress);
	if (r < 0) {
		json_decref(rows);
		return command_fail(session->program, "%s", strerror(ENOMEM));
	}
	if (!options->common.json)
		return command_flush(session->program);
	return command_print_json(session->program,
		json_pack("{s:s, s:s, s:o, s:o}", "program", session->program, "version",
			JUGGLE_VERSION, "period_per_phase", map_ratios(), "heat_map", rows));
}

/* ---- All of it ---- */

static int simulate(struct session *session)
{
	const struct simulate_juggle *options = session->options;

	if (options->heat_map) {
		command_announce(&options->common, session->program, "about",
			MAP_S * pow(options->threads_max, 3), "a smaller --max-threads");
		return print_map(session);
	}
	if (options->params.threads <= options->params.cpus && equal_cpus(&options->params) &&
		!options->common.quiet)
		fprintf(stderr, "%s: no more threads than CPUs: there is little to balance\n",
			session->program);
	command_announce(&options->common, session->program, "about",
		simulate_steps(options) / THREADS_STEPS_A_SECOND, "fewer --phases");
	if (options->series != NULL) {
		session->series = fopen(options->series, "we");
		if (session->series == NULL)
			return command_fail(
				session->program, "%s: %s", options->series, strerror(errno));
	}
	int status = run_all(session);
	if (session->series != NULL) {
		bool failed = ferror(session->series) != 0;
		if ((fclose(session->series) != 0 || failed) && status == 0)
			status =
				command_fail(session->program, "%s: cannot write", options->series);
	}
	if (status != 0)
		return status;
	return options->common.json ? print_json(session) : print_text(session);
}

int simulate_juggle_main(int argc, char **argv)
{
	struct simulate_juggle *options = malloc(sizeof *options);
	struct session session = {.options = options, .program = argv[0]};

	if (options == NULL)
		return command_fail(argv[0], "%s", strerror(ENOMEM));
	int r = simulate_juggle_parse(argc, argv, options);
	int status = r < 0 ? COMMAND_WRONG : r > 0 ? 0 : simulate(&session);
	free(options);
	return status;
}
