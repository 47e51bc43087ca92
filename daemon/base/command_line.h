/* SPDX-License-Identifier: MIT */
/*
 * What the command lines of the workloads have in common. argp's own --help and --version are
 * replaced, because they end the process, and an MPI rank must not end without MPI_Finalize().
 */
#ifndef BASE_COMMAND_LINE_H
#define BASE_COMMAND_LINE_H

#include <argp.h>
#include <stdint.h>

/* Read the command line by the program's argp, whose parser gets `input`. Arguments that are no
 * options are refused unless it has an args_doc. flags: 0; ARGP_IN_ORDER; or ARGP_NO_ERRS: nothing is
 * printed. Else errors go to standard error, one line each (for unknown options argp adds where to
 * find help), help to standard output. Returns 0 to go on, 1 when help or version was all that was
 * wanted, -EINVAL. */
int command_line_parse(const struct argp *argp, const char *program, unsigned flags, int argc,
	char **argv, void *input);

/* For its parser: say what an option expects instead. Returns EINVAL. */
error_t command_line_refuse(
	struct argp_state *state, const char *option, const char *arg, const char *expected);

/* For its parser: a whole number from min to max. Returns 0 or, after a message, EINVAL. */
error_t command_line_integer(struct argp_state *state, const char *option, const char *arg,
	int64_t min, int64_t max, int64_t *out);

#endif
