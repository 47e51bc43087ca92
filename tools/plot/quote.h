/* SPDX-License-Identifier: MIT */
/* Text of others, which may have any bytes, in files for other programs. */
#ifndef PLOT_QUOTE_H
#define PLOT_QUOTE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* For gnuplot, in single quotes: write at most `characters` characters of a text, with '?' for those
 * that gnuplot or XML can't take. */
void quote_text(FILE *to, const char *text, size_t characters);

/* As a string of JSON, with '?' for bytes that are not UTF-8. */
void quote_json(FILE *to, const char *text);

/* The same, and any JSON, without '<', so that it may stand in a script of a web page. It is escaped,
 * which not every reader of JSON understands. */
void quote_in_page(FILE *to, const char *text);
void quote_value_in_page(FILE *to, const json_t *value);

#endif
