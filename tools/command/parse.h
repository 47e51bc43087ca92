/* SPDX-License-Identifier: MIT */
/* The command line of a subcommand, with the options that all have. */
#ifndef COMMAND_PARSE_H
#define COMMAND_PARSE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

struct command_options {
	bool json; /* JSON on standard output, an object a line, and nothing else there */
	bool quiet; /* no progress line, no warnings, no remarks */
};

/* Read the command line of a subcommand by its argp, whose parser gets `input`; argv[0] is its whole
 * name. Adds --json, --quiet, --help and --version. As command_line_parse(): returns 0 to go on, 1
 * when help or version was all that was wanted, -EINVAL after a message. */
int command_parse(const struct argp *argp, int argc, char **argv, void *input,
	struct command_options *options);

/* ---- For its parser: return 0 or, after a message of one line, EINVAL ---- */

/* --interval: a time or, as top(1) has it, seconds, from min_ns to max_ns; `wanted` says so in words. */
error_t command_interval(struct argp_state *state, const char *arg, uint64_t min_ns,
	uint64_t max_ns, const char *wanted, uint64_t *out_ns);

/* The only argument; `what` says what it is. *out is NULL before. */
error_t command_argument(
	struct argp_state *state, const char *arg, const char *what, const char **out);

#endif
