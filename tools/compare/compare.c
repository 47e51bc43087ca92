/* SPDX-License-Identifier: MIT */
/* jugglectl compare: its command line. It times a command as Linux balances it, pinned, and under
 * juggle, in turn, and says how sure the difference is. */
#include "tools/compare/compare.h"
#include "daemon/base/command_line.h"
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/subcommands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_REPEATS 5
#define DEFAULT_WARMUPS 1

enum {
	KEY_WITH = 0x100,
	KEY_AGAINST,
	KEY_SKIP,
	KEY_WARMUPS,
	KEY_TIMEOUT,
	KEY_BESIDE,
	KEY_TIME_AFTER,
	KEY_SHOW_OUTPUT,
	KEY_JUGGLE
};

static const struct argp_option table[] = {
	{"repeats", 'r', "N", 0,
		"Runs in each way, 1 to " COMMAND_LINE_TEXT(
			CONTRAST_PAIRS_MAX) " (default: " COMMAND_LINE_TEXT(DEFAULT_REPEATS) ")",
		0},
	{"with", KEY_WITH, "OPTIONS", 0,
		"Another way: juggle with these options, separated by blanks; may be repeated "
		"(default: none)",
		0},
	{"against", KEY_AGAINST, "LINE", 0,
		"Another way: this command line, as the shell takes it; may be repeated (default: "
		"none)",
		0},
	{"skip", KEY_SKIP, "LIST", 0, "Ways to leave out: linux, pinned, juggle (default: none)",
		0},
	{"warmups", KEY_WARMUPS, "N", 0,
		"Runs at first that don't count (default: " COMMAND_LINE_TEXT(DEFAULT_WARMUPS) ")",
		0},
	{"timeout", KEY_TIMEOUT, "TIME", 0, "Give up when a run takes longer (default: never)", 0},
	{"beside", KEY_BESIDE, "LINE", 0,
		"Another command line, as the shell takes it, that runs all the while (default: "
		"none)",
		0},
	{"time-after", KEY_TIME_AFTER, "TEXT", 0,
		"Compare the time that the command itself prints: the number after TEXT, in "
		"seconds (default: the time from start to end)",
		0},
	{"show-output", KEY_SHOW_OUTPUT, NULL, 0,
		"Pass what the command prints on to standard error", 0},
	{"juggle", KEY_JUGGLE, "FILE", 0,
		"The juggle to use (default: that of the same installation)", 0},
	{0},
};

static const char doc[] =
	"Time a command as Linux balances it, pinned, and under juggle, in turn, and say whether "
	"they "
	"differ.\v"
	"Exit status: 0; 1 when the command fails, or something else is not possible; 2 when the "
	"command line is wrong; 128+N when signal N ended it early.";

static bool take_skip(void *out, const char *word)
{
	struct ways_wanted *wanted = out;

	for (size_t i = 0; i < WAYS_SKIPPABLE; i++)
		if (strcmp(word, ways_words[i]) == 0)
			return wanted->skip[i] = true;
	return false;
}

/* *n are in the list, and others in the other one. */
static error_t add_way(struct argp_state *state, const char *option, const char *arg, size_t others,
	const char **list, size_t *n)
{
	if (others + *n == WAYS_ADDED_MAX)
		return command_line_refuse(state, option, arg,
			"at most " COMMAND_LINE_TEXT(WAYS_ADDED_MAX) " ways more");
	list[(*n)++] = arg;
	return 0;
}

static error_t take_command(struct argp_state *state, struct ways_wanted *wanted, char *arg)
{
	/* Without "--", options of the command would have been taken for ours. */
	if (state->quoted == 0) {
		command_line_wrong(state, "%s: put -- before the command", arg);
		return EINVAL;
	}
	wanted->command = state->argv + state->next - 1;
	state->next = state->argc;
	return 0;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct compare_options *out = state->input;
	struct ways_wanted *ways = &out->ways;

	switch (key) {
	case 'r':
		return command_line_count(
			state, "--repeats", arg, 1, CONTRAST_PAIRS_MAX, &out->repeats);
	case KEY_WITH:
		return add_way(state, "--with", arg, ways->againsts, ways->with, &ways->withs);
	case KEY_AGAINST:
		return add_way(
			state, "--against", arg, ways->withs, ways->against, &ways->againsts);
	case KEY_SKIP:
		return command_line_list(state, "--skip", arg,
			"linux, pinned, juggle, or several of "
			"these",
			take_skip, ways);
	case KEY_WARMUPS:
		return command_line_count(
			state, "--warmups", arg, 0, CONTRAST_PAIRS_MAX, &out->warmups);
	case KEY_TIMEOUT:
		return command_line_time(state, "--timeout", arg, 1, &out->timeout_ns);
	case KEY_BESIDE:
		out->beside = arg;
		return 0;
	case KEY_TIME_AFTER:
		out->time_after = arg;
		return 0;
	case KEY_SHOW_OUTPUT:
		out->show_output = true;
		return 0;
	case KEY_JUGGLE:
		ways->juggle = arg;
		return 0;
	case ARGP_KEY_ARG:
		return take_command(state, ways, arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static size_t count_ways(const struct ways_wanted *wanted)
{
	size_t n = wanted->withs + wanted->againsts;

	for (size_t i = 0; i < WAYS_SKIPPABLE; i++)
		n += !wanted->skip[i];
	return n;
}

static int compare(const char *program, const struct compare_options *options,
	const struct command_options *common)
{
	struct comparison *comparison = calloc(1, sizeof *comparison);

	if (comparison == NULL)
		return command_fail(program, "no memory");
	int r = ways_init(&comparison->ways, &options->ways), status = 0;
	if (r < 0) {
		free(comparison);
		return command_fail(program, "%s", strerror(-r));
	}
	status = compare_run(program, options, common, comparison);
	if (status == 0 && comparison->repeats == 0)
		status = command_fail(program, "ended before each way had run once");
	else if (status == 0)
		status = common->json
				 ? compare_print_json(program, options, comparison)
				 : compare_print_text(program, options, comparison, common->quiet);
	if (comparison->signal != 0)
		status = 128 + comparison->signal;
	ways_deinit(&comparison->ways);
	free(comparison);
	return status;
}

int compare_main(int argc, char **argv)
{
	const struct argp argp = {.options = table,
		.parser = read_option,
		.args_doc = "-- COMMAND [ARG...]",
		.doc = doc};
	struct compare_options options = {.repeats = DEFAULT_REPEATS, .warmups = DEFAULT_WARMUPS};
	struct command_options common;

	int r = command_parse(&argp, argc, argv, &options, &common);
	if (r != 0)
		return r < 0 ? COMMAND_WRONG : 0;
	if (options.ways.command == NULL)
		return command_wrong(argv[0], "compare what? Give -- and a command");
	if (count_ways(&options.ways) < 2)
		return command_wrong(argv[0], "--skip leaves fewer than two ways to compare");
	return compare(argv[0], &options, &common);
}
