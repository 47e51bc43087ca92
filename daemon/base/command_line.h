/* SPDX-License-Identifier: MIT */
/*
 * What the command lines of the workloads and of jugglectl have in common. argp's own --help and
 * --version are replaced, because they end the process, and an MPI rank must not end without
 * MPI_Finalize().
 */
#ifndef BASE_COMMAND_LINE_H
#define BASE_COMMAND_LINE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the command line by the program's argp, whose parser gets `input`. Arguments that are no
 * options are refused unless it has an args_doc. flags: 0; ARGP_IN_ORDER; or ARGP_NO_ERRS: nothing is
 * printed. Else errors go to standard error, one line each (for unknown options argp adds where to
 * find help), help to standard output. Returns 0 to go on, 1 when help or version was all that was
 * wanted, -EINVAL. */
int command_line_parse(const struct argp *argp, const char *program, unsigned flags, int argc,
	char **argv, void *input);

/* The text of a number that has a name, for tables of options. */
#define COMMAND_LINE_TEXT(number) COMMAND_LINE_TEXT_OF(number)
#define COMMAND_LINE_TEXT_OF(number) #number

/* ---- For its parser: return 0 or, after a message of one line, EINVAL; then *out is untouched ---- */

/* Say what an option expects instead. Returns EINVAL. */
error_t command_line_refuse(
	struct argp_state *state, const char *option, const char *arg, const char *expected);

/* A whole number from min to max. */
error_t command_line_integer(struct argp_state *state, const char *option, const char *arg,
	int64_t min, int64_t max, int64_t *out);
/* Likewise, with max at most UINT32_MAX. */
error_t command_line_count(struct argp_state *state, const char *option, const char *arg,
	int64_t min, int64_t max, uint32_t *out);

/* A time with its unit, from min_ns to max_ns; without max_ns it is below 2^62 ns, so that the sum of
 * two does not overflow. */
error_t command_line_time(struct argp_state *state, const char *option, const char *arg,
	uint64_t min_ns, uint64_t *out_ns);
error_t command_line_time_within(struct argp_state *state, const char *option, const char *arg,
	uint64_t min_ns, uint64_t max_ns, uint64_t *out_ns);

/* A percentage from 0 to max, as a share. */
error_t command_line_percent(
	struct argp_state *state, const char *option, const char *arg, double max, double *out);

/* One of these words: its place among them. */
error_t command_line_choice(struct argp_state *state, const char *option, const char *arg,
	const char *const *names, size_t count, size_t *out);

/* Words separated by commas, each handed to take(), which returns whether it is right. Without any it
 * is refused, too. What was taken before a wrong one stays taken. */
error_t command_line_list(struct argp_state *state, const char *option, const char *arg,
	const char *expected, bool (*take)(void *out, const char *word), void *out);

/* A seed of random numbers: a whole number from 0. */
error_t command_line_seed(
	struct argp_state *state, const char *option, const char *arg, uint64_t *out);

#endif
