/* SPDX-License-Identifier: MIT */
/*
 * Tracks:
 * - each thread of the job, in its own process: slices say on which CPU it was;
 * - each CPU, in a process of their own: slices say which thread was there; where several were at a
 *   time, the CPU has as many tracks, since slices of one track must not overlap. Arrows go
 *   from a CPU to the next of the same thread;
 * - counters: spread and migrations of each domain, lead of each thread; and where runtimes told of
 *   phases, phases of each domain, and for which share of its time each thread waited for others;
 * - each subdomain, in a process of each program that publishes its progress: slices say whose it
 *   was.
 *
 * Events of a track are in order of time.
 */
#include "tools/plot/perfetto.h"

#include "tools/plot/quote.h"
#include "tools/plot/waits.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define RATE_NS UINT64_C(100000000) /* between values of migrations per second */

struct writer {
	FILE *to;
	const struct trace_file *trace;
	const struct plot_run *run;
	bool begun;
};

/* ---- Events ---- */

static void begin_event(
	struct writer *w, const char *kind, const char *category, int pid, uint64_t tid)
{
	fprintf(w->to, "%s{\"ph\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%llu",
		w->begun ? ",\n" : "", kind, category, pid, (unsigned long long)tid);
	w->begun = true;
}

static void put_name(struct writer *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put_name(struct writer *w, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fputs(",\"name\":", w->to);
	quote_json(w->to, text);
}

/* Microseconds since the start, without rounding. */
static void put_time(struct writer *w, const char *key, uint64_t ns)
{
	fprintf(w->to, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000),
		(unsigned)(ns % 1000));
}

static void put_now(struct writer *w, uint64_t now_ns)
{
	put_time(w, "ts", now_ns > w->run->begin_ns ? now_ns - w->run->begin_ns : 0);
}

/* A slice ends a nanosecond early: viewers compute with fractions, and nest, or drop, a slice that
 * seems to begin before the one before it has ended. */
static uint64_t slice_end(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns + 1 ? to_ns - 1 : to_ns;
}

static void put_length(struct writer *w, uint64_t from_ns, uint64_t to_ns)
{
	put_time(w, "dur", slice_end(from_ns, to_ns) - from_ns);
}

static void end_event(struct writer *w)
{
	fputs("}", w->to);
}

/* what: process_name or thread_name. */
static void name_track(struct writer *w, const char *what, int pid, uint64_t tid, const char *name)
{
	begin_event(w, "M", "__metadata", pid, tid);
	fprintf(w->to, ",\"ts\":0,\"name\":\"%s\",\"args\":{\"name\":", what);
	quote_json(w->to, name);
	fputs("}", w->to);
	end_event(w);
}

/* Order tracks by number instead of by name. */
static void sort_track(struct writer *w, const char *what, int pid, uint64_t tid, size_t place)
{
	begin_event(w, "M", "__metadata", pid, tid);
	fprintf(w->to, ",\"ts\":0,\"name\":\"%s\",\"args\":{\"sort_index\":%zu}", what, place);
	end_event(w);
}

static void put_counter(struct writer *w, uint64_t now_ns, const char *unit, double value)
{
	put_now(w, now_ns);
	fprintf(w->to, ",\"args\":{\"%s\":%.9g}", unit, value);
	end_event(w);
}

/* ---- Threads ---- */

/* Threads without a birth record get a process with their own number. */
static int pid_of(const struct plot_thread *thread)
{
	return thread->pid > 0 ? thread->pid : thread->tid;
}

static bool is_drawn(const struct plot_run *run, size_t thread)
{
	return run->thread[thread].shown != PLOT_HIDDEN;
}

/* A process has the name of its main thread, if that was found. */
static const char *process_name(const struct plot_run *run, const struct plot_thread *thread)
{
	uint32_t main_thread = plot_run_find(run, pid_of(thread));
	const char *comm = main_thread != UINT32_MAX ? run->thread[main_thread].comm : thread->comm;

	return comm[0] != '\0' ? comm : "process";
}

static void name_threads(struct writer *w)
{
	const struct plot_run *run = w->run;

	for (size_t i = 0; i < run->threads; i++) {
		const struct plot_thread *thread = &run->thread[i];
		char name[64];
		if (!is_drawn(run, i))
			continue;
		snprintf(name, sizeof(name), "%.40s", process_name(run, thread));
		name_track(w, "process_name", pid_of(thread), (uint64_t)thread->tid, name);
		snprintf(name, sizeof(name), "%.40s",
			thread->comm[0] != '\0' ? thread->comm : "thread");
		name_track(w, "thread_name", pid_of(thread), (uint64_t)thread->tid, name);
		sort_track(w, "thread_sort_index", pid_of(thread), (uint64_t)thread->tid,
			thread->shown);
	}
}

/* The next stay of each drawn thread, for arrows. */
struct next_stay {
	size_t *next; /* of each stay; or the number of stays if it has none */
	size_t *order; /* stays sorted by thread, or by slot, then by time */
	size_t *slot_first; /* the number of the first slot of each CPU */
};

static void free_next(struct next_stay *n)
{
	free(n->next);
	free(n->order);
	free(n->slot_first);
}

/* A stable counting sort. `key` is below `keys`. */
static int order_by(
	const struct plot_run *run, const struct next_stay *n, bool by_thread, size_t keys)
{
	size_t *first = calloc(keys + 1, sizeof(*first));

	if (first == NULL)
		return -ENOMEM;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < run->stays; i++) {
			const struct plot_stay *stay = &run->stay[i];
			size_t key =
				by_thread ? stay->thread : n->slot_first[stay->cpu] + stay->slot;
			if (pass == 0)
				first[key + 1]++;
			else
				n->order[first[key]++] = i;
		}
		for (size_t k = 1; k <= keys && pass == 0; k++)
			first[k] += first[k - 1];
	}
	free(first);
	return 0;
}

static void write_thread_slices(struct writer *w, const struct next_stay *n)
{
	const struct plot_run *run = w->run;

	for (size_t i = 0; i < run->stays; i++) {
		const struct plot_stay *stay = &run->stay[n->order[i]];
		const struct plot_thread *thread = &run->thread[stay->thread];
		int32_t os_cpu = run->cpu[stay->cpu].os_cpu;
		if (!is_drawn(run, stay->thread))
			continue;
		begin_event(w, "X", "placement", pid_of(thread), (uint64_t)thread->tid);
		if (os_cpu >= 0)
			put_name(w, "CPU %d", (int)os_cpu);
		else
			put_name(w, "left to Linux");
		put_now(w, stay->from_ns);
		put_length(w, stay->from_ns, stay->to_ns);
		end_event(w);
	}
}

/* ---- CPUs ---- */

static void name_cpus(struct writer *w, const struct next_stay *n)
{
	const struct plot_run *run = w->run;

	name_track(w, "process_name", PERFETTO_CPUS, PERFETTO_CPU_TRACKS, "CPUs");
	sort_track(w, "process_sort_index", PERFETTO_CPUS, PERFETTO_CPU_TRACKS, 0);
	for (size_t i = 0; i < run->cpus; i++)
		for (uint32_t slot = 0; slot < run->cpu[i].slots; slot++) {
			char name[60];
			size_t track = PERFETTO_CPU_TRACKS + n->slot_first[i] + slot;
			int used = run->cpu[i].os_cpu >= 0
					   ? snprintf(name, sizeof(name), "CPU %d",
						     (int)run->cpu[i].os_cpu)
					   : snprintf(name, sizeof(name), "left to Linux");
			if (slot > 0)
				snprintf(name + used, sizeof(name) - (size_t)used, " (%u)",
					slot + 1);
			name_track(w, "thread_name", PERFETTO_CPUS, track, name);
			sort_track(w, "thread_sort_index", PERFETTO_CPUS, track, track);
		}
}

/* One end of an arrow, which has the number of the stay that it leaves. */
static void put_arrow(
	struct writer *w, const char *half, uint64_t track, uint64_t now_ns, size_t number)
{
	begin_event(w, half, "migration", PERFETTO_CPUS, track);
	put_name(w, "migration");
	put_now(w, now_ns);
	fprintf(w->to, ",\"id\":%zu%s", number + 1, half[0] == 'f' ? ",\"bp\":\"e\"" : "");
	end_event(w);
}

/* An arrow leaves in the last nanosecond of a slice and arrives in the first of the next. */
static void write_cpu_slices(struct writer *w, const struct next_stay *n, const size_t *before)
{
	const struct plot_run *run = w->run;

	for (size_t i = 0; i < run->stays; i++) {
		size_t number = n->order[i];
		const struct plot_stay *stay = &run->stay[number];
		const struct plot_thread *thread = &run->thread[stay->thread];
		uint64_t track = PERFETTO_CPU_TRACKS + n->slot_first[stay->cpu] + stay->slot;
		if (!is_drawn(run, stay->thread))
			continue;
		begin_event(w, "X", "placement", PERFETTO_CPUS, track);
		put_name(w, "%.40s %d", thread->comm, (int)thread->tid);
		put_now(w, stay->from_ns);
		put_length(w, stay->from_ns, stay->to_ns);
		fprintf(w->to, ",\"args\":{\"tid\":%d}", (int)thread->tid);
		end_event(w);
		if (before[number] < run->stays)
			put_arrow(w, "f", track, stay->from_ns, before[number]);
		if (n->next[number] < run->stays)
			put_arrow(w, "s", track, slice_end(stay->from_ns, stay->to_ns) - 1, number);
	}
}

/* Link stays that follow each other on different CPUs without a pause. */
static void link_stays(const struct plot_run *run, const struct next_stay *n, size_t *before)
{
	for (size_t i = 0; i < run->stays; i++)
		n->next[i] = before[i] = run->stays;
	for (size_t i = 1; i < run->stays; i++) {
		size_t from = n->order[i - 1], to = n->order[i];
		const struct plot_stay *a = &run->stay[from], *b = &run->stay[to];
		if (a->thread != b->thread || a->cpu == b->cpu || a->to_ns != b->from_ns)
			continue;
		n->next[from] = to;
		before[to] = from;
	}
}

static int write_stays(struct writer *w)
{
	const struct plot_run *run = w->run;
	size_t room = run->stays + 1, tracks = 0, *before = calloc(room, sizeof(*before));
	struct next_stay n = {.next = calloc(room, sizeof(*n.next)),
		.order = calloc(room, sizeof(*n.order)),
		.slot_first = calloc(run->cpus + 1, sizeof(*n.slot_first))};
	int r = before != NULL && n.next != NULL && n.order != NULL && n.slot_first != NULL
			? 0
			: -ENOMEM;

	for (size_t i = 0; i < run->cpus && r == 0; i++) {
		n.slot_first[i] = tracks;
		tracks += run->cpu[i].slots;
	}
	if (r == 0)
		r = order_by(run, &n, true, run->threads);
	if (r == 0) {
		name_threads(w);
		write_thread_slices(w, &n);
		link_stays(run, &n, before);
		r = order_by(run, &n, false, tracks);
	}
	if (r == 0) {
		name_cpus(w, &n);
		write_cpu_slices(w, &n, before);
	}
	free(before);
	free_next(&n);
	return r;
}

/* ---- Counters and regimes ---- */

static void write_leads(struct writer *w, const struct trace_point *point)
{
	double sum = 0;

	for (size_t k = 0; k < point->threads; k++)
		sum += (double)point->thread[k].progress_ns;
	for (size_t k = 0; k < point->threads; k++) {
		uint32_t thread = plot_run_find(w->run, point->thread[k].tid);
		double lead = (double)point->thread[k].progress_ns - sum / (double)point->threads;
		if (!is_drawn(w->run, thread))
			continue;
		begin_event(w, "C", "counter", pid_of(&w->run->thread[thread]),
			(uint64_t)point->thread[k].tid);
		put_name(w, "lead of %d", (int)point->thread[k].tid);
		put_counter(w, point->now_ns, "ms", lead * 1e-6);
	}
}

static void write_spread(struct writer *w, const struct trace_point *point)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (size_t k = 0; k < point->threads; k++) {
		int64_t progress = point->thread[k].progress_ns;
		least = progress < least ? progress : least;
		most = progress > most ? progress : most;
	}
	begin_event(w, "C", "counter", PERFETTO_COUNTERS, PERFETTO_COUNTER_TRACKS);
	put_name(w, "spread of domain %u", point->domain);
	put_counter(w, point->now_ns, "ms", ((double)most - (double)least) * 1e-6);
}

static void write_rate(struct writer *w, uint32_t domain, uint64_t now_ns, uint64_t moves)
{
	begin_event(w, "C", "counter", PERFETTO_COUNTERS, PERFETTO_COUNTER_TRACKS);
	put_name(w, "migrations of domain %u", domain);
	put_counter(w, now_ns, "per_s", (double)moves / ((double)RATE_NS * 1e-9));
}

/* Points of a domain are in order of time. A rate holds for the time that begins at its point. */
static int write_points(struct writer *w)
{
	struct rate {
		uint64_t begin_ns, moves;
	} *rate = calloc(TRACE_DOMAINS_MAX, sizeof(*rate));

	if (rate == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < w->trace->points; i++) {
		const struct trace_point *point = &w->trace->point[i];
		struct rate *r = &rate[point->domain];
		if (!plot_run_has(w->run, point))
			continue;
		write_leads(w, point);
		write_spread(w, point);
		if (r->begin_ns == 0 || point->now_ns - r->begin_ns >= RATE_NS) {
			if (r->begin_ns > 0)
				write_rate(w, point->domain, r->begin_ns, r->moves);
			if (r->begin_ns > 0 && point->now_ns - r->begin_ns >= 2 * RATE_NS)
				write_rate(w, point->domain, r->begin_ns + RATE_NS, 0);
			*r = (struct rate){point->now_ns, 0};
		}
		r->moves += point->moves;
	}
	for (uint32_t domain = 0; domain < TRACE_DOMAINS_MAX; domain++)
		if (rate[domain].begin_ns > 0)
			write_rate(w, domain, rate[domain].begin_ns, rate[domain].moves);
	free(rate);
	return 0;
}

/* A value holds for the time that begins there. */
static void write_wait(struct writer *w, const struct plot_wait *wait)
{
	const struct plot_thread *thread = &w->run->thread[wait->thread];

	if (!is_drawn(w->run, wait->thread))
		return;
	begin_event(w, "C", "counter", pid_of(thread), (uint64_t)thread->tid);
	put_name(w, "waits of %d", (int)thread->tid);
	put_counter(w, wait->from_ns, "percent", 100 * wait->share);
}

/* Phases of a domain in some time. */
struct phase_rate {
	uint64_t from_ns;
	double arrivals, told_s; /* of all its threads */
};

static void write_phases(struct writer *w, uint32_t domain, const struct phase_rate *rate)
{
	if (!(rate->told_s > 0))
		return;
	begin_event(w, "C", "counter", PERFETTO_COUNTERS, PERFETTO_COUNTER_TRACKS);
	put_name(w, "phases of domain %u", domain);
	put_counter(w, rate->from_ns, "per_s", rate->arrivals / rate->told_s);
}

static int write_waits(struct writer *w)
{
	struct phase_rate *rate = calloc(TRACE_DOMAINS_MAX, sizeof(*rate));
	struct plot_wait *wait = NULL;
	size_t n = 0;
	int r = rate != NULL ? plot_waits(w->trace, w->run, &wait, &n) : -ENOMEM;

	for (size_t i = 0; i < n; i++) {
		struct phase_rate *now = &rate[wait[i].domain];
		write_wait(w, &wait[i]);
		if (now->told_s > 0 && wait[i].from_ns >= now->from_ns + RATE_NS) {
			write_phases(w, wait[i].domain, now);
			now->told_s = 0;
		}
		if (!(now->told_s > 0))
			*now = (struct phase_rate){.from_ns = wait[i].from_ns};
		now->arrivals += (double)wait[i].arrivals;
		now->told_s += (double)(wait[i].to_ns - wait[i].from_ns) * 1e-9;
	}
	for (uint32_t domain = 0; r == 0 && domain < TRACE_DOMAINS_MAX; domain++)
		write_phases(w, domain, &rate[domain]);
	free(rate);
	free(wait);
	return r;
}

/* One track for each domain. */
static void write_regimes(struct writer *w)
{
	bool named[TRACE_DOMAINS_MAX] = {false};

	name_track(w, "process_name", PERFETTO_COUNTERS, PERFETTO_COUNTER_TRACKS, "juggle");
	sort_track(w, "process_sort_index", PERFETTO_COUNTERS, PERFETTO_COUNTER_TRACKS, 1);
	name_track(w, "thread_name", PERFETTO_COUNTERS, PERFETTO_COUNTER_TRACKS, "counters");
	uint64_t last_ns[TRACE_DOMAINS_MAX] = {0};
	for (size_t i = 0; i < w->trace->regimes; i++) {
		const struct trace_regime *regime = &w->trace->regime[i];
		char name[40];
		if (regime->now_ns < w->run->from_ns || regime->now_ns > w->run->to_ns ||
			regime->now_ns < last_ns[regime->domain])
			continue;
		last_ns[regime->domain] = regime->now_ns;
		snprintf(name, sizeof(name), "regime of domain %u", regime->domain);
		if (!named[regime->domain])
			name_track(w, "thread_name", PERFETTO_COUNTERS,
				PERFETTO_COUNTER_TRACKS + 1 + regime->domain, name);
		named[regime->domain] = true;
		begin_event(w, "i", "regime", PERFETTO_COUNTERS,
			PERFETTO_COUNTER_TRACKS + 1 + regime->domain);
		put_name(w, "%s: %.200s", regime->balance ? "balance" : "aside", regime->reason);
		put_now(w, regime->now_ns);
		fputs(",\"s\":\"p\"", w->to);
		end_event(w);
	}
}

/* ---- Subdomains ---- */

static void put_holding(
	struct writer *w, int pid, uint32_t line, uint64_t from_ns, uint64_t to_ns, int32_t holder)
{
	from_ns = from_ns < w->run->from_ns ? w->run->from_ns : from_ns;
	to_ns = to_ns > w->run->to_ns ? w->run->to_ns : to_ns;
	if (holder < 0 || from_ns >= to_ns)
		return;
	begin_event(w, "X", "holding", pid, PERFETTO_SUBDOMAIN_TRACKS + line);
	put_name(w, "worker %d", (int)holder);
	put_now(w, from_ns);
	put_length(w, from_ns, to_ns);
	end_event(w);
}

/* Write the slices of one subdomain, then its counter. */
static void write_subdomain(struct writer *w, int pid, uint32_t subdomain, uint64_t end_ns,
	const struct braid_event *event, size_t count)
{
	int32_t holder = -1;
	uint64_t since_ns = 0;

	for (size_t i = 0; i < count; i++) {
		if (event[i].kind == BRAID_UPDATES || event[i].worker == holder)
			continue;
		put_holding(w, pid, event->line, since_ns, event[i].now_ns, holder);
		holder = event[i].worker;
		since_ns = event[i].now_ns;
	}
	put_holding(w, pid, event->line, since_ns, end_ns, holder);
	for (size_t i = 0; i < count; i++) {
		if (event[i].kind != BRAID_UPDATES || isnan(event[i].lead) ||
			event[i].now_ns < w->run->from_ns || event[i].now_ns > w->run->to_ns)
			continue;
		begin_event(w, "C", "counter", pid, PERFETTO_SUBDOMAIN_TRACKS + event->line);
		put_name(w, "lead of subdomain %u", subdomain);
		put_counter(w, event[i].now_ns, "updates", event[i].lead);
	}
}

static int write_braid(struct writer *w, const struct braid *braid)
{
	struct braid_event *event = NULL;
	size_t count = 0, process = 0;
	int r = braid_events(braid, w->trace, &event, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < braid->processes; i++) {
		const struct braid_process *p = &braid->process[i];
		char name[80];
		snprintf(name, sizeof(name), "subdomains of process %d, rank %d", (int)p->pid,
			(int)p->rank);
		name_track(w, "process_name", PERFETTO_SUBDOMAINS + (int)i,
			PERFETTO_SUBDOMAIN_TRACKS + p->first_line, name);
		for (uint32_t s = 0; s < p->shown; s++) {
			snprintf(name, sizeof(name), "subdomain %u", s);
			name_track(w, "thread_name", PERFETTO_SUBDOMAINS + (int)i,
				PERFETTO_SUBDOMAIN_TRACKS + p->first_line + s, name);
			sort_track(w, "thread_sort_index", PERFETTO_SUBDOMAINS + (int)i,
				PERFETTO_SUBDOMAIN_TRACKS + p->first_line + s, s);
		}
	}
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && event[end].line == event[i].line;)
			end++;
		while (event[i].line >=
			braid->process[process].first_line + braid->process[process].shown)
			process++;
		write_subdomain(w, PERFETTO_SUBDOMAINS + (int)process,
			event[i].line - braid->process[process].first_line,
			braid->process[process].end_ns, &event[i], end - i);
	}
	free(event);
	return 0;
}

int perfetto_write(const struct trace_file *trace, const struct plot_run *run,
	const struct braid *braid, FILE *to)
{
	struct writer w = {.to = to, .trace = trace, .run = run};

	fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"command\":", to);
	quote_json(to, trace->command);
	fputs(",\"policy\":", to);
	quote_json(to, trace->policy);
	fprintf(to, ",\"period_s\":%.9g},\"traceEvents\":[\n", trace->period_s);
	int r = write_stays(&w);
	write_regimes(&w);
	if (r == 0)
		r = write_points(&w);
	if (r == 0)
		r = write_waits(&w);
	if (r == 0)
		r = write_braid(&w, braid);
	fputs("\n]}\n", to);
	return r;
}
