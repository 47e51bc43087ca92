/* SPDX-License-Identifier: MIT */
/* Threads as bars against the mean; see panels.h. */
#include "tools/top/panels.h"

#include "tools/table/sample.h"
#include "tools/top/number.h"

#include <math.h>
#include <stdio.h>

enum { SHOWN = 10 /* columns, at most */ };

/* A lead of less than this part of the scale counts as the mean. */
#define AT_THE_MEAN 0.005
#define LETTERS 3 /* columns: of "behind", and blanks around it */

/* A column of sample_threads on the screen. */
struct screen_column {
	enum sample_thread of;
	const char *title;
	int width, col; /* width 0: not shown */
	enum view_sort sort; /* VIEW_SORTS: by none */
};

/* The layout of a line: its columns, and what stands beside them. */
struct line {
	struct screen_column column[SHOWN];
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

static bool any_told(const struct live_sample *sample)
{
	for (size_t i = 0; i < sample->threads; i++)
		if (sample->thread[i].told)
			return true;
	return false;
}

static struct line lay_out(const struct live_sample *sample, int cols)
{
	struct line line = {
		.column = {
			{THREAD_TID, "TID", 7, 0, VIEW_BY_TID},
			{THREAD_RANK, "RANK", any_rank(sample) ? 4 : 0, 0, VIEW_SORTS},
			{THREAD_NAME, "NAME", cols >= 100 ? 15 : 10, 0, VIEW_SORTS},
			{THREAD_CPU, "CPU", 4, 0, VIEW_BY_CPU},
			{THREAD_SHARE, "CPU %", 5, 0, VIEW_BY_SHARE},
			{THREAD_WAIT_SHARE, "WAIT %", 6, 0, VIEW_BY_WAIT},
			{THREAD_WAITED_SHARE, "SYNC %", any_told(sample) ? 6 : 0, 0, VIEW_SORTS},
			{THREAD_MOVES, "MOVES", sample->wrapped ? 6 : 0, 0, VIEW_BY_MOVES},
			{THREAD_UPDATE_RATE, "UPD/S", cols >= 90 && any_worker(sample) ? 6 : 0, 0,
				VIEW_SORTS},
			{THREAD_LEAD, "LEAD", 7, 0, VIEW_BY_LEAD},
		}};
	int col = 0;

	for (int i = 0; i < SHOWN; i++) {
		line.column[i].col = col;
		col += line.column[i].width > 0 ? line.column[i].width + 1 : 0;
	}
	line.letter = col;
	line.bar = col + LETTERS - 1;
	line.bar_cols = cols - line.bar;
	if (line.bar_cols < 5)
		line.bar_cols = 0;
	else
		line.bar_cols -= line.bar_cols % 2 == 0;
	return line;
}

static void draw_cell(const struct canvas_area *area, int row, const struct screen_column *column,
	enum canvas_style style, const char *text)
{
	if (column->width > 0)
		canvas_field(area, row, column->col, column->width, column->of != THREAD_NAME,
			style, text);
}

static void draw_heads(
	const struct canvas_area *area, const struct line *line, const struct frame *frame)
{
	double scale_ms = frame->arrange->lead_scale_s * 1e3;

	for (int i = 0; i < SHOWN; i++)
		draw_cell(area, 0, &line->column[i],
			line->column[i].sort == frame->view->sort ? CANVAS_CHOSEN : CANVAS_BOLD,
			line->column[i].title);
	if (line->bar_cols == 0)
		return;
	char high[FORMAT_BYTES + 3];
	snprintf(high, sizeof(high), "%s ms", format_signed(scale_ms).text);
	struct canvas_area bar = canvas_part(area, 0, line->bar, 1, line->bar_cols);
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

static void draw_bar(const struct canvas_area *area, int row, const struct line *line,
	const struct live_thread *thread, double scale_s, enum canvas_style style)
{
	struct canvas_area bar = canvas_part(area, row, line->bar, 1, line->bar_cols);
	int middle = line->bar_cols / 2;
	char letter = letter_of(thread, scale_s);

	if (line->bar_cols == 0)
		return;
	canvas_put(&bar, 0, middle, CANVAS_DIM, L'│', '|');
	if (letter != 'A' && letter != 'B')
		return;
	int length = number_steps(fabs(thread->lead_s) / scale_s, middle);
	for (int i = 1; i <= length || i == 1; i++)
		canvas_put(&bar, 0, letter == 'B' ? middle - i : middle + i, style, L'█', '#');
}

/* Unknown values are left blank. */
static void draw_thread(const struct canvas_area *area, int row, const struct line *line,
	const struct live_sample *sample, uint32_t index, double scale_s)
{
	const struct live_thread *thread = &sample->thread[index];
	const struct sample_row of = {.sample = sample, .index = index};
	const struct table *table = &sample_threads.table;
	char letter = letter_of(thread, scale_s);
	enum canvas_style style = letter == 'A'   ? CANVAS_AHEAD
				  : letter == 'B' ? CANVAS_BEHIND
				  : letter == 'i' ? CANVAS_DIM
						  : CANVAS_PLAIN;

	for (int i = 0; i < SHOWN; i++) {
		enum sample_thread shown = line->column[i].of;
		struct value value = table->get(&of, shown);
		struct cell cell;
		table_show(&cell, &table->column[shown], value);
		draw_cell(area, row, &line->column[i],
			shown == THREAD_LEAD || letter == 'i' ? style : CANVAS_PLAIN,
			value.kind == VALUE_UNKNOWN ? "" : cell.text);
	}
	canvas_put(area, row, line->letter, style, (wchar_t)letter, letter);
	draw_bar(area, row, line, thread, scale_s, style);
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
	struct line line = lay_out(frame->sample, area->cols);
	int fit = area->rows - 2;
	size_t first = panels_scroll(frame->view, arrange->threads, fit);

	draw_title(area, frame, first, fit);
	struct canvas_area rest = canvas_part(area, 1, 0, area->rows - 1, area->cols);
	draw_heads(&rest, &line, frame);
	for (int i = 0; i < fit && first + (size_t)i < arrange->threads; i++)
		draw_thread(&rest, i + 1, &line, frame->sample, arrange->thread[first + (size_t)i],
			arrange->lead_scale_s);
	if (frame->sample->unlisted > 0 && frame->sample->wrapped)
		canvas_print(&rest, fit, 1, CANVAS_WARNING, "%llu threads more are not listed",
			(unsigned long long)frame->sample->unlisted);
}
