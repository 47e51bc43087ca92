/* SPDX-License-Identifier: MIT */
#include "tools/plot/picture.h"

#include "tools/plot/panel.h"
#include "tools/plot/quote.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const picture_names[PICTURE_PANELS] = {
	"progress", "lead", "placement", "waits", "spread", "braid"};

/* Pixels. */
enum {
	LEFT = 86,
	RIGHT = 206, /* the legend */
	TOP = 66, /* the title */
	BOTTOM = 60, /* the time axis */
	HEAD = 24, /* a panel's title */
	GAP = 20, /* below a panel */
	CHARACTER = 9, /* of the title, about */
};

enum { ASIDES_MAX = 500 };

/* ---- Layout ---- */

static bool is_wanted(const struct picture *p, enum picture_panel panel)
{
	return p->panel[panel] && picture_can(p, panel);
}

bool picture_can(const struct picture *p, enum picture_panel panel)
{
	if (panel == PICTURE_WAITS)
		return p->chart->told;
	return panel != PICTURE_BRAID || p->braid->vertices > 0;
}

static double clamp(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

/* The height that a panel would like, without its title. */
static double body_pixels(const struct panel_context *context, enum panel_kind kind)
{
	switch (kind) {
	case PANEL_PROGRESS:
		return 230;
	case PANEL_LEAD:
		return 190;
	case PANEL_PLACEMENT:
		return clamp(18.0 * (double)context->rows + 10 * (double)context->gaps, 90, 480);
	case PANEL_BRAID:
		return clamp(fmax(70.0 * context->picture->braid->lanes,
				     9.0 * (double)context->picture->braid->shown),
			160, 560);
	default:
		return 140;
	}
}

static size_t list_panels(const struct picture *p, enum panel_kind kind[PANEL_KINDS])
{
	size_t n = 0;

	if (is_wanted(p, PICTURE_PROGRESS))
		kind[n++] = PANEL_PROGRESS;
	if (is_wanted(p, PICTURE_LEAD))
		kind[n++] = PANEL_LEAD;
	if (is_wanted(p, PICTURE_PLACEMENT))
		kind[n++] = PANEL_PLACEMENT;
	if (is_wanted(p, PICTURE_WAITS))
		kind[n++] = PANEL_WAITS;
	if (is_wanted(p, PICTURE_SPREAD))
		kind[n++] = PANEL_SPREAD;
	if (is_wanted(p, PICTURE_BRAID)) {
		kind[n++] = PANEL_BRAID;
		kind[n++] = PANEL_UPDATES;
	}
	return n;
}

/* ---- The frame ---- */

static void write_terminal(const struct picture *p, double height, FILE *to)
{
	if (p->png)
		fprintf(to,
			"set terminal pngcairo size %u,%.0f noenhanced font 'sans,10' background "
			"'#ffffff'\n",
			p->width, height);
	else
		fprintf(to,
			"set terminal svg size %u,%.0f noenhanced font 'sans-serif,12' background "
			"'#ffffff'\n",
			p->width, height);
	fputs("set encoding utf8\n"
	      "set border 3 lc rgb '#555555'\n"
	      "set tics nomirror out scale 0.5 tc rgb '#000000'\n"
	      "set grid x lc rgb '#dddddd' lt 1 lw 0.5\n",
		to);
}

/* Spans that are less than a pixel apart are drawn as one. */
static void write_asides(const struct picture *p, FILE *to)
{
	const struct plot_run *run = p->run;
	uint64_t pixel_ns = (run->to_ns - run->from_ns) / ASIDES_MAX;
	unsigned n = 0;

	for (size_t i = 0, end; i < run->asides; i = end) {
		for (end = i + 1; end < run->asides; end++)
			if (run->aside[end].from_ns - run->aside[end - 1].to_ns > pixel_ns)
				break;
		uint64_t to_ns = run->aside[end - 1].to_ns;
		if (to_ns - run->aside[i].from_ns <= pixel_ns && run->asides > ASIDES_MAX)
			continue;
		fprintf(to,
			"set object %u rect from first %.9g, graph 0 to first %.9g, graph 1 "
			"behind fc rgb '#e9e9e9' fs solid noborder\n",
			++n, plot_run_s(run, run->aside[i].from_ns), plot_run_s(run, to_ns));
	}
}

static void write_title(const struct picture *p, double height, FILE *to)
{
	const struct plot_run *run = p->run;
	size_t room = p->width / CHARACTER, cpus = 0;

	for (size_t i = 0; i < run->cpus; i++)
		cpus += run->cpu[i].os_cpu >= 0;
	fputs("set label 1 ", to);
	quote_text(to, p->trace->command, room - 4);
	fprintf(to, " at screen %.5f, screen %.5f left front font ',%d'\n", 14.0 / p->width,
		1 - 18 / height, p->png ? 12 : 15);
	fputs("set label 2 ", to);
	char text[300];
	int n = snprintf(text, sizeof(text),
		"policy %.40s, period %.4g ms: %zu thread%s on %zu CPU%s, %llu migration%s",
		p->trace->policy, p->trace->period_s * 1e3, run->threads_seen,
		run->threads_seen == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s",
		(unsigned long long)run->migrations, run->migrations == 1 ? "" : "s");
	if (run->threads_shown < run->threads_seen)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "; %zu threads are drawn",
			run->threads_shown);
	if (p->panel[PICTURE_BRAID] && p->braid->shown < p->braid->subdomains)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "; %zu of %zu subdomains",
			p->braid->shown, p->braid->subdomains);
	if (run->asides > 0)
		snprintf(text + n, sizeof(text) - (size_t)n, "; grey: not balanced");
	quote_text(to, text, room);
	fprintf(to, " at screen %.5f, screen %.5f left front tc rgb '#444444'\n", 14.0 / p->width,
		1 - 38 / height);
}

/* Write the position of a panel, and whether it is the last one. */
static void write_place(
	const struct picture *p, double top, double bottom, double height, bool last, FILE *to)
{
	fprintf(to, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n",
		(double)LEFT / p->width, 1 - (double)RIGHT / p->width);
	fprintf(to, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", 1 - top / height,
		1 - bottom / height);
	fprintf(to, "set xrange [%.9g:%.9g]\n", p->chart->from_s, p->chart->to_s);
	fputs(last ? "set format x '%g'\nset xlabel 'time since juggle started, s' offset 0,0.4\n"
		   : "set format x ''\nunset xlabel\n",
		to);
}

int picture_write(const struct picture *p, FILE *to)
{
	struct panel_context context = {.picture = p, .to = to};
	enum panel_kind kind[PANEL_KINDS];
	size_t panels = list_panels(p, kind);
	double body = 0, fixed = TOP + BOTTOM + (double)panels * (HEAD + GAP) - GAP;
	int r = panel_prepare(&context);

	if (r < 0)
		return r;
	for (size_t i = 0; i < panels; i++)
		body += body_pixels(&context, kind[i]);
	double height = p->height > 0 ? p->height : round(fixed + body);
	height = height > PICTURE_SIZE_MAX ? PICTURE_SIZE_MAX : height;
	double scale = height > fixed + 20.0 * (double)panels ? (height - fixed) / body
							      : 20.0 * (double)panels / body;
	double top = TOP;

	context.pixels = p->width - LEFT - RIGHT;
	context.height = height;
	write_terminal(p, height, to);
	panel_write_data(&context);
	fputs("set multiplot\n", to);
	write_asides(p, to);
	write_title(p, height, to);
	for (size_t i = 0; i < panels; i++) {
		double bottom = top + HEAD + scale * body_pixels(&context, kind[i]);
		write_place(p, top + HEAD, bottom, height, i + 1 == panels, to);
		context.top = 1 - (top + HEAD) / height;
		context.bottom = 1 - bottom / height;
		context.right = 1 - (double)(RIGHT - 14) / p->width;
		panel_write(&context, kind[i]);
		fputs("unset label 1\nunset label 2\n", to);
		top = bottom + GAP;
	}
	fputs("unset multiplot\n", to);
	panel_finish(&context);
	return 0;
}
