/* SPDX-License-Identifier: MIT */
/*
 * Values of cells. A value that is not known, or impossible (no counter decreases), is unknown.
 * Pure.
 */
#ifndef TABLE_VALUE_H
#define TABLE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

enum value_kind {
	VALUE_UNKNOWN, /* also a zeroed value */
	VALUE_BOOL,
	VALUE_WHOLE,
	VALUE_REAL, /* finite */
	VALUE_TEXT,
};

struct value {
	enum value_kind kind;
	bool yes;
	int64_t whole;
	double real;
	const char *text; /* not owned */
};

struct value value_unknown(void);
struct value value_bool(bool yes);
/* A count; unknown above INT64_MAX. */
struct value value_count(uint64_t count);
/* An identifier; unknown when it is negative. */
struct value value_id(int64_t id);
/* Unknown when it is not finite. */
struct value value_real(double real);
/* Also unknown when it is negative. */
struct value value_rate(double real);
struct value value_seconds(uint64_t ns);
/* NULL and "" are unknown. */
struct value value_text(const char *text);

#endif
