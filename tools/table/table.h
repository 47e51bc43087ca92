/* SPDX-License-Identifier: MIT */
/*
 * Tables: one description of each column serves text, JSON and CSV, so that they all have the same
 * columns.
 */
#ifndef TABLE_TABLE_H
#define TABLE_TABLE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/table/format.h"
#include "tools/table/value.h"

/* How a column looks in text. Words are aligned left, numbers right. */
enum show {
	SHOW_PLAIN, /* all digits */
	SHOW_COUNT, /* six columns */
	SHOW_NUMBER,
	SHOW_PERCENT, /* of a share */
	SHOW_MS, /* of seconds, with a sign */
	SHOW_GAP_MS, /* of seconds, without */
	SHOW_AGE, /* of seconds */
	SHOW_TENTHS, /* always one digit after the point */
	SHOW_RESIDUAL,
	SHOW_YES, /* "yes" or nothing */
};

struct column {
	const char *key; /* in JSON and CSV; NULL: it is left out there */
	const char *title; /* in text; NULL: it is left out there */
	enum show show;
	int width; /* in text, at least */
	int spare; /* when lines get too long, the column with the highest goes first; 0: never */
};

struct table {
	const struct column *column;
	size_t columns;
	/* The cell of a row, whose type only the table knows. */
	struct value (*get)(const void *row, size_t column);
};

/* An array of rows of that size each. */
struct table_rows {
	const void *row;
	size_t n, bytes;
};

struct cell {
	struct format shown;
	const char *text; /* `buffer`, or the value's; "-": not known */
	int columns; /* its width in characters, not bytes */
};

/* Format a value for a column. *cell must stay where it is. */
void table_show(struct cell *cell, const struct column *column, struct value value);

/* The width of a column whose title is above it. */
int table_width(const struct column *column);

/* Print a text of `columns` columns, padded to `width`. */
void table_print_text(FILE *to, const char *text, int columns, int width, bool left);

/* Print rows, below their titles if wanted, in lines of at most `columns` columns. Leaves out
 * columns where nothing is known. When lines get too long, cuts words at their ends, or leaves out
 * dispensable columns. The caller checks the stream for errors. */
void table_print(FILE *to, const struct table *table, const struct table_rows *rows, int columns,
	bool titles);

/* Add the cells of a row to an object, by their keys. Unknown values are null; text that is not UTF-8
 * is made fit to print. Returns 0, or -1 as jansson does, also when object is NULL. */
int table_add_cells(json_t *object, const struct table *table, const void *row);

#endif
