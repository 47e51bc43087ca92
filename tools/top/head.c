/* SPDX-License-Identifier: MIT */
/* The first lines of the screen, with what runs and how it goes; and the frame of panels. See
 * panels.h. */
#include "tools/top/panels.h"

#include "tools/table/format.h"

#include <stdarg.h>
#include <stdio.h>

struct canvas_area panels_title(const struct canvas_area *area, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	canvas_fill(area, 0, 0, CANVAS_HEAD, L'─', '-');
	int col = canvas_print(area, 0, 2, CANVAS_HEAD, " %s", text);
	canvas_text(area, 0, col, CANVAS_HEAD, " ");
	return canvas_part(area, 1, 0, area->rows - 1, area->cols);
}

size_t panels_scroll(struct view *view, size_t n, int fit)
{
	size_t page = fit > 0 ? (size_t)fit : 0, last = n > page ? n - page : 0;

	view->page[view->panel] = page > 0 ? page : 1;
	if (view->scroll[view->panel] > last)
		view->scroll[view->panel] = last;
	return view->scroll[view->panel];
}

static struct format age_of(const struct live_sample *sample)
{
	return format_age(((double)sample->now_ns - (double)sample->start_ns) * 1e-9);
}

static void draw_command(const struct canvas_area *area, const struct frame *frame)
{
	const struct view *view = frame->view;
	char state[80];

	snprintf(state, sizeof(state), "%s%severy %s", view->ended ? "ENDED  " : "",
		view->paused ? "PAUSED  " : "", format_time((double)view->interval_ns * 1e-9).text);
	canvas_fill(area, 0, 0, CANVAS_TITLE, L' ', ' ');
	int width = (int)snprintf(NULL, 0, "%s", state) + 1;
	struct canvas_area left = canvas_part(area, 0, 0, 1, area->cols - width - 1);
	canvas_print(&left, 0, 1, CANVAS_TITLE, "%s",
		frame->sample->command[0] != '\0' ? frame->sample->command : "(no name)");
	canvas_text(area, 0, area->cols - width > 0 ? area->cols - width : 0, CANVAS_TITLE, state);
}

static void draw_juggle(const struct canvas_area *area, const struct live_sample *sample)
{
	int col = canvas_print(area, 0, 1, CANVAS_PLAIN, "juggle %d%s, ", (int)sample->juggle_pid,
		sample->attached ? " -p" : "");

	if (sample->job_pid != 0)
		col = canvas_print(
			area, 0, col, CANVAS_PLAIN, "command %d, ", (int)sample->job_pid);
	canvas_print(area, 0, col, CANVAS_PLAIN, "for %s; policy %s, period %s",
		age_of(sample).text, sample->policy,
		format_time((double)sample->period_ns * 1e-9).text);
	col = canvas_text(area, 1, 1,
		sample->lost        ? CANVAS_WARNING
		: sample->balancing ? CANVAS_AHEAD
				    : CANVAS_BOLD,
		sample->lost        ? "lost: the balancer died"
		: sample->balancing ? "balances"
				    : "stands aside");
	if (sample->reason != NULL && sample->reason[0] != '\0')
		canvas_print(area, 1, col, CANVAS_PLAIN, ": %s", sample->reason);
}

static void draw_unwrapped(const struct canvas_area *area, const struct live_sample *sample)
{
	int col = canvas_print(area, 0, 1, CANVAS_PLAIN, "%zu process%s, for %s, without juggle",
		sample->processes, sample->processes == 1 ? "" : "es", age_of(sample).text);

	if (sample->processes > 0)
		canvas_print(area, 0, col, CANVAS_PLAIN, "; %s %d",
			sample->processes == 1 ? "pid" : "first pid", (int)sample->process[0].pid);
	for (size_t i = 0; i < sample->processes; i++) {
		const struct live_process *process = &sample->process[i];
		if (process->error != 0)
			continue;
		col = canvas_print(area, 1, 1, CANVAS_PLAIN,
			"balancing of subdomains: %s, %s moves so far",
			progress_reader_balancing(process->asked),
			format_count(process->moves).text);
		if (process->balancer_pid != 0)
			canvas_print(area, 1, col, CANVAS_PLAIN, ", by pid %d",
				(int)process->balancer_pid);
		break;
	}
}

/* What slows the CPUs down. Returns whether anything does. */
static bool draw_slowness(const struct canvas_area *area, const struct live_sample *sample)
{
	double stolen = live_stolen(sample);
	int col = 1;

	if (stolen > 0)
		col = canvas_print(area, 0, col, CANVAS_BOLD, "%s %% of the CPUs' time stolen%s",
			format_percent(stolen).text, sample->quota_cpus > 0 ? "; " : "");
	if (sample->quota_cpus > 0)
		col = canvas_print(area, 0, col, CANVAS_BOLD, "quota of %s CPUs, throttled for %s",
			format_number(sample->quota_cpus).text,
			format_time((double)sample->throttled_ns * 1e-9).text);
	return col > 1;
}

/* How well threads use their CPUs, where runtimes tell of phases. Returns whether they do. */
static bool draw_phases(const struct canvas_area *area, const struct live_sample *sample)
{
	const struct efficiency *e = &sample->efficiency;

	if (e->threads == 0)
		return false;
	canvas_print(area, 0, 1, CANVAS_PLAIN,
		"%s phases/s; efficiency %.2f = balance %.2f x communication %.2f; CPUs %.2f",
		format_number(1 / e->phase_s).text, e->parallel_efficiency, e->load_balance,
		e->communication_efficiency, e->useful_share);
	return true;
}

static void draw_threads(const struct canvas_area *area, const struct live_sample *sample)
{
	int col = canvas_print(area, 0, 1, CANVAS_PLAIN, "%zu thread%s", sample->compute_threads,
		sample->compute_threads == 1 ? "" : "s");

	if (sample->idle_threads > 0)
		col = canvas_print(
			area, 0, col, CANVAS_PLAIN, " and %u idle", (unsigned)sample->idle_threads);
	if (!sample->wrapped)
		return;
	canvas_print(area, 0, col, CANVAS_PLAIN, " on %zu CPU%s; %s migrations/s, %s in all",
		sample->cpus, sample->cpus == 1 ? "" : "s",
		format_number(sample->migrations_per_s).text,
		format_count(sample->migrations).text);
	canvas_print(area, 1, 1, CANVAS_PLAIN,
		"balancer %s %% of a CPU, %s a point; %s, domains %s",
		format_percent(sample->balancer_share).text,
		format_time((double)sample->cycle_median_ns * 1e-9).text, sample->sampler,
		sample->domains);
}

static void draw_subdomains(const struct canvas_area *area, const struct live_sample *sample)
{
	canvas_print(area, 0, 1, CANVAS_PLAIN,
		"%u subdomains, %u workers; %s iterations/s; spread %s; %s moves/s",
		(unsigned)sample->subdomains, (unsigned)sample->workers,
		format_number(sample->iteration_rate).text, format_count(sample->spread).text,
		format_number(sample->moves_per_s).text);
}

int head_draw(const struct canvas_area *area, const struct frame *frame)
{
	const struct live_sample *sample = frame->sample;
	struct canvas_area rest = canvas_part(area, 1, 0, area->rows - 1, area->cols);
	int rows = sample->wrapped ? 5 : 4;

	draw_command(area, frame);
	(sample->wrapped ? draw_juggle : draw_unwrapped)(&rest, sample);
	rest = canvas_part(area, 3, 0, area->rows - 3, area->cols);
	draw_threads(&rest, sample);
	rest = canvas_part(area, rows, 0, area->rows - rows, area->cols);
	rows += sample->wrapped && draw_slowness(&rest, sample);
	rest = canvas_part(area, rows, 0, area->rows - rows, area->cols);
	rows += sample->wrapped && !sample->lost && draw_phases(&rest, sample);
	if (sample->subdomains == 0)
		return rows;
	rest = canvas_part(area, rows, 0, area->rows - rows, area->cols);
	draw_subdomains(&rest, sample);
	return rows + 1;
}
