/* SPDX-License-Identifier: MIT */
#include "tools/plot/chart.h"

#include "tools/plot/waits.h"

#include <errno.h>
#include <stdlib.h>

enum { BINS_MIN = 40, PHASES_COUNTED = 5 };

const struct chart_room chart_picture = {.bins = 600,
	.rate_bins = 100,
	.numbers = 24000,
	.bars = 6000,
	.vertices = 8000,
	.steps = 250};
const struct chart_room chart_page = {.bins = 4000,
	.rate_bins = 200,
	.numbers = 120000,
	.bars = 20000,
	.vertices = 40000,
	.steps = 2000};

uint32_t chart_bin(uint32_t bins, double from_s, double to_s, double time_s)
{
	double at = (time_s - from_s) / (to_s - from_s) * bins;

	if (!(at > 0))
		return 0;
	return at < bins ? (uint32_t)at : bins - 1;
}

void chart_add(struct chart_cell *cell, double time_s, double value)
{
	const struct chart_value now = {time_s, value};

	if (cell->count == 0 || value < cell->least.value)
		cell->least = now;
	if (cell->count == 0 || value > cell->most.value)
		cell->most = now;
	cell->count++;
}

/* ---- Series ---- */

static void add_thread(struct chart *chart, const struct plot_thread *thread, uint32_t bin,
	double time_s, double lead_s, double progress_s)
{
	if (thread->shown == PLOT_HIDDEN)
		return;
	size_t cell = (size_t)thread->shown * chart->bins + bin;
	chart_add(&chart->lead[cell], time_s, lead_s);
	chart_add(&chart->progress[cell], time_s, progress_s);
}

static void add_point(struct chart *chart, const struct plot_run *run,
	const struct trace_point *point, double *used_s, double *all_s)
{
	double time_s = plot_run_s(run, point->now_ns), sum_s = 0;
	double least_s = (double)point->thread[0].progress_ns * 1e-9, most_s = least_s;
	double n = (double)point->threads;
	uint32_t bin = chart_bin(chart->bins, chart->from_s, chart->to_s, time_s);

	for (size_t i = 0; i < point->threads; i++) {
		double progress_s = (double)point->thread[i].progress_ns * 1e-9;
		uint32_t thread = plot_run_find(run, point->thread[i].tid);
		sum_s += progress_s;
		least_s = progress_s < least_s ? progress_s : least_s;
		most_s = progress_s > most_s ? progress_s : most_s;
		used_s[thread] += (double)point->thread[i].run_ns * 1e-9;
		*all_s += (double)point->thread[i].run_ns * 1e-9;
	}
	for (size_t i = 0; i < point->threads; i++) {
		uint32_t thread = plot_run_find(run, point->thread[i].tid);
		add_thread(chart, &run->thread[thread], bin, time_s,
			(double)point->thread[i].progress_ns * 1e-9 - sum_s / n, used_s[thread]);
	}
	chart_add(&chart->mean[bin], time_s, *all_s / (double)run->threads_seen);
	if (point->threads > 1)
		chart_add(&chart->spread[bin], time_s, most_s - least_s);
	chart->moves[chart_bin(chart->rate_bins, chart->from_s, chart->to_s, time_s)] +=
		point->moves;
}

/* Phases per second, over as many bins as PHASES_COUNTED take: fewer make the rate jump. */
static void add_phases(
	struct chart *chart, const double *told_s, const double *arrivals, uint32_t bins)
{
	double width_s = (chart->to_s - chart->from_s) / bins, all_s = 0, all = 0;

	for (uint32_t bin = 0, first = 0; bin < bins; bin++) {
		all_s += told_s[bin];
		all += arrivals[bin];
		double rate = all_s > 0 ? all / all_s : 0;
		if (rate * (bin + 1 - first) * width_s < PHASES_COUNTED && bin + 1 < bins)
			continue;
		if (all_s > 0)
			chart_add(&chart->phases[bin],
				chart->from_s + (first + bin + 1) / 2.0 * width_s, rate);
		first = bin + 1;
		all_s = all = 0;
	}
}

/* Means over as many bins as there are bars: single shares jump. */
static int add_waits(
	struct chart *chart, const struct trace_file *trace, const struct plot_run *run)
{
	uint32_t bins = chart->bins < chart->rate_bins ? chart->bins : chart->rate_bins;
	double width_s = (chart->to_s - chart->from_s) / bins;
	size_t cells = chart->threads * chart->bins, n = 0;
	struct plot_wait *wait = NULL;
	double *all_s = calloc(cells + 1, sizeof(*all_s)),
	       *waited_s = calloc(cells + 1, sizeof(*all_s)),
	       *told_s = calloc(bins, sizeof(*told_s)), *arrivals = calloc(bins, sizeof(*arrivals));
	int r = all_s != NULL && waited_s != NULL && told_s != NULL && arrivals != NULL
			? plot_waits(trace, run, &wait, &n)
			: -ENOMEM;

	for (size_t i = 0; i < n; i++) {
		uint32_t shown = run->thread[wait[i].thread].shown;
		double to_s = plot_run_s(run, wait[i].to_ns);
		double long_s = to_s - plot_run_s(run, wait[i].from_ns);
		uint32_t bin = chart_bin(bins, chart->from_s, chart->to_s, to_s);
		told_s[bin] += long_s;
		arrivals[bin] += (double)wait[i].arrivals;
		if (shown == PLOT_HIDDEN)
			continue;
		size_t cell = shown * chart->bins + bin;
		all_s[cell] += long_s;
		waited_s[cell] += long_s * wait[i].share;
	}
	if (r == 0)
		add_phases(chart, told_s, arrivals, bins);
	for (size_t i = 0; i < cells && r == 0; i++)
		if (all_s[i] > 0) {
			chart_add(&chart->waits[i],
				chart->from_s + ((double)(i % chart->bins) + 0.5) * width_s,
				waited_s[i] / all_s[i]);
			chart->told = true;
		}
	free(wait);
	free(all_s);
	free(waited_s);
	free(told_s);
	free(arrivals);
	return r;
}

int chart_init(struct chart *chart, const struct trace_file *trace, const struct plot_run *run,
	const struct chart_room *room)
{
	size_t threads = run->threads_shown, bins = room->numbers / 2 / (threads > 0 ? threads : 1);

	bins = bins > room->bins ? room->bins : bins < BINS_MIN ? BINS_MIN : bins;
	*chart = (struct chart){.bins = (uint32_t)bins,
		.rate_bins = room->rate_bins,
		.threads = threads,
		.from_s = plot_run_s(run, run->from_ns),
		.to_s = plot_run_s(run, run->to_ns),
		.lead = calloc(threads * bins, sizeof(*chart->lead)),
		.progress = calloc(threads * bins, sizeof(*chart->progress)),
		.mean = calloc(bins, sizeof(*chart->mean)),
		.spread = calloc(bins, sizeof(*chart->spread)),
		.moves = calloc(room->rate_bins, sizeof(*chart->moves)),
		.waits = calloc(threads * bins, sizeof(*chart->waits)),
		.phases = calloc(bins, sizeof(*chart->phases))};
	double *used_s = calloc(run->threads, sizeof(*used_s)), all_s = 0;
	bool whole = chart->lead != NULL && chart->progress != NULL && chart->mean != NULL &&
		     chart->spread != NULL && chart->moves != NULL && chart->waits != NULL &&
		     chart->phases != NULL && used_s != NULL;
	for (size_t i = 0; i < trace->points && whole; i++)
		if (plot_run_has(run, &trace->point[i]))
			add_point(chart, run, &trace->point[i], used_s, &all_s);
	free(used_s);
	return whole ? add_waits(chart, trace, run) : -ENOMEM;
}

void chart_deinit(struct chart *chart)
{
	free(chart->lead);
	free(chart->progress);
	free(chart->mean);
	free(chart->spread);
	free(chart->moves);
	free(chart->waits);
	free(chart->phases);
	*chart = (struct chart){0};
}

/* ---- Bars ---- */

bool chart_by_thread(const struct plot_run *run)
{
	size_t slots = 0;

	for (size_t i = 0; i < run->cpus; i++)
		slots += run->cpu[i].slots;
	return run->threads_shown > CHART_COLOURS || slots > (size_t)4 * CHART_COLOURS ||
	       run->cpus > CHART_COLOURS;
}

uint32_t chart_cpu_rows(const struct plot_cpu *cpu)
{
	return cpu->slots > 0 ? cpu->slots : 1;
}

/* Who was there for the longest time in a bin of a row. */
struct best {
	uint64_t ns;
	const struct plot_stay *stay;
};

/* Bars being built. */
struct bars {
	const struct plot_run *run;
	bool by_thread;
	uint32_t *first_row; /* of each CPU */
	size_t rows, shown; /* stays */
	struct chart_bar *bar;
	size_t count;
};

static bool is_shown(const struct plot_run *run, const struct plot_stay *stay)
{
	return run->thread[stay->thread].shown != PLOT_HIDDEN;
}

static uint32_t row_of(const struct bars *b, const struct plot_stay *stay)
{
	return b->by_thread ? b->run->thread[stay->thread].shown
			    : b->first_row[stay->cpu] + stay->slot;
}

static void put_bar(struct bars *b, const struct plot_stay *stay, uint64_t from_ns, uint64_t to_ns)
{
	b->bar[b->count++] = (struct chart_bar){.row = row_of(b, stay),
		.thread = stay->thread,
		.cpu = stay->cpu,
		.from_ns = from_ns,
		.to_ns = to_ns};
}

static int put_all(struct bars *b)
{
	b->bar = calloc(b->shown > 0 ? b->shown : 1, sizeof(*b->bar));
	if (b->bar == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < b->run->stays; i++) {
		const struct plot_stay *stay = &b->run->stay[i];
		if (is_shown(b->run, stay))
			put_bar(b, stay, stay->from_ns, stay->to_ns);
	}
	return 0;
}

static uint64_t bin_begin(const struct plot_run *run, size_t bins, size_t bin)
{
	double length = (double)(run->to_ns - run->from_ns);

	return bin >= bins ? run->to_ns
			   : run->from_ns + (uint64_t)(length * (double)bin / (double)bins);
}

static void weigh(
	const struct bars *b, struct best *best, size_t bins, const struct plot_stay *stay)
{
	const struct plot_run *run = b->run;
	size_t bin = (size_t)((double)(stay->from_ns - run->from_ns) /
			      (double)(run->to_ns - run->from_ns) * (double)bins);

	for (bin = bin > 0 ? bin - 1 : 0; bin < bins; bin++) {
		uint64_t from_ns = bin_begin(run, bins, bin), to_ns = bin_begin(run, bins, bin + 1);
		if (from_ns >= stay->to_ns)
			break;
		from_ns = stay->from_ns > from_ns ? stay->from_ns : from_ns;
		to_ns = stay->to_ns < to_ns ? stay->to_ns : to_ns;
		struct best *cell = &best[row_of(b, stay) * bins + bin];
		if (to_ns > from_ns && to_ns - from_ns > cell->ns)
			*cell = (struct best){to_ns - from_ns, stay};
	}
}

static bool is_same(const struct plot_stay *a, const struct plot_stay *b)
{
	return a != NULL && b != NULL && a->thread == b->thread && a->cpu == b->cpu;
}

static int put_thinned(struct bars *b, size_t bars_max)
{
	size_t bins = bars_max / b->rows > 0 ? bars_max / b->rows : 1;
	struct best *best = calloc(b->rows * bins, sizeof(*best));

	b->bar = calloc(b->rows * bins, sizeof(*b->bar));
	for (size_t i = 0; best != NULL && b->bar != NULL && i < b->run->stays; i++)
		if (is_shown(b->run, &b->run->stay[i]))
			weigh(b, best, bins, &b->run->stay[i]);
	for (size_t row = 0; best != NULL && b->bar != NULL && row < b->rows; row++) {
		const struct best *cell = &best[row * bins];
		for (size_t bin = 0, end; bin < bins; bin = end) {
			end = bin + 1;
			while (end < bins && is_same(cell[end].stay, cell[bin].stay))
				end++;
			if (cell[bin].stay != NULL)
				put_bar(b, cell[bin].stay, bin_begin(b->run, bins, bin),
					bin_begin(b->run, bins, end));
		}
	}
	bool whole = best != NULL && b->bar != NULL;
	free(best);
	return whole ? 0 : -ENOMEM;
}

int chart_bars(const struct plot_run *run, bool by_thread, const struct chart_room *room,
	struct chart_bar **out, size_t *count, size_t *rows)
{
	struct bars b = {.run = run, .by_thread = by_thread};

	b.first_row = calloc(run->cpus > 0 ? run->cpus : 1, sizeof(*b.first_row));
	if (b.first_row == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < run->cpus && !by_thread; i++) {
		b.first_row[i] = (uint32_t)b.rows;
		b.rows += chart_cpu_rows(&run->cpu[i]);
	}
	if (by_thread)
		b.rows = run->threads_shown;
	for (size_t i = 0; i < run->stays; i++)
		b.shown += is_shown(run, &run->stay[i]);
	int r = b.shown <= room->bars ? put_all(&b) : put_thinned(&b, room->bars);
	free(b.first_row);
	if (r < 0) {
		free(b.bar);
		return r;
	}
	*out = b.bar;
	*count = b.count;
	*rows = b.rows;
	return 0;
}
