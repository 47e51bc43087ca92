/* SPDX-License-Identifier: MIT */
/*
 * Command lines; see command_line.h. The program's argp is a child of one with the options that all
 * programs have.
 */
#include "daemon/base/command_line.h"

#include "daemon/base/parse.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_NS_MAX ((UINT64_C(1) << 62) - 1)

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
		return command_line_wrong(state, "%s: unexpected argument", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t command_line_argp(
	const struct argp *argp, unsigned flags, int argc, char **argv, void *input)
{
	FILE *plain = stderr, *printable = text_stream(plain);

	if (printable != NULL)
		stderr = printable;
	error_t error = argp_parse(argp, argc, argv, flags, NULL, input);
	stderr = plain;
	if (printable != NULL)
		fclose(printable);
	return error;
}

int command_line_parse(const struct argp *argp, const char *program, unsigned flags, int argc,
	char **argv, void *input)
{
	struct parsing parsing = {.input = input, .takes_arguments = argp->args_doc};
	const struct argp_child children[] = {{.argp = argp}, {0}};
	const struct argp whole = {.options = table, .parser = read_option, .children = children};

	flags |= ARGP_NO_EXIT | ARGP_NO_HELP;
	if (command_line_argp(&whole, flags, argc, argv, &parsing) != 0)
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
error_t command_line_wrong(struct argp_state *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_format(format, args);
	va_end(args);
	argp_failure(state, 0, 0, "%s", text != NULL ? text : format);
	free(text);
	return EINVAL;
}

error_t command_line_refuse(
	struct argp_state *state, const char *option, const char *arg, const char *expected)
{
	return command_line_wrong(state, "%s %s: expected %s", option, arg, expected);
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

error_t command_line_count(struct argp_state *state, const char *option, const char *arg,
	int64_t min, int64_t max, uint32_t *out)
{
	int64_t number = 0;
	error_t error = command_line_integer(state, option, arg, min, max, &number);

	if (error == 0)
		*out = (uint32_t)number;
	return error;
}

/* As people write it: 3600s, 100us. */
static void print_time(char *out, size_t bytes, const char *before, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
	size_t i = 0;

	while (ns % units[i].ns != 0)
		i++;
	snprintf(out, bytes, "%s%llu%s", before, (unsigned long long)(ns / units[i].ns),
		units[i].name);
}

error_t command_line_time_within(struct argp_state *state, const char *option, const char *arg,
	uint64_t min_ns, uint64_t max_ns, uint64_t *out_ns)
{
	char expected[120], from[32] = "", to[32] = "";
	uint64_t ns;

	if (parse_time_ns(arg, &ns) == 0 && ns >= min_ns && ns <= max_ns) {
		*out_ns = ns;
		return 0;
	}
	if (min_ns > 1)
		print_time(from, sizeof(from), " from ", min_ns);
	if (max_ns < TIME_NS_MAX)
		print_time(to, sizeof(to), " to ", max_ns);
	snprintf(expected, sizeof(expected), "a time%s with its unit%s%s, as 20ms",
		min_ns == 1 ? " above 0" : "", from, to);
	return command_line_refuse(state, option, arg, expected);
}

error_t command_line_time(struct argp_state *state, const char *option, const char *arg,
	uint64_t min_ns, uint64_t *out_ns)
{
	return command_line_time_within(state, option, arg, min_ns, TIME_NS_MAX, out_ns);
}

error_t command_line_percent(
	struct argp_state *state, const char *option, const char *arg, double max, double *out)
{
	char expected[60];
	double number;

	if (parse_fraction(arg, max, &number) == 0) {
		*out = number / 100;
		return 0;
	}
	snprintf(expected, sizeof(expected), "a percentage from 0 to %g", max);
	return command_line_refuse(state, option, arg, expected);
}

error_t command_line_choice(struct argp_state *state, const char *option, const char *arg,
	const char *const *names, size_t count, size_t *out)
{
	char expected[120] = "";
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], arg) == 0) {
			*out = i;
			return 0;
		}
		const char *before = i == 0 ? "" : i + 1 < count ? ", " : " or ";
		if (bytes < sizeof(expected))
			bytes += (size_t)snprintf(expected + bytes, sizeof(expected) - bytes,
				"%s%s", before, names[i]);
	}
	return command_line_refuse(state, option, arg, expected);
}

error_t command_line_list(struct argp_state *state, const char *option, const char *arg,
	const char *expected, bool (*take)(void *out, const char *word), void *out)
{
	char *rest = NULL, *copy = strdup(arg);
	char *word = copy != NULL ? strtok_r(copy, ",", &rest) : NULL;
	bool right = word != NULL;

	for (; right && word != NULL; word = strtok_r(NULL, ",", &rest))
		right = take(out, word);
	free(copy);
	return right ? 0 : command_line_refuse(state, option, arg, expected);
}

error_t command_line_seed(
	struct argp_state *state, const char *option, const char *arg, uint64_t *out)
{
	int64_t number;

	if (parse_integer(arg, 0, INT64_MAX, &number) < 0)
		return command_line_refuse(state, option, arg, "a whole number from 0");
	*out = (uint64_t)number;
	return 0;
}
