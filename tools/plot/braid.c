/* SPDX-License-Identifier: MIT */
#include "tools/plot/braid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NOBODY (-1)
#define LINES_MARGIN 0.12 /* of a lane, above and below its lines */

/* ---- Processes ---- */

static struct braid_process *find_process(const struct braid *braid, int32_t pid)
{
	for (size_t i = 0; i < braid->processes; i++)
		if (braid->process[i].pid == pid)
			return &braid->process[i];
	return NULL;
}

static void saw(struct braid *braid, int32_t pid, uint64_t now_ns)
{
	struct braid_process *process = find_process(braid, pid);

	if (process != NULL && now_ns > process->end_ns)
		process->end_ns = now_ns;
}

static void find_ends(struct braid *braid, const struct trace_file *trace)
{
	for (size_t i = 0; i < trace->publisheds; i++)
		saw(braid, trace->published[i].pid, trace->published[i].now_ns);
	for (size_t i = 0; i < trace->gives; i++)
		saw(braid, trace->give[i].pid, trace->give[i].now_ns);
	for (size_t i = 0; i < trace->helds; i++)
		saw(braid, trace->held[i].pid, trace->held[i].now_ns);
	for (size_t i = 0; i < trace->samples; i++)
		saw(braid, trace->sample[i].pid, trace->sample[i].now_ns);
}

static int find_processes(
	struct braid *braid, const struct trace_file *trace, uint32_t subdomains_max)
{
	braid->process = calloc(BRAID_PROCESSES_MAX, sizeof(*braid->process));
	if (braid->process == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < trace->publisheds; i++) {
		const struct trace_subdomains *record = &trace->published[i];
		struct braid_process *process = find_process(braid, record->pid);
		if (process == NULL && braid->processes == BRAID_PROCESSES_MAX)
			continue;
		if (process == NULL) {
			process = &braid->process[braid->processes++];
			*process = (struct braid_process){.pid = record->pid, .rank = record->rank};
		}
		if (record->workers > process->workers)
			process->workers = record->workers;
		if (record->subdomains > process->subdomains)
			process->subdomains = (uint32_t)record->subdomains;
	}
	for (size_t i = 0; i < braid->processes; i++) {
		struct braid_process *process = &braid->process[i];
		uint32_t left = subdomains_max - (uint32_t)braid->shown;
		process->shown = process->subdomains < left ? process->subdomains : left;
		process->first_line = (uint32_t)braid->shown;
		process->first_lane = braid->lanes;
		braid->shown += process->shown;
		braid->subdomains += process->subdomains;
		braid->lanes += process->workers;
	}
	find_ends(braid, trace);
	return 0;
}

/* ---- Events ---- */

struct events {
	const struct braid *braid;
	struct braid_event *event; /* NULL: only counted */
	size_t count;
};

static void put_event(struct events *e, struct braid_event event)
{
	if (e->event != NULL) {
		event.order = e->count;
		e->event[e->count] = event;
	}
	e->count++;
}

static void put_owners(struct events *e, const struct trace_subdomains *record)
{
	const struct braid_process *process = find_process(e->braid, record->pid);

	for (uint32_t s = 0; process != NULL && s < process->shown && s < record->subdomains; s++)
		put_event(e, (struct braid_event){.now_ns = record->now_ns,
				     .line = process->first_line + s,
				     .kind = BRAID_OWNER,
				     .worker = record->owner[s]});
}

static void put_give(struct events *e, const struct trace_give *give)
{
	const struct braid_process *process = find_process(e->braid, give->pid);

	if (process != NULL && give->subdomain < process->shown && give->to < process->workers)
		put_event(e, (struct braid_event){.now_ns = give->now_ns,
				     .line = process->first_line + give->subdomain,
				     .kind = BRAID_OWNER,
				     .worker = (int32_t)give->to});
}

static void put_holders(struct events *e, const struct trace_holders *record)
{
	const struct braid_process *process = find_process(e->braid, record->pid);

	for (uint32_t s = 0; process != NULL && s < process->shown && s < record->subdomains; s++)
		if (record->holder[s] < (int32_t)process->workers)
			put_event(e, (struct braid_event){.now_ns = record->now_ns,
					     .line = process->first_line + s,
					     .kind = BRAID_HOLDER,
					     .worker = record->holder[s]});
}

static double mean_updates(const struct trace_updates *sample)
{
	double sum = 0, n = 0;

	for (size_t s = 0; s < sample->subdomains; s++) {
		sum += sample->updates[s] >= 0 ? (double)sample->updates[s] : 0;
		n += sample->updates[s] >= 0;
	}
	return n > 0 ? sum / n : 0;
}

static void put_updates(struct events *e, const struct trace_updates *sample)
{
	const struct braid_process *process = find_process(e->braid, sample->pid);
	double mean = mean_updates(sample);

	for (uint32_t s = 0; process != NULL && s < process->shown && s < sample->subdomains; s++)
		put_event(e,
			(struct braid_event){.now_ns = sample->now_ns,
				.line = process->first_line + s,
				.kind = BRAID_UPDATES,
				.lead = sample->updates[s] >= 0 ? (double)sample->updates[s] - mean
								: NAN});
}

static void put_all(struct events *e, const struct trace_file *trace)
{
	for (size_t i = 0; i < trace->publisheds; i++)
		put_owners(e, &trace->published[i]);
	for (size_t i = 0; i < trace->gives; i++)
		put_give(e, &trace->give[i]);
	for (size_t i = 0; i < trace->helds; i++)
		put_holders(e, &trace->held[i]);
	for (size_t i = 0; i < trace->samples; i++)
		put_updates(e, &trace->sample[i]);
}

static int compare_events(const void *left, const void *right)
{
	const struct braid_event *a = left, *b = right;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->now_ns != b->now_ns)
		return a->now_ns < b->now_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* A holder that is seen has not passed the subdomain on since it became the owner, or, if it did so
 * earlier, since the sample before: whatever owners came then, they did not get it. Works in place,
 * and returns how many events are left. */
static size_t leave_out(struct braid_event *event, size_t count)
{
	size_t kept = 0, sampled = 0; /* so many; of them, up to the last sample */

	for (size_t i = 0; i < count; i++) {
		const struct braid_event now = event[i];
		if (kept > 0 && event[kept - 1].line != now.line)
			sampled = kept;
		while (now.kind == BRAID_HOLDER && now.worker != NOBODY && kept > sampled &&
			event[kept - 1].worker != now.worker)
			kept--;
		event[kept++] = now;
		if (now.kind != BRAID_OWNER)
			sampled = kept;
	}
	return kept;
}

int braid_events(const struct braid *braid, const struct trace_file *trace,
	struct braid_event **out, size_t *count)
{
	struct events e = {.braid = braid};

	put_all(&e, trace);
	e.event = calloc(e.count > 0 ? e.count : 1, sizeof(*e.event));
	if (e.event == NULL)
		return -ENOMEM;
	e.count = 0;
	put_all(&e, trace);
	if (e.count > 1)
		qsort(e.event, e.count, sizeof(*e.event), compare_events);
	*out = e.event;
	*count = leave_out(e.event, e.count);
	return 0;
}

/* ---- Lines ---- */

/* A line being drawn. */
struct pen {
	struct braid *braid;
	const struct plot_run *run;
	const struct braid_process *process;
	uint32_t subdomain;
	double step_s; /* changes that are closer than this are drawn as one */
	double end_s; /* of the window, or of what is known of the process */
	bool down; /* a line has been started */
	int32_t holder, next; /* as drawn; waiting to be drawn */
	double next_s; /* since when it waits */
	double lead, drawn_lead, lead_s; /* the last lead; the last one drawn, and when */
};

static void put_vertex(struct pen *pen, double time_s, int32_t holder)
{
	double within = (pen->subdomain + 0.5) / pen->process->shown;

	time_s = time_s > pen->end_s ? pen->end_s : time_s;
	pen->braid->vertex[pen->braid->vertices++] = (struct braid_vertex){.time_s = time_s,
		.lane = pen->process->first_lane + holder + LINES_MARGIN +
			(1 - 2 * LINES_MARGIN) * within,
		.lead = pen->lead,
		.begins = !pen->down,
		.line = pen->process->first_line + pen->subdomain};
	pen->down = true;
	pen->drawn_lead = pen->lead;
	double size = fabs(pen->lead);
	if (size > pen->braid->lead_max)
		pen->braid->lead_max = size;
}

/* Draw the change of holder that is waiting. */
static void flush(struct pen *pen)
{
	if (pen->next == pen->holder)
		return;
	if (pen->holder != NOBODY)
		put_vertex(pen, pen->next_s, pen->holder);
	if (pen->next == NOBODY)
		pen->down = false;
	else
		put_vertex(pen, pen->holder != NOBODY ? pen->next_s + pen->step_s : pen->next_s,
			pen->next);
	pen->holder = pen->next;
}

static void take_event(struct pen *pen, const struct braid_event *event)
{
	double from_s = plot_run_s(pen->run, pen->run->from_ns);
	double time_s = plot_run_s(pen->run, event->now_ns);

	time_s = time_s < from_s ? from_s : time_s;
	if (pen->next != pen->holder && time_s >= pen->next_s + pen->step_s)
		flush(pen);
	if (event->kind != BRAID_UPDATES) {
		if (time_s <= from_s)
			pen->next = event->worker; /* what was waiting before is not drawn */
		else if (event->worker != pen->next && pen->next == pen->holder)
			pen->next_s = time_s;
		if (pen->next_s < from_s)
			pen->next_s = from_s;
		pen->next = event->worker;
	} else if (!isnan(event->lead)) {
		pen->lead = event->lead;
		if (pen->holder != NOBODY && pen->next == pen->holder &&
			pen->lead != pen->drawn_lead && time_s >= pen->lead_s + pen->step_s) {
			put_vertex(pen, time_s, pen->holder);
			pen->lead_s = time_s;
		}
	}
}

static void draw_line(struct pen *pen, const struct braid_event *event, size_t count)
{
	pen->down = false;
	pen->holder = pen->next = NOBODY;
	pen->end_s = plot_run_s(pen->run,
		pen->process->end_ns < pen->run->to_ns ? pen->process->end_ns : pen->run->to_ns);
	pen->lead = pen->drawn_lead = 0;
	pen->next_s = pen->lead_s = -INFINITY;
	for (size_t i = 0; i < count && event[i].now_ns <= pen->run->to_ns; i++)
		take_event(pen, &event[i]);
	flush(pen);
	if (pen->holder != NOBODY)
		put_vertex(pen, pen->end_s, pen->holder);
}

static int draw(struct braid *braid, const struct trace_file *trace, const struct plot_run *run,
	const struct chart_room *room)
{
	struct braid_event *event = NULL;
	size_t count = 0, steps = room->vertices / 3 / (braid->shown > 0 ? braid->shown : 1);
	int r = braid_events(braid, trace, &event, &count);

	if (r < 0)
		return r;
	steps = steps < 20 ? 20 : steps > room->steps ? room->steps : steps;
	struct pen pen = {.braid = braid, .run = run};
	pen.step_s = (double)(run->to_ns - run->from_ns) * 1e-9 / (double)steps;
	/* Each event draws two vertices at most, and each line one more. */
	braid->vertex = calloc(2 * count + 3 * braid->shown + 1, sizeof(*braid->vertex));
	for (size_t i = 0, end; braid->vertex != NULL && i < count; i = end) {
		for (end = i; end < count && event[end].line == event[i].line;)
			end++;
		pen.process = braid->process;
		while (event[i].line >= pen.process->first_line + pen.process->shown)
			pen.process++;
		pen.subdomain = event[i].line - pen.process->first_line;
		draw_line(&pen, &event[i], end - i);
	}
	free(event);
	return braid->vertex != NULL ? 0 : -ENOMEM;
}

/* ---- Spread and moves ---- */

static void add_spread(
	struct braid *braid, const struct plot_run *run, const struct trace_updates *sample)
{
	double least = INFINITY, most = -INFINITY, time_s = plot_run_s(run, sample->now_ns);
	double from_s = plot_run_s(run, run->from_ns), to_s = plot_run_s(run, run->to_ns);

	for (size_t s = 0; s < sample->subdomains; s++) {
		double updates = (double)sample->updates[s];
		if (updates < 0)
			continue;
		least = updates < least ? updates : least;
		most = updates > most ? updates : most;
	}
	if (most >= least && sample->now_ns >= run->from_ns && sample->now_ns <= run->to_ns)
		chart_add(&braid->spread[chart_bin(braid->bins, from_s, to_s, time_s)], time_s,
			most - least);
}

static void add_moves(
	struct braid *braid, const struct plot_run *run, const struct trace_give *give)
{
	if (give->now_ns < run->from_ns || give->now_ns > run->to_ns)
		return;
	braid->moves[chart_bin(braid->rate_bins, plot_run_s(run, run->from_ns),
		plot_run_s(run, run->to_ns), plot_run_s(run, give->now_ns))]++;
	braid->moves_sum++;
}

int braid_init(struct braid *braid, const struct trace_file *trace, const struct plot_run *run,
	uint32_t subdomains_max, const struct chart_room *room)
{
	*braid = (struct braid){.lead_max = 1,
		.bins = room->bins,
		.rate_bins = room->rate_bins,
		.spread = calloc(room->bins, sizeof(*braid->spread)),
		.moves = calloc(room->rate_bins, sizeof(*braid->moves))};
	int r = braid->spread != NULL && braid->moves != NULL
			? find_processes(braid, trace, subdomains_max)
			: -ENOMEM;

	if (r == 0)
		r = draw(braid, trace, run, room);
	for (size_t i = 0; i < trace->samples && r == 0; i++)
		add_spread(braid, run, &trace->sample[i]);
	for (size_t i = 0; i < trace->gives && r == 0; i++)
		add_moves(braid, run, &trace->give[i]);
	return r;
}

void braid_deinit(struct braid *braid)
{
	free(braid->process);
	free(braid->vertex);
	free(braid->spread);
	free(braid->moves);
	*braid = (struct braid){0};
}
