/* SPDX-License-Identifier: MIT */
/*
 * The command line of noise; see options.h.
 */
#include "apps/noise/options.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIME_NS_MIN UINT64_C(1000)
#define SCALE_MAX 1000.0

enum {
	KEY_PATTERN = 0x100,
	KEY_BUSY,
	KEY_PERIOD,
	KEY_SCALE,
	KEY_SEED,
	KEY_CPU,
	KEY_NICE,
	KEY_TIME,
	KEY_WITH_PARENT,
	KEY_JSON,
	KEY_RANKS,
	KEY_NICE_COMMAND,
};

static const struct argp_option table[] = {
	{"pattern", KEY_PATTERN, "NAME", 0, "plb, duty or hogs, see below (default: plb)", 0},
	{"busy", KEY_BUSY, "TIME", 0,
		"duty: CPU time to use in every period, 1us up to the period (default: 1ms)", 0},
	{"period", KEY_PERIOD, "TIME", 0, "duty: the period, 1us or more (default: 10ms)", 0},
	{"scale", KEY_SCALE, "F", 0,
		"hogs: factor for its times, above 0, up to 1000, such as 0.01 for a test "
		"(default: 1)",
		0},
	{"seed", KEY_SEED, "N", 0,
		"hogs: seed, 0 or more; the same seed gives the same times (default: 1)", 0},
	{"cpu", KEY_CPU, "LIST", 0,
		"Pin one hog to each CPU of the list, such as 0-2,5 (default: not pinned, "
		"or with --ranks the affinity mask)",
		0},
	{"count", 'n', "COUNT", 0,
		"Number of hogs, 1 to 4096; with --cpu they take its CPUs in turn (default: 1, or "
		"one for each CPU of --cpu)",
		0},
	{"nice", KEY_NICE, "N[,N...]", 0,
		"Nice values of the first hog, the second, and so on, -20 to 19; further hogs get "
		"the last one (default: that of noise)",
		0},
	{"time", KEY_TIME, "TIME", 0, "Stop after this time (default: when killed)", 0},
	{"with-parent", KEY_WITH_PARENT, NULL, 0,
		"Stop when the process that started noise ends (precisely: the thread that "
		"started it)",
		0},
	{"json", KEY_JSON, "FILE", 0, "Where to write the result (default: -, standard output)", 0},
	{"ranks", KEY_RANKS, "LIST", 0,
		"Run COMMAND as one of the ranks that mpirun starts, with hogs beside it if its "
		"number is in the list, 0 to 8191, such as 0,4-7",
		0},
	{"nice-command", KEY_NICE_COMMAND, "N", 0,
		"Nice value of COMMAND in all ranks, -20 to 19 (default: 19)", 0},
	{0},
};

static const char doc[] =
	"Disturb other programs by taking CPU time in a known pattern.\v"
	"Patterns: plb sleeps 200 us, or as long as timers take, then computes for 0.23 times "
	"as long, which slows a thread on that CPU by 19 percent; duty uses --busy of CPU time in "
	"every --period; "
	"hogs sleeps for a random time up to 5 s, then computes for 5 to 10 s of wall time.\n\n"
	"Times have a unit: ns, us, ms, s or min. SIGINT and SIGTERM end noise as --time does. At "
	"the end it prints a JSON object with the CPU seconds used, and with their share of one "
	"CPU on average over all hogs. If autogroups are on, nice values count only among programs "
	"of one session.\n\n"
	"With --ranks, noise becomes COMMAND, so the process id, signals and exit status are "
	"COMMAND's own. The hogs end with it, and nothing is reported.\n\n"
	"Exit status: 0, 1 when something is not possible or not permitted, 2 when the command "
	"line is wrong.";

struct parsing {
	struct noise_options options;
	bool ranks;
};

static bool take_nice(void *options, const char *word)
{
	struct noise_options *out = options;
	int64_t nice;

	if (out->nice_count == OPTIONS_NICES_MAX || parse_integer(word, -20, 19, &nice) < 0)
		return false;
	out->nice[out->nice_count++] = (int)nice;
	return true;
}

static error_t read_pattern(struct argp_state *state, const char *arg, struct noise_options *out)
{
	size_t which = out->pattern;
	error_t error = command_line_choice(
		state, "--pattern", arg, hog_pattern_names, HOG_PATTERNS, &which);

	out->pattern = (enum hog_pattern)which;
	return error;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	struct noise_options *out = &parsing->options;
	int64_t number = 0;
	error_t error;

	switch (key) {
	case KEY_PATTERN:
		return read_pattern(state, arg, out);
	case KEY_BUSY:
		return command_line_time(state, "--busy", arg, TIME_NS_MIN, &out->busy_ns);
	case KEY_PERIOD:
		return command_line_time(state, "--period", arg, TIME_NS_MIN, &out->period_ns);
	case KEY_TIME:
		return command_line_time(state, "--time", arg, TIME_NS_MIN, &out->time_ns);
	case KEY_SCALE:
		if (parse_fraction(arg, SCALE_MAX, &out->scale) < 0 || out->scale <= 0)
			return command_line_refuse(
				state, "--scale", arg, "a number above 0, up to 1000");
		return 0;
	case KEY_SEED:
		return command_line_seed(state, "--seed", arg, &out->seed);
	case KEY_CPU:
		if (cpuset_parse(arg, &out->cpus) < 0)
			return command_line_refuse(state, "--cpu", arg, "a list of CPUs, as 0-2,5");
		out->pinned = true;
		return 0;
	case 'n':
		error = command_line_integer(state, "--count", arg, 1, OPTIONS_HOGS_MAX, &number);
		out->hogs = (int)number;
		return error;
	case KEY_NICE:
		out->nice_count = 0;
		return command_line_list(state, "--nice", arg,
			"at most 64 numbers from -20 to 19, separated by commas", take_nice, out);
	case KEY_WITH_PARENT:
		out->with_parent = true;
		return 0;
	case KEY_JSON:
		out->json = arg;
		return 0;
	case KEY_RANKS:
		if (cpuset_parse(arg, &out->ranks) < 0)
			return command_line_refuse(
				state, "--ranks", arg, "a list of ranks, as 0,4-7");
		parsing->ranks = true;
		return 0;
	case KEY_NICE_COMMAND:
		if (parse_integer(arg, -20, 19, &number) < 0)
			return command_line_refuse(
				state, "--nice-command", arg, "a number from -20 to 19");
		out->command_nice = (int)number;
		return 0;
	case ARGP_KEY_ARG:
		if (!parsing->ranks) {
			command_line_wrong(state, "%s: unexpected argument", arg);
			return EINVAL;
		}
		out->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (out->busy_ns > out->period_ns) {
			argp_failure(state, 0, 0, "--busy is longer than --period");
			return EINVAL;
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What depends on more than one option. */
static int complete(struct noise_options *out)
{
	if (out->command && !out->pinned) {
		int rc = cpuset_of_thread(0, &out->cpus);

		if (rc < 0) {
			fprintf(stderr, "noise: affinity mask: %s\n", strerror(-rc));
			return rc;
		}
		out->pinned = true;
	}
	if (out->hogs == 0)
		out->hogs = out->pinned ? cpuset_count(&out->cpus) : 1;
	if (out->hogs > OPTIONS_HOGS_MAX) {
		fprintf(stderr, "noise: --cpu: more than 4096 CPUs\n");
		return -EINVAL;
	}
	return 0;
}

int noise_options_parse(int argc, char **argv, struct noise_options *out)
{
	struct parsing parsing = {
		.options =
			{
				.pattern = HOG_PLB,
				.busy_ns = UINT64_C(1000000),
				.period_ns = UINT64_C(10000000),
				.scale = 1,
				.seed = 1,
				.command_nice = 19,
			},
	};
	const struct argp argp = {.options = table,
		.parser = read_option,
		.args_doc = "\n--ranks=LIST -- COMMAND [ARG...]",
		.doc = doc};
	int rc = command_line_parse(&argp, "noise", ARGP_IN_ORDER, argc, argv, &parsing);

	if (rc)
		return rc;
	*out = parsing.options;
	if (parsing.ranks && (!out->command || out->json || out->with_parent)) {
		fprintf(stderr, "noise: --ranks: %s\n",
			!out->command ? "the COMMAND to run is missing"
			: out->json   ? "there is no report for --json"
				      : "hogs end with COMMAND, not --with-parent");
		return -EINVAL;
	}
	if (!out->json)
		out->json = "-";
	return complete(out);
}
