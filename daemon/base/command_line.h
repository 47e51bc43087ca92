/* SPDX-License-Identifier: MIT */
/*
 * What the command lines of the workloads and jugglectl have in common. It replaces argp's own
 * --help and --version, which end the process: an MPI rank must not end without MPI_Finalize().
 */
#ifndef BASE_COMMAND_LINE_H
#define BASE_COMMAND_LINE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* argp_parse() itself, with what it prints about a wrong command line made fit to print: it repeats words
 * of the user's. */
error_t command_line_argp(
	const struct argp *argp, unsigned flags, int argc, char **argv, void *input);

/* Parse the command line with the program's argp, whose parser gets `input`. Without an args_doc in
 * the argp, arguments that are not options are errors. flags: 0; ARGP_IN_ORDER; or ARGP_NO_ERRS to
 * print nothing. Otherwise errors go to standard error, one line each (after an unknown option,
 * argp adds where to find help), and help goes to standard output. Returns 0 to go on, 1 when the
 * command line asked for help or the version, or -EINVAL. */
int command_line_parse(const struct argp *argp, const char *program, unsigned flags, int argc,
	char **argv, void *input);

/* The number that a macro stands for, as text, for tables of options. */
#define COMMAND_LINE_TEXT(number) COMMAND_LINE_TEXT_OF(number)
#define COMMAND_LINE_TEXT_OF(number) #number

/* ---- For parsers: return 0; or print a line and return EINVAL, with *out unchanged ---- */

/* Print what is wrong, on one line, with what the user wrote made fit to print. Returns EINVAL. */
error_t command_line_wrong(struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print what the option expects. Returns EINVAL. */
error_t command_line_refuse(
	struct argp_state *state, const char *option, const char *arg, const char *expected);

/* A whole number from min to max. */
error_t command_line_integer(struct argp_state *state, const char *option, const char *arg,
	int64_t min, int64_t max, int64_t *out);
/* Likewise, with max at most UINT32_MAX. */
error_t command_line_count(struct argp_state *state, const char *option, const char *arg,
	int64_t min, int64_t max, uint32_t *out);

/* A time with its unit, from min_ns to max_ns. Without max_ns it is below 2^62 ns, so that the sum
 * of two does not overflow. */
error_t command_line_time(struct argp_state *state, const char *option, const char *arg,
	uint64_t min_ns, uint64_t *out_ns);
error_t command_line_time_within(struct argp_state *state, const char *option, const char *arg,
	uint64_t min_ns, uint64_t max_ns, uint64_t *out_ns);

/* A percentage from 0 to max. *out is a share: 1 for 100 %. */
error_t command_line_percent(
	struct argp_state *state, const char *option, const char *arg, double max, double *out);

/* One of the names. *out is its index. */
error_t command_line_choice(struct argp_state *state, const char *option, const char *arg,
	const char *const *names, size_t count, size_t *out);

/* Words separated by commas, at least one. Each goes to take(), which returns whether it is valid.
 * The words before an invalid one stay taken. */
error_t command_line_list(struct argp_state *state, const char *option, const char *arg,
	const char *expected, bool (*take)(void *out, const char *word), void *out);

/* A seed of random numbers: a whole number from 0. */
error_t command_line_seed(
	struct argp_state *state, const char *option, const char *arg, uint64_t *out);

#endif
