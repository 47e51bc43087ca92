/* SPDX-License-Identifier: MIT */
/*
 * The panels of a picture, from axis to axis, as commands for gnuplot. picture.c gives each its
 * place.
 */
#ifndef PLOT_PANEL_H
#define PLOT_PANEL_H

#include "tools/plot/picture.h"

enum panel_kind {
	PANEL_PROGRESS,
	PANEL_LEAD,
	PANEL_PLACEMENT,
	PANEL_WAITS,
	PANEL_SPREAD,
	PANEL_BRAID,
	PANEL_UPDATES,
	PANEL_KINDS
};

struct panel_context {
	const struct picture *picture;
	FILE *to;
	/* Of the placement: */
	bool by_thread; /* a row for each thread, coloured by CPU; false: the reverse */
	struct chart_bar *bar;
	size_t bars, rows;
	size_t gaps; /* lanes of several rows */
	/* Where the panel is, in shares of the picture. */
	double top, bottom, right;
	double pixels, height; /* width of all panels, height of the picture */
	bool named; /* a legend has named the threads */
};

/* Fill in the placement. Returns 0 or -ENOMEM; undone by panel_finish(). */
int panel_prepare(struct panel_context *context);
void panel_finish(struct panel_context *context);

/* The data of all wanted panels; then each of them. */
void panel_write_data(const struct panel_context *context);
void panel_write(struct panel_context *context, enum panel_kind kind);

#endif
