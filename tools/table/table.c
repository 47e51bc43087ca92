/* SPDX-License-Identifier: MIT */
/* Tables as text and as JSON; see table.h. */
#include "tools/table/table.h"

#include "daemon/base/json_text.h"

#include <string.h>

enum { COLUMNS_MAX = 64, LAST_COLUMNS = 8 /* of words at the ends of lines, at least */ };

void table_print_text(FILE *to, const char *text, int columns, int width, bool left)
{
	int space = columns < width ? width - columns : 0;

	fprintf(to, "%*s%.*s%*s", left ? 0 : space, "", format_cut(text, width), text,
		left ? space : 0, "");
}

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
	case SHOW_AGE:
		return format_age(number);
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

void table_show(struct cell *cell, const struct column *column, struct value value)
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

/* ---- Layout ---- */

/* A column that is shown. */
struct shown {
	const struct column *column;
	size_t number; /* its index in the table */
	int width;
	bool left; /* words, not numbers */
};

struct layout {
	const struct table *table;
	struct shown shown[COLUMNS_MAX];
	size_t n;
};

static const void *row_at(const struct table_rows *rows, size_t i)
{
	return (const char *)rows->row + i * rows->bytes;
}

int table_width(const struct column *column)
{
	int title = (int)strlen(column->title);

	return column->width > title ? column->width : title;
}

/* Is anything known in a column (for a flag: set)? Also measures its width. */
static bool measure(
	const struct table *table, const struct table_rows *rows, bool titles, struct shown *out)
{
	bool some = false;

	out->width = titles ? table_width(out->column) : out->column->width;
	for (size_t i = 0; i < rows->n; i++) {
		struct value value = table->get(row_at(rows, i), out->number);
		struct cell cell;
		if (value.kind == VALUE_UNKNOWN || (value.kind == VALUE_BOOL && !value.yes))
			continue;
		table_show(&cell, out->column, value);
		out->width = cell.columns > out->width ? cell.columns : out->width;
		out->left = value.kind == VALUE_TEXT || value.kind == VALUE_BOOL;
		some = true;
	}
	return some;
}

static int line_width(const struct layout *layout)
{
	int width = (int)layout->n - 1;

	for (size_t i = 0; i < layout->n; i++)
		width += layout->shown[i].width;
	return width;
}

/* Leave out the least important column. Returns whether there was one. */
static bool spare(struct layout *layout)
{
	struct shown *shown = layout->shown;
	size_t which = 0;

	for (size_t i = 1; i < layout->n; i++)
		if (shown[i].column->spare > shown[which].column->spare)
			which = i;
	if (shown[which].column->spare == 0)
		return false;
	layout->n--;
	memmove(&shown[which], &shown[which + 1], (layout->n - which) * sizeof(*shown));
	return true;
}

/* Cut words at the ends of lines, rather than leave out columns, but not to nothing. */
static void fit(struct layout *layout, int columns)
{
	for (;;) {
		struct shown *last = &layout->shown[layout->n - 1];
		int over = line_width(layout) - columns;
		if (over <= 0)
			return;
		if (last->left && last->width - over >= LAST_COLUMNS) {
			last->width -= over;
			return;
		}
		if (spare(layout))
			continue;
		if (last->left && last->width > LAST_COLUMNS)
			last->width = LAST_COLUMNS;
		return;
	}
}

static void lay_out(struct layout *layout, const struct table_rows *rows, int columns, bool titles)
{
	const struct table *table = layout->table;

	for (size_t i = 0; i < table->columns && layout->n < COLUMNS_MAX; i++) {
		struct shown *next = &layout->shown[layout->n];
		*next = (struct shown){.column = &table->column[i], .number = i};
		if (next->column->title != NULL && measure(table, rows, titles, next))
			layout->n++;
	}
	if (layout->n > 0)
		fit(layout, columns);
}

/* Print the texts of a line, without trailing blanks. */
static void print_in_line(
	FILE *to, const struct layout *layout, size_t i, const char *text, int columns)
{
	const struct shown *shown = &layout->shown[i];
	bool last = i + 1 == layout->n;
	int width = last && shown->left && columns < shown->width ? columns : shown->width;

	fputs(i > 0 && width > 0 ? " " : "", to);
	table_print_text(to, text, columns, width, shown->left);
	fputs(last ? "\n" : "", to);
}

static void print_titles(FILE *to, const struct layout *layout)
{
	for (size_t i = 0; i < layout->n; i++) {
		const char *title = layout->shown[i].column->title;
		print_in_line(to, layout, i, title, (int)strlen(title));
	}
}

static void print_row(FILE *to, const struct layout *layout, const void *row)
{
	for (size_t i = 0; i < layout->n; i++) {
		const struct shown *shown = &layout->shown[i];
		struct cell cell;
		table_show(&cell, shown->column, layout->table->get(row, shown->number));
		print_in_line(to, layout, i, cell.text, cell.columns);
	}
}

void table_print(FILE *to, const struct table *table, const struct table_rows *rows, int columns,
	bool titles)
{
	struct layout layout = {.table = table};

	lay_out(&layout, rows, columns, titles);
	if (titles)
		print_titles(to, &layout);
	for (size_t i = 0; i < rows->n; i++)
		print_row(to, &layout, row_at(rows, i));
}

/* ---- JSON ---- */

/* NULL only when out of memory. */
static json_t *value_json(struct value value)
{
	switch (value.kind) {
	case VALUE_UNKNOWN:
		break;
	case VALUE_BOOL:
		return json_boolean(value.yes);
	case VALUE_WHOLE:
		return json_integer(value.whole);
	case VALUE_REAL:
		return json_real(value.real);
	case VALUE_TEXT:
		return json_text(value.text);
	}
	return json_null();
}

int table_add_cells(json_t *object, const struct table *table, const void *row)
{
	for (size_t i = 0; i < table->columns; i++) {
		if (table->column[i].key == NULL)
			continue;
		json_t *value = value_json(table->get(row, i));
		if (json_object_set_new_nocheck(object, table->column[i].key, value) < 0)
			return -1;
	}
	return 0;
}
