/* SPDX-License-Identifier: MIT */
/*
 * Subdomains as a map of how far they are behind the mean; see panels.h. A cell is one subdomain
 * or, where they don't fit, several adjacent ones: it shows the one that is furthest behind.
 */
#include "tools/top/panels.h"

#include "tools/table/format.h"
#include "tools/top/number.h"

#include <math.h>
#include <stdio.h>

enum { LABEL = 9 };

static const wchar_t shades[CANVAS_LEVELS] = {L'·', L'░', L'▒', L'▓', L'█'};
static const char ascii_shades[CANVAS_LEVELS] = {'.', ':', '+', '*', '#'};

static int cells_a_row(int cols)
{
	return cols > LABEL + 1 ? cols - LABEL : 1;
}

/* Rows that all groups need when a cell stands for that many subdomains. */
static size_t rows_with(const struct arrange *arrange, int cells, uint32_t a_cell)
{
	size_t rows = 0;

	for (size_t i = 0; i < arrange->groups; i++) {
		size_t n = ((size_t)arrange->group[i].count + a_cell - 1) / a_cell;
		rows += n > 0 ? (n + (size_t)cells - 1) / (size_t)cells : 1;
	}
	return rows;
}

static uint32_t largest(const struct arrange *arrange)
{
	uint32_t most = 1;

	for (size_t i = 0; i < arrange->groups; i++)
		if (arrange->group[i].count > most)
			most = arrange->group[i].count;
	return most;
}

/* The fewest subdomains per cell with which all groups fit, or with which each group has one
 * row. */
static uint32_t fewest_a_cell(const struct arrange *arrange, int cells, int rows)
{
	uint32_t low = 1, high = largest(arrange);

	if (rows < 0)
		rows = 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		size_t needed = rows_with(arrange, cells, middle);
		if (needed <= (size_t)rows || needed == arrange->groups)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int map_rows(const struct frame *frame, int cols)
{
	if (frame->arrange->groups == 0)
		return 0;
	size_t rows = rows_with(frame->arrange, cells_a_row(cols), 1);
	return rows < 1000 ? (int)rows + 2 : 1000;
}

/* 0 to CANVAS_LEVELS - 1; -1: nobody holds it. */
static int level_of(
	const struct frame *frame, const struct arrange_group *group, uint32_t i, double scale)
{
	const struct live_process *process = &frame->sample->process[group->process];
	const struct progress_subdomain_view *subdomain =
		&process->subdomain[frame->arrange->subdomain[group->first + i]];
	double behind = frame->arrange->mean - (double)subdomain->updates;

	if (subdomain->holder >= process->workers)
		return -1;
	if (!(behind > 0))
		return 0;
	int level = (int)ceil(fmin(behind / scale, 1) * (CANVAS_LEVELS - 1));
	return level < 1 ? 1 : level;
}

static void draw_label(const struct canvas_area *area, int row, const struct frame *frame,
	const struct arrange_group *group)
{
	const struct live_process *process = &frame->sample->process[group->process];
	char text[40];

	if (group->worker >= 0 && frame->sample->processes == 1)
		snprintf(text, sizeof(text), "w%d", (int)group->worker);
	else if (group->worker >= 0)
		snprintf(text, sizeof(text), "%d.%d",
			process->rank >= 0 ? (int)process->rank : (int)process->pid,
			(int)group->worker);
	else if (process->rank >= 0)
		snprintf(text, sizeof(text), "rank %d", (int)process->rank);
	else
		snprintf(text, sizeof(text), "%d", (int)process->pid);
	canvas_field(area, row, 0, LABEL - 1, false, CANVAS_DIM, text);
}

/* Draw the rows of a group from row `at` on, which may be above the area. Returns the row after
 * it. */
static long draw_group(const struct canvas_area *area, long at, const struct frame *frame,
	const struct arrange_group *group, uint32_t a_cell, double scale)
{
	int cells = cells_a_row(area->cols), col = 0;

	if (at >= 0 && at < area->rows)
		draw_label(area, (int)at, frame, group);
	for (uint32_t i = 0; i < group->count; col++) {
		int worst = -1;
		if (col == cells) {
			col = 0;
			at++;
		}
		for (uint32_t end = group->count - i < a_cell ? group->count : i + a_cell; i < end;
			i++) {
			int level = level_of(frame, group, i, scale);
			worst = level > worst ? level : worst;
		}
		if (worst >= 0 && at >= 0 && at < area->rows)
			canvas_put(area, (int)at, LABEL + col,
				(enum canvas_style)(CANVAS_LEVEL + worst), shades[worst],
				ascii_shades[worst]);
	}
	return at + 1;
}

/* Draw each shade, with the number of updates behind that it stands for. */
static void draw_scale(const struct canvas_area *area, int row, double scale)
{
	int col = canvas_text(area, row, 0, CANVAS_DIM, "behind   ");

	for (int level = 0; level < CANVAS_LEVELS; level++) {
		canvas_put(area, row, col, (enum canvas_style)(CANVAS_LEVEL + level), shades[level],
			ascii_shades[level]);
		if (level == 0)
			col = canvas_text(area, row, col + 2, CANVAS_DIM, "no  ");
		else
			col = canvas_print(area, row, col + 2, CANVAS_DIM, "to %s  ",
				format_number(scale * level / (CANVAS_LEVELS - 1)).text);
	}
	canvas_text(area, row, col, CANVAS_DIM, "updates");
}

void map_draw(const struct canvas_area *area, const struct frame *frame)
{
	const struct arrange *arrange = frame->arrange;
	double steps = CANVAS_LEVELS - 1;
	double scale = steps * number_scale(fmax(arrange->most_behind / steps, 1));
	int rows = area->rows - 2, cells = cells_a_row(area->cols);
	uint32_t a_cell = fewest_a_cell(arrange, cells, rows);
	size_t needed = rows_with(arrange, cells, a_cell), first = 0;
	char several[40] = "one";

	if (frame->view->panel == VIEW_SUBDOMAINS)
		first = panels_scroll(frame->view, needed, rows);
	if (a_cell > 1)
		snprintf(several, sizeof(several), "the worst of %u", (unsigned)a_cell);
	struct canvas_area rest = panels_title(area,
		"Subdomains: %u, by %s, mean %s updates; a cell is %s%s",
		(unsigned)frame->sample->subdomains, frame->view->by_worker ? "worker" : "number",
		format_number(arrange->mean).text, several,
		needed > (size_t)(rows > 0 ? rows : 0) ? "; more below" : "");
	draw_scale(&rest, 0, scale);
	rest = canvas_part(&rest, 1, 0, rest.rows - 1, rest.cols);
	long at = -(long)first;
	for (size_t i = 0; i < arrange->groups && at < rest.rows; i++)
		at = draw_group(&rest, at, frame, &arrange->group[i], a_cell, scale);
	if (arrange->groups == 0)
		canvas_text(&rest, 0, 1, CANVAS_PLAIN,
			frame->sample->processes > 0
				? "None can be read: `jugglectl stat' says why."
				: "None: the program does not publish its progress, see "
				  "progress(3).");
}
