/* SPDX-License-Identifier: MIT */
/* Tables and lines of intervals on a terminal; see text.h. */
#include "tools/stat/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/table/format.h"

enum { COLUMNS_MAX = 64, NAME_COLUMNS = 8 };

struct cell {
	struct format shown;
	const char *text; /* the above, or the value's */
	int columns; /* that it takes: characters, not bytes */
};

/* How a table is laid out: the columns that are shown, and how wide. */
struct layout {
	size_t column[COLUMNS_MAX];
	int width[COLUMNS_MAX];
	bool left[COLUMNS_MAX]; /* words, not numbers */
	size_t n;
};

static void print_text(FILE *to, const char *text, int columns, int width, bool left)
{
	int space = columns < width ? width - columns : 0;

	fprintf(to, "%*s%.*s%*s", left ? 0 : space, "", format_cut(text, width), text,
		left ? space : 0, "");
}

/* ---- Cells ---- */

static struct format show_number(enum show show, double number)
{
	struct format out;

	switch (show) {
	case SHOW_PERCENT:
		return format_percent(number);
	case SHOW_MS:
		return format_signed(number * 1e3);
	case SHOW_GAP_MS:
		return format_number(number * 1e3);
	case SHOW_RESIDUAL:
		snprintf(out.text, FORMAT_BYTES, "%.2e", number);
		return out;
	case SHOW_TENTHS:
		if (!(number >= 0 && number < 1e6))
			return format_number(number);
		snprintf(out.text, FORMAT_BYTES, "%.1f", number);
		return out;
	default:
		return format_number(number);
	}
}

static void show_value(struct cell *cell, const struct column *column, struct value value)
{
	cell->text = cell->shown.text;
	switch (value.kind) {
	case VALUE_UNKNOWN:
		cell->text = "-";
		break;
	case VALUE_BOOL:
		cell->text = value.yes ? "yes" : "";
		break;
	case VALUE_WHOLE:
		if (column->show == SHOW_COUNT)
			cell->shown = format_count((uint64_t)value.whole);
		else
			snprintf(cell->shown.text, FORMAT_BYTES, "%lld", (long long)value.whole);
		break;
	case VALUE_REAL:
		cell->shown = show_number(column->show, value.real);
		break;
	case VALUE_TEXT:
		cell->text = value.text;
		break;
	}
	cell->columns = format_columns(cell->text);
}

/* ---- Tables ---- */

static int least_width(const struct column *column)
{
	int title = (int)strlen(column->title);

	return column->width > title ? column->width : title;
}

/* Whether anything is known in a column (and for a flag, set); then how wide it has to be. */
static bool measure(const struct table *table, size_t column, const struct row *row, size_t n,
	int *width, bool *left)
{
	bool some = false;

	*width = least_width(&table->column[column]);
	for (size_t i = 0; i < n; i++) {
		struct value value = table->get(&row[i], column);
		struct cell cell;
		if (value.kind == VALUE_UNKNOWN || (value.kind == VALUE_BOOL && !value.yes))
			continue;
		show_value(&cell, &table->column[column], value);
		*width = cell.columns > *width ? cell.columns : *width;
		*left = value.kind == VALUE_TEXT || value.kind == VALUE_BOOL;
		some = true;
	}
	return some;
}

static int line_width(const struct layout *layout)
{
	int width = (int)layout->n - 1;

	for (size_t i = 0; i < layout->n; i++)
		width += layout->width[i];
	return width;
}

/* Leave out what can be spared most. Returns whether there was anything. */
static bool spare(const struct table *table, struct layout *layout)
{
	size_t which = 0;
	int most = 0;

	for (size_t i = 0; i < layout->n; i++) {
		if (table->column[layout->column[i]].spare > most) {
			most = table->column[layout->column[i]].spare;
			which = i;
		}
	}
	if (most == 0)
		return false;
	layout->n--;
	for (size_t i = which; i < layout->n; i++) {
		layout->column[i] = layout->column[i + 1];
		layout->width[i] = layout->width[i + 1];
		layout->left[i] = layout->left[i + 1];
	}
	return true;
}

/* Words at the end of lines are cut rather than columns left out. */
static void fit(const struct table *table, struct layout *layout)
{
	for (;;) {
		size_t last = layout->n - 1;
		int over = line_width(layout) - TEXT_COLUMNS;
		if (over <= 0)
			return;
		if (layout->left[last] && layout->width[last] - over >= NAME_COLUMNS) {
			layout->width[last] -= over;
			return;
		}
		if (!spare(table, layout))
			return;
	}
}

static void lay_out(
	const struct table *table, const struct row *row, size_t n, struct layout *layout)
{
	layout->n = 0;
	for (size_t i = 0; i < table->columns && layout->n < COLUMNS_MAX; i++) {
		size_t at = layout->n;
		layout->left[at] = false;
		if (table->column[i].title == NULL ||
			!measure(table, i, row, n, &layout->width[at], &layout->left[at]))
			continue;
		layout->column[at] = i;
		layout->n++;
	}
	if (layout->n > 0)
		fit(table, layout);
}

/* No blanks at the end of lines. */
static int width_in_line(const struct layout *layout, size_t i, int columns)
{
	if (i + 1 == layout->n && layout->left[i] && columns < layout->width[i])
		return columns;
	return layout->width[i];
}

static void print_titles(FILE *to, const struct table *table, const struct layout *layout)
{
	for (size_t i = 0; i < layout->n; i++) {
		const char *title = table->column[layout->column[i]].title;
		int columns = (int)strlen(title);
		fputs(i > 0 ? " " : "", to);
		print_text(to, title, columns, width_in_line(layout, i, columns), layout->left[i]);
	}
	fputc('\n', to);
}

static void print_row(
	FILE *to, const struct table *table, const struct layout *layout, const struct row *row)
{
	for (size_t i = 0; i < layout->n; i++) {
		const struct column *column = &table->column[layout->column[i]];
		struct cell cell;
		show_value(&cell, column, table->get(row, layout->column[i]));
		int width = width_in_line(layout, i, cell.columns);
		fputs(i > 0 && width > 0 ? " " : "", to);
		print_text(to, cell.text, cell.columns, width, layout->left[i]);
	}
	fputc('\n', to);
}

int text_table(FILE *to, const struct table *table, const struct live_sample *sample,
	enum table_order order, size_t most, const char *more)
{
	struct layout layout;
	struct row *row;
	size_t n;

	if (table_rows(table, sample, 0, order, &row, &n) < 0)
		return -ENOMEM;
	size_t shown = n < most ? n : most;
	if (n == 0)
		fprintf(to, "\nNo %s.\n", table->title);
	lay_out(table, row, shown, &layout);
	if (layout.n > 0) {
		fputc('\n', to);
		print_titles(to, table, &layout);
	}
	for (size_t i = 0; i < shown && layout.n > 0; i++)
		print_row(to, table, &layout, &row[i]);
	if (shown < n)
		fprintf(to, "... %zu more %s (%s)\n", n - shown, table->title, more);
	free(row);
	return 0;
}

/* ---- Intervals ---- */

/* What stands above columns that belong together. */
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
		if (strcmp(table_head.column[column].key, group[i].first) != 0)
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

	for (size_t i = 0; i < table_head.columns; i++) {
		bool begins;
		const char *next = group_of(i, &begins);
		if (table_head.column[i].title == NULL)
			continue;
		if (begins && width >= 0) {
			fputs(some ? " " : "", to);
			print_group(to, name, width);
			some = true;
			width = -1;
		}
		if (begins)
			name = next;
		width += 1 + least_width(&table_head.column[i]);
	}
	fputs(some ? " " : "", to);
	print_group(to, name, width);
	fputc('\n', to);
}

void text_interval_titles(FILE *to)
{
	bool some = false;

	print_groups(to);
	for (size_t i = 0; i < table_head.columns; i++) {
		const struct column *column = &table_head.column[i];
		if (column->title == NULL)
			continue;
		fprintf(to, "%s%*s", some ? " " : "", least_width(column), column->title);
		some = true;
	}
	fputc('\n', to);
}

void text_interval(FILE *to, const struct live_sample *sample)
{
	const struct row row = {.sample = sample};
	bool some = false;

	for (size_t i = 0; i < table_head.columns; i++) {
		const struct column *column = &table_head.column[i];
		struct cell cell;
		if (column->title == NULL)
			continue;
		show_value(&cell, column, table_head.get(&row, i));
		fputs(some ? " " : "", to);
		print_text(to, cell.text, cell.columns, least_width(column), false);
		some = true;
	}
	fputc('\n', to);
}
