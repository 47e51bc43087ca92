/* SPDX-License-Identifier: MIT */
/*
 * Command lines; see command_line.h. The program's argp is a child of one that has the options
 * which all have.
 */
#include "daemon/base/command_line.h"

#include "daemon/base/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

enum { KEY_HELP = 0x10000, KEY_VERSION };

static const struct argp_option table[] = {
	{"help", KEY_HELP, NULL, 0, "Print this help", -1},
	/* argp's error messages point to it. */
	{"usage", KEY_HELP, NULL, OPTION_HIDDEN | OPTION_ALIAS, NULL, -1},
	{"version", KEY_VERSION, NULL, 0, "Print the version", -1},
	{0},
};

struct parsing {
	void *input; /* the program's */
	bool takes_arguments;
	bool help;
	bool version;
};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = parsing->input;
		return 0;
	case KEY_HELP:
		parsing->help = true;
		return 0;
	case KEY_VERSION:
		parsing->version = true;
		return 0;
	case ARGP_KEY_ARG:
		if (parsing->takes_arguments)
			return ARGP_ERR_UNKNOWN;
		argp_failure(state, 0, 0, "%s: unexpected argument", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int command_line_parse(const struct argp *argp, const char *program, unsigned flags, int argc,
	char **argv, void *input)
{
	struct parsing parsing = {.input = input, .takes_arguments = argp->args_doc};
	const struct argp_child children[] = {{.argp = argp}, {0}};
	const struct argp whole = {.options = table, .parser = read_option, .children = children};

	flags |= ARGP_NO_EXIT | ARGP_NO_HELP;
	if (argp_parse(&whole, argc, argv, flags, NULL, &parsing) != 0)
		return -EINVAL;
	if (!parsing.help && !parsing.version)
		return 0;
	if (flags & ARGP_NO_ERRS)
		return 1;
	if (parsing.help)
		argp_help(&whole, stdout, ARGP_HELP_STD_HELP, (char *)program);
	else
		printf("%s (juggle) %s\n", program, JUGGLE_VERSION);
	return 1;
}

/* argp_failure() with status 0 prints one line and returns, and heeds ARGP_NO_ERRS. */
error_t command_line_refuse(
	struct argp_state *state, const char *option, const char *arg, const char *expected)
{
	argp_failure(state, 0, 0, "%s %s: expected %s", option, arg, expected);
	return EINVAL;
}

error_t command_line_integer(struct argp_state *state, const char *option, const char *arg,
	int64_t min, int64_t max, int64_t *out)
{
	char expected[80];

	if (parse_integer(arg, min, max, out) == 0)
		return 0;
	snprintf(expected, sizeof(expected), "a whole number from %lld to %lld", (long long)min,
		(long long)max);
	return command_line_refuse(state, option, arg, expected);
}
