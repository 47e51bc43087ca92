/* SPDX-License-Identifier: MIT */
/*
 * The parts of the screen of jugglectl top, each drawn into an area of any size. Pure, except that
 * scrolling is brought into range.
 */
#ifndef TOP_PANELS_H
#define TOP_PANELS_H

#include "tools/top/arrange.h"
#include "tools/top/canvas.h"
#include "tools/top/history.h"
#include "tools/top/view.h"

/* What is drawn. arrange is that of the sample, which is NULL while no job is chosen. */
struct frame {
	const struct live_sample *sample;
	const struct arrange *arrange;
	const struct history *history;
	struct view *view;
};

/* The title of a panel, in the first row of its area. Returns the rest of the area. */
struct canvas_area panels_title(const struct canvas_area *area, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Bring the scrolling of the current panel into range, for n lines of which `fit` are shown.
 * Returns the first line to show. */
size_t panels_scroll(struct view *view, size_t n, int fit);

/* The head: what runs, and its state. Returns how many rows it took. */
int head_draw(const struct canvas_area *area, const struct frame *frame);

void threads_draw(const struct canvas_area *area, const struct frame *frame);

/* The rows needed to show the threads of each CPU, or only their number (compact), with the
 * title. */
int cpus_rows(const struct frame *frame, int cols, bool compact);
void cpus_draw(const struct canvas_area *area, const struct frame *frame);
/* One CPU per row. */
void cpus_draw_list(const struct canvas_area *area, const struct frame *frame);

/* The rows needed for a cell per subdomain, with title and scale; 0: there are none. */
int map_rows(const struct frame *frame, int cols);
void map_draw(const struct canvas_area *area, const struct frame *frame);

/* Rows of the lines over time, of one row each, with the title; 0: there are none. Drawn into more rows,
 * they are taller. */
int lines_rows(const struct frame *frame);
void lines_draw(const struct canvas_area *area, const struct frame *frame);

void help_draw(const struct canvas_area *area, const struct frame *frame);
void jobs_draw(const struct canvas_area *area, const struct frame *frame);

#endif
