/* SPDX-License-Identifier: MIT */
/*
 * Series are flat arrays: time, value, time, value ... Times are seconds since juggle started.
 */
#include "tools/plot/page.h"

#include "tools/plot/quote.h"

#include <stdlib.h>

void page_begin(FILE *to)
{
	fwrite(page_frame.head, 1, page_frame.head_bytes, to);
}

void page_end(FILE *to)
{
	fwrite(page_frame.tail, 1, page_frame.tail_bytes, to);
}

/* ---- Series ---- */

static void begin(FILE *to, const char *key)
{
	fprintf(to, ",\n\"%s\":[", key);
}

/* Both extremes of each cell, the earlier one first. Where there are two, they get the same times as
 * those of other threads: then a table of all threads has few rows. */
static void write_cells(const struct chart *chart, FILE *to, const struct chart_cell *cell,
	uint32_t bins, double unit)
{
	double width_s = (chart->to_s - chart->from_s) / bins;
	const char *comma = "";

	for (uint32_t i = 0; i < bins; i++) {
		double from_s = chart->from_s + i * width_s;
		if (cell[i].count == 0)
			continue;
		bool rising = cell[i].least.time_s <= cell[i].most.time_s;
		double first = rising ? cell[i].least.value : cell[i].most.value;
		double second = rising ? cell[i].most.value : cell[i].least.value;
		if (cell[i].count == 1)
			fprintf(to, "%s%.6f,%.6g", comma, cell[i].least.time_s, first * unit);
		else
			fprintf(to, "%s%.6f,%.6g,%.6f,%.6g", comma, from_s + width_s / 4,
				first * unit, from_s + width_s * 3 / 4, second * unit);
		comma = ",";
	}
}

static void write_series(const struct chart *chart, FILE *to, const char *key,
	const struct chart_cell *cell, uint32_t bins, double unit)
{
	begin(to, key);
	write_cells(chart, to, cell, bins, unit);
	fputs("]", to);
}

static void write_threads(const struct chart *chart, FILE *to, const char *key,
	const struct chart_cell *cell, double unit)
{
	begin(to, key);
	for (size_t i = 0; i < chart->threads; i++) {
		fputs(i > 0 ? ",\n[" : "[", to);
		write_cells(chart, to, cell + i * chart->bins, chart->bins, unit);
		fputs("]", to);
	}
	fputs("]", to);
}

/* Moves per second, from the beginning of each bar on. */
static void write_rates(const struct chart *chart, FILE *to, const char *key, const uint64_t *moves)
{
	double width_s = (chart->to_s - chart->from_s) / chart->rate_bins;

	begin(to, key);
	for (uint32_t i = 0; i < chart->rate_bins; i++)
		fprintf(to, "%s%.6f,%.6g", i > 0 ? "," : "", chart->from_s + i * width_s,
			(double)moves[i] / width_s);
	fputs("]", to);
}

/* ---- The run ---- */

static void write_head(const struct picture *p, FILE *to)
{
	const struct plot_run *run = p->run;

	fputs("{\"kind\":\"run\",\"version\":\"" JUGGLE_VERSION "\",\n\"command\":", to);
	quote_in_page(to, p->trace->command);
	fputs(",\"policy\":", to);
	quote_in_page(to, p->trace->policy);
	fprintf(to,
		",\"period_s\":%.6g,\"from_s\":%.6f,\"to_s\":%.6f,\"threads_seen\":%zu,"
		"\"migrations\":%llu,\"subdomains_seen\":%zu",
		p->trace->period_s, p->chart->from_s, p->chart->to_s, run->threads_seen,
		(unsigned long long)run->migrations, p->braid->subdomains);
	begin(to, "threads");
	const char *comma = "";
	for (size_t i = 0; i < run->threads; i++) {
		if (run->thread[i].shown == PLOT_HIDDEN)
			continue;
		fprintf(to, "%s{\"tid\":%d,\"pid\":%d,\"name\":", comma, (int)run->thread[i].tid,
			(int)run->thread[i].pid);
		quote_in_page(to, run->thread[i].comm);
		fputs("}", to);
		comma = ",\n";
	}
	fputs("]", to);
	begin(to, "cpus");
	for (size_t i = 0; i < run->cpus; i++)
		fprintf(to, "%s{\"os_cpu\":%d,\"rows\":%u}", i > 0 ? "," : "",
			(int)run->cpu[i].os_cpu, chart_cpu_rows(&run->cpu[i]));
	fputs("]", to);
}

/* Spans that are less than a bin apart are as one. */
static void write_asides(const struct picture *p, FILE *to)
{
	const struct plot_run *run = p->run;
	uint64_t bin_ns = (run->to_ns - run->from_ns) / chart_page.bins;
	const char *comma = "";

	begin(to, "asides");
	for (size_t i = 0, end; i < run->asides; i = end) {
		for (end = i + 1; end < run->asides; end++)
			if (run->aside[end].from_ns - run->aside[end - 1].to_ns > bin_ns)
				break;
		fprintf(to, "%s%.6f,%.6f", comma, plot_run_s(run, run->aside[i].from_ns),
			plot_run_s(run, run->aside[end - 1].to_ns));
		comma = ",";
	}
	fputs("]", to);
}

/* Bars are flat, too: row, thread, CPU, from, to. */
static int write_placement(const struct picture *p, FILE *to)
{
	const struct plot_run *run = p->run;
	bool by_thread = chart_by_thread(run);
	struct chart_bar *bar = NULL;
	size_t bars = 0, rows = 0;
	int r = chart_bars(run, by_thread, &chart_page, &bar, &bars, &rows);

	if (r < 0)
		return r;
	fprintf(to, ",\n\"by_thread\":%s,\"rows\":%zu", by_thread ? "true" : "false", rows);
	begin(to, "bars");
	for (size_t i = 0; i < bars; i++)
		fprintf(to, "%s%u,%u,%u,%.6f,%.6f", i > 0 ? "," : "", bar[i].row,
			run->thread[bar[i].thread].shown, bar[i].cpu,
			plot_run_s(run, bar[i].from_ns), plot_run_s(run, bar[i].to_ns));
	fputs("]", to);
	free(bar);
	return 0;
}

/* A stroke is a line without gaps: [its number, time, lane, lead, time, lane, lead ...] */
static void write_braid(const struct picture *p, FILE *to)
{
	const struct braid *braid = p->braid;

	fprintf(to, ",\n\"braid\":{\"lanes\":%u,\"lead_max\":%.6g", braid->lanes, braid->lead_max);
	begin(to, "processes");
	for (size_t i = 0; i < braid->processes; i++) {
		const struct braid_process *process = &braid->process[i];
		fprintf(to,
			"%s{\"pid\":%d,\"rank\":%d,\"workers\":%u,\"first_lane\":%u,"
			"\"first_line\":%u}",
			i > 0 ? "," : "", (int)process->pid, (int)process->rank, process->workers,
			process->first_lane, process->first_line);
	}
	fputs("]", to);
	begin(to, "strokes");
	for (size_t i = 0; i < braid->vertices; i++) {
		const struct braid_vertex *vertex = &braid->vertex[i];
		if (vertex->begins)
			fprintf(to, "%s[%u", i > 0 ? "],\n" : "", vertex->line);
		fprintf(to, ",%.6f,%.5g,%.5g", vertex->time_s, vertex->lane, vertex->lead);
	}
	fputs("]]", to);
	write_series(p->chart, to, "spread", braid->spread, braid->bins, 1);
	write_rates(p->chart, to, "moves", braid->moves);
	fputs("}", to);
}

int page_write(const struct picture *p, FILE *to)
{
	const struct chart *chart = p->chart;
	int r = 0;

	page_begin(to);
	write_head(p, to);
	write_asides(p, to);
	if (p->panel[PICTURE_SPREAD]) {
		write_series(chart, to, "spread", chart->spread, chart->bins, 1);
		write_rates(chart, to, "moves", chart->moves);
	}
	if (p->panel[PICTURE_PROGRESS]) {
		write_threads(chart, to, "progress", chart->progress, 1);
		write_series(chart, to, "mean", chart->mean, chart->bins, 1);
	}
	if (p->panel[PICTURE_LEAD])
		write_threads(chart, to, "lead", chart->lead, 1);
	if (p->panel[PICTURE_PLACEMENT])
		r = write_placement(p, to);
	if (p->panel[PICTURE_WAITS] && picture_can(p, PICTURE_WAITS)) {
		write_threads(chart, to, "waits", chart->waits, 100);
		write_series(chart, to, "phases", chart->phases, chart->bins, 1);
	}
	if (p->panel[PICTURE_BRAID] && picture_can(p, PICTURE_BRAID))
		write_braid(p, to);
	fputs("}\n", to);
	page_end(to);
	return r;
}
