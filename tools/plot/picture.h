/* SPDX-License-Identifier: MIT */
/*
 * A picture as a script for gnuplot, data included: panels below each other, over one time axis.
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
	PICTURE_WAITS,
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
	bool png; /* false: SVG */
	uint32_t width, height; /* height 0: as much as the panels need */
};

/* The words of --what, by enum picture_panel. */
extern const char *const picture_names[PICTURE_PANELS];

/* Does a panel have something to show? */
bool picture_can(const struct picture *picture, enum picture_panel panel);

/* Write the script. ferror(3) shows whether that failed. At least one panel must be wanted. Returns
 * 0 or -ENOMEM. */
int picture_write(const struct picture *picture, FILE *to);

#endif
