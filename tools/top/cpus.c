/* SPDX-License-Identifier: MIT */
/* CPUs, and who is on them; see panels.h. */
#include "tools/top/panels.h"

#include "tools/table/format.h"

#include <math.h>
#include <stdio.h>

enum { NAMES_COL = 32, LABEL = 9, TID_COLS = 8, COMPACT_COLS = 9 };

static uint32_t most_listed(const struct arrange *arrange)
{
	uint32_t most = 1;

	for (size_t i = 0; i < arrange->cpus; i++)
		if (arrange->cpu[i].listed > most)
			most = arrange->cpu[i].listed;
	return most;
}

static uint32_t fewest(const struct arrange *arrange)
{
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < arrange->cpus; i++)
		if (arrange->cpu[i].threads < least)
			least = arrange->cpu[i].threads;
	return least;
}

/* The width of a cell. */
static int cell_cols(const struct arrange *arrange, int cols, bool compact)
{
	uint32_t room = cols > LABEL ? (uint32_t)(cols - LABEL) / TID_COLS : 1;
	uint32_t most = most_listed(arrange);

	return compact ? COMPACT_COLS : LABEL + (int)(most < room ? most : room) * TID_COLS;
}

static int cells_a_row(const struct arrange *arrange, int cols, bool compact)
{
	int cells = cols / cell_cols(arrange, cols, compact);

	return cells > 0 ? cells : 1;
}

static size_t lines(const struct arrange *arrange, int cols, bool compact)
{
	size_t cells = (size_t)cells_a_row(arrange, cols, compact);

	return (arrange->cpus + cells - 1) / cells;
}

int cpus_rows(const struct frame *frame, int cols, bool compact)
{
	size_t n = lines(frame->arrange, cols, compact);

	return n == 0 ? 0 : n < 1000 ? (int)n + 1 : 1000;
}

/* Draw "3:2": the number of a CPU, and how many compute threads are there. Crowded CPUs stand
 * out. */
static int draw_count(const struct canvas_area *cell, const struct arrange_cpu *cpu, uint32_t least)
{
	char text[40];

	snprintf(text, sizeof(text), "%4d:%u", (int)cpu->os_cpu, (unsigned)cpu->threads);
	return canvas_text(cell, 0, 0,
		cpu->threads > least ? CANVAS_BOLD
		: cpu->threads == 0  ? CANVAS_DIM
				     : CANVAS_PLAIN,
		text);
}

static enum canvas_style style_of(const struct live_thread *thread)
{
	return thread->lead_s < 0   ? CANVAS_BEHIND
	       : thread->lead_s > 0 ? CANVAS_AHEAD
				    : CANVAS_PLAIN;
}

static char letter_of(const struct live_thread *thread)
{
	return thread->lead_s < 0 ? 'B' : thread->lead_s > 0 ? 'A' : ' ';
}

static void draw_tids(
	const struct canvas_area *cell, const struct frame *frame, const struct arrange_cpu *cpu)
{
	int col = LABEL;

	for (uint32_t i = 0; i < cpu->listed; i++, col += TID_COLS) {
		const struct live_thread *thread =
			&frame->sample->thread[frame->arrange->on_cpu[cpu->first + i]];
		if (i + 1 < cpu->listed && col + 2 * TID_COLS - 1 > cell->cols) {
			canvas_print(cell, 0, col, CANVAS_DIM, "+%u", (unsigned)(cpu->listed - i));
			return;
		}
		canvas_print(cell, 0, col, style_of(thread), "%d%c", (int)thread->tid,
			letter_of(thread));
	}
}

void cpus_draw(const struct canvas_area *area, const struct frame *frame)
{
	const struct arrange *arrange = frame->arrange;
	bool compact = cpus_rows(frame, area->cols, false) > area->rows;
	int cells = cells_a_row(arrange, area->cols, compact);
	int width = cell_cols(arrange, area->cols, compact);
	uint32_t least = fewest(arrange);
	struct canvas_area rest = panels_title(area, "%zu CPU%s: %s%s", arrange->cpus,
		arrange->cpus == 1 ? "" : "s",
		compact ? "compute threads on each" : "who is on them",
		lines(arrange, area->cols, compact) > (size_t)(area->rows > 1 ? area->rows - 1 : 0)
			? ", the first (c: all)"
			: "");

	for (size_t i = 0; i < arrange->cpus; i++) {
		size_t row = i / (size_t)cells;
		if (row >= (size_t)rest.rows)
			break;
		struct canvas_area cell = canvas_part(
			&rest, (int)row, (int)(i % (size_t)cells) * width, 1, width - 1);
		draw_count(&cell, &arrange->cpu[i], least);
		if (!compact)
			draw_tids(&cell, frame, &arrange->cpu[i]);
	}
}

static const struct live_thread *nth(
	const struct frame *frame, const struct arrange_cpu *cpu, uint32_t i)
{
	return &frame->sample->thread[frame->arrange->on_cpu[cpu->first + i]];
}

/* Draw the threads on it, and how many did not fit. */
static void draw_names(
	const struct canvas_area *line, const struct frame *frame, const struct arrange_cpu *cpu)
{
	int col = 0;

	for (uint32_t i = 0; i < cpu->listed; i++) {
		const struct live_thread *thread = nth(frame, cpu, i);
		if (col > line->cols - 28 && i + 1 < cpu->listed) {
			canvas_print(line, 0, col, CANVAS_DIM, "+%u", (unsigned)(cpu->listed - i));
			return;
		}
		col = canvas_print(line, 0, col, style_of(thread), "%d%c %s", (int)thread->tid,
			      letter_of(thread), thread->comm) +
		      2;
	}
}

/* Which columns the list has: those that say something. */
struct list {
	uint32_t least; /* threads on a CPU */
	bool speeds, stolen;
	int names; /* where the last column begins */
};

static const struct live_cpu *juggles(const struct frame *frame, int32_t os_cpu)
{
	const struct live_sample *sample = frame->sample;

	for (size_t i = 0; i < sample->cpus; i++)
		if (sample->cpu[i].os_cpu == os_cpu)
			return &sample->cpu[i];
	return NULL;
}

static void draw_slowness(
	const struct canvas_area *line, const struct list *list, const struct live_cpu *cpu)
{
	int col = NAMES_COL + 1;

	if (list->speeds) {
		canvas_field(line, 0, col, 6, true, CANVAS_PLAIN,
			format_number(cpu != NULL ? cpu->speed : NAN).text);
		col += 7;
	}
	if (list->stolen)
		canvas_field(line, 0, col, 8, true, CANVAS_PLAIN,
			format_percent(cpu != NULL ? cpu->stolen : NAN).text);
}

static void draw_row(const struct canvas_area *area, int row, const struct frame *frame,
	const struct arrange_cpu *cpu, const struct list *list)
{
	struct canvas_area line = canvas_part(area, row, 0, 1, area->cols);
	struct canvas_area names = canvas_part(&line, 0, list->names, 1, line.cols - list->names);
	char domain[16] = "", count[16];
	double share = 0;

	if (cpu->domain >= 0)
		snprintf(domain, sizeof(domain), "%d", (int)cpu->domain);
	snprintf(count, sizeof(count), "%u", (unsigned)cpu->threads);
	for (uint32_t i = 0; i < cpu->listed; i++)
		share += nth(frame, cpu, i)->share;
	canvas_print(&line, 0, 0, CANVAS_PLAIN, "%4d", (int)cpu->os_cpu);
	canvas_field(&line, 0, 5, 7, true, CANVAS_PLAIN, domain);
	canvas_field(&line, 0, 13, 7, true, cpu->threads > list->least ? CANVAS_BOLD : CANVAS_PLAIN,
		count);
	canvas_field(&line, 0, 21, 7, true, CANVAS_PLAIN, format_percent(share).text);
	draw_slowness(&line, list, juggles(frame, cpu->os_cpu));
	draw_names(&names, frame, cpu);
}

void cpus_draw_list(const struct canvas_area *area, const struct frame *frame)
{
	const struct arrange *arrange = frame->arrange;
	int fit = area->rows - 2;
	size_t first = panels_scroll(frame->view, arrange->cpus, fit);
	struct list list = {.least = fewest(arrange),
		.speeds = live_speeds_differ(frame->sample),
		.stolen = live_stolen(frame->sample) > 0};
	struct canvas_area rest = panels_title(area, "CPUs: %zu, and the compute threads on them%s",
		arrange->cpus, frame->sample->wrapped ? "" : " (or were when they last ran)");

	list.names = NAMES_COL + (list.speeds ? 7 : 0) + (list.stolen ? 9 : 0) +
		     (list.speeds || list.stolen);
	canvas_print(&rest, 0, 0, CANVAS_BOLD,
		" CPU  DOMAIN THREADS   THEIR %%   %s%sWHO (A ahead, B behind)",
		list.speeds ? " SPEED " : "", list.stolen ? "STOLEN % " : "");
	for (int i = 0; i < fit && first + (size_t)i < arrange->cpus; i++)
		draw_row(&rest, i + 1, frame, &arrange->cpu[first + (size_t)i], &list);
}
