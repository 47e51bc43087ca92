/* SPDX-License-Identifier: MIT */
/*
 * The parts of the screen of jugglectl top, each drawn into an area of any size. Pure, but that
 * scrolling is brought into range.
 */
#ifndef TOP_PANELS_H
#define TOP_PANELS_H

#include "tools/top/arrange.h"
#include "tools/top/canvas.h"
#include "tools/top/history.h"
#include "tools/top/view.h"

/* What is drawn: arrange is the sample's. sample is NULL while no job is chosen. */
struct frame {
	const struct live_sample *sample;
	const struct arrange *arrange;
	const struct history *history;
	struct view *view;
};

/* The title of a panel, in the first row of its area. Returns the rest of the area. */
struct canvas_area panels_title(const struct canvas_area *area, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Bring the scrolling of the panel that is shown into range, of n lines of which `fit` are
 * shown. Returns the first to show. */
size_t panels_scroll(struct view *view, size_t n, int fit);

/* What runs and how it goes. Returns how many rows it took. */
int head_draw(const struct canvas_area *area, const struct frame *frame);

void threads_draw(const struct canvas_area *area, const struct frame *frame);

/* Rows that are needed to show who is on each CPU, and just how many; with the title. */
int cpus_rows(const struct frame *frame, int cols, bool compact);
void cpus_draw(const struct canvas_area *area, const struct frame *frame);
/* One CPU a row. */
void cpus_draw_list(const struct canvas_area *area, const struct frame *frame);

/* Rows that are needed for a cell a subdomain, with title and scale; 0: there are none. */
int map_rows(const struct frame *frame, int cols);
void map_draw(const struct canvas_area *area, const struct frame *frame);

/* Rows of the lines over time, with the title. */
int lines_rows(const struct frame *frame);
void lines_draw(const struct canvas_area *area, const struct frame *frame);

void help_draw(const struct canvas_area *area, const struct frame *frame);
void jobs_draw(const struct canvas_area *area, const struct frame *frame);

#endif
