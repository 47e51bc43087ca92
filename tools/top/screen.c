/* SPDX-License-Identifier: MIT */
/* The whole screen; see screen.h. */
#include "tools/top/screen.h"

#include <string.h>

static int least(int a, int b)
{
	return a < b ? a : b;
}

static void draw_foot(const struct canvas_area *area, const struct view *view)
{
	canvas_fill(area, 0, 0, CANVAS_TITLE, L' ', ' ');
	if (view->typing)
		canvas_print(area, 0, 1, CANVAS_TITLE,
			"only threads with: %s_   (Enter: keep, Esc: as before)", view->filter);
	else if (view->message[0] != '\0')
		canvas_text(area, 0, 1, CANVAS_TITLE, view->message);
	else if (view->picking)
		canvas_text(area, 0, 1, CANVAS_TITLE, "Enter watch  q quit  ? help");
	else
		canvas_text(area, 0, 1, CANVAS_TITLE,
			"o all  t threads  c CPUs  s subdomains  <> sort  / find  ? help  q quit");
}

/* Lay the panels one below the other. The threads get the rows that the others leave, but no more
 * than they need; what is left then makes the lines over time taller. When there is much of
 * everything, each panel gets a part. */
static void draw_overview(const struct canvas_area *area, const struct frame *frame)
{
	int left = area->rows, row = 0;
	int wanted_threads =
		(int)(frame->arrange->threads < 1000 ? frame->arrange->threads : 1000) + 2;
	int wanted_map = map_rows(frame, area->cols);
	int lines = least(lines_rows(frame), left / 3);
	int cpus = cpus_rows(frame, area->cols, false);

	if (cpus > left / 4)
		cpus = least(cpus_rows(frame, area->cols, true), left / 4 > 2 ? left / 4 : 2);
	left -= lines + cpus;
	int threads = least(
		wanted_threads, wanted_map > 0 ? left - least(wanted_map, (left + 1) / 2) : left);
	int map = least(wanted_map, left - threads);
	if (lines > 0)
		lines += left - threads - map;

	struct canvas_area part = canvas_part(area, row, 0, threads, area->cols);
	threads_draw(&part, frame);
	row += threads;
	part = canvas_part(area, row, 0, cpus, area->cols);
	cpus_draw(&part, frame);
	row += cpus;
	if (map > 0) {
		part = canvas_part(area, row, 0, map, area->cols);
		map_draw(&part, frame);
		row += map;
	}
	part = canvas_part(area, row, 0, lines, area->cols);
	lines_draw(&part, frame);
}

/* Show the lines over time if there is room, and in all the rows that the map doesn't need. */
static void draw_map(const struct canvas_area *area, const struct frame *frame)
{
	int lines = lines_rows(frame), wanted_map = map_rows(frame, area->cols);

	if (lines * 3 >= area->rows)
		lines = 0;
	else if (lines > 0 && wanted_map > 0 && area->rows - wanted_map > lines)
		lines = area->rows - wanted_map;
	struct canvas_area part = canvas_part(area, 0, 0, area->rows - lines, area->cols);
	map_draw(&part, frame);
	if (lines == 0)
		return;
	part = canvas_part(area, area->rows - lines, 0, lines, area->cols);
	lines_draw(&part, frame);
}

static void draw_panel(const struct canvas_area *area, const struct frame *frame)
{
	switch (frame->view->panel) {
	case VIEW_THREADS:
		threads_draw(area, frame);
		return;
	case VIEW_CPUS:
		cpus_draw_list(area, frame);
		return;
	case VIEW_SUBDOMAINS:
		draw_map(area, frame);
		return;
	case VIEW_HELP:
		help_draw(area, frame);
		return;
	case VIEW_JOBS:
		jobs_draw(area, frame);
		return;
	default:
		draw_overview(area, frame);
		return;
	}
}

void screen_draw(struct canvas *canvas, const struct frame *frame)
{
	struct canvas_area whole = canvas_whole(canvas);

	if (whole.rows < SCREEN_ROWS_MIN || whole.cols < SCREEN_COLS_MIN) {
		canvas_print(&whole, 0, 0, CANVAS_PLAIN, "too small: %d x %d needed",
			SCREEN_COLS_MIN, SCREEN_ROWS_MIN);
		canvas_text(&whole, 1, 0, CANVAS_PLAIN, "q: quit");
		return;
	}
	struct canvas_area foot = canvas_part(&whole, whole.rows - 1, 0, 1, whole.cols);
	struct canvas_area body = canvas_part(&whole, 0, 0, whole.rows - 1, whole.cols);
	int row = 1;
	if (frame->sample != NULL) {
		row = head_draw(&body, frame);
	} else {
		canvas_fill(&body, 0, 0, CANVAS_TITLE, L' ', ' ');
		canvas_text(&body, 0, 1, CANVAS_TITLE, "jugglectl top");
	}
	body = canvas_part(&body, row, 0, body.rows - row, body.cols);
	if (frame->sample != NULL || frame->view->panel == VIEW_HELP ||
		frame->view->panel == VIEW_JOBS)
		draw_panel(&body, frame);
	draw_foot(&foot, frame->view);
}
