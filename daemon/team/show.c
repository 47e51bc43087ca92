/* SPDX-License-Identifier: MIT */
/* What a team tells others of a balancing point: telemetry and the trace. */
#include "daemon/team/internal.h"

void show_flags(const struct worker *worker, uint32_t flags)
{
	if (worker->shown != NULL)
		telemetry_set32(&worker->shown->flags, TELEMETRY_THREAD_USED | flags);
}

void show_cpu(const struct worker *worker, int32_t os_cpu)
{
	if (worker->shown != NULL)
		atomic_store_explicit(&worker->shown->os_cpu, os_cpu, memory_order_relaxed);
}

static void publish(struct team *team, uint64_t now, uint64_t elapsed_ns)
{
	struct telemetry *t = team->context->telemetry;
	uint64_t cost = atomic_exchange_explicit(&team->cost_ns, 0, memory_order_relaxed);
	uint32_t threads = (uint32_t)team->active, idle = (uint32_t)(team->n - team->active);

	if (cost > 0) {
		telemetry_add(&t->cycle_bucket[telemetry_bucket(cost)], 1);
		if (cost > telemetry_get(&t->cycle_max_ns))
			telemetry_set(&t->cycle_max_ns, cost);
	}
	telemetry_add(&t->cycles, 1);
	telemetry_set(&t->heartbeat_ns, now);
	telemetry_set32(&t->regime, team->regime);
	telemetry_set32(&t->reason, team->chooser.reason);
	if (team->domain == 0 && team->regime == POLICY_BALANCE)
		telemetry_add(&t->balanced_ns, elapsed_ns);
	/* Unsigned differences: several teams share the counts. */
	uint32_t all = atomic_fetch_add(&t->threads, threads - team->shown_threads) + threads -
		       team->shown_threads;
	uint32_t all_idle = atomic_fetch_add(&t->idle_threads, idle - team->shown_idle) + idle -
			    team->shown_idle;
	team->shown_threads = threads;
	team->shown_idle = idle;
	if (all > 0 && all >= telemetry_get32(&t->threads_most)) {
		telemetry_set32(&t->threads_most, all);
		telemetry_set32(&t->idle_then, all_idle);
	}
	for (size_t i = 0; i < team->active; i++) {
		const struct policy_thread *thread = &team->thread[i];
		show_flags(team->worker[i],
			TELEMETRY_THREAD_COMPUTE | (thread->behind ? TELEMETRY_THREAD_BEHIND : 0));
		show_cpu(team->worker[i],
			thread->cpu == POLICY_NO_CPU ? -1 : team->cpu[thread->cpu].os_cpu);
		if (team->worker[i]->shown != NULL)
			atomic_store_explicit(&team->worker[i]->shown->balance_ns,
				thread->progress_ns, memory_order_relaxed);
	}
}

static void trace_point(struct team *team, uint64_t now, uint64_t elapsed_ns)
{
	struct trace *trace = team->context->trace;

	if (trace == NULL)
		return;
	trace_begin(trace);
	trace_line(trace, "point %llu %zu %llu %zu %zu", (unsigned long long)now, team->domain,
		(unsigned long long)elapsed_ns, team->active, team->moves);
	for (size_t i = 0; i < team->active; i++) {
		const struct policy_thread *thread = &team->thread[i];
		int32_t cpu = thread->cpu;
		/* Where it was while it ran, not where it goes. */
		for (size_t k = 0; k < team->moves; k++)
			if (team->move[k].thread == i)
				cpu = team->move[k].from;
		trace_line(trace, "thread %d %d %lld %llu %llu %c", team->worker[i]->slot.tid,
			cpu == POLICY_NO_CPU ? -1 : team->cpu[cpu].os_cpu,
			(long long)thread->progress_ns, (unsigned long long)thread->run_ns,
			(unsigned long long)thread->wait_ns, thread->behind ? 'b' : 'a');
	}
	for (size_t k = 0; k < team->moves; k++)
		trace_line(trace, "move %d %d %d", team->worker[team->move[k].thread]->slot.tid,
			team->cpu[team->move[k].from].os_cpu, team->cpu[team->move[k].to].os_cpu);
	trace_end(trace);
}

void show_point(struct team *team, uint64_t now_ns, uint64_t elapsed_ns)
{
	trace_point(team, now_ns, elapsed_ns);
	publish(team, now_ns, elapsed_ns);
}
