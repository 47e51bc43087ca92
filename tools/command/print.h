/* SPDX-License-Identifier: MIT */
/* What subcommands print: messages, sentences, JSON; and their exit statuses. */
#ifndef COMMAND_PRINT_H
#define COMMAND_PRINT_H

#include <jansson.h>

enum {
	COMMAND_IMPOSSIBLE = 1, /* exit status: a file can't be read, no memory ... */
	COMMAND_WRONG = 2, /* exit status: the command line is wrong */
};

#define COMMAND_COLUMNS 79 /* the width of a line of text */

/* Print one line to standard error, with the subcommand's name first, made fit to print.
 * Returns COMMAND_IMPOSSIBLE. */
int command_fail(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Likewise, for a command line whose options don't fit together. Returns COMMAND_WRONG. */
int command_wrong(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print words and a newline to standard output, in lines that fit a terminal. The first line begins
 * at `column`; the others are indented by `indent` blanks. */
void command_words(const char *text, int column, int indent);
/* Print sentences to standard output, in lines that fit a terminal. Words are kept whole. Text
 * beyond 1000 bytes is cut. */
void command_sentences(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a JSON object to standard output, and take over the reference. Fails for NULL, from a
 * failed json_pack(), and when output can't be written. Returns an exit status. */
int command_print_json(const char *program, json_t *object);

/* Check that all output has reached standard output: the last call of a subcommand that prints
 * text. Returns an exit status. */
int command_flush(const char *program);

#endif
