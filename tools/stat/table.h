/* SPDX-License-Identifier: MIT */
/*
 * What stat lists, as tables: one description of each column serves text, JSON and CSV, so that none
 * of them has what another lacks.
 *
 * A cell that isn't known, or that can't be (no counter runs backwards), has no value. Functions are
 * pure unless they say otherwise.
 */
#ifndef JUGGLECTL_STAT_TABLE_H
#define JUGGLECTL_STAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/live/live.h"

enum value_kind {
	VALUE_UNKNOWN,
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
	const char *text; /* lives as long as the sample */
};

struct value value_unknown(void);
struct value value_bool(bool yes);
/* A number of something; of more than INT64_MAX nothing is known. */
struct value value_count(uint64_t count);
/* A number of its own, as an identifier: unknown when it is negative. */
struct value value_id(int64_t id);
/* Unknown when it is not finite. */
struct value value_real(double real);
/* Likewise, and when it is negative. */
struct value value_rate(double real);
struct value value_seconds(uint64_t ns);
/* NULL and "" are unknown. */
struct value value_text(const char *text);

/* How a column looks in text; words stand on the left, numbers on the right. */
enum show {
	SHOW_PLAIN, /* all digits */
	SHOW_COUNT, /* six columns */
	SHOW_NUMBER,
	SHOW_PERCENT, /* of a share */
	SHOW_MS, /* of seconds, with a sign */
	SHOW_GAP_MS, /* of seconds, without */
	SHOW_TENTHS, /* one digit behind the point, always */
	SHOW_RESIDUAL,
	SHOW_YES, /* "yes" or nothing */
};

struct column {
	const char *key; /* in JSON and CSV */
	const char *title; /* in text; NULL: it is left out there */
	enum show show;
	int width; /* in text, at least */
	int spare; /* where lines get too long, the column with the highest goes first; 0: never */
};

/* What a line of a table is about. */
struct row {
	const struct live_sample *sample;
	int64_t unix_time_ms; /* when that was taken */
	size_t index; /* of a CPU, thread or process */
	size_t place; /* of a subdomain in its process */
	double sort;
};

enum table_order {
	ORDER_RANK, /* by rank, pid, tid and number */
	ORDER_CPU,
	ORDER_LEAD, /* the furthest behind first */
	ORDER_MOVES, /* the most moved first */
	ORDER_RATE, /* the slowest first */
	ORDERS,
};

extern const char *const table_order_name[ORDERS];

/* By what a table is sorted for an order. */
struct sorting {
	int column; /* 1 more than its place; 0: as it is */
	bool down; /* the largest first */
};

struct table {
	const char *name; /* its key in JSON */
	const char *title; /* what its rows are called in text */
	const struct column *column;
	size_t columns;
	struct value (*get)(const struct row *row, size_t column);
	/* Sets sample, index and place of each row, unless row is NULL. Returns how many there are. */
	size_t (*fill)(const struct live_sample *sample, struct row *row);
	struct sorting sorting[ORDERS];
};

extern const struct table table_head; /* one row: the whole */
extern const struct table table_compute_threads; /* without those that are idle */
extern const struct table table_cpus, table_threads, table_processes, table_subdomains;

/* All rows in order; free() them. Returns 0 or -ENOMEM. Not pure, as it allocates. */
int table_rows(const struct table *table, const struct live_sample *sample, int64_t unix_time_ms,
	enum table_order order, struct row **out, size_t *n);

/* Why nothing is known of a process, by its error; NULL when there is none. */
const char *process_trouble(const struct live_process *process);

#endif
