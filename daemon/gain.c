/* SPDX-License-Identifier: MIT */
/*
 * What compute threads have gained since the last balancing point. CPU time is what it is;
 * instructions, and updates that workers of libprogress count (which is what the Juggle paper
 * proposes in Section 7), are turned into time at the mean rate, so that margins keep
 * their meaning.
 */
#include "team_internal.h"

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

static void scale_updates(struct team *team)
{
	double run = 0, updates = 0;

	for (size_t i = 0; i < team->active; i++)
		if (team->worker[i]->gained >= 0) {
			run += (double)team->thread[i].run_ns;
			updates += (double)team->worker[i]->gained;
		}
	team->update_run_ns += run - team->update_run_ns / UPDATE_PERIODS;
	team->updates += updates - team->updates / UPDATE_PERIODS;
	for (size_t i = 0; i < team->active && team->updates >= 1; i++)
		if (team->worker[i]->gained >= 0)
			team->thread[i].gain_ns = (uint64_t)((double)team->worker[i]->gained *
							     team->update_run_ns / team->updates);
}

void gain_scale(struct team *team, uint64_t now_ns)
{
	struct published *published = team->context->published;

	if (team->context->sampler == SAMPLER_PERF)
		scale_instructions(team);
	if (!published_any(published) || !lead_swaps(team)) {
		team->update_run_ns = team->updates = 0;
		for (size_t i = 0; i < team->active; i++)
			team->worker[i]->counted = false;
		return;
	}
	if (!look_at_updates(team))
		return;
	atomic_store_explicit(
		&published->wanted_until_ns, now_ns + WANTED_NS, memory_order_relaxed);
	scale_updates(team);
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
