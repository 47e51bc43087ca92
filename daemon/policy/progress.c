/* SPDX-License-Identifier: MIT */
/*
 * The progress of each thread: CPU time times the speed of the CPU, of the fastest one's. Instructions,
 * and the updates that workers of libprogress count (the paper proposes both in Section 7), are
 * converted to time at their mean rate, so that margins keep their meaning.
 *
 * Updates show the progress of a thread, but not the speed of its CPU, since an update of one
 * worker may take longer than that of another. So gain_ns, from which speeds follow, leaves them
 * out.
 */
#include "daemon/policy/step.h"

#include <math.h>

#include "daemon/policy/kind.h"
#include "daemon/policy/speeds.h"
#include "daemon/policy/told.h"

#define UPDATE_PERIODS 64 /* over which the time of an update is smoothed */

/* The kernel counts a wait when it ends. Until then a thread that stands still looks like one that
 * sleeps, except for its state. What it ran before a move does not count. Aside, where intervals are long, it may
 * have slept until a moment ago: it waits from the first time on that it is seen so. */
static void take_wait(const struct policy *policy, struct policy_thread *thread,
	const struct policy_sight *sight, uint64_t elapsed_ns)
{
	bool still = thread->run_ns <= thread->left_ns, known = sight->news & POLICY_STATE;
	bool waits = policy->regime == POLICY_BALANCE || thread->ready;

	thread->ready = still && known && sight->runnable;
	if (still && thread->wait_ns == 0) {
		thread->asleep = known && !sight->runnable;
		if (thread->ready && waits && elapsed_ns > thread->run_ns) {
			thread->wait_ns = elapsed_ns - thread->run_ns;
			thread->starved_ns += thread->wait_ns;
		}
		return;
	}
	uint64_t counted_ns =
		thread->starved_ns < thread->wait_ns ? thread->starved_ns : thread->wait_ns;
	thread->wait_ns -= counted_ns;
	thread->starved_ns = 0;
}

/* The progress that so much CPU time is on that CPU. */
static uint64_t weigh(const struct policy *policy, int32_t cpu, uint64_t ns)
{
	double rate = cpu != POLICY_NO_CPU ? policy_rate_of(policy->cpu, (size_t)cpu) : 1;

	return rate < 1 ? (uint64_t)((double)ns * rate) : ns;
}

/* Where the thread is left to the kernel, nobody knows on which CPUs it ran. */
static uint64_t gain_of(const struct policy *policy, const struct policy_thread *thread)
{
	if (!policy->params.kind->weighs_speeds || policy->params.by_work ||
		thread->left_ns > thread->run_ns)
		return thread->work;
	return weigh(policy, thread->left_cpu, thread->left_ns) +
	       weigh(policy, thread->cpu_before, thread->run_ns - thread->left_ns);
}

/* What a thread did since its last sample. Returns how long ago that was. */
static uint64_t take_times(const struct policy *policy, struct policy_thread *thread,
	const struct policy_sight *sight, uint64_t now_ns)
{
	uint64_t elapsed_ns = 0;

	if (thread->seen) {
		thread->run_ns = sight->run_ns - thread->total_run_ns;
		thread->wait_ns = sight->wait_ns - thread->total_wait_ns;
		thread->slices = sight->slices - thread->total_slices;
		thread->work = sight->work - thread->total_work;
		if (sight->moved_run_ns > thread->total_run_ns)
			thread->left_ns = sight->moved_run_ns - thread->total_run_ns;
		thread->gain_ns = gain_of(policy, thread);
		elapsed_ns = now_ns - thread->seen_ns;
		take_wait(policy, thread, sight, elapsed_ns);
		thread->stands = thread->wait_ns > 0 && thread->run_ns <= thread->left_ns;
	}
	if (!thread->seen || thread->run_ns > 0)
		thread->ran_ns = now_ns;
	thread->starves = thread->wait_ns > 0 && now_ns - thread->ran_ns >= POLICY_STILL_NS;
	thread->seen = true;
	thread->seen_ns = now_ns;
	thread->total_run_ns = sight->run_ns;
	thread->total_wait_ns = sight->wait_ns;
	thread->total_slices = sight->slices;
	thread->total_work = sight->work;
	return elapsed_ns;
}

/* Updates since the last sample; they count only from one interval to the next. */
static void take_updates(struct policy_thread *thread, const struct policy_sight *sight)
{
	bool news = sight->news & POLICY_UPDATES;

	thread->updates = news && thread->counted && sight->updates >= thread->total_updates
				  ? (int64_t)(sight->updates - thread->total_updates)
				  : -1;
	thread->counted = news;
	thread->total_updates = sight->updates;
}

/* Signs of phases that are seen in all intervals; for sleeps see window.c. */
void policy_look_for_yields(struct policy *policy, uint64_t now_ns)
{
	uint64_t elapsed_ns = policy->decision.elapsed_ns;
	double switches = 0, run_ns = 0;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		if (!thread->computes)
			continue;
		/* One that was idle was perhaps not sampled for several intervals. */
		double part = thread->sampled_ns > elapsed_ns
				      ? (double)elapsed_ns / (double)thread->sampled_ns
				      : 1;
		switches += (double)thread->slices * part;
		run_ns += (double)thread->run_ns * part;
	}
	/* Aside, intervals are too long to tell phases apart. */
	policy_phases_switches(&policy->phases, now_ns, elapsed_ns,
		policy_swaps(policy) ? run_ns / fmax(1, policy_computing(policy)) : 0, switches,
		(uint32_t)policy->m);
}

static void scale_work(struct policy *policy)
{
	double run = 0, gain = 0;

	for (size_t i = 0; i < policy->n; i++)
		if (policy->thread[i].computes) {
			run += (double)policy->thread[i].run_ns;
			gain += (double)policy->thread[i].gain_ns;
		}
	for (size_t i = 0; i < policy->n && gain > 0; i++)
		policy->thread[i].gain_ns =
			(uint64_t)((double)policy->thread[i].gain_ns * run / gain);
}

/* The CPU time of an update, smoothed; forgotten when there are no more workers. Where updates are long, it is known when
 * each worker has ended two, and then stays until the next one ends. Before the first one, and where they are short, time
 * without any is a pause, which hardly counts. */
static void measure_updates(struct policy *policy)
{
	double run_ns = 0, count = 0;
	uint32_t workers = 0;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		if (!thread->computes)
			continue;
		workers += thread->counted;
		if (thread->updates >= 0) {
			run_ns += (double)thread->run_ns;
			count += (double)thread->updates;
		}
	}
	if (workers == 0) {
		policy->update_run_ns = policy->update_count = policy->update_ns = 0;
		return;
	}
	if (count <= 0 && policy->update_count <= 0)
		return;
	policy->update_run_ns += run_ns;
	policy->update_count += count;
	if (count > 0 && (policy->update_ns > 0 || policy->update_count >= 2 * workers))
		policy->update_ns = policy->update_run_ns / policy->update_count;
	if (count <= 0 && !policy->by_updates)
		return;
	policy->update_run_ns -= policy->update_run_ns / UPDATE_PERIODS;
	policy->update_count -= policy->update_count / UPDATE_PERIODS;
}

/* As far ahead as a thread can be: sums and differences of two stay in range. */
#define PROGRESS_MOST (INT64_MAX / 4)

/* Do updates show how far threads have come since the last point? They don't where each makes hardly one from point to
 * point. Workers between whom subdomains move wait for nobody: there it shows over many points, and CPU time would
 * not. */
static void choose_measure(struct policy *policy)
{
	double run_ns = (double)policy->decision.elapsed_ns * (double)policy->m /
			fmax((double)policy->m, policy_computing(policy));
	double most_ns = policy->by_updates ? run_ns : run_ns / 2;

	policy->by_updates = policy->update_ns > 0 &&
			     (policy->chooser.subdomains || policy->update_ns < most_ns);
}

static int64_t progress_of(const struct policy *policy, const struct policy_thread *thread)
{
	double progress_ns = (double)thread->gain_ns;

	if (policy->by_updates && thread->updates >= 0)
		progress_ns = (double)thread->updates * policy->update_ns;
	return progress_ns < (double)PROGRESS_MOST ? (int64_t)progress_ns : PROGRESS_MOST;
}

static void end(struct policy *policy, struct policy_thread *thread)
{
	if (thread->computes || thread->assigned)
		policy->domain[policy->params.domain].threads--;
	thread->computes = thread->assigned = thread->loose = false;
	thread->ended = true;
	thread->cpu = POLICY_NO_CPU;
}

bool policy_take_in(struct policy *policy, const struct policy_observation *observation)
{
	uint64_t now_ns = observation->now_ns;
	bool fewer = false;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_sight *sight = &observation->thread[i];
		struct policy_thread *thread = &policy->thread[i];
		uint64_t elapsed_ns = 0;

		thread->run_ns = thread->wait_ns = thread->gain_ns = thread->left_ns = 0;
		thread->slices = thread->work = 0;
		thread->asleep = thread->stands = thread->starves = false;
		if (sight->news & POLICY_END) {
			fewer |= thread->computes;
			end(policy, thread);
			continue;
		}
		if (sight->news & POLICY_TIMES)
			elapsed_ns = take_times(policy, thread, sight, now_ns);
		thread->sampled_ns = elapsed_ns;
		policy_take_told(policy, thread, sight);
		take_updates(thread, sight);
		/* A compute thread that waits for a CPU does not sleep, and one that may have
		 * waited is left open. */
		if (thread->ready && thread->wait_ns == 0)
			elapsed_ns = 0;
		policy_idle_update(&thread->idle,
			thread->run_ns + (thread->computes ? thread->wait_ns : 0), elapsed_ns);
		if (thread->computes && policy->window.open) {
			policy->window.run_ns += thread->run_ns;
			policy->window.useful_ns += thread->useful_ns;
			policy->window.passed += thread->passed;
			policy->window.wait_ns += thread->wait_ns;
		}
	}
	if (policy->params.by_work)
		scale_work(policy);
	measure_updates(policy);
	choose_measure(policy);
	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		if (!thread->computes)
			continue;
		int64_t progress_ns = thread->progress_ns + progress_of(policy, thread);
		thread->progress_ns = progress_ns < PROGRESS_MOST ? progress_ns : PROGRESS_MOST;
	}
	return fewer;
}
