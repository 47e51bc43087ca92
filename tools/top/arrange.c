/* SPDX-License-Identifier: MIT */
/* Puts a sample in the order in which it is shown; see arrange.h. */
#include "tools/top/arrange.h"

#include "tools/top/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make room for n elements. Returns NULL when there is no memory; then the array is unchanged. */
static void *grown(void *array, size_t *room, size_t n, size_t bytes)
{
	if (n <= *room && array != NULL)
		return array;
	size_t larger = n + n / 4 + 1;
	array = reallocarray(array, larger, bytes);
	if (array != NULL)
		*room = larger;
	return array;
}

static bool make_indices(uint32_t **array, size_t *room, size_t n)
{
	uint32_t *larger = grown(*array, room, n, sizeof(**array));

	if (larger != NULL)
		*array = larger;
	return larger != NULL;
}

static bool make_cpus(struct arrange *out, size_t n)
{
	struct arrange_cpu *larger = grown(out->cpu, &out->cpu_room, n, sizeof(*larger));

	if (larger != NULL)
		out->cpu = larger;
	return larger != NULL;
}

static bool make_groups(struct arrange *out, size_t n)
{
	struct arrange_group *larger = grown(out->group, &out->group_room, n, sizeof(*larger));

	if (larger != NULL)
		out->group = larger;
	return larger != NULL;
}

/* ---- Threads ---- */

static bool passes(const struct live_thread *thread, const char *filter)
{
	char text[LIVE_COMM_BYTES + 48];

	if (filter[0] == '\0')
		return true;
	snprintf(text, sizeof(text), "%s %d %d rank %d", thread->comm, (int)thread->tid,
		(int)thread->pid, (int)thread->rank);
	return strcasestr(text, filter) != NULL;
}

struct thread_sorting {
	const struct live_thread *thread;
	enum view_sort sort;
	bool reverse;
};

/* Unknown numbers, such as an idle thread's lead, come last in any order. */
static int compare_numbers(double a, double b, bool reverse)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	int order = (a > b) - (a < b);
	return reverse ? -order : order;
}

static double sort_key(const struct live_thread *thread, enum view_sort sort)
{
	switch (sort) {
	case VIEW_BY_LEAD:
		return thread->lead_s;
	case VIEW_BY_SHARE:
		return -thread->share;
	case VIEW_BY_WAIT:
		return -thread->wait_share;
	case VIEW_BY_MOVES:
		return -(double)thread->migrations;
	case VIEW_BY_CPU:
		return thread->os_cpu < 0 ? NAN : thread->os_cpu;
	default:
		return 0;
	}
}

static int compare_threads(const void *a, const void *b, void *context)
{
	const struct thread_sorting *sorting = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_numbers(sort_key(&sorting->thread[x], sorting->sort),
		sort_key(&sorting->thread[y], sorting->sort), sorting->reverse);

	if (order != 0)
		return order;
	return ((x > y) - (x < y)) * (sorting->reverse && sorting->sort == VIEW_BY_TID ? -1 : 1);
}

static int arrange_threads(
	struct arrange *out, const struct live_sample *sample, const struct view *view)
{
	struct thread_sorting sorting = {sample->thread, view->sort, view->reverse};
	double most = 0;

	if (!make_indices(&out->thread, &out->thread_room, sample->threads))
		return -ENOMEM;
	for (size_t i = 0; i < sample->threads; i++) {
		const struct live_thread *thread = &sample->thread[i];
		if (thread->compute && isfinite(thread->lead_s))
			most = fmax(most, fabs(thread->lead_s));
		if (passes(thread, view->filter))
			out->thread[out->threads++] = (uint32_t)i;
	}
	out->lead_scale_s = number_scale(fmax(most, 1e-6));
	if (out->threads > 1)
		qsort_r(out->thread, out->threads, sizeof(*out->thread), compare_threads, &sorting);
	return 0;
}

/* ---- CPUs ---- */

static int compare_cpus(const void *a, const void *b)
{
	const struct arrange_cpu *x = a, *y = b;

	return (x->os_cpu > y->os_cpu) - (x->os_cpu < y->os_cpu);
}

static struct arrange_cpu *find_cpu(struct arrange *out, int32_t os_cpu)
{
	const struct arrange_cpu key = {.os_cpu = os_cpu};

	if (out->cpus == 0)
		return NULL;
	return bsearch(&key, out->cpu, out->cpus, sizeof(key), compare_cpus);
}

/* Without juggle, the CPUs are those on which threads last ran. */
static void cpus_of_threads(struct arrange *out, const struct live_sample *sample)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->threads; i++)
		if (sample->thread[i].os_cpu >= 0)
			out->cpu[out->cpus++] =
				(struct arrange_cpu){.os_cpu = sample->thread[i].os_cpu,
					.domain = sample->thread[i].domain,
					.threads = sample->thread[i].compute};
	if (out->cpus > 1)
		qsort(out->cpu, out->cpus, sizeof(*out->cpu), compare_cpus);
	for (size_t i = 0; i < out->cpus; i++) {
		if (n > 0 && out->cpu[n - 1].os_cpu == out->cpu[i].os_cpu)
			out->cpu[n - 1].threads += out->cpu[i].threads;
		else
			out->cpu[n++] = out->cpu[i];
	}
	out->cpus = n;
}

static int arrange_cpus(struct arrange *out, const struct live_sample *sample)
{
	size_t cpus = sample->cpus > 0 ? sample->cpus : sample->threads;
	uint32_t at = 0;

	if (!make_cpus(out, cpus) ||
		!make_indices(&out->on_cpu, &out->on_cpu_room, sample->threads))
		return -ENOMEM;
	for (size_t i = 0; i < sample->cpus; i++)
		out->cpu[out->cpus++] = (struct arrange_cpu){.os_cpu = sample->cpu[i].os_cpu,
			.domain = sample->cpu[i].domain,
			.threads = sample->cpu[i].threads};
	if (sample->cpus == 0)
		cpus_of_threads(out, sample);
	else
		qsort(out->cpu, out->cpus, sizeof(*out->cpu), compare_cpus);

	for (size_t i = 0; i < sample->threads; i++) {
		struct arrange_cpu *cpu = find_cpu(out, sample->thread[i].os_cpu);
		if (cpu != NULL && sample->thread[i].compute)
			cpu->listed++;
	}
	for (size_t i = 0; i < out->cpus; i++) {
		out->cpu[i].first = at;
		at += out->cpu[i].listed;
		out->cpu[i].listed = 0;
	}
	for (size_t i = 0; i < sample->threads; i++) {
		struct arrange_cpu *cpu = find_cpu(out, sample->thread[i].os_cpu);
		if (cpu != NULL && sample->thread[i].compute)
			out->on_cpu[cpu->first + cpu->listed++] = (uint32_t)i;
	}
	return 0;
}

/* ---- Subdomains ---- */

static bool held(const struct live_process *process, uint32_t subdomain)
{
	return process->subdomain[subdomain].holder < process->workers;
}

static uint32_t places(const struct live_process *process)
{
	return process->error == 0 && process->subdomain != NULL ? process->subdomains : 0;
}

/* Add the groups of the process, and its subdomains, at the end. */
static void by_worker(struct arrange *out, const struct live_process *process, uint32_t number)
{
	struct arrange_group *group = out->group + out->groups;
	uint32_t at = (uint32_t)out->subdomains;

	for (uint32_t w = 0; w < process->workers; w++)
		group[w] = (struct arrange_group){.process = number, .worker = (int32_t)w};
	for (uint32_t s = 0; s < places(process); s++)
		if (held(process, s))
			group[process->subdomain[s].holder].count++;
	for (uint32_t w = 0; w < process->workers; w++) {
		group[w].first = at;
		at += group[w].count;
		group[w].count = 0;
	}
	for (uint32_t s = 0; s < places(process); s++) {
		if (!held(process, s))
			continue;
		struct arrange_group *its = &group[process->subdomain[s].holder];
		out->subdomain[its->first + its->count++] = s;
	}
	out->groups += process->workers;
	out->subdomains = at;
}

static void by_number(struct arrange *out, const struct live_process *process, uint32_t number)
{
	out->group[out->groups++] = (struct arrange_group){.process = number,
		.worker = -1,
		.first = (uint32_t)out->subdomains,
		.count = places(process)};
	for (uint32_t s = 0; s < places(process); s++)
		out->subdomain[out->subdomains++] = s;
}

static void measure(struct arrange *out, const struct live_sample *sample)
{
	double sum = 0, least = INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < sample->processes; i++) {
		const struct live_process *process = &sample->process[i];
		for (uint32_t s = 0; s < places(process); s++) {
			if (!held(process, s))
				continue;
			sum += (double)process->subdomain[s].updates;
			least = fmin(least, (double)process->subdomain[s].updates);
			n++;
		}
	}
	out->mean = n > 0 ? sum / (double)n : 0;
	out->most_behind = n > 0 ? fmax(out->mean - least, 0) : 0;
}

static int arrange_subdomains(
	struct arrange *out, const struct live_sample *sample, const struct view *view)
{
	size_t groups = 0, subdomains = 0;

	for (size_t i = 0; i < sample->processes; i++) {
		groups += view->by_worker ? sample->process[i].workers : 1;
		subdomains += places(&sample->process[i]);
	}
	if (subdomains > UINT32_MAX || groups > UINT32_MAX)
		return -ENOMEM;
	if (!make_groups(out, groups) ||
		!make_indices(&out->subdomain, &out->subdomain_room, subdomains))
		return -ENOMEM;
	for (size_t i = 0; i < sample->processes; i++) {
		const struct live_process *process = &sample->process[i];
		if (places(process) == 0)
			continue;
		(view->by_worker ? by_worker : by_number)(out, process, (uint32_t)i);
	}
	measure(out, sample);
	return 0;
}

/* ---- All ---- */

static void forget(struct arrange *out)
{
	out->threads = out->cpus = out->groups = out->subdomains = 0;
	out->mean = out->most_behind = 0;
	out->lead_scale_s = 1;
}

int arrange(struct arrange *out, const struct live_sample *sample, const struct view *view)
{
	forget(out);
	if (arrange_threads(out, sample, view) == 0 && arrange_cpus(out, sample) == 0 &&
		arrange_subdomains(out, sample, view) == 0)
		return 0;
	forget(out);
	return -ENOMEM;
}

void arrange_deinit(struct arrange *arrange)
{
	free(arrange->thread);
	free(arrange->on_cpu);
	free(arrange->cpu);
	free(arrange->group);
	free(arrange->subdomain);
	*arrange = (struct arrange){0};
}
