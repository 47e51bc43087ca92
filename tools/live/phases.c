/* SPDX-License-Identifier: MIT */
/* What runtimes tell of phases, between two samples or since the start. Pure, except for memory. */
#include "tools/live/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counters may belong to another thread that has taken over the slot: then nothing is known. */
static bool went_back(const struct live_thread *then, const struct live_thread *thread)
{
	return thread->told_until_ns <= then->told_until_ns || thread->arrivals < then->arrivals ||
	       thread->useful_ns < then->useful_ns || thread->waited_ns < then->waited_ns;
}

void live_compare_told(const struct live_thread *then, struct live_thread *thread)
{
	static const struct live_thread nothing;
	bool since = then == NULL || !then->told;

	thread->phases_per_s = thread->waited_share = NAN;
	thread->change = (struct efficiency_thread){0};
	if (since)
		then = &nothing;
	if (!thread->told || went_back(then, thread))
		return;
	thread->change =
		(struct efficiency_thread){.from_ns = since ? thread->told_ns : then->told_until_ns,
			.to_ns = thread->told_until_ns,
			.arrivals = thread->arrivals - then->arrivals,
			.useful_ns = thread->useful_ns - then->useful_ns,
			.waited_ns = thread->waited_ns - then->waited_ns,
			.ran = thread->share,
			.ready = thread->wait_share};
	if (thread->change.to_ns <= thread->change.from_ns)
		return;
	double span_ns = (double)(thread->change.to_ns - thread->change.from_ns);
	thread->phases_per_s = (double)thread->change.arrivals / span_ns * 1e9;
	thread->waited_share = fmin(1, (double)thread->change.waited_ns / span_ns);
}

static double slowest_cpu(const struct live_sample *sample)
{
	double slowest = 1;

	for (size_t i = 0; i < sample->cpus; i++)
		slowest = fmin(slowest, sample->cpu[i].speed); /* ignores NAN */
	return slowest;
}

/* How much a total has grown, as a share of the time. */
static double grown(uint64_t before_ns, uint64_t after_ns, double seconds)
{
	return after_ns > before_ns && seconds > 0 ? (double)(after_ns - before_ns) * 1e-9 / seconds
						   : 0;
}

/* Of the threads' CPU time, the share of those that tell. */
static double covered(const struct live_sample *sample)
{
	double told = 0, all = 0;

	for (size_t i = 0; i < sample->threads; i++) {
		all += (double)sample->thread[i].progress_ns;
		told += sample->thread[i].told ? (double)sample->thread[i].progress_ns : 0;
	}
	return all > 0 ? told / all : 0;
}

static void judge(const struct live_sample *before, struct live_sample *after)
{
	double s = after->interval_s;
	const struct worth_case c = {.efficiency = &after->efficiency,
		.cpus = (uint32_t)after->cpus,
		.quota = after->quota_cpus,
		.throttled =
			grown(before == NULL ? 0 : before->throttled_ns, after->throttled_ns, s) /
			(double)after->cpus,
		.balanced = strcmp(after->policy, "static") == 0
				    ? 0
				    : grown(before == NULL ? 0 : before->balanced_ns,
					      after->balanced_ns, s),
		.declined = grown(before == NULL ? 0 : before->declined_ns, after->declined_ns, s),
		.slowest = slowest_cpu(after),
		.covered = covered(after)};

	after->verdict = worth_judge(&c, after->advice);
}

void live_compare_phases(const struct live_sample *before, struct live_sample *after)
{
	struct efficiency_thread *told = malloc((after->threads + 1) * sizeof *told);
	double cpus = (double)after->cpus;
	size_t n = 0;

	after->efficiency = (struct efficiency){0};
	after->advice[0] = '\0';
	after->verdict = WORTH_UNKNOWN;
	if (after->quota_cpus > 0)
		cpus = fmin(cpus, after->quota_cpus);
	for (size_t i = 0; i < after->threads && told != NULL; i++)
		if (after->thread[i].change.to_ns > 0) {
			told[n] = after->thread[i].change;
			told[n++].id = (uint32_t)i;
		}
	if (after->cpus > 0 && n > 0)
		efficiency_measure(told, n, cpus, &after->efficiency);
	free(told);
	if (after->efficiency.threads > 0)
		judge(before, after);
}
