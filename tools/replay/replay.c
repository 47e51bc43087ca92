/* SPDX-License-Identifier: MIT */
/*
 * jugglectl replay: what another policy or period would have done to a traced run. This file has
 * the command line and the output. follow.h replays decisions, model.h estimates the program from
 * the trace, and run.h simulates it.
 */
#include "daemon/base/command_line.h"
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/progress_line.h"
#include "tools/command/subcommands.h"
#include "tools/command/trace.h"
#include "tools/replay/run.h"
#include "tools/sim/names.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 1000
#define PERIOD_MIN_NS 1000
#define SLEEPS 0.02 /* threads that sleep a smaller share don't sleep at barriers */

enum {
	KEY_JITTER = 0x100,
	KEY_MARGIN,
	KEY_ALWAYS,
	KEY_DOMAINS,
	KEY_SLICE,
	KEY_TICK,
	KEY_MIGRATION_COST,
	KEY_POINT_COST,
	KEY_RUNS,
	KEY_SEED,
};

static const struct argp_option table[] = {
	{"policy", 'P', "NAME", 0, "pinned, reactive, ideal, juggle or juggle2012 (default: as recorded)", 0},
	{"period", 'i', "TIME", 0,
		"Time between balancing points, from 1us, or auto (default: as recorded)", 0},
	{"jitter", KEY_JITTER, "PCT", 0,
		"Random variation of each period, 0 to 90 (default: as recorded)", 0},
	{"margin", KEY_MARGIN, "TIME", 0,
		"Error margin of the ahead/behind test (default: as recorded)", 0},
	{"always", KEY_ALWAYS, 0, 0,
		"Balance whenever there are enough threads (default: as recorded)", 0},
	{"domains", KEY_DOMAINS, "MODE", 0, "split, as recorded, or joint (default: split)", 0},
	{"phase", 'e', "TIME", 0,
		"Work of a thread between two barriers (default: as found in the trace)", 1},
	{"barrier", 'b', "NAME", 0,
		"What waiting threads do there: block, yield or spin (default: block)", 1},
	{"slice", KEY_SLICE, "TIME", 0, "Time slice of the kernel (default: 3ms)", 1},
	{"tick", KEY_TICK, "TIME", 0, "Greatest age of a running thread's times (default: 4ms)", 1},
	{"migration-cost", KEY_MIGRATION_COST, "TIME", 0,
		"CPU time that a thread loses by a move (default: 0)", 1},
	{"point-cost", KEY_POINT_COST, "TIME", 0, "CPU time of a balancing point (default: 0)", 1},
	{"runs", KEY_RUNS, "N", 0, "Simulations to average over, 1 to 1000 (default: 5)", 1},
	{"seed", KEY_SEED, "N", 0, "Seed of the first; equal seeds give equal results (default: 1)",
		1},
	{0},
};

static const char doc[] =
	"What another policy or period would have done to a run that juggle --trace recorded.\v"
	"It runs the decision step of juggle on the recorded observations, and says how many "
	"decisions are the same, and where the first ones differ. Then it simulates the run, with "
	"the threads, the work and the other load that the trace shows: first as recorded, to show "
	"how far to trust the simulation, then with the options given. Times have a unit: ns, us, "
	"ms, s or min.\n\n"
	"Exit status: 0, 1 when the trace cannot be read or has too little in it, 2 when the "
	"command line is wrong.";

struct options {
	struct replay_setup setup;
	const char *path;
};

/* ---- The command line ---- */

static error_t read_policy(struct argp_state *state, const char *arg, struct replay_setup *setup)
{
	const char *names[NAMES_BALANCERS_MAX];
	size_t count = names_balancers(names);

	setup->policy_given = true;
	return command_line_choice(state, "--policy", arg, names, count, &setup->balancer);
}

static error_t read_barrier(struct argp_state *state, const char *arg, struct replay_setup *setup)
{
	size_t which = 0;
	error_t error =
		command_line_choice(state, "--barrier", arg, names_barrier, NAMES_BARRIERS, &which);

	setup->barrier = (enum threads_barrier)which;
	setup->barrier_given = true;
	return error;
}

static error_t read_domains(struct argp_state *state, const char *arg, struct replay_setup *setup)
{
	static const char *const names[] = {"split", "joint"};
	size_t which = 0;
	error_t error = command_line_choice(state, "--domains", arg, names, 2, &which);

	setup->joint = which == 1;
	return error;
}

static error_t read_margin(struct argp_state *state, const char *arg, struct replay_setup *setup)
{
	uint64_t ns = 0;
	error_t error = command_line_time(state, "--margin", arg, 0, &ns);

	if (error == 0)
		setup->margin_ns = (int64_t)ns;
	setup->margin_given = true;
	return error;
}

static error_t read_period(struct argp_state *state, const char *arg, struct replay_setup *setup)
{
	setup->period_given = setup->effort_given = true;
	setup->period_auto = strcmp(arg, "auto") == 0;
	if (!setup->period_auto)
		return command_line_time(state, "--period", arg, PERIOD_MIN_NS, &setup->period_ns);
	setup->period_ns = POLICY_AUTO_PERIOD_NS;
	return 0;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct replay_setup *setup = &options->setup;

	switch (key) {
	case 'P':
		return read_policy(state, arg, setup);
	case 'i':
		return read_period(state, arg, setup);
	case KEY_ALWAYS:
		setup->always_given = true;
		return 0;
	case KEY_JITTER:
		setup->jitter_given = true;
		return command_line_percent(state, "--jitter", arg, 90, &setup->jitter);
	case KEY_MARGIN:
		return read_margin(state, arg, setup);
	case KEY_DOMAINS:
		return read_domains(state, arg, setup);
	case 'e':
		return command_line_time(state, "--phase", arg, 1, &setup->phase_ns);
	case 'b':
		return read_barrier(state, arg, setup);
	case KEY_SLICE:
		setup->effort_given = true;
		return command_line_time(state, "--slice", arg, 0, &setup->slice_ns);
	case KEY_TICK:
		return command_line_time(state, "--tick", arg, 0, &setup->tick_ns);
	case KEY_MIGRATION_COST:
		return command_line_time(state, "--migration-cost", arg, 0, &setup->migration_ns);
	case KEY_POINT_COST:
		return command_line_time(state, "--point-cost", arg, 0, &setup->point_ns);
	case KEY_RUNS:
		setup->effort_given = true;
		return command_line_count(state, "--runs", arg, 1, RUNS_MAX, &setup->runs);
	case KEY_SEED:
		return command_line_seed(state, "--seed", arg, &setup->seed);
	case ARGP_KEY_ARG:
		return command_argument(state, arg, "trace", &options->path);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- Reading ---- */

static void warn(const char *program, const struct replay *replay)
{
	const struct trace_file *trace = &replay->trace;

	command_trace_warnings(program, trace);
	if (trace->cpu_changes > 0)
		fprintf(stderr,
			"%s: the CPUs changed during the run; those of its start are used\n",
			program);
}

/* The phase, given or estimated, is too short for the length of the trace. */
static int too_short_phase(const char *program, const char *path, const struct replay *replay)
{
	double time_s = (double)(replay->model.end_ns - replay->model.begin_ns) * 1e-9;

	if (replay->setup.phase_ns > 0)
		return command_wrong(program, "--phase: too short for a run of %.3g s", time_s);
	return command_fail(program,
		"%s: a run of %.3g s with phases of %.3g ms is too long to simulate", path, time_s,
		(double)replay->model.phase_ns * 1e-6);
}

static int prepare(const char *program, const char *path, struct replay *replay)
{
	int rc = replay_prepare(replay);

	switch (rc) {
	case 0:
		break;
	case -ENODATA:
		return command_fail(program,
			"%s: too short: no two balancing points with the same compute threads",
			path);
	case -ENXIO:
		return command_fail(program, "%s: it has no CPUs", path);
	case -ENOENT:
		return command_fail(program, "%s: unknown policy '%s'", path, replay->trace.policy);
	case -ERANGE:
		return too_short_phase(program, path, replay);
	default:
		return command_fail(program, "%s: %s", path, strerror(-rc));
	}
	if (replay->setup.barrier != THREADS_BLOCK && replay->setup.phase_ns == 0)
		return command_wrong(program,
			"--barrier %s: give --phase as well: the trace does not show phases of "
			"threads that don't sleep",
			names_barrier[replay->setup.barrier]);
	return 0;
}

static int simulate(const char *program, const char *path, struct replay *replay,
	const struct command_options *common)
{
	struct command_progress progress;

	command_progress_begin(&progress, common);
	int rc = replay_simulate(replay, &progress);
	command_progress_end(&progress);
	switch (rc) {
	case 0:
		return 0;
	case -ETIME:
		return command_fail(
			program, "the simulation does not end: moves or points cost too much");
	case -EINVAL:
		if (replay->setup.point_ns > 0)
			return command_wrong(
				program, "--point-cost has to be less than the shortest period");
		return command_fail(program, "%s: can't be simulated", path);
	case -ERANGE:
		return too_short_phase(program, path, replay);
	case -E2BIG:
		if (replay->setup.effort_given)
			return command_wrong(program,
				"that would take hours: use a longer --period or --slice, or fewer "
				"--runs");
		return command_fail(program, "%s: a run of %.3g s is too long to simulate", path,
			replay->recorded.time_s);
	default:
		return command_fail(program, "%s", strerror(-rc));
	}
}

/* ---- Output ---- */

/* How much longer the simulation of the recorded run takes than the run itself, as a share of
 * it. */
static double model_error(const struct replay *r)
{
	return r->simulated.time_s / r->recorded.time_s - 1;
}

/* The expected time of the run, if both simulations have the same error. */
static double expected_s(const struct replay *r)
{
	return r->recorded.time_s * r->asked.time_s / r->simulated.time_s;
}

static json_t *lag_json(const struct replay_outcome *outcome, double lag_s)
{
	return outcome->watched ? json_real(lag_s) : json_null();
}

static json_t *outcome_json(const struct replay *r, const struct replay_outcome *outcome)
{
	return json_pack("{s:f, s:f, s:o, s:o, s:f, s:f}", "time_s", outcome->time_s, "speed",
		r->recorded.time_s / outcome->time_s, "lag_mean_s",
		lag_json(outcome, outcome->lag_mean_s), "lag_s", lag_json(outcome, outcome->lag_s),
		"migrations", outcome->migrations, "busy", outcome->busy);
}

static json_t *loads_json(const struct replay *r)
{
	json_t *loads = json_array();

	for (size_t i = 0; i < r->trace.cpus; i++)
		json_array_append_new(
			loads, json_pack("{s:i, s:f}", "os_cpu", (int)r->trace.cpu[i].os_cpu,
				       "share", r->follow.cpu[i].share));
	return loads;
}

/* Negative in a damaged trace. */
static double since_start_s(const struct replay *r, uint64_t now_ns)
{
	return (double)((int64_t)now_ns - (int64_t)r->trace.start_ns) * 1e-9;
}

/* Seconds since the start, or null. */
static json_t *parting_json(const struct replay *r, const struct replay_parting *parting)
{
	return parting->parted ? json_real(since_start_s(r, parting->now_ns)) : json_null();
}

static json_t *decisions_json(const struct replay *r, const struct replay_decisions *decisions)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "points",
		(json_int_t)decisions->points, "same", (json_int_t)decisions->same,
		"moves_recorded", (json_int_t)decisions->recorded_moves, "moves",
		(json_int_t)decisions->moves, "regime_parts_s", parting_json(r, &decisions->regime),
		"moves_part_s", parting_json(r, &decisions->moved), "period_parts_s",
		parting_json(r, &decisions->period));
}

static int print_json(const char *program, const struct replay *r)
{
	return command_print_json(program,
		json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:f, s:s, s:f, s:s, s:f, s:I, s:f, "
			  "s:f, "
			  "s:o, s:o, s:o, s:f, s:f, s:o, s:o, s:o, s:b, s:I, s:I}",
			"program", "jugglectl replay", "version", JUGGLE_VERSION, "command",
			r->trace.command, "threads", (int)r->model.threads, "cpus", (int)r->cpus,
			"domains", (int)r->domains, "policy_recorded", r->trace.policy,
			"period_recorded_s", (double)r->settings.period_ns * 1e-9, "policy",
			names_balancer(r->asked_balancer), "period_s",
			(double)r->asked_settings.period_ns * 1e-9, "barrier",
			names_barrier[r->setup.barrier], "phase_s", (double)r->phase_ns * 1e-9,
			"phases", (json_int_t)r->phases, "asleep", r->model.asleep, "balanced",
			r->model.balanced, "recorded", outcome_json(r, &r->recorded), "model",
			outcome_json(r, &r->simulated), "replayed", outcome_json(r, &r->asked),
			"model_error", model_error(r), "expected_s", expected_s(r), "decisions",
			decisions_json(r, &r->follow.decisions), "asked_decisions",
			r->asked_settings.kind != NULL
				? decisions_json(r, &r->asked_follow.decisions)
				: json_null(),
			"load", loads_json(r), "cut_short", r->trace.cut_short, "dropped",
			(json_int_t)r->trace.dropped, "unknown", (json_int_t)r->trace.unknown));
}

static void print_row(
	const char *name, const struct replay *r, const struct replay_outcome *outcome)
{
	char mean[20] = "-", most[20] = "-";

	if (outcome->watched) {
		snprintf(mean, sizeof(mean), "%.2f", outcome->lag_mean_s * 1e3);
		snprintf(most, sizeof(most), "%.2f", outcome->lag_s * 1e3);
	}
	printf("%-26s %9.4g %7.3f %10s %9s %7.0f %5.1f\n", name, outcome->time_s,
		r->recorded.time_s / outcome->time_s, mean, most, outcome->migrations,
		outcome->busy * 100);
}

static void print_simulated(const char *what, const struct replay *r, size_t balancer,
	const struct replay_settings *settings, const struct replay_outcome *outcome)
{
	char name[60];

	if (!outcome->watched)
		snprintf(name, sizeof(name), "%s: %s", what, names_balancer(balancer));
	else if (settings->period_auto)
		snprintf(name, sizeof(name), "%s: %s, auto", what, names_balancer(balancer));
	else
		snprintf(name, sizeof(name), "%s: %s, %.4g ms", what, names_balancer(balancer),
			(double)settings->period_ns * 1e-6);
	print_row(name, r, outcome);
}

static void print_table(const struct replay *r)
{
	printf("%-26s %9s %7s %10s %9s %7s %5s\n", "", "time s", "speed", "lag ms", "max ms",
		"moves", "busy%");
	print_row("recorded", r, &r->recorded);
	print_simulated("model", r, r->balancer, &r->settings, &r->simulated);
	if (r->differs)
		print_simulated("replay", r, r->asked_balancer, &r->asked_settings, &r->asked);
}

/* The program as it is simulated, and the source of each value. */
static void print_program(const struct replay *r)
{
	bool sleeps = r->model.asleep >= SLEEPS, found = r->model.phase_ns > 0;

	char domains[32] = "";

	if (r->domains > 1)
		snprintf(domains, sizeof(domains), " of %u domains", r->domains);
	if (r->phases > 1)
		command_sentences("%u threads on %zu CPUs%s, %llu phases of %.4g ms%s.",
			r->model.threads, r->cpus, domains, (unsigned long long)r->phases,
			(double)r->phase_ns * 1e-6, r->setup.phase_ns > 0 ? "" : " (as found)");
	else
		command_sentences("%u threads on %zu CPUs%s, all in one phase.", r->model.threads,
			r->cpus, domains);
	if (r->setup.phase_ns == 0 && !found)
		command_sentences("Phases do not show in the trace%s: give --phase, if it has any.",
			sleeps ? "" : ", since threads hardly sleep");
	if (!sleeps && !r->setup.barrier_given)
		command_sentences("Threads at barriers that yield or spin do not sleep: give "
				  "--barrier, too.");
	if (r->balancer == NAMES_REACTIVE)
		command_sentences("The kernel placed the threads, which `reactive' stands for "
				  "here. Other load on the CPUs is unknown.");
}

/* Where decisions first differ from the recorded ones. */
static void print_partings(const struct replay *r, const struct replay_decisions *decisions)
{
	const struct {
		const char *what;
		const struct replay_parting *parting;
	} parts[] = {{"regime", &decisions->regime}, {"placement", &decisions->moved},
		{"period", &decisions->period}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].parting->parted)
			command_sentences("The %s first differs after %.4g s.", parts[i].what,
				since_start_s(r, parts[i].parting->now_ns));
}

/* Rounded down, so that 100.0 means all. */
static double same_percent(const struct replay_decisions *decisions)
{
	if (decisions->same == decisions->points)
		return 100;
	return floor(1000 * (double)decisions->same / (double)decisions->points) / 10;
}

static void print_decisions(const struct replay *r)
{
	const struct replay_decisions *decisions = &r->follow.decisions;

	command_sentences("The policy decides as recorded at %.1f %% of %llu points.",
		same_percent(decisions), (unsigned long long)decisions->points);
	print_partings(r, decisions);
	if (!r->differs || r->asked_settings.kind == NULL)
		return;
	decisions = &r->asked_follow.decisions;
	command_sentences("With these options it decides as recorded at %.1f %% of them.",
		same_percent(decisions));
	print_partings(r, decisions);
}

static void print_meaning(const struct replay *r)
{
	double error = model_error(r);

	if (r->setup.barrier == THREADS_BLOCK)
		command_sentences("The simulation of the recorded run takes %.1f %% %s than the "
				  "run did: expect no "
				  "smaller error.",
			100 * (error < 0 ? -error : error), error < 0 ? "less" : "more");
	else
		command_sentences("The work is chosen to fit the recorded time, so nothing checks "
				  "the simulation.");
	if (r->differs)
		command_sentences("With these options the run would have taken %.4g s instead of "
				  "%.4g s: %.3f times its speed.",
			expected_s(r), r->recorded.time_s, r->simulated.time_s / r->asked.time_s);
}

static int print_text(const char *program, const struct replay *r)
{
	print_program(r);
	putchar('\n');
	print_table(r);
	putchar('\n');
	print_decisions(r);
	print_meaning(r);
	return command_flush(program);
}

int replay_main(int argc, char **argv)
{
	struct options options = {
		.setup = {.slice_ns = 3000000, .tick_ns = 4000000, .runs = 5, .seed = 1},
	};
	const struct argp argp = {
		.options = table, .parser = read_option, .args_doc = "TRACE", .doc = doc};
	struct command_options common;
	int rc = command_parse(&argp, argc, argv, &options, &common);

	if (rc != 0)
		return rc < 0 ? COMMAND_WRONG : 0;
	if (options.path == NULL)
		return command_wrong(
			argv[0], "the TRACE is missing: a file that juggle --trace wrote");
	struct replay replay = {.setup = options.setup};
	rc = command_read_trace(argv[0], options.path, &replay.trace);
	if (rc == 0) {
		if (!common.quiet)
			warn(argv[0], &replay);
		rc = prepare(argv[0], options.path, &replay);
	}
	if (rc == 0)
		rc = simulate(argv[0], options.path, &replay, &common);
	if (rc == 0)
		rc = common.json ? print_json(argv[0], &replay) : print_text(argv[0], &replay);
	replay_deinit(&replay);
	return rc;
}
