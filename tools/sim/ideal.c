/* SPDX-License-Identifier: MIT */
/*
 * The fluid model of the Juggle paper, Section 3; see ideal.h. Between two balancing points CPUs
 * are independent, and most of the time nobody completes: then a step is only n additions.
 */
#include "tools/sim/ideal.h"

#include "tools/sim/deal.h"
#include "tools/sim/jitter.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct run {
	const struct ideal_case *c;
	struct deal deal;
	double *progress; /* of each thread in this phase */
	double *gain; /* of the threads of each CPU, while none of them completes */
	uint32_t *count, *end,
		*list; /* unblocked threads of each CPU; the end of its part of list */
	double phase, epsilon;
	uint64_t phases; /* completed */
	double now;
	struct jitter jitter;
};

static bool valid(const struct ideal_case *c)
{
	return c->threads > 0 && c->cpus > 0 && c->phases > 0 && c->phase > 0 && c->period > 0 &&
	       isfinite(c->phase) && isfinite(c->period) && c->first >= 0 && isfinite(c->first) &&
	       c->jitter >= 0 && c->jitter < 1;
}

static int begin(struct run *run, const struct ideal_case *c)
{
	size_t n = c->threads, m = c->cpus;

	*run = (struct run){.c = c,
		.phase = c->phase,
		.epsilon = deal_epsilon(c->threads, c->cpus, c->phase, c->period),
		.jitter = jitter_begin(c->seed, 0)};
	int r = deal_init(&run->deal, c->threads, c->cpus);
	run->progress = calloc(n + m, sizeof *run->progress);
	run->count = calloc(n + 2 * m, sizeof *run->count);
	if (r < 0 || run->progress == NULL || run->count == NULL)
		return -ENOMEM;
	run->gain = run->progress + n;
	run->end = run->count + m;
	run->list = run->end + m;
	deal_threads(&run->deal, run->progress, run->phase, run->epsilon);
	return 0;
}

static void end(struct run *run)
{
	deal_deinit(&run->deal);
	free(run->progress);
	free(run->count);
}

/* Add the gains of all threads over this time if nobody completes in it. Otherwise does nothing and
 * returns false. */
static bool gain_evenly(struct run *run, double time)
{
	const uint32_t *order = run->deal.order, *cpu = run->deal.cpu;
	uint32_t n = run->deal.unblocked;
	double limit = run->phase - run->epsilon;

	memset(run->count, 0, run->c->cpus * sizeof *run->count);
	for (uint32_t i = 0; i < n; i++)
		run->count[cpu[order[i]]]++;
	for (uint32_t j = 0; j < run->c->cpus; j++)
		run->gain[j] = run->count[j] > 0 ? time / run->count[j] : 0;
	for (uint32_t i = n; i > 0; i--)
		if (run->progress[order[i - 1]] + run->gain[cpu[order[i - 1]]] >= limit)
			return false;
	for (uint32_t i = 0; i < n; i++)
		run->progress[order[i]] += run->gain[cpu[order[i]]];
	return true;
}

/* The threads of one CPU, sorted by progress, share it for this time. Each that completes leaves
 * more to the others. Returns when the last one completed. */
static double share_cpu(struct run *run, const uint32_t *list, uint32_t n, double time)
{
	double gained = 0, elapsed = 0;

	while (n > 0) {
		double need = run->phase - run->progress[list[n - 1]] - gained;
		if (need > (time - elapsed) / n + run->epsilon) {
			gained += (time - elapsed) / n;
			break;
		}
		elapsed += need > 0 ? need * n : 0;
		gained += need > 0 ? need : 0;
		run->progress[list[--n]] = run->phase;
	}
	for (uint32_t i = 0; i < n; i++)
		run->progress[list[i]] += gained;
	return elapsed;
}

/* Advance over a time in which somebody completes. Returns whether all do; if so, *last is when the
 * last one did. */
static bool gain_unevenly(struct run *run, double time, double *last)
{
	const uint32_t *order = run->deal.order, *cpu = run->deal.cpu;
	uint32_t n = run->deal.unblocked, m = run->c->cpus, at = 0, left = 0;

	for (uint32_t j = 0; j < m; at += run->count[j++])
		run->end[j] = at;
	for (uint32_t i = 0; i < n; i++)
		run->list[run->end[cpu[order[i]]]++] = order[i];
	*last = 0;
	for (uint32_t j = 0; j < m; j++) {
		uint32_t count = run->count[j];
		double elapsed = share_cpu(run, run->list + run->end[j] - count, count, time);
		if (count > 0 && elapsed > *last)
			*last = elapsed;
	}
	for (uint32_t i = 0; i < n; i++)
		left += run->progress[order[i]] < run->phase - run->epsilon;
	return left == 0;
}

/* Skip whole phases until that moment, with no balancing point in them. */
static void skip_phases(struct run *run, double until)
{
	const struct ideal_case *c = run->c;
	double each = c->phase * ((c->threads - 1) / c->cpus + 1);
	double fit = floor((until - run->now) / each + 1e-9);
	double left = (double)(c->phases - run->phases);

	if (fit <= 0)
		return;
	fit = fit < left ? fit : left;
	run->now += fit * each;
	run->phases += (uint64_t)fit;
}

/* Advance to that moment, when threads will be dealt, or to the end. */
static void go_on(struct run *run, double until)
{
	double last;

	while (run->now < until - run->epsilon) {
		double time = until - run->now;
		if (gain_evenly(run, time) || !gain_unevenly(run, time, &last))
			break;
		run->now += last;
		run->phases++;
		memset(run->progress, 0, run->c->threads * sizeof *run->progress);
		run->deal.unblocked = run->c->threads;
		if (run->phases < run->c->phases)
			skip_phases(run, until);
		if (run->phases == run->c->phases)
			return;
	}
	run->now = until;
}

static double lag(const struct run *run)
{
	const struct deal *deal = &run->deal;

	return deal->unblocked == 0 ? 0
				    : run->progress[deal->order[deal->unblocked - 1]] -
					      run->progress[deal->order[0]];
}

int ideal_run(const struct ideal_case *c, struct ideal_result *result)
{
	struct run run;

	*result = (struct ideal_result){0};
	if (!valid(c))
		return -EINVAL;
	int r = begin(&run, c);
	double first = c->first > 0 ? c->first : c->period, late = 0;
	while (r == 0) {
		/* Periods are multiplied, not added up, as far as possible: sums would drift. */
		double point = first + (double)result->points * c->period + late;
		if (c->jitter > 0) {
			double off = c->period * (jitter_next(&run.jitter, c->jitter) - 1);
			point += off;
			late += off;
		}
		go_on(&run, point);
		if (run.phases == c->phases)
			break;
		result->points++;
		result->migrations += deal_threads(&run.deal, run.progress, run.phase, run.epsilon);
		if (lag(&run) > result->lag)
			result->lag = lag(&run);
	}
	result->time = run.now;
	end(&run);
	return r;
}
