/* SPDX-License-Identifier: MIT */
/* The command line of jugglectl simulate juggle; see juggle.h. */
#include "tools/simulate/juggle.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"
#include "tools/sim/names.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define PHASES_MAX 1000000000
#define MS UINT64_C(1000000)
#define THREADS_MAP_MAX 256
#define DEFAULT_CPUS 7
#define WORST_NS_MAX 9e16 /* a hundred times this is still a valid time */

enum {
	KEY_PHASE = 0x100,
	KEY_PHASES,
	KEY_BARRIER,
	KEY_IMBALANCE,
	KEY_SLICE,
	KEY_TICK,
	KEY_MIGRATION_COST,
	KEY_LOAD,
	KEY_SPEEDS,
	KEY_DOMAINS,
	KEY_JOINT,
	KEY_REMOTE_COST,
	KEY_JITTER,
	KEY_MARGIN,
	KEY_ALWAYS,
	KEY_IDLE,
	KEY_POINT_COST,
	KEY_BY_WORK,
	KEY_SEED,
	KEY_SERIES,
	KEY_HEAT_MAP,
	KEY_MAX_THREADS,
};

static const struct argp_option table[] = {
	{0, 0, 0, 0, "The program:", 1},
	{"threads", 'n', "N", 0, "Threads, 1 to 4096 (default: 8)", 1},
	{"phase", KEY_PHASE, "TIME", 0, "Work of each thread between barriers (default: 1s)", 1},
	{"phases", KEY_PHASES, "N", 0, "Number of phases (default: 10)", 1},
	{"barrier", KEY_BARRIER, "KIND", 0,
		"What waiting threads do: block, yield or spin (default: block)", 1},
	{"imbalance", KEY_IMBALANCE, "PCT", 0,
		"Random variation of the work, up to 99 percent (default: 0)", 1},
	{0, 0, 0, 0, "The machine:", 2},
	{"cpus", 'm', "N", 0, "CPUs, 1 to 1024 (default: as many as --speeds has, else 7)", 2},
	{"domains", KEY_DOMAINS, "N", 0, "NUMA domains, of neighbouring CPUs (default: 1)", 2},
	{"remote-cost", KEY_REMOTE_COST, "PCT", 0,
		"How much longer work takes outside of the domain where the thread began, up to "
		"1000 percent (default: 0)",
		2},
	{"speeds", KEY_SPEEDS, "LIST", 0,
		"Speeds of all CPUs in order, 0.01 to 100, as 8x1,16x0.55 (default: 1 each)", 2},
	{"load", KEY_LOAD, "CPU:PCT[,...]", 0,
		"Share of CPUs that other work takes, up to 99 percent (default: 0 each)", 2},
	{"slice", KEY_SLICE, "TIME", 0,
		"Time slice of threads that share a CPU; 0: infinitely fine (default: 0)", 2},
	{"tick", KEY_TICK, "TIME", 0,
		"How often times of running threads are updated; 0: always (default: 0)", 2},
	{"migration-cost", KEY_MIGRATION_COST, "TIME", 0,
		"CPU time that a thread loses by a move, below the period (default: 0)", 2},
	{0, 0, 0, 0, "The balancer:", 3},
	{"policy", 'P', "NAME", 0,
		"pinned, reactive, ideal, juggle, juggle2012, or all side by side (default: all)",
		3},
	{"period", 'i', "TIME", 0,
		"Time between balancing points, or auto, which is 2ms for ideal (default: auto)",
		3},
	{"always", KEY_ALWAYS, NULL, 0,
		"juggle: balance whenever there are enough threads, without trials", 3},
	{"idle", KEY_IDLE, "NAME", 0,
		"juggle: auto, threads that sleep long count as idle; or none (default: auto)", 3},
	{"jitter", KEY_JITTER, "PCT", 0,
		"Random variation of each period, up to 99 percent (default: 0)", 3},
	{"point-cost", KEY_POINT_COST, "TIME", 0,
		"CPU time that a balancing point takes, below the period (default: 0)", 3},
	{"joint", KEY_JOINT, NULL, 0, "Balance over all domains as one", 3},
	{"margin", KEY_MARGIN, "TIME", 0, "juggle: as its option of that name (default: 500us)", 3},
	{"by-work", KEY_BY_WORK, NULL, 0, "juggle: see the work done instead of CPU time", 3},
	{0, 0, 0, 0, "The run:", 4},
	{"seed", KEY_SEED, "N", 0, "0 or more; equal seeds give equal runs (default: 1)", 4},
	{"series", KEY_SERIES, "FILE", 0,
		"Write the progress of each thread over time, of one policy (default: none)", 4},
	{"heat-map", KEY_HEAT_MAP, NULL, 0,
		"Instead of all that: speedups of the ideal algorithm for many n, m and periods",
		4},
	{"max-threads", KEY_MAX_THREADS, "N", 0,
		"For the heat map, up to this many threads, 3 to 256 (default: 64)", 4},
	{0},
};

static const char doc[] =
	"Simulate threads on CPUs, with phases between barriers, and who balances them.\v"
	"Times have a unit: ns, us, ms, s, min. Speedup is against pinned threads on the same "
	"machine.";

struct parsing {
	struct simulate_juggle *out;
	const char *load;
	struct command_speeds speeds;
	uint64_t margin_ns;
	uint32_t cpus, phases; /* cpus: 0 when not given */
	bool max_threads, other; /* given: --max-threads; options without a heat map */
};

/* A policy of the table, or "all". */
static error_t read_policy(struct argp_state *state, const char *arg, struct simulate_juggle *out)
{
	const char *names[NAMES_BALANCERS_MAX + 1];
	size_t which = 0, all = out->balancers;

	memcpy(names, out->name, sizeof(out->name));
	names[all] = "all";
	error_t error = command_line_choice(state, "--policy", arg, names, all + 1, &which);
	for (size_t i = 0; i < all && error == 0; i++)
		out->wanted[i] = which == i || which == all;
	return error;
}

static error_t read_period(struct argp_state *state, const char *arg, struct threads_params *out)
{
	out->period_auto = strcmp(arg, "auto") == 0;
	if (!out->period_auto)
		return command_line_time(state, "--period", arg, 1, &out->period_ns);
	out->period_ns = POLICY_AUTO_PERIOD_NS;
	return 0;
}

static error_t read_idle(struct argp_state *state, const char *arg, struct threads_params *out)
{
	static const char *const names[] = {"auto", "none"};
	size_t which = 0;
	error_t error = command_line_choice(state, "--idle", arg, names, 2, &which);

	out->idle_auto = which == 0;
	return error;
}

static error_t read_barrier(struct argp_state *state, const char *arg, struct threads_params *out)
{
	size_t which = out->barrier;
	error_t error =
		command_line_choice(state, "--barrier", arg, names_barrier, NAMES_BARRIERS, &which);

	out->barrier = (enum threads_barrier)which;
	return error;
}

/* Parse "CPU:PCT[,...]". Returns 0 or, after a message, EINVAL. */
static error_t read_loads(struct argp_state *state, const struct parsing *parsing, const char *list)
{
	static const char option[] = "--load";
	struct simulate_juggle *out = parsing->out;
	bool seen[SIMULATE_CPUS_MAX] = {false};
	char text[64];

	for (const char *at = list; at != NULL;) {
		const char *comma = strchr(at, ',');
		size_t length = comma ? (size_t)(comma - at) : strlen(at);
		int64_t cpu = 0;
		double number = 0;
		if (length >= sizeof(text))
			return command_line_refuse(state, option, list, "CPU:PCT[,...]");
		memcpy(text, at, length);
		text[length] = '\0';
		char *colon = strchr(text, ':');
		if (colon != NULL)
			*colon = '\0';
		if (colon == NULL || text[0] == '\0' ||
			strspn(text, "0123456789") != strlen(text) ||
			parse_fraction(colon + 1, 99, &number) < 0)
			return command_line_refuse(
				state, option, list, "CPU:PCT[,...], percentages from 0 to 99");
		if (parse_integer(text, 0, (int64_t)out->params.cpus - 1, &cpu) < 0)
			return command_line_refuse(
				state, option, list, "CPUs from 0, below the number of --cpus");
		if (seen[cpu])
			return command_line_refuse(state, option, list, "each CPU once");
		seen[cpu] = true;
		out->load[cpu].share = number / 100;
		out->cpu[cpu].load = &out->load[cpu];
		out->cpu[cpu].loads = 1;
		at = comma ? comma + 1 : NULL;
	}
	return 0;
}

static error_t wrong(struct argp_state *state, const char *message)
{
	command_line_wrong(state, "%s", message);
	return EINVAL;
}

static double slowest(const struct threads_params *params)
{
	double least = INFINITY;

	for (size_t j = 0; j < params->cpus; j++) {
		const struct threads_cpu *cpu = &params->cpu[j];
		double speed = cpu->speed * (1 - (cpu->loads > 0 ? cpu->load->share : 0));
		least = speed < least ? speed : least;
	}
	return least;
}

double simulate_worst_ns(const struct threads_params *params)
{
	double each = (double)(1 + (params->threads - 1) / (uint32_t)params->cpus);

	return (double)params->phase_ns * (double)params->phases * each * (1 + params->imbalance) *
	       (1 + params->remote) / slowest(params);
}

double simulate_steps(const struct simulate_juggle *options)
{
	struct threads_params params = options->params;
	double sum = 0;

	for (size_t i = 0; i < options->balancers; i++) {
		names_set_balancer(&params, i);
		if (i == NAMES_PINNED || options->wanted[i])
			sum += threads_steps(&params);
	}
	return sum;
}

static error_t complete(struct argp_state *state, struct parsing *parsing)
{
	struct simulate_juggle *out = parsing->out;
	struct threads_params *params = &out->params;
	size_t wanted = 0;

	if (out->heat_map && parsing->other)
		return wrong(state, "--heat-map: takes no other options than --max-threads, "
				    "--json and --quiet");
	if (parsing->max_threads && !out->heat_map)
		return wrong(
			state, "--max-threads: of --heat-map only; the number of threads is -n");
	error_t error = command_speeds_count(state, &parsing->speeds, &parsing->cpus);
	if (error != 0)
		return error;
	params->cpus = parsing->cpus > 0 ? parsing->cpus : DEFAULT_CPUS;
	params->phases = parsing->phases;
	params->cpu = out->cpu;
	params->margin_ns = (int64_t)parsing->margin_ns;
	if (params->domains > params->cpus)
		return wrong(state, "--domains: more than CPUs");
	for (size_t j = 0; j < params->cpus; j++)
		out->cpu[j] = (struct threads_cpu){
			.speed = parsing->speeds.cpus > 0 ? parsing->speeds.speed[j] : 1,
			.domain = (uint32_t)(j * params->domains / params->cpus)};
	if (parsing->load)
		error = read_loads(state, parsing, parsing->load);
	if (error != 0)
		return error;
	double period = (double)params->period_ns * (1 - params->jitter);
	if ((double)params->point_ns >= period || (double)params->migration_ns >= period)
		return wrong(state, "--point-cost and --migration-cost: less than the shortest "
				    "period, or no time is left for work");
	if (simulate_worst_ns(params) > WORST_NS_MAX)
		return wrong(state, "--phase and --phases: that would be more than two years");
	if (simulate_steps(out) > THREADS_STEPS_MAX)
		return wrong(state, "that would take hours: use a longer --period or --slice, or "
				    "fewer --phases or threads");
	for (size_t i = 0; i < out->balancers; i++)
		wanted += out->wanted[i];
	if (out->series && wanted != 1)
		return wrong(state, "--series: choose one --policy");
	return 0;
}

static error_t read_program(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	struct threads_params *params = &parsing->out->params;

	switch (key) {
	case 'n':
		return command_line_count(
			state, "--threads", arg, 1, SIMULATE_THREADS_MAX, &params->threads);
	case KEY_PHASE:
		return command_line_time(state, "--phase", arg, 1, &params->phase_ns);
	case KEY_PHASES:
		return command_line_count(state, "--phases", arg, 1, PHASES_MAX, &parsing->phases);
	case KEY_BARRIER:
		return read_barrier(state, arg, params);
	case KEY_IMBALANCE:
		return command_line_percent(state, "--imbalance", arg, 99, &params->imbalance);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t read_machine(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	struct threads_params *params = &parsing->out->params;

	switch (key) {
	case 'm':
		return command_line_count(
			state, "--cpus", arg, 1, SIMULATE_CPUS_MAX, &parsing->cpus);
	case KEY_DOMAINS:
		return command_line_count(
			state, "--domains", arg, 1, SIMULATE_CPUS_MAX, &params->domains);
	case KEY_REMOTE_COST:
		return command_line_percent(state, "--remote-cost", arg, 1000, &params->remote);
	case KEY_SPEEDS:
		return command_speeds(state, arg, &parsing->speeds);
	case KEY_LOAD:
		parsing->load = arg;
		return 0;
	case KEY_SLICE:
		return command_line_time(state, "--slice", arg, 0, &params->slice_ns);
	case KEY_TICK:
		return command_line_time(state, "--tick", arg, 0, &params->tick_ns);
	case KEY_MIGRATION_COST:
		return command_line_time(state, "--migration-cost", arg, 0, &params->migration_ns);
	default:
		return read_program(key, arg, state);
	}
}

/* Is it an option of simulated runs? The heat map has none of these. */
static bool of_runs(int key)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].key == key && key != 0)
			return key != KEY_HEAT_MAP && key != KEY_MAX_THREADS;
	return false;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	struct simulate_juggle *out = parsing->out;
	struct threads_params *params = &out->params;

	parsing->other |= of_runs(key);
	switch (key) {
	case 'P':
		return read_policy(state, arg, out);
	case 'i':
		return read_period(state, arg, params);
	case KEY_ALWAYS:
		params->always = true;
		return 0;
	case KEY_IDLE:
		return read_idle(state, arg, params);
	case KEY_JITTER:
		return command_line_percent(state, "--jitter", arg, 99, &params->jitter);
	case KEY_POINT_COST:
		return command_line_time(state, "--point-cost", arg, 0, &params->point_ns);
	case KEY_JOINT:
		params->joint = true;
		return 0;
	case KEY_MARGIN:
		return command_line_time(state, "--margin", arg, 0, &parsing->margin_ns);
	case KEY_BY_WORK:
		params->by_work = true;
		return 0;
	case KEY_SEED:
		return command_line_seed(state, "--seed", arg, &params->seed);
	case KEY_SERIES:
		out->series = arg;
		return 0;
	case KEY_HEAT_MAP:
		out->heat_map = true;
		return 0;
	case KEY_MAX_THREADS:
		parsing->max_threads = true;
		return command_line_count(
			state, "--max-threads", arg, 3, THREADS_MAP_MAX, &out->threads_max);
	case ARGP_KEY_END:
		return complete(state, parsing);
	default:
		return read_machine(key, arg, state);
	}
}

int simulate_juggle_parse(int argc, char **argv, struct simulate_juggle *out)
{
	struct parsing parsing = {.out = out, .phases = 10, .margin_ns = MS / 2};
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};

	*out = (struct simulate_juggle){
		.params = {.threads = 8,
			.domains = 1,
			.phase_ns = 1000 * MS,
			.period_ns = POLICY_AUTO_PERIOD_NS,
			.period_auto = true,
			.idle_auto = true,
			.seed = 1},
		.threads_max = 64,
	};
	out->balancers = names_balancers(out->name);
	for (size_t i = 0; i < out->balancers; i++)
		out->wanted[i] = true;
	return command_parse(&argp, argc, argv, &parsing, &out->common);
}
