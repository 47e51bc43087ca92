/* SPDX-License-Identifier: MIT */
/*
 * Text from others: command lines, names of threads, paths. It may hold any bytes, even sequences
 * that control a terminal, so it is made fit to print before it is printed.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Copy text of at most `bytes` bytes, which may end earlier by a NUL, for printing. Control
 * characters, characters that change the writing direction and bytes that are not UTF-8 become '?'.
 * What does not fit is cut between characters. out may be text itself. out_bytes is at least 1. */
void text_printable(char *out, size_t out_bytes, const char *text, size_t bytes);

/* The same in place, for a string. */
void text_make_printable(char *text);

/* As vasprintf(), made printable as above. free() it. NULL without memory. */
char *text_format(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Print one line, made printable as above, whatever the names in it hold. The format has no newline
 * at its end. */
void text_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A stream that makes what is written to it printable as above, but for newlines, and passes it on to
 * `out`. fclose() it; `out` stays open. NULL without memory. */
FILE *text_stream(FILE *out);

#endif
