/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands of jugglectl have in common: how they are found, the options that all have,
 * their exit statuses, and the progress line. A subcommand is a folder with a file that defines one of
 * the functions at the end, and an entry in the table of jugglectl.c.
 */
#ifndef JUGGLECTL_COMMAND_H
#define JUGGLECTL_COMMAND_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/trace/reader.h"

enum {
	COMMAND_IMPOSSIBLE = 1, /* exit status: a file can't be read, no memory ... */
	COMMAND_WRONG = 2, /* exit status: the command line is wrong */
};

/* Columns of a line of text. */
#define COMMAND_COLUMNS 79
/* Elementary steps of a simulation that take some ten minutes: more are refused. */
#define COMMAND_STEPS_MAX 1e11

/* Options that all have. */
struct command_options {
	bool json; /* JSON on standard output, an object a line, and nothing else there */
	bool quiet; /* no progress line, no warnings, no remarks */
};

/* Read the command line of a subcommand by its argp, whose parser gets `input`; argv[0] is its whole
 * name. Adds --json, --quiet, --help and --version. As command_line_parse(): returns 0 to go on, 1
 * when help or version was all that was wanted, -EINVAL after a message. */
int command_parse(const struct argp *argp, int argc, char **argv, void *input,
	struct command_options *options);

/* Let this process open as many files as it may at all: a job may have more processes than the usual 1024,
 * each with a segment. For subcommands that start no programs, which would inherit it. */
void command_open_many(void);

/* A time or, as top(1) has it, seconds, from min_ns to max_ns; what it should be is in words. */
error_t command_interval(struct argp_state *state, const char *arg, uint64_t min_ns,
	uint64_t max_ns, const char *wanted, uint64_t *out_ns);

/* The only argument, of which `what` says what it is; *out is NULL before. Returns as above. */
error_t command_argument(
	struct argp_state *state, const char *arg, const char *what, const char **out);

/* Replace what breaks a line, or what a terminal obeys, by '?': in names that are printed. Pure. */
void command_make_printable(char *text);

/* Print one line to standard error, after the subcommand's name, made printable as above. Returns
 * COMMAND_IMPOSSIBLE. */
int command_fail(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Likewise, of a command line whose options don't fit together. Returns COMMAND_WRONG. */
int command_wrong(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print words to standard output, in lines that fit a terminal, and a newline: from this column on,
 * and those of further lines after so many blanks. */
void command_words(const char *text, int column, int indent);
/* Print one or more sentences to standard output, in lines that fit a terminal; words are kept whole.
 * What is longer than 1000 bytes is cut. */
void command_sentences(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Read a trace of juggle, as trace_read(). Returns an exit status, after a message. */
int command_read_trace(const char *program, const char *path, struct trace_file *out);
/* Print to standard error what is missing in it. */
void command_trace_warnings(const char *program, const struct trace_file *trace);

/* Print a JSON object to standard output, taking over the reference. NULL, as a failed json_pack()
 * gives, and output that can't be written are failures. Returns an exit status. */
int command_print_json(const char *program, json_t *object);

/* Whether all that was printed has reached standard output: the last call of a subcommand that
 * prints text. Returns an exit status. */
int command_flush(const char *program);

/* How far something long has come, on one line of a terminal: nothing is shown when standard error is
 * none, with --quiet, and in the first half second. */
struct command_progress {
	bool shown, wanted;
	uint64_t begin_ns, last_ns;
};
void command_progress_begin(
	struct command_progress *progress, const struct command_options *options);
/* done: from 0 to 1. Cheap enough for every few milliseconds. */
void command_progress(struct command_progress *progress, double done);
/* Wipes the line. */
void command_progress_end(struct command_progress *progress);

/* The subcommands. argv[0] is the whole name, as "jugglectl simulate plb". Each returns the exit
 * status. */
int list_main(int argc, char **argv);
int stat_main(int argc, char **argv);
int top_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int plot_main(int argc, char **argv);
int clean_main(int argc, char **argv);
int predict_main(int argc, char **argv);
int simulate_main(int argc, char **argv);
int simulate_juggle_main(int argc, char **argv);
int simulate_plb_main(int argc, char **argv);
int simulate_dplb_main(int argc, char **argv);
int replay_main(int argc, char **argv);

#endif
