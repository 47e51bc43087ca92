/* SPDX-License-Identifier: MIT */
/*
 * Numbers and text in a few columns of a terminal: numbers of any magnitude have three significant
 * digits and a letter for the power of 1000. Not for machines, which get all digits.
 *
 * An unknown value (NAN) is "-". Pure.
 */
#ifndef TABLE_FORMAT_H
#define TABLE_FORMAT_H

#include <stdint.h>

enum { FORMAT_BYTES = 24 };

struct format {
	char text[FORMAT_BYTES];
};

/* A number: "0", "0.012", "1.20", "12.3", "1234", "12.3k", "1.20M" ..., at most 6 columns. */
struct format format_number(double number);
/* Likewise with its sign, also a plus: at most 6 columns. */
struct format format_signed(double number);
/* A count: all digits up to 999999, then as a number. At most 6 columns. */
struct format format_count(uint64_t count);
/* A share of 1 in percent, without the sign: at most 6 columns. */
struct format format_percent(double share);
/* A length of time with its unit: "850 ns", "12.3 us", "4 ms", "1.50 s". At most 9 columns. */
struct format format_time(double seconds);
/* How long something has lasted: "12s", "12m05s", "3h20m", "2d04h". At most 12 columns. */
struct format format_age(double seconds);

/* The columns of UTF-8 text, one per character. */
int format_columns(const char *text);
/* How many bytes of the text fit that many columns. Characters are kept whole. */
int format_cut(const char *text, int columns);

#endif
