/* SPDX-License-Identifier: MIT */
/*
 * Sampling: fill in the sights of an observation, from the kernel and from what programs publish.
 * Nothing is judged here.
 */
#include "daemon/team/internal.h"

#include <errno.h>

#include "daemon/base/clock.h"
#include "daemon/base/program.h"

#define NAME_NS UINT64_C(50000000) /* from meeting a thread to reading its name again */
#define WANTED_NS UINT64_C(100000000) /* counters of workers are asked for this far ahead */

/* What to sample of a thread; of a new one, its times. */
static uint8_t wanted(const struct team *team, size_t i)
{
	return i < team->policy.n ? team->policy.thread[i].look : POLICY_TIMES;
}

static void look_at_times(struct team *team)
{
	size_t count = 0;

	for (size_t i = 0; i < team->n; i++)
		if (wanted(team, i) & POLICY_TIMES)
			team->slot[count++] = &team->thread[i]->slot;
	sampler_read(team->sampler, team->slot, count);
	for (size_t i = 0; i < team->n; i++) {
		const struct sampler_slot *slot = &team->thread[i]->slot;
		struct policy_sight *sight = &team->sight[i];
		sight->news = 0;
		if (!(wanted(team, i) & POLICY_TIMES))
			continue;
		if (slot->error == -ESRCH)
			sight->news = POLICY_END;
		if (slot->error != 0) /* no news */
			continue;
		sight->news = POLICY_TIMES;
		sight->run_ns = slot->run_ns;
		sight->wait_ns = slot->wait_ns;
		sight->slices = slot->slices;
		sight->work = slot->progress;
	}
}

static void look_at_sleeps(struct team *team)
{
	for (size_t i = 0; i < team->n; i++)
		if ((wanted(team, i) & POLICY_SLEEPS) &&
			job_thread_read_sleeps(team->thread[i], &team->sight[i].sleeps) == 0)
			team->sight[i].news |= POLICY_SLEEPS;
}

/* Then it does not stand still. What a thread ran before it was moved does not count. */
static bool has_run(const struct team *team, size_t i)
{
	const struct policy_sight *sight = &team->sight[i];

	return (sight->news & POLICY_TIMES) && sight->cpu == POLICY_NO_CPU && i < team->policy.n &&
	       sight->run_ns != team->policy.thread[i].total_run_ns;
}

static void look_at_states(struct team *team)
{
	for (size_t i = 0; i < team->n; i++) {
		const struct sampler_slot *slot = &team->thread[i]->slot;
		struct proc_thread found;
		if (!(wanted(team, i) & POLICY_STATE) || has_run(team, i) ||
			proc_read_thread(slot->pid, slot->tid, &found) < 0)
			continue;
		team->sight[i].news |= POLICY_STATE;
		team->sight[i].runnable = found.state == 'R';
	}
}

static void trace_name(struct trace *trace, uint64_t now_ns, const struct job_thread *thread)
{
	trace_begin(trace);
	trace_print(trace, "name %llu %d %s\n", (unsigned long long)now_ns, (int)thread->slot.tid,
		thread->shown->comm);
	trace_end(trace);
}

/* Read the name of a thread again some time after it was met: a program that forks executes another
 * one only then, threads name themselves, and --idle goes by the name. A rank has its launcher's until
 * then, however long that takes. */
static void look_at_name(struct team *team, size_t i, uint64_t now_ns)
{
	struct job_thread *thread = team->thread[i];
	struct proc_thread found;

	if (thread->named || now_ns - thread->met_ns < NAME_NS)
		return;
	thread->named = true;
	if (proc_read_thread(thread->slot.pid, thread->slot.tid, &found) < 0)
		return;
	if (thread->slot.pid == thread->slot.tid && program_is_launcher(found.comm))
		thread->named = false;
	if (job_thread_show_comm(thread, found.comm))
		trace_name(team->context->trace, now_ns, thread);
	thread->rule = job_thread_rule(thread, team->context->options, found.comm);
}

static void look_at_rules(struct team *team, uint64_t now_ns)
{
	for (size_t i = 0; i < team->n; i++) {
		const struct job_thread *thread = team->thread[i];
		look_at_name(team, i, now_ns);
		bool alone = thread->off_limits || thread->outside;
		team->sight[i].rule = alone ? POLICY_RULE_IDLE : thread->rule;
	}
}

/* The roles that libprogress publishes, and the updates that are wanted. */
static void look_at_workers(struct team *team, uint64_t now_ns)
{
	struct published *published = team->context->published;
	bool members = team->policy.decision.members_next, any = false;

	pthread_mutex_lock(&published->lock);
	for (size_t i = 0; i < team->n; i++) {
		const struct sampler_slot *slot = &team->thread[i]->slot;
		struct policy_sight *sight = &team->sight[i];
		bool updates = wanted(team, i) & POLICY_UPDATES;
		if (!members && !updates)
			continue;
		sight->role = published_look(published, slot->pid, slot->tid, &sight->updates);
		if (updates && sight->role >= POLICY_ROLE_WORKER) {
			sight->news |= POLICY_UPDATES;
			any = true;
		}
	}
	pthread_mutex_unlock(&published->lock);
	if (any)
		atomic_store_explicit(
			&published->wanted_until_ns, now_ns + WANTED_NS, memory_order_relaxed);
}

/* Rows come late, when threads begin their first region or first wait, and are others after exec. */
static void find_told(struct team *team)
{
	const struct told *told = team->context->told;
	uint32_t changes = told_changes(told);

	if (changes == team->told_changes && team->told_collected == 0)
		return;
	for (size_t i = 0; i < team->n; i++) {
		struct job_thread *thread = team->thread[i];
		team->told[i] = (struct told_thread){
			.pid = thread->slot.pid, .tid = thread->slot.tid, .row = &thread->told_row};
	}
	told_find(told, team->told, team->n);
	team->told_changes = changes;
	team->told_collected = 0;
}

/* What runtimes tell, beside the times that were just sampled. */
static void look_at_told(struct team *team, uint64_t now_ns)
{
	for (size_t i = 0; i < team->n; i++) {
		struct job_thread *thread = team->thread[i];
		struct policy_sight *sight = &team->sight[i];
		struct told_sight told;
		if (!(sight->news & POLICY_TIMES) ||
			!told_look(team->context->told, thread->told_row, thread->slot.pid,
				thread->slot.tid, thread->slot.run_ns, now_ns, &told))
			continue;
		job_thread_show_told(thread, &told, now_ns);
		if (!told.trusted)
			continue;
		sight->news |= POLICY_PHASES;
		sight->arrivals = told.arrivals;
		sight->useful_ns = told.useful_ns;
		sight->done_ns = told.done_ns;
		sight->waits = told.waits;
		sight->yields = told.yields;
		sight->dynamic = told.dynamic;
	}
}

/* What others have of our CPUs. */
static void look_at_others(struct team *team)
{
	const struct policy *policy = &team->policy;
	const struct neighbours *neighbours = team->context->neighbours;

	team->others = 0;
	for (size_t j = 0; j < policy->m; j++) {
		int32_t os_cpu = policy->cpu[j].os_cpu;
		team->neighbours[j] =
			atomic_load_explicit(&neighbours->older[os_cpu], memory_order_relaxed);
		team->others +=
			atomic_load_explicit(&neighbours->all[os_cpu], memory_order_relaxed);
		team->stolen[j] = stolen_of(team->context->stolen, os_cpu);
	}
}

static void look_at_tickers(struct team *team)
{
	for (size_t j = 0; j < team->policy.m && team->ticker != NULL; j++)
		team->ticked[j] = ticker_ran(&team->ticker[j]);
}

uint64_t team_look(struct team *team)
{
	bool members = team->policy.decision.members_next;

	if (members)
		team_collect(team);
	look_at_times(team);
	uint64_t now_ns = clock_monotonic_ns();
	if (members)
		find_told(team);
	look_at_told(team, now_ns);
	look_at_sleeps(team);
	look_at_states(team);
	look_at_tickers(team);
	if (members) {
		look_at_rules(team, now_ns);
		look_at_others(team);
		team_verify(team, now_ns);
	}
	if (members || published_any(team->context->published))
		look_at_workers(team, now_ns);
	return now_ns;
}
