/* SPDX-License-Identifier: MIT */
/* Publishing an interval, in telemetry and in the trace. */
#include "daemon/team/internal.h"

#include "daemon/trace/write_point.h"

/* Several teams share these. 0: there is none yet. */
static void show_least(_Atomic uint64_t *field, uint64_t value)
{
	uint64_t before = telemetry_get(field);

	while ((before == 0 || value < before) &&
		!atomic_compare_exchange_weak(field, &before, value))
		continue;
}

static void show_most(_Atomic uint64_t *field, uint64_t value)
{
	uint64_t before = telemetry_get(field);

	while (value > before && !atomic_compare_exchange_weak(field, &before, value))
		continue;
}

static void show_cost(struct telemetry *t, uint64_t cost_ns)
{
	if (cost_ns == 0)
		return;
	telemetry_add(&t->cycle_bucket[telemetry_bucket(cost_ns)], 1);
	show_most(&t->cycle_max_ns, cost_ns);
}

/* Several teams share these counts, too: unsigned differences. */
static void show_counts(struct team *team, const struct policy_decision *decision)
{
	struct telemetry *t = team->context->telemetry;
	uint32_t more = decision->computing - team->shown_computing;
	uint32_t more_idle = decision->idle - team->shown_idle;
	uint32_t computing = atomic_fetch_add(&t->threads, more) + more;
	uint32_t idle = atomic_fetch_add(&t->idle_threads, more_idle) + more_idle;

	team->shown_computing = decision->computing;
	team->shown_idle = decision->idle;
	if (computing > 0 && computing >= telemetry_get32(&t->threads_most)) {
		telemetry_set32(&t->threads_most, computing);
		telemetry_set32(&t->idle_then, idle);
	}
}

_Static_assert(POLICY_REASONS <= TELEMETRY_REASONS, "no room for a reason");
_Static_assert(POLICY_PACES <= TELEMETRY_PACES, "no room for a pace");

/* The time of all domains is that of the run: a domain's counts by its part of the CPUs. */
static uint64_t part_of_time(const struct team *team, uint64_t elapsed_ns)
{
	const struct exchange *exchange = team->context->exchange;
	uint64_t cpus = 0;

	for (size_t d = 0; d < exchange->domains; d++)
		cpus += exchange->domain[d].cpus;
	return elapsed_ns * team->policy.m / cpus;
}

static void show_period(struct telemetry_pace *pace, uint64_t time_ns, uint64_t period_ns)
{
	show_least(&pace->least_ns, period_ns);
	show_most(&pace->most_ns, period_ns);
	telemetry_add(&pace->time_ns, time_ns);
}

static void show_short_slices(struct team *team, uint64_t time_ns)
{
	team->short_slices_ns += time_ns;
	atomic_fetch_add_explicit(&team->context->telemetry->short_slices_ms,
		(uint32_t)(team->short_slices_ns / 1000000), memory_order_relaxed);
	team->short_slices_ns %= 1000000;
}

/* How the time since the interval before was spent: as decided there. */
static void show_spent(struct team *team, uint64_t elapsed_ns)
{
	struct telemetry *t = team->context->telemetry;
	const struct team_way *way = &team->way;
	uint64_t time_ns = part_of_time(team, elapsed_ns);

	if (way->period_ns > 0) {
		telemetry_add(way->regime == POLICY_BALANCE ? &t->balance_ns[way->reason]
							    : &t->aside_ns[way->reason],
			time_ns);
		if (way->regime == POLICY_BALANCE)
			telemetry_add(&t->balanced_ns, time_ns);
		show_period(&t->pace[way->pace], time_ns, way->period_ns);
	}
	if (way->short_slices)
		show_short_slices(team, time_ns);
}

static void show_way(struct team *team, const struct policy_decision *decision)
{
	struct telemetry *t = team->context->telemetry;

	team->way = (struct team_way){.regime = decision->regime,
		.reason = decision->reason,
		.pace = decision->pace,
		.short_slices = decision->short_slices,
		.period_ns = decision->period_ns};
	if (decision->pace != POLICY_PACE_ASIDE)
		telemetry_set(&t->period_ns, decision->period_ns);
	if (decision->phase_ns > 0) {
		telemetry_set(&t->phase_ns, (uint64_t)decision->phase_ns);
		telemetry_set(&t->point_ns, (uint64_t)decision->point_ns);
	}
}

static void show_thread(const struct team *team, size_t i)
{
	const struct policy_thread *row = &team->policy.thread[i];
	const struct job_thread *thread = team->thread[i];

	if (thread == NULL || thread->shown == NULL) /* handed over, or telemetry was full */
		return;
	telemetry_add(&thread->shown->progress_ns, row->run_ns);
	telemetry_add(&thread->shown->wait_ns, row->wait_ns);
	if (row->ended) {
		job_thread_show_flags(thread, TELEMETRY_THREAD_ENDED);
		job_thread_show_cpu(thread, -1);
		return;
	}
	job_thread_show_flags(thread, row->computes ? TELEMETRY_THREAD_COMPUTE : 0);
	job_thread_show_cpu(
		thread, row->cpu == POLICY_NO_CPU ? -1 : team->policy.cpu[row->cpu].os_cpu);
	if (row->computes)
		atomic_store_explicit(
			&thread->shown->balance_ns, row->progress_ns, memory_order_relaxed);
}

void team_tell(struct team *team, const struct policy_observation *observation,
	const struct policy_decision *decision)
{
	struct telemetry *t = team->context->telemetry;

	trace_point(team->context->trace, &team->policy, observation);
	show_cost(t, team->cost_ns);
	telemetry_add(&t->cycles, 1);
	telemetry_set(&t->heartbeat_ns, observation->now_ns);
	telemetry_set32(&t->regime, decision->regime);
	telemetry_set32(&t->reason, decision->reason);
	if (decision->changed)
		telemetry_add(&t->regime_changes, 1);
	show_spent(team, decision->elapsed_ns);
	show_way(team, decision);
	show_counts(team, decision);
	/* Nothing is new of the others: they are sampled at member intervals only. */
	for (size_t i = 0; i < team->n; i++)
		if (decision->members || team->policy.thread[i].computes ||
			team->policy.thread[i].ended)
			show_thread(team, i);
}

void team_tell_end(struct team *team, uint64_t now_ns)
{
	show_spent(team, now_ns - team->policy.last_ns);
}
