/* SPDX-License-Identifier: MIT */
/* Text for gnuplot, in single quotes. */
#ifndef PLOT_QUOTE_H
#define PLOT_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* Write at most `characters` characters of a text, with '?' for those that gnuplot or XML can't
 * take. */
void quote_text(FILE *to, const char *text, size_t characters);

#endif
