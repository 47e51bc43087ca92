/* SPDX-License-Identifier: MIT */
/*
 * Tables: one description of each column serves text, JSON and CSV, so that none of them has what
 * another lacks.
 */
#ifndef TABLE_TABLE_H
#define TABLE_TABLE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/table/format.h"
#include "tools/table/value.h"

/* How a column looks in text; words stand on the left, numbers on the right. */
enum show {
	SHOW_PLAIN, /* all digits */
	SHOW_COUNT, /* six columns */
	SHOW_NUMBER,
	SHOW_PERCENT, /* of a share */
	SHOW_MS, /* of seconds, with a sign */
	SHOW_GAP_MS, /* of seconds, without */
	SHOW_AGE, /* of seconds */
	SHOW_TENTHS, /* one digit behind the point, always */
	SHOW_RESIDUAL,
	SHOW_YES, /* "yes" or nothing */
};

struct column {
	const char *key; /* in JSON and CSV; NULL: it is left out there */
	const char *title; /* in text; NULL: it is left out there */
	enum show show;
	int width; /* in text, at least */
	int spare; /* where lines get too long, the column with the highest goes first; 0: never */
};

struct table {
	const struct column *column;
	size_t columns;
	/* The cell of a row, whose kind is the table's business. */
	struct value (*get)(const void *row, size_t column);
};

/* An array of rows, of so many bytes each. */
struct table_rows {
	const void *row;
	size_t n, bytes;
};

struct cell {
	struct format shown;
	const char *text; /* the above, or the value's; "-": not known */
	int columns; /* that it takes: characters, not bytes */
};

/* How a value looks in a column. *cell must stay where it is. */
void table_show(struct cell *cell, const struct column *column, struct value value);

/* Columns that are kept for a column where its title stands above it. */
int table_width(const struct column *column);

/* Print a text that takes so many columns in `width` of them. */
void table_print_text(FILE *to, const char *text, int columns, int width, bool left);

/* Print rows, below their titles if wanted, in lines of at most so many columns. Columns in which nothing
 * is known are left out. When lines get too long, words at their ends are cut, or columns left out that
 * can be spared. Whether the stream took it is the caller's to ask. */
void table_print(FILE *to, const struct table *table, const struct table_rows *rows, int columns,
	bool titles);

/* Add the cells of a row to an object, by their keys. What is not known, and text that is not UTF-8, is
 * null. Returns 0 or -1, as jansson does; also when object is NULL. */
int table_add_cells(json_t *object, const struct table *table, const void *row);

#endif
