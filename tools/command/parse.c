/* SPDX-License-Identifier: MIT */
/* Command lines of subcommands; see parse.h. */
#include "tools/command/parse.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"

#include <errno.h>

enum { KEY_JSON = 0x20000 };

static const struct argp_option table[] = {
	{"json", KEY_JSON, NULL, 0, "Print JSON, one object a line", -2},
	{"quiet", 'q', NULL, 0, "Print no progress line, warnings or remarks", -2},
	{0},
};

struct parsing {
	void *input; /* the subcommand's */
	struct command_options *options;
};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = parsing->input;
		return 0;
	case KEY_JSON:
		parsing->options->json = true;
		return 0;
	case 'q':
		parsing->options->quiet = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int command_parse(const struct argp *argp, int argc, char **argv, void *input,
	struct command_options *options)
{
	struct parsing parsing = {.input = input, .options = options};
	struct argp own = *argp;
	const struct argp_child children[] = {{.argp = &own}, {0}};
	const struct argp whole = {.options = table,
		.parser = read_option,
		.args_doc = argp->args_doc,
		.children = children};

	own.args_doc = NULL; /* otherwise the help lists the arguments twice */
	*options = (struct command_options){0};
	return command_line_parse(&whole, argv[0], 0, argc, argv, &parsing);
}

error_t command_interval(struct argp_state *state, const char *arg, uint64_t min_ns,
	uint64_t max_ns, const char *wanted, uint64_t *out_ns)
{
	uint64_t ns = 0;
	double seconds;

	if (parse_time_ns(arg, &ns) < 0 &&
		parse_fraction(arg, (double)max_ns * 1e-9, &seconds) == 0)
		ns = (uint64_t)(seconds * 1e9 + 0.5);
	if (ns < min_ns || ns > max_ns)
		return command_line_refuse(state, "--interval", arg, wanted);
	*out_ns = ns;
	return 0;
}

error_t command_speeds(struct argp_state *state, const char *arg, struct command_speeds *out)
{
	size_t cpus;

	if (parse_speeds(arg, COMMAND_SPEEDS_MAX, out->speed, &cpus) < 0)
		return command_line_refuse(state, "--speeds", arg,
			"a speed for each CPU from 0.01 to 100, as 8x1,16x0.55, for at "
			"most " COMMAND_LINE_TEXT(COMMAND_SPEEDS_MAX) " CPUs");
	out->cpus = (uint32_t)cpus;
	return 0;
}

error_t command_speeds_count(
	struct argp_state *state, const struct command_speeds *speeds, uint32_t *cpus)
{
	if (speeds->cpus == 0)
		return 0;
	if (*cpus > 0 && *cpus != speeds->cpus) {
		argp_failure(state, 0, 0, "--cpus %u: --speeds has %u CPUs", *cpus, speeds->cpus);
		return EINVAL;
	}
	*cpus = speeds->cpus;
	return 0;
}

error_t command_argument(
	struct argp_state *state, const char *arg, const char *what, const char **out)
{
	if (*out != NULL) {
		command_line_wrong(state, "%s: one %s at a time", arg, what);
		return EINVAL;
	}
	*out = arg;
	return 0;
}
