/* SPDX-License-Identifier: MIT */
/*
 * What compute threads have gained since the last balancing point. CPU time is what it is;
 * instructions, and updates that workers of libprogress count (the Juggle paper proposes both in
 * Section 7), are turned into time at the mean rate, so that margins keep their meaning.
 *
 * Updates tell how far a thread has come, but not how fast its CPU is, since those of one
 * worker may take longer than those of another: gain_ns, which speeds are made from, is without
 * them.
 */
#include "daemon/team/internal.h"

#define UPDATE_PERIODS 64 /* over which it is smoothed what an update takes */
#define WANTED_NS UINT64_C(100000000) /* for which counters are asked for in advance */

static void scale_instructions(struct team *team)
{
	double run = 0, gain = 0;

	for (size_t i = 0; i < team->active; i++) {
		run += (double)team->thread[i].run_ns;
		gain += (double)team->thread[i].gain_ns;
	}
	for (size_t i = 0; i < team->active && gain > 0; i++)
		team->thread[i].gain_ns = (uint64_t)((double)team->thread[i].gain_ns * run / gain);
}

/* How many updates each worker has made since the last look; -1 for other threads. Returns
 * whether any of them is a worker. */
static bool look_at_updates(struct team *team)
{
	struct published *published = team->context->published;
	bool any = false;

	pthread_mutex_lock(&published->lock);
	for (size_t i = 0; i < team->active; i++) {
		struct worker *worker = team->worker[i];
		uint64_t before = worker->updates;
		bool counted = worker->counted;
		worker->role = published_look(published, worker->slot.pid, worker->slot.tid,
			&worker->updates, &worker->balanced);
		worker->counted = worker->role == PUBLISHED_WORKER;
		worker->gained = counted && worker->counted && worker->updates >= before
					 ? (int64_t)(worker->updates - before)
					 : -1;
		any |= worker->counted;
	}
	pthread_mutex_unlock(&published->lock);
	return any;
}

/* Of one thread, in time: its updates at the mean rate. */
static int64_t update_gain(const struct team *team, size_t i)
{
	if (team->worker[i]->gained < 0 || team->updates < 1)
		return (int64_t)team->thread[i].gain_ns;
	return (int64_t)((double)team->worker[i]->gained * team->update_run_ns / team->updates);
}

/* What an update takes, smoothed. */
static void measure_updates(struct team *team)
{
	double run = 0, updates = 0;

	for (size_t i = 0; i < team->active; i++)
		if (team->worker[i]->gained >= 0) {
			run += (double)team->thread[i].run_ns;
			updates += (double)team->worker[i]->gained;
		}
	team->update_run_ns += run - team->update_run_ns / UPDATE_PERIODS;
	team->updates += updates - team->updates / UPDATE_PERIODS;
}

static void forget_updates(struct team *team)
{
	team->update_run_ns = team->updates = 0;
	for (size_t i = 0; i < team->active; i++) {
		team->worker[i]->counted = false;
		team->worker[i]->gained = -1;
	}
}

void gain_add(struct team *team, uint64_t now_ns)
{
	struct published *published = team->context->published;

	if (team->context->sampler == SAMPLER_PERF)
		scale_instructions(team);
	if (!published_any(published) || !lead_swaps(team)) {
		forget_updates(team);
	} else if (look_at_updates(team)) {
		atomic_store_explicit(
			&published->wanted_until_ns, now_ns + WANTED_NS, memory_order_relaxed);
		measure_updates(team);
	}
	for (size_t i = 0; i < team->active; i++)
		team->thread[i].progress_ns += update_gain(team, i);
}

void gain_look_at_roles(struct team *team)
{
	struct published *published = team->context->published;
	uint64_t updates;

	pthread_mutex_lock(&published->lock);
	for (size_t i = 0; i < team->n; i++) {
		struct worker *worker = team->worker[i];
		worker->role = published_look(
			published, worker->slot.pid, worker->slot.tid, &updates, &worker->balanced);
	}
	pthread_mutex_unlock(&published->lock);
}
