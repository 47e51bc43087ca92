/* SPDX-License-Identifier: MIT */
/* Values, and rows in order; see table.h. */
#include "tools/stat/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

const char *const table_order_name[ORDERS] = {
	[ORDER_RANK] = "rank",
	[ORDER_CPU] = "cpu",
	[ORDER_LEAD] = "lead",
	[ORDER_MOVES] = "moves",
	[ORDER_RATE] = "rate",
};

struct value value_unknown(void)
{
	return (struct value){.kind = VALUE_UNKNOWN};
}

struct value value_bool(bool yes)
{
	return (struct value){.kind = VALUE_BOOL, .yes = yes};
}

struct value value_count(uint64_t count)
{
	if (count > INT64_MAX)
		return value_unknown();
	return (struct value){.kind = VALUE_WHOLE, .whole = (int64_t)count};
}

struct value value_id(int64_t id)
{
	if (id < 0)
		return value_unknown();
	return (struct value){.kind = VALUE_WHOLE, .whole = id};
}

struct value value_real(double real)
{
	if (!isfinite(real))
		return value_unknown();
	return (struct value){.kind = VALUE_REAL, .real = real};
}

struct value value_rate(double real)
{
	return real >= 0 ? value_real(real) : value_unknown();
}

struct value value_seconds(uint64_t ns)
{
	return value_real((double)ns * 1e-9);
}

struct value value_text(const char *text)
{
	if (text == NULL || text[0] == '\0')
		return value_unknown();
	return (struct value){.kind = VALUE_TEXT, .text = text};
}

/* What is not known comes last. */
static double sort_key(const struct table *table, const struct row *row, struct sorting by)
{
	struct value value = table->get(row, (size_t)by.column - 1);
	double number = value.kind == VALUE_WHOLE  ? (double)value.whole
			: value.kind == VALUE_REAL ? value.real
						   : INFINITY;

	return by.down && isfinite(number) ? -number : number;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->sort != b->sort)
		return a->sort < b->sort ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

int table_rows(const struct table *table, const struct live_sample *sample, int64_t unix_time_ms,
	enum table_order order, struct row **out, size_t *n)
{
	struct sorting by = table->sorting[order];
	size_t rows = table->fill(sample, NULL);
	struct row *row = calloc(rows > 0 ? rows : 1, sizeof(*row));

	if (row == NULL)
		return -ENOMEM;
	table->fill(sample, row);
	for (size_t i = 0; i < rows; i++) {
		row[i].sample = sample;
		row[i].unix_time_ms = unix_time_ms;
		row[i].sort = by.column > 0 ? sort_key(table, &row[i], by) : 0;
	}
	qsort(row, rows, sizeof(*row), compare_rows);
	*out = row;
	*n = rows;
	return 0;
}
