/* SPDX-License-Identifier: MIT */
/*
 * Numbers of any magnitude in a few columns of a terminal: three digits that count, and a letter for
 * the thousands. Not for machines, which get all digits.
 *
 * All write text of at most FORMAT_BYTES with its end, and return how many columns it takes. What is
 * not known (NAN) is "-". Pure.
 */
#ifndef JUGGLECTL_FORMAT_H
#define JUGGLECTL_FORMAT_H

#include <stdint.h>

enum { FORMAT_BYTES = 24 };

/* A number: "0", "0.012", "1.20", "12.3", "1234", "12.3k", "1.20M" ..., at most 6 columns. */
int format_number(char out[FORMAT_BYTES], double number);
/* Likewise with its sign, also where that is a plus: at most 6 columns. */
int format_signed(char out[FORMAT_BYTES], double number);
/* What can be counted: whole up to 999999, then as a number. At most 6 columns. */
int format_count(char out[FORMAT_BYTES], int64_t count);
/* A share of 1 in percent, without the sign: at most 6 columns. */
int format_percent(char out[FORMAT_BYTES], double share);
/* A length of time with its unit: "850 ns", "12.3 us", "4 ms", "1.50 s". At most 9 columns. */
int format_time(char out[FORMAT_BYTES], double seconds);
/* How long something has lasted: "12.3 s", "12 min 5 s", "3 h 20 min", "2 d 4 h". */
int format_age(char out[FORMAT_BYTES], double seconds);

#endif
