/* SPDX-License-Identifier: MIT */
/* Threads as bars against the mean; see panels.h. */
#include "tools/top/panels.h"

#include "tools/table/format.h"
#include "tools/top/number.h"

#include <math.h>
#include <stdio.h>

enum { TID, RANK, NAME, CPU, SHARE, WAIT, MOVES, UPDATES, LEAD, COLUMNS };

/* lead_s is shown when it makes this much of the scale; else a thread is at the mean. */
#define AT_THE_MEAN 0.005
#define LETTERS 3 /* columns: of "behind", and blanks around it */

struct column {
	const char *title;
	int width, col; /* width 0: not shown */
	bool right;
	enum view_sort sort; /* VIEW_SORTS: by none */
};

struct table {
	struct column column[COLUMNS];
	int letter, bar, bar_cols; /* columns; bar_cols is odd, or 0 */
};

static bool any_rank(const struct live_sample *sample)
{
	for (size_t i = 0; i < sample->threads; i++)
		if (sample->thread[i].rank >= 0)
			return true;
	return false;
}

static bool any_worker(const struct live_sample *sample)
{
	for (size_t i = 0; i < sample->threads; i++)
		if (sample->thread[i].worker >= 0)
			return true;
	return false;
}

static struct table lay_out(const struct live_sample *sample, int cols)
{
	struct table table = {
		.column = {
			[TID] = {"TID", 7, 0, true, VIEW_BY_TID},
			[RANK] = {"RANK", any_rank(sample) ? 4 : 0, 0, true, VIEW_SORTS},
			[NAME] = {"NAME", cols >= 100 ? 15 : 10, 0, false, VIEW_SORTS},
			[CPU] = {"CPU", 4, 0, true, VIEW_BY_CPU},
			[SHARE] = {"CPU %", 5, 0, true, VIEW_BY_SHARE},
			[WAIT] = {"WAIT %", 6, 0, true, VIEW_BY_WAIT},
			[MOVES] = {"MOVES", sample->wrapped ? 6 : 0, 0, true, VIEW_BY_MOVES},
			[UPDATES] = {"UPD/S", cols >= 90 && any_worker(sample) ? 6 : 0, 0, true,
				VIEW_SORTS},
			[LEAD] = {"LEAD", 7, 0, true, VIEW_BY_LEAD},
		}};
	int col = 0;

	for (int i = 0; i < COLUMNS; i++) {
		table.column[i].col = col;
		col += table.column[i].width > 0 ? table.column[i].width + 1 : 0;
	}
	table.letter = col;
	table.bar = col + LETTERS - 1;
	table.bar_cols = cols - table.bar;
	if (table.bar_cols < 5)
		table.bar_cols = 0;
	else
		table.bar_cols -= table.bar_cols % 2 == 0;
	return table;
}

static void draw_heads(
	const struct canvas_area *area, const struct table *table, const struct frame *frame)
{
	double scale_ms = frame->arrange->lead_scale_s * 1e3;

	for (int i = 0; i < COLUMNS; i++) {
		const struct column *column = &table->column[i];
		if (column->width > 0)
			canvas_field(area, 0, column->col, column->width, column->right,
				column->sort == frame->view->sort ? CANVAS_CHOSEN : CANVAS_BOLD,
				column->title);
	}
	if (table->bar_cols == 0)
		return;
	char high[FORMAT_BYTES + 3];
	snprintf(high, sizeof(high), "%s ms", format_signed(scale_ms).text);
	struct canvas_area bar = canvas_part(area, 0, table->bar, 1, table->bar_cols);
	canvas_text(&bar, 0, 0, CANVAS_BOLD, format_signed(-scale_ms).text);
	canvas_field(&bar, 0, bar.cols / 2 + 1, bar.cols / 2, true, CANVAS_BOLD, high);
	canvas_put(&bar, 0, bar.cols / 2, CANVAS_BOLD, L'0', '0');
}

static char letter_of(const struct live_thread *thread, double scale_s)
{
	if (!thread->compute)
		return 'i';
	if (!isfinite(thread->lead_s))
		return ' ';
	if (fabs(thread->lead_s) < scale_s * AT_THE_MEAN)
		return '=';
	return thread->lead_s < 0 ? 'B' : 'A';
}

static void draw_bar(const struct canvas_area *area, int row, const struct table *table,
	const struct live_thread *thread, double scale_s, enum canvas_style style)
{
	struct canvas_area bar = canvas_part(area, row, table->bar, 1, table->bar_cols);
	int middle = table->bar_cols / 2;
	char letter = letter_of(thread, scale_s);

	if (table->bar_cols == 0)
		return;
	canvas_put(&bar, 0, middle, CANVAS_DIM, L'│', '|');
	if (letter != 'A' && letter != 'B')
		return;
	int length = number_steps(fabs(thread->lead_s) / scale_s, middle);
	for (int i = 1; i <= length || i == 1; i++)
		canvas_put(&bar, 0, letter == 'B' ? middle - i : middle + i, style, L'█', '#');
}

static void draw_thread(const struct canvas_area *area, int row, const struct table *table,
	const struct live_thread *thread, double scale_s)
{
	char letter = letter_of(thread, scale_s);
	enum canvas_style style = letter == 'A'   ? CANVAS_AHEAD
				  : letter == 'B' ? CANVAS_BEHIND
				  : letter == 'i' ? CANVAS_DIM
						  : CANVAS_PLAIN;
	enum canvas_style text_style = letter == 'i' ? CANVAS_DIM : CANVAS_PLAIN;
	struct format text[COLUMNS] = {{""}};

	snprintf(text[TID].text, FORMAT_BYTES, "%d", (int)thread->tid);
	if (thread->rank >= 0)
		snprintf(text[RANK].text, FORMAT_BYTES, "%d", (int)thread->rank);
	if (thread->os_cpu >= 0)
		snprintf(text[CPU].text, FORMAT_BYTES, "%d", (int)thread->os_cpu);
	text[SHARE] = format_percent(thread->share);
	text[WAIT] = format_percent(thread->wait_share);
	text[MOVES] = format_count(thread->migrations);
	if (thread->worker >= 0)
		text[UPDATES] = format_number(thread->updates_per_s);
	if (thread->compute && isfinite(thread->lead_s))
		text[LEAD] = format_signed(thread->lead_s * 1e3);
	for (int i = 0; i < COLUMNS; i++) {
		const struct column *column = &table->column[i];
		if (column->width > 0)
			canvas_field(area, row, column->col, column->width, column->right,
				i == LEAD ? style : text_style,
				i == NAME ? thread->comm : text[i].text);
	}
	canvas_put(area, row, table->letter, style, (wchar_t)letter, letter);
	draw_bar(area, row, table, thread, scale_s, style);
}

static void draw_title(
	const struct canvas_area *area, const struct frame *frame, size_t first, int fit)
{
	const struct arrange *arrange = frame->arrange;
	const struct view *view = frame->view;
	size_t after = first + (fit > 0 ? (size_t)fit : 0);
	char shown[60];

	if (after > arrange->threads)
		after = arrange->threads;
	if (first == 0 && after == arrange->threads)
		snprintf(shown, sizeof(shown), "%zu", arrange->threads);
	else
		snprintf(
			shown, sizeof(shown), "%zu-%zu of %zu", first + 1, after, arrange->threads);
	panels_title(area, "Threads: %s, by %s%s%s%s; A ahead, B behind, ms", shown,
		view_sort_names[view->sort], view->reverse ? " (reverse)" : "",
		view->filter[0] != '\0' ? ", with: " : "", view->filter);
}

void threads_draw(const struct canvas_area *area, const struct frame *frame)
{
	const struct arrange *arrange = frame->arrange;
	struct table table = lay_out(frame->sample, area->cols);
	int fit = area->rows - 2;
	size_t first = panels_scroll(frame->view, arrange->threads, fit);

	draw_title(area, frame, first, fit);
	struct canvas_area rest = canvas_part(area, 1, 0, area->rows - 1, area->cols);
	draw_heads(&rest, &table, frame);
	for (int i = 0; i < fit && first + (size_t)i < arrange->threads; i++)
		draw_thread(&rest, i + 1, &table,
			&frame->sample->thread[arrange->thread[first + (size_t)i]],
			arrange->lead_scale_s);
	if (frame->sample->unlisted > 0 && frame->sample->wrapped)
		canvas_print(&rest, fit, 1, CANVAS_WARNING, "%llu threads more are not listed",
			(unsigned long long)frame->sample->unlisted);
}
