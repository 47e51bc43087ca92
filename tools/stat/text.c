/* SPDX-License-Identifier: MIT */
/* Tables and lines of intervals on a terminal; see text.h. */
#include "tools/stat/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int text_table(FILE *to, const struct sample_table *table, const struct live_sample *sample,
	enum sample_order order, size_t most, const char *more)
{
	struct sample_row *row;
	size_t n;

	if (sample_rows(table, sample, 0, order, &row, &n) < 0)
		return -ENOMEM;
	const struct table_rows rows = {
		.row = row, .n = n < most ? n : most, .bytes = sizeof(*row)};
	if (n == 0)
		fprintf(to, "\nNo %s.\n", table->title);
	else
		fputc('\n', to);
	table_print(to, &table->table, &rows, TEXT_COLUMNS, true);
	if (rows.n < n)
		fprintf(to, "... %zu more %s (%s)\n", n - rows.n, table->title, more);
	free(row);
	return 0;
}

/* ---- Intervals ---- */

/* Headings above groups of columns. */
static const struct {
	const char *first; /* key of the first column */
	const char *name;
} group[] = {
	{"age_s", NULL},
	{"threads", "threads"},
	{"balancer_share", "juggle"},
	{"iterations_per_s", "subdomains"},
};

static const char *group_of(size_t column, bool *begins)
{
	for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
		if (strcmp(sample_head.table.column[column].key, group[i].first) != 0)
			continue;
		*begins = true;
		return group[i].name;
	}
	*begins = false;
	return NULL;
}

static void print_group(FILE *to, const char *name, int width)
{
	int dashes = name == NULL ? 0 : width - (int)strlen(name);

	if (name == NULL || dashes < 0)
		fprintf(to, "%*s", width, "");
	for (int i = 0; i < dashes / 2; i++)
		fputc('-', to);
	if (dashes >= 0 && name != NULL)
		fputs(name, to);
	for (int i = dashes / 2; i < dashes; i++)
		fputc('-', to);
}

static void print_groups(FILE *to)
{
	const char *name = NULL;
	int width = -1;
	bool some = false;

	for (size_t i = 0; i < sample_head.table.columns; i++) {
		bool begins;
		const char *next = group_of(i, &begins);
		if (sample_head.table.column[i].title == NULL)
			continue;
		if (begins && width >= 0) {
			fputs(some ? " " : "", to);
			print_group(to, name, width);
			some = true;
			width = -1;
		}
		if (begins)
			name = next;
		width += 1 + table_width(&sample_head.table.column[i]);
	}
	fputs(some ? " " : "", to);
	print_group(to, name, width);
	fputc('\n', to);
}

void text_interval_titles(FILE *to)
{
	bool some = false;

	print_groups(to);
	for (size_t i = 0; i < sample_head.table.columns; i++) {
		const struct column *column = &sample_head.table.column[i];
		if (column->title == NULL)
			continue;
		fprintf(to, "%s%*s", some ? " " : "", table_width(column), column->title);
		some = true;
	}
	fputc('\n', to);
}

void text_interval(FILE *to, const struct live_sample *sample)
{
	const struct sample_row row = {.sample = sample};
	bool some = false;

	for (size_t i = 0; i < sample_head.table.columns; i++) {
		const struct column *column = &sample_head.table.column[i];
		struct cell cell;
		if (column->title == NULL)
			continue;
		table_show(&cell, column, sample_head.table.get(&row, i));
		fputs(some ? " " : "", to);
		table_print_text(to, cell.text, cell.columns, table_width(column), false);
		some = true;
	}
	fputc('\n', to);
}
