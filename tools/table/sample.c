/* SPDX-License-Identifier: MIT */
/* Rows of samples, in order; see sample.h. */
#include "tools/table/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

const char *const sample_order_name[ORDERS] = {
	[ORDER_RANK] = "rank",
	[ORDER_CPU] = "cpu",
	[ORDER_LEAD] = "lead",
	[ORDER_MOVES] = "moves",
	[ORDER_RATE] = "rate",
};

/* Unknown values come last. */
static double sort_key(
	const struct sample_table *table, const struct sample_row *row, struct sample_sorting by)
{
	struct value value = table->table.get(row, (size_t)by.column - 1);
	double number = value.kind == VALUE_WHOLE  ? (double)value.whole
			: value.kind == VALUE_REAL ? value.real
						   : INFINITY;

	return by.down && isfinite(number) ? -number : number;
}

static int compare_rows(const void *left, const void *right)
{
	const struct sample_row *a = left, *b = right;

	if (a->sort != b->sort)
		return a->sort < b->sort ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

int sample_rows(const struct sample_table *table, const struct live_sample *sample,
	int64_t unix_time_ms, enum sample_order order, struct sample_row **out, size_t *n)
{
	struct sample_sorting by =
		table->sorting != NULL ? table->sorting[order] : (struct sample_sorting){0};
	size_t rows = table->fill(sample, NULL);
	struct sample_row *row = calloc(rows > 0 ? rows : 1, sizeof(*row));

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
