/* SPDX-License-Identifier: MIT */
/* Text for gnuplot, in single quotes. */
#ifndef PLOT_QUOTE_H
#define PLOT_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* Write at most so many characters of a text; what gnuplot or XML can't take is replaced by '?'. */
void quote_text(FILE *to, const char *text, size_t characters);

#endif
