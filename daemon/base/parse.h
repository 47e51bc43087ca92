/* SPDX-License-Identifier: MIT */
/*
 * Numbers and times as people type them on a command line.
 *
 * Here because the workloads' scripts compare runs: a value that is misread changes
 * what was measured without a word. So these are stricter than strtol and strtod: the
 * whole text must be the number, with no blanks, no hexadecimal, no locale.
 * All are pure. On an error *out is untouched.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdint.h>

/* A time with its unit, as "20ms", "0.5s", "500us"; units ns, us, ms, s, min. A number
 * without a unit is refused (20 what?), save for a bare 0. Rounds to the nearest ns.
 * Returns 0, -EINVAL (not a time) or -ERANGE (more than INT64_MAX ns). */
int parse_time_ns(const char *text, uint64_t *out_ns);

/* A size in bytes, with an optional K, M, G or T (powers of 1024; "KiB" and "KB" mean
 * the same): "4096", "1.5M". Returns 0, -EINVAL, or -ERANGE (more than INT64_MAX). */
int parse_size_bytes(const char *text, uint64_t *out_bytes);

/* A whole number from min to max, decimal, a leading minus allowed.
 * Returns 0, -EINVAL (not a number) or -ERANGE (outside min..max). */
int parse_integer(const char *text, int64_t min, int64_t max, int64_t *out);

/* NAME:N, with N as above. Returns likewise; -EINVAL when the name is another. */
int parse_named_integer(const char *text, const char *name, int64_t min, int64_t max, int64_t *out);

/* A decimal fraction from 0 to max, as "12.5". Returns 0, -EINVAL or -ERANGE. */
int parse_fraction(const char *text, double max, double *out);

/* A number above 0, up to max, which may have an exponent: "1e-4". Returns 0, -EINVAL or -ERANGE. */
int parse_positive(const char *text, double max, double *out);

#endif
