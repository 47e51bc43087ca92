/* SPDX-License-Identifier: MIT */
/* The command line of plot. */
#ifndef PLOT_OPTIONS_H
#define PLOT_OPTIONS_H

#include "tools/command/parse.h"
#include "tools/plot/comparison.h"
#include "tools/plot/picture.h"

enum plot_format { PLOT_SVG, PLOT_PNG, PLOT_HTML, PLOT_GNUPLOT, PLOT_PERFETTO };

enum { PLOT_TIDS_MAX = 1000 };

struct plot_options {
	struct command_options common;
	const char *program;
	const char *input[COMPARISON_REPORTS]; /* a trace; with `compare` two reports */
	bool compare;
	enum plot_format format;
	const char *output; /* NULL: standard output */
	bool panel[PICTURE_PANELS];
	bool panels_given; /* by name */
	uint64_t from_ns, to_ns; /* since the start; to_ns UINT64_MAX: to the end */
	uint32_t threads, subdomains; /* to draw at most */
	uint32_t width, height; /* height 0: what the panels need */
	int32_t tid[PLOT_TIDS_MAX]; /* only these, if any */
	size_t tids;
	char *made_up; /* a name of the output */
};

extern const char *const plot_format_names[];

/* Returns whether to go on. Otherwise *status is the exit status, after a message or a help text.
 * plot_options_deinit() in any case. */
bool plot_options_parse(struct plot_options *out, int argc, char **argv, int *status);
void plot_options_deinit(struct plot_options *options);

#endif
