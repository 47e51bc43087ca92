/* SPDX-License-Identifier: MIT */
#include "daemon/trace/write_point.h"

typedef unsigned long long number; /* what printf() takes */

void trace_cpus(struct trace *trace, uint64_t now_ns, const struct topology *topology)
{
	trace_begin(trace);
	trace_print(trace, "cpus %llu", (number)now_ns);
	for (size_t i = 0; i < topology->cpus; i++)
		trace_print(trace, " %d:%d:%d:%u:%d", topology->cpu[i].os_cpu,
			topology->cpu[i].domain, topology->cpu[i].core,
			topology_speed(&topology->cpu[i]), topology->cpu[i].cache);
	trace_print(trace, "\n");
	trace_end(trace);
}

void trace_team(struct trace *trace, const struct policy *policy)
{
	const struct policy_params *params = &policy->params;

	trace_begin(trace);
	trace_print(trace, "team %llu %u %u %llu %s%s%s%s\n", (number)params->begin_ns,
		params->domain, params->domains, (number)params->seed,
		params->by_work ? "work" : "ns", params->tickers ? " tickers" : "",
		params->bells ? " bells" : "", params->slices ? " shortens" : "");
	trace_end(trace);
}

static int os_cpu(const struct policy *policy, int32_t cpu)
{
	return cpu == POLICY_NO_CPU ? -1 : policy->cpu[cpu].os_cpu;
}

/* Does a thread that does not compute need a line? Readers assume that a thread without a line was
 * sampled in the member intervals, and only in these, and had no news. */
static bool has_news(const struct policy *policy, const struct policy_sight *sight, size_t i)
{
	const struct policy_thread *thread = &policy->thread[i];
	bool looked_at = sight->news & POLICY_TIMES;

	return thread->renewed || thread->ended || thread->ready ||
	       thread->cpu_before != POLICY_NO_CPU || looked_at != policy->decision.members ||
	       (sight->news & (POLICY_SLEEPS | POLICY_UPDATES | POLICY_PHASES)) ||
	       thread->run_ns > 0 || thread->wait_ns > 0 || thread->slices > 0 || thread->work > 0;
}

/* Optional fields at the end of a line. */
static void print_more(struct trace *trace, const struct policy *policy,
	const struct policy_sight *sight, const struct policy_thread *thread)
{
	if (!(sight->news & (POLICY_TIMES | POLICY_END)))
		trace_print(trace, " unseen");
	if (thread->asleep)
		trace_print(trace, " asleep");
	if (thread->ready)
		trace_print(trace, " ready");
	if (policy->params.by_work && thread->work > 0)
		trace_print(trace, " work=%llu", (number)thread->work);
	if (thread->left_ns > 0)
		trace_print(trace, " left=%llu", (number)thread->left_ns);
	if (sight->news & POLICY_SLEEPS)
		trace_print(trace, " sleeps=%llu", (number)sight->sleeps);
	if (sight->news & POLICY_UPDATES)
		trace_print(trace, " updates=%llu", (number)sight->updates);
	if (sight->news & POLICY_PHASES)
		trace_print(trace, " arrivals=%llu useful=%llu done=%llu%s%s%s",
			(number)sight->arrivals, (number)sight->useful_ns, (number)sight->done_ns,
			sight->waits ? " waits" : "", sight->yields ? " yields" : "",
			sight->dynamic ? " dynamic" : "");
	if (sight->rule != POLICY_RULE_NONE)
		trace_print(trace, " rule=%u", sight->rule);
	if (sight->role != POLICY_ROLE_UNKNOWN)
		trace_print(trace, " role=%u", sight->role);
	trace_print(trace, "\n");
}

static void print_thread(struct trace *trace, const struct policy *policy,
	const struct policy_sight *sight, const struct policy_thread *thread)
{
	trace_print(trace, "thread %d %d %lld %llu %llu %llu %c", sight->tid,
		os_cpu(policy, thread->cpu_before), (long long)thread->progress_ns,
		(number)thread->run_ns, (number)thread->wait_ns, (number)thread->slices,
		thread->behind ? 'b' : 'a');
	print_more(trace, policy, sight, thread);
}

static void print_other(struct trace *trace, const struct policy *policy,
	const struct policy_sight *sight, const struct policy_thread *thread)
{
	trace_print(trace, "other %d %d %llu %llu %llu %c", sight->tid,
		os_cpu(policy, thread->cpu_before), (number)thread->run_ns, (number)thread->wait_ns,
		(number)thread->slices, thread->ended ? 'e' : 'i');
	print_more(trace, policy, sight, thread);
}

static size_t print_threads(struct trace *trace, const struct policy *policy,
	const struct policy_observation *observation, bool print)
{
	size_t lines = 0;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_sight *sight = &observation->thread[i];
		const struct policy_thread *thread = &policy->thread[i];
		if (thread->fresh && print)
			trace_print(trace, "new %d %d\n", sight->tid, sight->assigned);
		lines += thread->fresh;
		if (!thread->computes && !has_news(policy, sight, i))
			continue;
		lines++;
		if (print && thread->computes)
			print_thread(trace, policy, sight, thread);
		else if (print)
			print_other(trace, policy, sight, thread);
	}
	return lines;
}

static void print_decision(struct trace *trace, const struct policy *policy,
	const struct policy_observation *observation)
{
	const struct policy_decision *decision = &policy->decision;
	size_t ticks = 0;

	for (size_t k = 0; k < decision->moves; k++) {
		const struct policy_move *move = &decision->move[k];
		trace_print(trace, "move %d %d %d\n", observation->thread[move->thread].tid,
			os_cpu(policy, move->from), os_cpu(policy, move->to));
	}
	for (size_t k = 0; k < decision->handovers; k++)
		trace_print(trace, "handover %d %u\n",
			observation->thread[decision->handover[k].thread].tid,
			decision->handover[k].domain);
	if (decision->slices_changed)
		trace_print(trace, "slice %s\n", decision->short_slices ? "short" : "default");
	for (size_t j = 0; j < policy->m; j++)
		ticks += policy->cpu[j].tick;
	trace_print(trace, "decide %llu %llu %zu %s %s\n", (number)decision->period_ns,
		(number)decision->wait_ns, ticks,
		decision->regime == POLICY_BALANCE ? "balance" : "aside",
		policy_reason_text(decision->reason));
}

static bool any_heard(const struct policy *policy)
{
	for (size_t j = 0; j < policy->m; j++)
		if (policy->cpu[j].heard)
			return true;
	return false;
}

void trace_point(struct trace *trace, const struct policy *policy,
	const struct policy_observation *observation)
{
	const struct policy_decision *decision = &policy->decision;
	bool domains = decision->members && policy->params.domains > 1;
	bool neighbours = decision->neighbours_changed, ticked = any_heard(policy);
	bool beside = decision->others_changed, stolen = decision->stolen_changed;

	if (trace == NULL)
		return;
	size_t lines = print_threads(trace, policy, observation, false) + domains + neighbours +
		       beside + stolen + ticked + decision->moves + decision->handovers +
		       decision->slices_changed + 1;
	trace_begin(trace);
	trace_print(trace, "point %llu %u %llu %zu %s%s%s", (number)observation->now_ns,
		policy->params.domain, (number)decision->elapsed_ns, lines,
		decision->members ? "all" : "some", observation->may_hand_over ? ",open" : "",
		observation->rung ? " rung" : "");
	if (observation->cost_ns > 0)
		trace_print(trace, " cost=%llu", (number)observation->cost_ns);
	trace_print(trace, "\n");
	if (domains) {
		trace_print(trace, "domains");
		for (size_t d = 0; d < policy->params.domains; d++)
			trace_print(trace, " %u", observation->domain[d].threads);
		trace_print(trace, "\n");
	}
	if (neighbours) {
		trace_print(trace, "neighbours");
		for (size_t j = 0; j < policy->m; j++)
			trace_print(trace, " %u", policy->cpu[j].neighbours);
		trace_print(trace, "\n");
	}
	if (beside)
		trace_print(trace, "beside %u\n", policy->others);
	if (stolen) {
		trace_print(trace, "stolen");
		for (size_t j = 0; j < policy->m; j++)
			trace_print(trace, " %.0f", 1000 * policy->cpu[j].stolen);
		trace_print(trace, "\n");
	}
	if (ticked) {
		trace_print(trace, "ticked");
		for (size_t j = 0; j < policy->m; j++)
			trace_print(trace, " %d", policy->cpu[j].heard);
		trace_print(trace, "\n");
	}
	print_threads(trace, policy, observation, true);
	print_decision(trace, policy, observation);
	trace_end(trace);
}
