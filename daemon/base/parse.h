/* SPDX-License-Identifier: MIT */
/*
 * Numbers and times as people type them on a command line.
 *
 * This is stricter than strtol and strtod, because a value that is silently misread would change
 * what a script measures: the whole text must be the number, with no blanks, no hexadecimal and no
 * locale. All functions are pure. On an error *out is unchanged.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* Splits text at blanks into an argz vector, which the caller frees; of no words it may be NULL. Returns 0 or
 * -ENOMEM. */
int parse_words(const char *text, char **words, size_t *bytes);

/* A time with its unit, such as "20ms", "0.5s", "500us"; units ns, us, ms, s, min. A number without
 * a unit is an error, except 0. Rounds to the nearest ns. Returns 0, -EINVAL (not a time) or
 * -ERANGE (more than INT64_MAX ns). */
int parse_time_ns(const char *text, uint64_t *out_ns);

/* A size in bytes, with an optional K, M, G or T (powers of 1024; "KiB" and "KB" mean
 * the same): "4096", "1.5M". Returns 0, -EINVAL, or -ERANGE (more than INT64_MAX). */
int parse_size_bytes(const char *text, uint64_t *out_bytes);

/* A whole number from min to max, decimal, a leading minus allowed.
 * Returns 0, -EINVAL (not a number) or -ERANGE (outside min..max). */
int parse_integer(const char *text, int64_t min, int64_t max, int64_t *out);

/* NAME:N, with N as above. Returns the same; -EINVAL for another name. */
int parse_named_integer(const char *text, const char *name, int64_t min, int64_t max, int64_t *out);

/* A decimal fraction from 0 to max, such as "12.5". Returns 0, -EINVAL or -ERANGE. */
int parse_fraction(const char *text, double max, double *out);

/* A number above 0, up to max, with or without an exponent, such as "1e-4". Returns 0, -EINVAL or
 * -ERANGE. */
int parse_positive(const char *text, double max, double *out);

/* Speeds of CPUs, one after the other, relative to each other: numbers from 0.01 to 100, separated by
 * commas, each for one CPU or, after COUNTx, for several. "8x1,16x0.55" is 24 speeds. Stores up to
 * max of them, and in *count how many there were. Returns 0, -EINVAL, or -ERANGE (a number out of
 * range, or more than max speeds); then out[] is undefined, and *count unchanged. */
int parse_speeds(const char *text, size_t max, double *out, size_t *count);

#endif
