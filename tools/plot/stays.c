/* SPDX-License-Identifier: MIT */
#include "tools/plot/stays.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { SLOTS_FIRST = 64 };

/* The current stay of a thread, which has not ended yet. */
struct open_stay {
	bool open;
	int32_t os_cpu;
	uint64_t from_ns, to_ns;
};

/* Arrays that grow, and the current stays. */
struct builder {
	struct plot_run *run;
	size_t thread_room, stay_room, aside_room;
	struct open_stay *open; /* of each thread */
};

static bool grow(void *array, size_t count, size_t *room, size_t bytes)
{
	void *base;

	if (count < *room)
		return true;
	memcpy(&base, array, sizeof(base));
	size_t more = *room > 0 ? 2 * *room : 64;
	base = reallocarray(base, more, bytes);
	if (base == NULL)
		return false;
	memcpy(array, &base, sizeof(base));
	*room = more;
	return true;
}

/* ---- Threads ---- */

static size_t hash(const struct plot_run *run, int32_t tid)
{
	return (size_t)((uint32_t)tid * UINT32_C(2654435761)) & (run->index_size - 1);
}

uint32_t plot_run_find(const struct plot_run *run, int32_t tid)
{
	for (size_t i = hash(run, tid);; i = (i + 1) & (run->index_size - 1))
		if (run->index[i] == NONE || run->thread[run->index[i]].tid == tid)
			return run->index[i];
}

static void put_index(struct plot_run *run, uint32_t thread)
{
	size_t i = hash(run, run->thread[thread].tid);

	while (run->index[i] != NONE)
		i = (i + 1) & (run->index_size - 1);
	run->index[i] = thread;
}

static int grow_index(struct plot_run *run)
{
	size_t size = run->index_size > 0 ? 2 * run->index_size : 256;
	uint32_t *index = malloc(size * sizeof(*index));

	if (index == NULL)
		return -ENOMEM;
	memset(index, 0xff, size * sizeof(*index));
	free(run->index);
	run->index = index;
	run->index_size = size;
	for (size_t i = 0; i < run->threads; i++)
		put_index(run, (uint32_t)i);
	return 0;
}

static int add_thread(struct builder *b, int32_t tid, int32_t pid, const char *comm)
{
	struct plot_run *run = b->run;

	if (2 * run->threads >= run->index_size && grow_index(run) < 0)
		return -ENOMEM;
	if (plot_run_find(run, tid) != NONE)
		return 0;
	if (!grow(&run->thread, run->threads, &b->thread_room, sizeof(*run->thread)))
		return -ENOMEM;
	run->thread[run->threads] =
		(struct plot_thread){.tid = tid, .pid = pid, .comm = comm, .shown = PLOT_HIDDEN};
	put_index(run, (uint32_t)run->threads++);
	return 0;
}

/* In the order in which they were found; threads without a birth record come last. */
static int find_threads(struct builder *b, const struct trace_file *trace)
{
	int r = grow_index(b->run);

	for (size_t i = 0; i < trace->births && r == 0; i++)
		r = add_thread(b, trace->birth[i].tid, trace->birth[i].pid, trace->birth[i].comm);
	for (size_t i = 0; i < trace->names && r == 0; i++) {
		uint32_t thread = plot_run_find(b->run, trace->name[i].tid);
		if (thread != NONE)
			b->run->thread[thread].comm = trace->name[i].comm;
	}
	for (size_t i = 0; i < trace->points; i++)
		for (size_t k = 0; k < trace->point[i].threads && r == 0; k++)
			r = add_thread(b, trace->point[i].thread[k].tid, 0, "");
	return r;
}

static bool is_chosen(const struct plot_choice *choice, int32_t tid)
{
	for (size_t i = 0; i < choice->tids; i++)
		if (choice->tid[i] == tid)
			return true;
	return choice->tids == 0;
}

static int choose_threads(
	struct plot_run *run, const struct trace_file *trace, const struct plot_choice *choice)
{
	for (size_t i = 0; i < trace->points; i++) {
		const struct trace_point *point = &trace->point[i];
		if (!plot_run_has(run, point))
			continue;
		run->points++;
		run->migrations += point->moves;
		for (size_t k = 0; k < point->threads; k++)
			run->thread[plot_run_find(run, point->thread[k].tid)].records++;
	}
	for (size_t i = 0; i < run->threads; i++) {
		struct plot_thread *thread = &run->thread[i];
		if (thread->records == 0)
			continue;
		run->threads_seen++;
		if (run->threads_shown < choice->threads_max && is_chosen(choice, thread->tid))
			thread->shown = (uint32_t)run->threads_shown++;
	}
	return run->points == 0 ? -ENODATA : run->threads_shown == 0 ? -ENOENT : 0;
}

/* ---- Time ---- */

bool plot_run_has(const struct plot_run *run, const struct trace_point *point)
{
	return point->threads > 0 && point->now_ns >= run->from_ns && point->now_ns <= run->to_ns;
}

double plot_run_s(const struct plot_run *run, uint64_t now_ns)
{
	return now_ns >= run->begin_ns ? (double)(now_ns - run->begin_ns) * 1e-9
				       : -(double)(run->begin_ns - now_ns) * 1e-9;
}

static void find_window(
	struct plot_run *run, const struct trace_file *trace, const struct plot_choice *choice)
{
	uint64_t end_ns = 0;

	run->begin_ns = trace->start_ns;
	for (size_t i = 0; i < trace->points; i++) {
		uint64_t now_ns = trace->point[i].now_ns;
		run->begin_ns = now_ns < run->begin_ns ? now_ns : run->begin_ns;
		end_ns = now_ns > end_ns ? now_ns : end_ns;
	}
	end_ns = end_ns > run->begin_ns ? end_ns : run->begin_ns + 1;
	run->from_ns =
		choice->from_ns < end_ns - run->begin_ns ? run->begin_ns + choice->from_ns : end_ns;
	run->to_ns =
		choice->to_ns < end_ns - run->begin_ns ? run->begin_ns + choice->to_ns : end_ns;
}

/* ---- Stays ---- */

static int close_stay(struct builder *b, uint32_t thread)
{
	struct plot_run *run = b->run;
	struct open_stay *open = &b->open[thread];

	if (!open->open)
		return 0;
	open->open = false;
	if (!grow(&run->stay, run->stays, &b->stay_room, sizeof(*run->stay)))
		return -ENOMEM;
	run->stay[run->stays++] = (struct plot_stay){.thread = thread,
		.cpu = (uint32_t)open->os_cpu, /* the OS number, until place_stays() replaces it */
		.from_ns = open->from_ns,
		.to_ns = open->to_ns};
	return 0;
}

/* The record says where the thread was since the point before. */
static int add_record(
	struct builder *b, const struct trace_point *point, const struct trace_thread *record)
{
	uint32_t thread = plot_run_find(b->run, record->tid);
	struct open_stay *open = &b->open[thread];
	uint64_t from_ns =
		point->now_ns - (point->elapsed_ns < point->now_ns ? point->elapsed_ns : 0);

	from_ns = from_ns < b->run->from_ns ? b->run->from_ns : from_ns;
	from_ns = from_ns < open->to_ns ? open->to_ns : from_ns;
	if (from_ns >= point->now_ns)
		return 0; /* twice in a point, or earlier than a record of another domain */
	if (!open->open || open->os_cpu != record->os_cpu || from_ns > open->to_ns) {
		int r = close_stay(b, thread);
		if (r < 0)
			return r;
		*open = (struct open_stay){
			.open = true, .os_cpu = record->os_cpu, .from_ns = from_ns};
	}
	open->to_ns = point->now_ns;
	return 0;
}

static int compare_stays(const void *left, const void *right)
{
	const struct plot_stay *a = left, *b = right;

	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static int find_stays(struct builder *b, const struct trace_file *trace)
{
	struct plot_run *run = b->run;
	int r = 0;

	b->open = calloc(run->threads, sizeof(*b->open));
	if (b->open == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < trace->points; i++)
		for (size_t k = 0; plot_run_has(run, &trace->point[i]) &&
				   k < trace->point[i].threads && r == 0;
			k++)
			r = add_record(b, &trace->point[i], &trace->point[i].thread[k]);
	for (size_t i = 0; i < run->threads && r == 0; i++)
		r = close_stay(b, (uint32_t)i);
	free(b->open);
	if (r == 0 && run->stays > 0)
		qsort(run->stay, run->stays, sizeof(*run->stay), compare_stays);
	return r;
}

/* ---- CPUs ---- */

/* The CPUs of the header, and those on which threads were. */
static int find_cpus(struct plot_run *run, const struct trace_file *trace)
{
	bool *used = calloc(TRACE_OS_CPU_MAX + 2, sizeof(*used)); /* -1 comes last */
	size_t count = 0;

	if (used == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < trace->cpus; i++)
		used[trace->cpu[i].os_cpu] = true;
	for (size_t i = 0; i < run->stays; i++)
		used[run->stay[i].cpu <= TRACE_OS_CPU_MAX ? run->stay[i].cpu
							  : TRACE_OS_CPU_MAX + 1] = true;
	for (size_t i = 0; i < TRACE_OS_CPU_MAX + 2; i++)
		count += used[i];
	run->cpu = calloc(count > 0 ? count : 1, sizeof(*run->cpu));
	if (run->cpu != NULL)
		for (size_t i = 0; i < TRACE_OS_CPU_MAX + 2; i++)
			if (used[i])
				run->cpu[run->cpus++].os_cpu =
					i <= TRACE_OS_CPU_MAX ? (int32_t)i : -1;
	free(used);
	return run->cpu != NULL ? 0 : -ENOMEM;
}

static uint32_t find_cpu(const struct plot_run *run, uint32_t number)
{
	size_t low = 0, high = run->cpus - 1;

	if (number > TRACE_OS_CPU_MAX)
		return (uint32_t)high;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (run->cpu[middle].os_cpu >= 0 && run->cpu[middle].os_cpu < (int32_t)number)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}

/* Until when each slot of a CPU is taken. The first ones are in a table, and the lowest free one is
 * used, since that looks best. The others are in a heap; otherwise a trace of a million threads
 * would take hours. */
struct slots {
	uint64_t first_ns[SLOTS_FIRST];
	struct later {
		uint64_t until_ns;
		uint32_t slot;
	} * heap;
	size_t count, room;
};

static void sift_down(struct slots *s)
{
	struct later moved = s->heap[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < s->count) {
		if (child + 1 < s->count && s->heap[child + 1].until_ns < s->heap[child].until_ns)
			child++;
		if (s->heap[child].until_ns >= moved.until_ns)
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	s->heap[at] = moved;
}

static bool push(struct slots *s, struct later added)
{
	if (!grow(&s->heap, s->count, &s->room, sizeof(*s->heap)))
		return false;
	size_t at = s->count++;
	for (; at > 0 && s->heap[(at - 1) / 2].until_ns > added.until_ns; at = (at - 1) / 2)
		s->heap[at] = s->heap[(at - 1) / 2];
	s->heap[at] = added;
	return true;
}

static int take_slot(struct plot_stay *stay, struct plot_cpu *cpu, struct slots *s)
{
	for (uint32_t slot = 0; slot < SLOTS_FIRST; slot++) {
		if (slot < cpu->slots && s->first_ns[slot] > stay->from_ns)
			continue;
		cpu->slots += slot == cpu->slots;
		stay->slot = slot;
		s->first_ns[slot] = stay->to_ns;
		return 0;
	}
	if (s->count > 0 && s->heap[0].until_ns <= stay->from_ns) {
		stay->slot = s->heap[0].slot;
		s->heap[0].until_ns = stay->to_ns;
		sift_down(s);
		return 0;
	}
	stay->slot = cpu->slots++;
	return push(s, (struct later){stay->to_ns, stay->slot}) ? 0 : -ENOMEM;
}

static int place_stays(struct plot_run *run)
{
	struct slots *slots = calloc(run->cpus > 0 ? run->cpus : 1, sizeof(*slots));
	int r = slots != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; i < run->stays && r == 0; i++) {
		struct plot_stay *stay = &run->stay[i];
		stay->cpu = find_cpu(run, stay->cpu);
		r = take_slot(stay, &run->cpu[stay->cpu], &slots[stay->cpu]);
	}
	for (size_t i = 0; i < run->cpus && slots != NULL; i++)
		free(slots[i].heap);
	free(slots);
	return r;
}

/* ---- Regimes ---- */

static int compare_regimes(const void *left, const void *right)
{
	const struct trace_regime *const *a = left, *const *b = right;

	if ((*a)->now_ns != (*b)->now_ns)
		return (*a)->now_ns < (*b)->now_ns ? -1 : 1;
	return (*a > *b) - (*a < *b); /* as in the file */
}

static int add_aside(struct builder *b, uint64_t from_ns, uint64_t to_ns)
{
	struct plot_run *run = b->run;

	from_ns = from_ns < run->from_ns ? run->from_ns : from_ns;
	to_ns = to_ns > run->to_ns ? run->to_ns : to_ns;
	if (from_ns >= to_ns)
		return 0;
	if (!grow(&run->aside, run->asides, &b->aside_room, sizeof(*run->aside)))
		return -ENOMEM;
	run->aside[run->asides++] = (struct plot_span){from_ns, to_ns};
	return 0;
}

/* Before the first record nobody balances. */
static int find_asides(struct builder *b, const struct trace_file *trace)
{
	const struct trace_regime **regime = calloc(trace->regimes + 1, sizeof(*regime));
	bool balanced[TRACE_DOMAINS_MAX] = {false};
	uint64_t since_ns = b->run->begin_ns;
	size_t domains = 0;
	int r = regime != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; i < trace->regimes && r == 0; i++)
		regime[i] = &trace->regime[i];
	if (r == 0 && trace->regimes > 1)
		qsort(regime, trace->regimes, sizeof(*regime), compare_regimes);
	for (size_t i = 0; i < trace->regimes && r == 0; i++) {
		bool *was = &balanced[regime[i]->domain];
		size_t before = domains;
		domains = domains + regime[i]->balance - *was;
		*was = regime[i]->balance;
		if (before == 0 && domains > 0)
			r = add_aside(b, since_ns, regime[i]->now_ns);
		else if (before > 0 && domains == 0)
			since_ns = regime[i]->now_ns;
	}
	if (r == 0 && domains == 0)
		r = add_aside(b, since_ns, b->run->to_ns);
	free(regime);
	return r;
}

/* ---- The whole ---- */

int plot_run_init(
	struct plot_run *run, const struct trace_file *trace, const struct plot_choice *choice)
{
	struct builder b = {.run = run};

	*run = (struct plot_run){0};
	find_window(run, trace, choice);
	int r = run->from_ns < run->to_ns ? find_threads(&b, trace) : -ENODATA;
	if (r == 0)
		r = choose_threads(run, trace, choice);
	if (r == 0)
		r = find_stays(&b, trace);
	if (r == 0)
		r = find_cpus(run, trace);
	if (r == 0)
		r = place_stays(run);
	if (r == 0)
		r = find_asides(&b, trace);
	return r;
}

void plot_run_deinit(struct plot_run *run)
{
	free(run->thread);
	free(run->stay);
	free(run->cpu);
	free(run->aside);
	free(run->index);
	*run = (struct plot_run){0};
}
