/* SPDX-License-Identifier: MIT */
#include "tools/plot/panel.h"

#include "tools/plot/quote.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANE_GAP 0.5 /* rows between CPUs */
#define BAR_MARGIN 0.08 /* of a row, unless there are many */
#define BAR_ROWS 60
#define GREY UINT32_C(0x9a9a9a)
#define TITLE_PIXELS 11.0 /* from a panel up to the middle of its title */
#define CHARACTER 7.8 /* pixels of its width, about */

/* The palette of Okabe and Ito, which people with colour blindness can distinguish. Yellow is left
 * out: it is hard to see on white. */
static const uint32_t palette[] = {
	0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0xd55e00, 0x56b4e9, 0x332288, 0x444444};

enum { COLOURS = sizeof(palette) / sizeof(*palette) };

static_assert((int)COLOURS == (int)CHART_COLOURS, "chart_by_thread() counts on it");

/* For more colours: from dark to light, in order (viridis, without its yellow). */
static const uint32_t ramp[] = {
	0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30};

enum { BAND_FIRST = 1001, BANDS_MAX = 200 }; /* objects of gnuplot; asides use the numbers before */

enum { RAMP = sizeof(ramp) / sizeof(*ramp) };

static uint32_t mix(uint32_t a, uint32_t b, double share)
{
	uint32_t out = 0;

	for (int shift = 0; shift < 24; shift += 8) {
		double from = a >> shift & 0xff, to = b >> shift & 0xff;
		out |= (uint32_t)lround(from + (to - from) * share) << shift;
	}
	return out;
}

static uint32_t colour(size_t which, size_t of)
{
	if (of <= COLOURS)
		return palette[which];
	double at = (double)which / (double)(of - 1) * (RAMP - 1);
	size_t below = at >= RAMP - 1 ? RAMP - 2 : (size_t)at;
	return mix(ramp[below], ramp[below + 1], at - (double)below);
}

/* All but the row for threads that are left to the kernel. */
static size_t named_cpus(const struct plot_run *run)
{
	return run->cpus - (run->cpus > 0 && run->cpu[run->cpus - 1].os_cpu < 0);
}

static uint32_t colour_of_cpu(const struct plot_run *run, uint32_t cpu)
{
	size_t cpus = named_cpus(run);

	return run->cpu[cpu].os_cpu < 0 ? GREY : colour(cpu, cpus);
}

static uint32_t colour_of_thread(const struct plot_run *run, const struct plot_thread *thread)
{
	return colour(thread->shown, run->threads_shown);
}

/* ---- Units ---- */

struct unit {
	const char *name;
	double per_s;
};

static struct unit unit_for(double most_s)
{
	if (most_s >= 10)
		return (struct unit){"s", 1};
	return most_s >= 0.0005 ? (struct unit){"ms", 1e3} : (struct unit){"us", 1e6};
}

static double most_of(const struct chart_cell *cell, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		if (cell[i].count > 0)
			most = fmax(
				most, fmax(fabs(cell[i].least.value), fabs(cell[i].most.value)));
	return most;
}

/* ---- Data ---- */

/* Both extremes of each cell, the earlier one first, in their own unit. */
static void write_cells(FILE *to, const struct chart_cell *cell, uint32_t bins, double unit)
{
	for (uint32_t i = 0; i < bins; i++) {
		if (cell[i].count == 0)
			continue;
		bool rising = cell[i].least.time_s <= cell[i].most.time_s;
		const struct chart_value *first = rising ? &cell[i].least : &cell[i].most;
		const struct chart_value *second = rising ? &cell[i].most : &cell[i].least;
		fprintf(to, "%.9g %.6g\n", first->time_s, first->value * unit);
		if (second->time_s > first->time_s)
			fprintf(to, "%.9g %.6g\n", second->time_s, second->value * unit);
	}
}

static void write_threads(
	const struct panel_context *c, const char *name, const struct chart_cell *cell, double unit)
{
	const struct chart *chart = c->picture->chart;

	for (size_t i = 0; i < chart->threads; i++) {
		fprintf(c->to, "$%s%zu << EOD\n", name, i);
		write_cells(c->to, cell + i * chart->bins, chart->bins, unit);
		/* An empty point, so that there are data even for a thread without any. */
		fputs("nan nan\nEOD\n", c->to);
	}
}

static void write_rates(const struct panel_context *c, const char *name, const uint64_t *moves)
{
	const struct chart *chart = c->picture->chart;
	double width_s = (chart->to_s - chart->from_s) / chart->rate_bins;

	fprintf(c->to, "$%s << EOD\n", name);
	for (uint32_t i = 0; i < chart->rate_bins; i++)
		if (moves[i] > 0)
			fprintf(c->to, "%.9g %.6g\n", chart->from_s + (i + 0.5) * width_s,
				(double)moves[i] / width_s);
	fprintf(c->to, "EOD\n");
}

static double row_top(const struct panel_context *c, const struct chart_bar *bar)
{
	return bar->row + (c->by_thread ? 0 : LANE_GAP * bar->cpu);
}

static void write_placement(const struct panel_context *c)
{
	const struct plot_run *run = c->picture->run;

	double margin = c->rows > BAR_ROWS ? 0 : BAR_MARGIN;

	fputs("$placement << EOD\n", c->to);
	for (size_t i = 0; i < c->bars; i++) {
		const struct chart_bar *bar = &c->bar[i];
		double y = row_top(c, bar);
		fprintf(c->to, "%.9g %.9g %g %g %u\n", plot_run_s(run, bar->from_ns),
			plot_run_s(run, bar->to_ns), y + margin, y + 1 - margin,
			c->by_thread ? colour_of_cpu(run, bar->cpu)
				     : colour_of_thread(run, &run->thread[bar->thread]));
	}
	/* A bar without width, so that there are data even when no thread is drawn. */
	fprintf(c->to, "%.9g %.9g 0 0 0\nEOD\n", c->picture->chart->from_s,
		c->picture->chart->from_s);
}

static void write_braid(const struct panel_context *c)
{
	const struct braid *braid = c->picture->braid;

	fputs("$braid << EOD\n", c->to);
	for (size_t i = 0; i < braid->vertices; i++) {
		const struct braid_vertex *vertex = &braid->vertex[i];
		double level = round(vertex->lead / braid->lead_max * BRAID_LEVELS) / BRAID_LEVELS;
		fprintf(c->to, "%s%.9g %.6g %.5g\n", vertex->begins && i > 0 ? "\n" : "",
			vertex->time_s, vertex->lane, level * braid->lead_max);
	}
	fputs("EOD\n$updates << EOD\n", c->to);
	write_cells(c->to, braid->spread, braid->bins, 1);
	fputs("nan nan\nEOD\n", c->to);
	write_rates(c, "given", braid->moves);
}

static struct unit lead_unit(const struct chart *chart)
{
	return unit_for(most_of(chart->lead, chart->threads * chart->bins));
}

static struct unit progress_unit(const struct chart *chart)
{
	return most_of(chart->progress, chart->threads * chart->bins) >= 1
		       ? (struct unit){"s", 1}
		       : unit_for(most_of(chart->progress, chart->threads * chart->bins));
}

void panel_write_data(const struct panel_context *c)
{
	const struct picture *p = c->picture;
	const struct chart *chart = p->chart;

	if (p->panel[PICTURE_PROGRESS]) {
		struct unit unit = progress_unit(chart);
		write_threads(c, "progress", chart->progress, unit.per_s);
		fputs("$mean << EOD\n", c->to);
		write_cells(c->to, chart->mean, chart->bins, unit.per_s);
		fputs("EOD\n", c->to);
	}
	if (p->panel[PICTURE_LEAD])
		write_threads(c, "lead", chart->lead, lead_unit(chart).per_s);
	if (p->panel[PICTURE_PLACEMENT])
		write_placement(c);
	if (p->panel[PICTURE_WAITS] && chart->told)
		write_threads(c, "waits", chart->waits, 100);
	if (p->panel[PICTURE_SPREAD]) {
		fputs("$spread << EOD\n", c->to);
		write_cells(c->to, chart->spread, chart->bins,
			unit_for(most_of(chart->spread, chart->bins)).per_s);
		/* An empty point, so that there are data even for a single thread. */
		fputs("nan nan\nEOD\n", c->to);
		write_rates(c, "migrations", chart->moves);
	}
	if (p->panel[PICTURE_BRAID] && p->braid->vertices > 0)
		write_braid(c);
}

/* ---- Legends ---- */

static void begin(const struct panel_context *c, const char *title)
{
	double pixels = c->pixels + (1 - c->right) * c->picture->width;

	fputs("set label ", c->to);
	quote_text(c->to, title, (size_t)(pixels / CHARACTER));
	fprintf(c->to, " at graph 0, screen %.5f left front font ',%d'\n",
		c->top + TITLE_PIXELS / c->height, c->picture->png ? 10 : 13);
	fprintf(c->to,
		"set key at screen %.5f, screen %.5f left top Left reverse vertical samplen 1.2 "
		"maxrows 30 font ',%d'\n",
		c->right, c->top, c->picture->png ? 9 : 11);
	fprintf(c->to,
		"unset y2tics\nunset y2label\nset ytics auto scale 0.5 font ',%d'\n"
		"set ylabel tc rgb '#000000'\nset yrange [*:*]\nunset colorbox\nset border 3\n",
		c->picture->png ? 10 : 12);
}

static void put_note(const struct panel_context *c, double line, const char *text)
{
	fprintf(c->to, "set label '%s' at screen %.5f, screen %.5f left front font ',%d'\n", text,
		c->right, c->top - (10 + 16 * line) / c->height, c->picture->png ? 9 : 11);
}

/* The legend of threads: a line for each, or a hint. */
static void name_threads(const struct panel_context *c)
{
	const struct plot_run *run = c->picture->run;
	char text[80];

	if (run->threads_shown <= COLOURS)
		return;
	snprintf(text, sizeof(text), "%zu threads, in the", run->threads_shown);
	put_note(c, 0, text);
	put_note(c, 1, "order they were found:");
	put_note(c, 2, "dark first, light last");
}

static void put_thread_name(const struct panel_context *c, const struct plot_thread *thread)
{
	char name[64];

	if (thread->comm[0] != '\0')
		snprintf(name, sizeof(name), "%.15s %d", thread->comm, (int)thread->tid);
	else
		snprintf(name, sizeof(name), "%d", (int)thread->tid);
	quote_text(c->to, name, sizeof(name));
}

/* Entries of the legend are empty plots. Each begins with a comma. */
static void put_thread_keys(const struct panel_context *c, const char *style)
{
	const struct plot_run *run = c->picture->run;

	for (size_t i = 0; i < run->threads && run->threads_shown <= COLOURS; i++) {
		if (run->thread[i].shown == PLOT_HIDDEN)
			continue;
		fprintf(c->to, ", \\\n  NaN with %s lc rgb 0x%06x title ", style,
			colour_of_thread(run, &run->thread[i]));
		put_thread_name(c, &run->thread[i]);
	}
}

static void put_cpu_keys(const struct panel_context *c)
{
	const struct plot_run *run = c->picture->run;
	size_t cpus = named_cpus(run);

	for (size_t i = 0; i < run->cpus; i++) {
		if (run->cpu[i].os_cpu < 0)
			fprintf(c->to,
				", \\\n  NaN with lines lw 6 lc rgb 0x%06x title 'left to Linux'",
				GREY);
		else if (cpus <= COLOURS || i == 0 || i + 1 == cpus)
			fprintf(c->to, ", \\\n  NaN with lines lw 6 lc rgb 0x%06x title 'CPU %d%s'",
				colour_of_cpu(run, (uint32_t)i), (int)run->cpu[i].os_cpu,
				cpus > COLOURS && i == 0 ? " ..." : "");
	}
}

/* ---- Panels of threads ---- */

static void put_lines(const struct panel_context *c, const char *name)
{
	const struct chart *chart = c->picture->chart;

	for (size_t i = 0; i < chart->threads; i++)
		fprintf(c->to, ", \\\n  $%s%zu using 1:2 with lines lw %g lc rgb 0x%06x notitle",
			name, i, chart->threads > COLOURS ? 1.0 : 1.5, colour(i, chart->threads));
}

static void write_lead(struct panel_context *c)
{
	begin(c, "Lead: progress of each thread, ahead of the mean of all");
	fprintf(c->to, "set ylabel 'lead, %s'\n", lead_unit(c->picture->chart).name);
	if (!c->named)
		name_threads(c);
	fputs("plot 0 with lines lw 1 lc rgb '#888888' notitle", c->to);
	put_lines(c, "lead");
	if (!c->named)
		put_thread_keys(c, "lines lw 3");
	c->named = true;
}

static void write_waits(struct panel_context *c)
{
	begin(c, "Waits: share of its time for which each thread waited for others");
	fputs("set ylabel 'waits, %'\nset yrange [0:100]\n", c->to);
	if (!c->named)
		name_threads(c);
	fputs("plot 0 with lines lw 0.5 lc rgb '#888888' notitle", c->to);
	put_lines(c, "waits");
	if (!c->named)
		put_thread_keys(c, "lines lw 3");
	c->named = true;
}

static void write_progress(struct panel_context *c)
{
	begin(c, "Progress: CPU time of each thread");
	fprintf(c->to, "set ylabel 'CPU time, %s'\n", progress_unit(c->picture->chart).name);
	name_threads(c);
	fputs("plot $mean using 1:2 with lines lw 5 lc rgb '#cccccc' title 'mean of all'", c->to);
	put_lines(c, "progress");
	put_thread_keys(c, "lines lw 3");
	c->named = true;
}

/* Names of lanes, as many as fit. */
static void write_cpu_tics(const struct panel_context *c)
{
	const struct plot_run *run = c->picture->run;
	double row = 0;

	fputs("set ytics scale 0 (", c->to);
	for (size_t i = 0; i < run->cpus; i++) {
		double top = row + LANE_GAP * (double)i;
		if (i > 0)
			fputs(", ", c->to);
		if (run->cpu[i].os_cpu >= 0)
			fprintf(c->to, "'CPU %d' ", (int)run->cpu[i].os_cpu);
		else
			fputs("'Linux' ", c->to);
		fprintf(c->to, "%g", top + chart_cpu_rows(&run->cpu[i]) / 2.0);
		row += chart_cpu_rows(&run->cpu[i]);
	}
	fprintf(c->to, ")\nset yrange [%g:0]\nunset ylabel\n",
		run->cpus > 0 ? (double)c->rows + LANE_GAP * (double)(run->cpus - 1) : 1);
}

static void write_thread_tics(const struct panel_context *c)
{
	const struct plot_run *run = c->picture->run;
	size_t step = 1 + run->threads_shown / 33, n = 0;

	fputs("set ytics scale 0 (", c->to);
	for (size_t i = 0; i < run->threads; i++) {
		const struct plot_thread *thread = &run->thread[i];
		if (thread->shown != PLOT_HIDDEN && thread->shown % step == 0)
			fprintf(c->to, "%s'%d' %g", n++ > 0 ? ", " : "", (int)thread->tid,
				thread->shown + 0.5);
	}
	fprintf(c->to, ") font ',%d'\nset yrange [%zu:0]\nset ylabel 'thread'\n",
		c->picture->png ? 7 : 9, run->threads_shown);
}

static void write_placement_panel(struct panel_context *c)
{
	begin(c, c->by_thread ? "Placement: the CPU of each thread"
			      : "Placement: the threads of each CPU");
	if (c->by_thread)
		write_thread_tics(c);
	else
		write_cpu_tics(c);
	fputs("plot $placement using (($1+$2)/2):(($3+$4)/2):1:2:3:4:5 with boxxyerror fill solid "
	      "noborder lc rgb variable notitle",
		c->to);
	if (c->by_thread)
		put_cpu_keys(c);
	else if (!c->named)
		put_thread_keys(c, "lines lw 6");
	c->named = c->named || !c->by_thread;
}

/* ---- Spread and moves ---- */

static void write_rate_panel(
	struct panel_context *c, const char *line, const char *bars, const char *what, double moves)
{
	const struct chart *chart = c->picture->chart;
	double width_s = (chart->to_s - chart->from_s) / chart->rate_bins;

	fprintf(c->to, "set boxwidth %.9g absolute\n", width_s);
	fputs("set yrange [0:*]\nset y2range [0:*]\n", c->to);
	if (moves > 0)
		fprintf(c->to,
			"set border 11\nset y2tics nomirror tc rgb '#a86800'\nset y2label '%s per "
			"s' tc rgb "
			"'#a86800'\n",
			what);
	/* gnuplot needs a plot on each axis, and there may be no spread. */
	fputs("plot 0 with lines lw 0.5 lc rgb '#555555' notitle, ", c->to);
	if (moves > 0)
		fprintf(c->to,
			"$%s using 1:2 axes x1y2 with boxes fill solid noborder lc rgb '#f2c879' "
			"notitle, ",
			bars);
	fprintf(c->to, "$%s using 1:2 with lines lw 1.5 lc rgb '#0072b2' notitle", line);
}

static void write_spread(struct panel_context *c)
{
	const struct chart *chart = c->picture->chart;

	begin(c, "Spread of the threads, and migrations");
	fprintf(c->to, "set ylabel 'spread, %s' tc rgb '#0072b2'\n",
		unit_for(most_of(chart->spread, chart->bins)).name);
	write_rate_panel(
		c, "spread", "migrations", "migrations", (double)c->picture->run->migrations);
}

static void write_updates(struct panel_context *c)
{
	begin(c, "Spread of the subdomains, and their moves");
	fputs("set ylabel 'spread, updates' tc rgb '#0072b2'\n", c->to);
	write_rate_panel(c, "updates", "given", "moves", (double)c->picture->braid->moves_sum);
}

/* ---- The braid ---- */

static void write_worker_tics(const struct panel_context *c)
{
	const struct braid *braid = c->picture->braid;
	size_t step = 1 + braid->lanes / 33, n = 0;

	fputs("set ytics scale 0 (", c->to);
	for (size_t i = 0; i < braid->processes; i++)
		for (uint32_t w = 0; w < braid->process[i].workers; w++) {
			if ((braid->process[i].first_lane + w) % step != 0)
				continue;
			fprintf(c->to, "%s'", n++ > 0 ? ", " : "");
			if (braid->processes > 1)
				fprintf(c->to, "rank %d: ", (int)braid->process[i].rank);
			fprintf(c->to, "%s%u' %g", braid->processes > 1 ? "" : "worker ", w,
				braid->process[i].first_lane + w + 0.5);
		}
	fprintf(c->to, ")\nset yrange [%u:0]\nunset ylabel\n", braid->lanes);
}

/* A background for every other lane. */
static void write_bands(const struct panel_context *c)
{
	for (uint32_t lane = 0; lane < c->picture->braid->lanes && lane < BANDS_MAX; lane += 2)
		fprintf(c->to,
			"set object %d rect from graph 0, first %u to graph 1, first %u behind "
			"fc rgb '#b8cde2' fs transparent solid 0.25 noborder\n",
			BAND_FIRST + (int)lane, lane, lane + 1);
}

static void unset_bands(const struct panel_context *c)
{
	for (uint32_t lane = 0; lane < c->picture->braid->lanes && lane < BANDS_MAX; lane += 2)
		fprintf(c->to, "\nunset object %d", BAND_FIRST + (int)lane);
}

static void write_braid_panel(struct panel_context *c)
{
	const struct braid *braid = c->picture->braid;

	begin(c, "Braid: the worker that holds each subdomain; colour: updates ahead of the mean");
	write_worker_tics(c);
	write_bands(c);
	fputs("set palette defined (-1 '#0072b2', -0.5 '#6aa9cf', 0 '#b5b5b5', 0.5 '#e5a36b', 1 "
	      "'#d55e00')\n",
		c->to);
	fprintf(c->to, "set cbrange [%.6g:%.6g]\n", -braid->lead_max, braid->lead_max);
	fprintf(c->to,
		"set colorbox user origin screen %.5f, screen %.5f size screen %.5f, screen %.5f\n",
		c->right + 0.004, c->bottom, 12.0 / c->picture->width, (c->top - c->bottom) * 0.92);
	fputs("set cbtics scale 0.4 offset -0.5,0\n", c->to);
	fputs("plot $braid using 1:2:3 with lines lw 1.6 lc palette notitle\nunset colorbox",
		c->to);
	unset_bands(c);
}

/* ---- The whole ---- */

int panel_prepare(struct panel_context *c)
{
	const struct plot_run *run = c->picture->run;

	c->by_thread = chart_by_thread(run);
	c->gaps = c->by_thread ? 0 : run->cpus;
	return chart_bars(run, c->by_thread, &chart_picture, &c->bar, &c->bars, &c->rows);
}

void panel_finish(struct panel_context *c)
{
	free(c->bar);
	c->bar = NULL;
	c->bars = 0;
}

void panel_write(struct panel_context *c, enum panel_kind kind)
{
	static void (*const writer[PANEL_KINDS])(struct panel_context *) = {
		[PANEL_PROGRESS] = write_progress,
		[PANEL_LEAD] = write_lead,
		[PANEL_PLACEMENT] = write_placement_panel,
		[PANEL_WAITS] = write_waits,
		[PANEL_SPREAD] = write_spread,
		[PANEL_BRAID] = write_braid_panel,
		[PANEL_UPDATES] = write_updates,
	};

	writer[kind](c);
	fputs("\nunset label\n", c->to);
}
