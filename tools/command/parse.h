/* SPDX-License-Identifier: MIT */
/* The command line of a subcommand, with the options that all have. */
#ifndef COMMAND_PARSE_H
#define COMMAND_PARSE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

struct command_options {
	bool json; /* print only JSON on standard output, an object per line */
	bool quiet; /* no progress line, no warnings, no remarks */
};

/* Parse the command line of a subcommand with its argp, whose parser gets `input`; argv[0] is the
 * subcommand's full name. Adds --json, --quiet, --help and --version. Returns as
 * command_line_parse(): 0 to go on, 1 when the command line asked for help or the version, -EINVAL
 * after a message. */
int command_parse(const struct argp *argp, int argc, char **argv, void *input,
	struct command_options *options);

/* ---- For parsers: return 0; or print a line and return EINVAL ---- */

/* --interval: a time or, as in top(1), seconds, from min_ns to max_ns. `wanted` describes these in
 * a message. */
error_t command_interval(struct argp_state *state, const char *arg, uint64_t min_ns,
	uint64_t max_ns, const char *wanted, uint64_t *out_ns);

/* --speeds: those of all CPUs, at most COMMAND_SPEEDS_MAX. */
#define COMMAND_SPEEDS_MAX 1024
struct command_speeds {
	uint32_t cpus; /* 0: not given */
	double speed[COMMAND_SPEEDS_MAX];
};
error_t command_speeds(struct argp_state *state, const char *arg, struct command_speeds *out);
/* When all options are read: the number of CPUs is that of the speeds, if given. *cpus is what
 * --cpus gave, 0 for nothing; anything else than the number of speeds is an error. */
error_t command_speeds_count(
	struct argp_state *state, const struct command_speeds *speeds, uint32_t *cpus);

/* The only argument; `what` describes it in messages. *out is NULL before. */
error_t command_argument(
	struct argp_state *state, const char *arg, const char *what, const char **out);

#endif
