/* SPDX-License-Identifier: MIT */
/*
 * A picture as a script for gnuplot, data and all: panels below each other, over one time axis.
 */
#ifndef PLOT_PICTURE_H
#define PLOT_PICTURE_H

#include "tools/plot/braid.h"
#include "tools/plot/chart.h"

#include <stdio.h>

enum picture_panel {
	PICTURE_PROGRESS,
	PICTURE_LEAD,
	PICTURE_PLACEMENT,
	PICTURE_SPREAD,
	PICTURE_BRAID,
	PICTURE_PANELS
};

enum {
	PICTURE_WIDTH_MIN = 400, /* pixels */
	PICTURE_HEIGHT_MIN = 200,
	PICTURE_SIZE_MAX = 10000,
};

struct picture {
	const struct trace_file *trace;
	const struct plot_run *run;
	const struct chart *chart;
	const struct braid *braid;
	bool panel[PICTURE_PANELS];
	bool png; /* else SVG */
	uint32_t width, height; /* pixels; height 0: as the panels need it */
};

/* Of --what, by enum picture_panel. */
extern const char *const picture_names[PICTURE_PANELS];

/* Whether a panel has something to show. */
bool picture_can(const struct picture *picture, enum picture_panel panel);

/* Write the script; what can't be written shows in ferror(3). At least one panel has to be wanted.
 * Returns 0 or -ENOMEM. */
int picture_write(const struct picture *picture, FILE *to);

#endif
