/* SPDX-License-Identifier: MIT */
/* What subcommands print: messages, sentences, JSON; and their exit statuses. */
#ifndef COMMAND_PRINT_H
#define COMMAND_PRINT_H

#include <jansson.h>

enum {
	COMMAND_IMPOSSIBLE = 1, /* exit status: a file can't be read, no memory ... */
	COMMAND_WRONG = 2, /* exit status: the command line is wrong */
};

#define COMMAND_COLUMNS 79 /* of a line of text */

/* Replace what breaks a line, or what a terminal obeys, by '?': in names that are printed. Pure. */
void command_make_printable(char *text);

/* Print one line to standard error, after the subcommand's name, made printable as above. Returns
 * COMMAND_IMPOSSIBLE. */
int command_fail(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Likewise, of a command line whose options don't fit together. Returns COMMAND_WRONG. */
int command_wrong(const char *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print words and a newline to standard output, in lines that fit a terminal. The first line begins
 * at this column; the others are indented by so many blanks. */
void command_words(const char *text, int column, int indent);
/* Print one or more sentences to standard output, in lines that fit a terminal; words are kept whole.
 * What is longer than 1000 bytes is cut. */
void command_sentences(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a JSON object to standard output, taking over the reference. NULL, as a failed json_pack()
 * gives, and output that can't be written are failures. Returns an exit status. */
int command_print_json(const char *program, json_t *object);

/* Whether all that was printed has reached standard output: the last call of a subcommand that
 * prints text. Returns an exit status. */
int command_flush(const char *program);

#endif
