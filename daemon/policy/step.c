/* SPDX-License-Identifier: MIT */
/*
 * The step as a whole: what is decided in an interval, and in which order. Each part has a file of
 * its own. Policies differ in the two calls through policy->params.kind.
 */
#include "daemon/policy/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/policy/distribute.h"
#include "daemon/policy/dry.h"
#include "daemon/policy/kind.h"
#include "daemon/policy/told.h"

int policy_init(struct policy *policy, const struct policy_params *params, const int32_t *os_cpu,
	size_t count)
{
	*policy = (struct policy){.params = *params,
		.m = count,
		.random = params->seed,
		.last_ns = params->begin_ns,
		.reason_ns = params->begin_ns,
		.decision = {.members_next = true, .reason = POLICY_REASON_START},
		.regime = POLICY_ASIDE};
	policy_regime_init(&policy->chooser, params->always);
	policy->cpu = calloc(count, sizeof *policy->cpu);
	policy->order = calloc(2 * count, sizeof *policy->order);
	policy->domain = calloc(params->domains, sizeof *policy->domain);
	if (policy->cpu == NULL || policy->order == NULL || policy->domain == NULL) {
		policy_deinit(policy);
		return -ENOMEM;
	}
	for (size_t j = 0; j < count; j++)
		policy->cpu[j] = (struct policy_cpu){.os_cpu = os_cpu[j],
			.rated = 1,
			.core = (int32_t)j,
			.potential = 1,
			.learnt = 1};
	return 0;
}

void policy_describe(struct policy *policy, const struct policy_traits *traits)
{
	if (!policy->params.kind->weighs_speeds)
		return;
	bool shared = false;
	for (size_t j = 0; j < policy->m; j++) {
		size_t core = 0, cache = 0;
		while (traits[core].core != traits[j].core)
			core++;
		while (traits[cache].cache != traits[j].cache)
			cache++;
		struct policy_cpu *cpu = &policy->cpu[j];
		cpu->core = (int32_t)core;
		cpu->cache = (int32_t)cache;
		cpu->rated = cpu->potential = traits[j].speed / 1000.0;
		policy->speeds_given |= traits[j].speed != traits[0].speed;
		shared |= policy->cpu[cache].core != cpu->core;
	}
	/* Where each core has a cache of its own, all other CPUs are as far away. */
	for (size_t j = 0; j < policy->m && !shared; j++)
		policy->cpu[j].cache = 0;
}

void policy_deinit(struct policy *policy)
{
	free(policy->cpu);
	free(policy->order);
	free(policy->domain);
	free(policy->thread);
	free(policy->move);
	free(policy->handover);
	*policy = (struct policy){0};
}

int policy_reserve(struct policy *policy, size_t threads)
{
	if (threads <= policy->capacity)
		return 0;
	size_t capacity = threads + threads / 2 + 16;
	void *thread = reallocarray(policy->thread, capacity, sizeof *policy->thread);
	if (thread != NULL)
		policy->thread = thread;
	void *move = reallocarray(policy->move, capacity, sizeof *policy->move);
	if (move != NULL)
		policy->move = move;
	void *handover = reallocarray(policy->handover, capacity, sizeof *policy->handover);
	if (handover != NULL)
		policy->handover = handover;
	if (thread == NULL || move == NULL || handover == NULL)
		return -ENOMEM;
	policy->capacity = capacity;
	return 0;
}

void policy_remove(struct policy *policy, size_t row)
{
	policy->thread[row] = policy->thread[--policy->n];
}

bool policy_swaps(const struct policy *policy)
{
	return policy->regime == POLICY_BALANCE && policy->m > 1 &&
	       !policy_regime_places_only(&policy->chooser) && policy->params.kind->balance != NULL;
}

uint32_t policy_computing(const struct policy *policy)
{
	uint32_t count = 0;

	for (size_t i = 0; i < policy->n; i++)
		count += policy->thread[i].computes;
	return count;
}

int64_t policy_mean_progress_ns(const struct policy *policy)
{
	int64_t sum = 0, count = policy_computing(policy);

	for (size_t i = 0; i < policy->n; i++)
		if (policy->thread[i].computes)
			sum += policy->thread[i].progress_ns / count;
	return sum;
}

void policy_enter(struct policy *policy, enum policy_regime regime, uint64_t now_ns)
{
	int64_t mean_ns = policy_mean_progress_ns(policy);

	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		/* Leads from the other regime mean nothing in this one. */
		if (thread->computes)
			thread->progress_ns = mean_ns;
		if (regime == POLICY_ASIDE)
			thread->cpu = POLICY_NO_CPU;
	}
	policy_forget_taken(policy, now_ns);
	if (regime == POLICY_BALANCE)
		policy_place(policy->thread, policy->n, policy->cpu, policy->m);
	policy->regime = regime;
	policy->quiet_points = 0;
	policy_window_reset(policy, now_ns);
}

/* Take over where the caller really has each thread: on its CPU, or on none. A move that failed is
 * thereby decided once more. */
static void begin_thread(struct policy *policy, size_t i, const struct policy_sight *sight)
{
	struct policy_thread *thread = &policy->thread[i];
	bool fresh = i >= policy->n, known = sight->cpu >= 0 && (size_t)sight->cpu < policy->m;

	if (fresh)
		*thread = (struct policy_thread){.updates = -1,
			.assigned = sight->assigned,
			.idle.idle = !sight->assigned && sight->rule != POLICY_RULE_COMPUTE};
	thread->fresh = fresh;
	thread->renewed = fresh || thread->rule != sight->rule || thread->role != sight->role;
	thread->rule = sight->rule;
	thread->role = sight->role;
	thread->cpu_before = known ? sight->cpu : POLICY_NO_CPU;
	thread->cpu = thread->computes && policy->regime == POLICY_BALANCE ? thread->cpu_before
									   : POLICY_NO_CPU;
}

/* Returns whether any count has changed. */
static bool take_neighbours(struct policy *policy, const uint32_t *neighbours)
{
	bool makes_way = policy->params.kind->makes_way, changed = false;

	for (size_t j = 0; j < policy->m; j++) {
		uint32_t now = makes_way && neighbours != NULL ? neighbours[j] : 0;
		changed |= now != policy->cpu[j].neighbours;
		policy->cpu[j].neighbours = now;
	}
	return changed;
}

static bool take_others(struct policy *policy, uint32_t others)
{
	uint32_t before = policy->others;

	policy->others = policy->params.kind->makes_way ? others : 0;
	return policy->others != before;
}

/* Likewise. What turns gain follows from it. */
static bool take_stolen(struct policy *policy, const uint32_t *stolen)
{
	bool weighs = policy->params.kind->weighs_speeds, changed = false;

	for (size_t j = 0; j < policy->m; j++) {
		uint32_t thousandths = weighs && stolen != NULL ? stolen[j] : 0;
		double now = thousandths < 1000 ? thousandths / 1000.0 : 0.999;
		changed |= now != policy->cpu[j].stolen;
		policy->cpu[j].stolen = now;
	}
	if (changed)
		policy->turns.known = false;
	return changed;
}

static void begin(struct policy *policy, const struct policy_observation *observation)
{
	size_t n =
		observation->threads < policy->capacity ? observation->threads : policy->capacity;

	memcpy(policy->domain, observation->domain,
		policy->params.domains * sizeof *policy->domain);
	for (size_t i = 0; i < n; i++)
		begin_thread(policy, i, &observation->thread[i]);
	policy->n = n;
	policy->decision =
		(struct policy_decision){.elapsed_ns = observation->now_ns - policy->last_ns,
			.move = policy->move,
			.handover = policy->handover,
			.domain = policy->domain,
			.short_slices = policy->decision.short_slices,
			.members = policy->decision.members_next,
			.neighbours_changed = take_neighbours(policy, observation->neighbours),
			.others_changed = take_others(policy, observation->others),
			.stolen_changed = take_stolen(policy, observation->stolen)};
	policy->last_ns = observation->now_ns;
	if (observation->rung)
		policy->rung_ns = observation->now_ns;
	for (size_t j = 0; j < policy->m; j++)
		policy->cpu[j].turn_ns = 0;
}

static void decide(struct policy *policy, enum policy_regime before, uint64_t now_ns)
{
	struct policy_decision *decision = &policy->decision;

	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		thread->came = thread->cpu_before == POLICY_NO_CPU;
		if (thread->cpu == thread->cpu_before || thread->ended)
			continue;
		policy->move[decision->moves++] = (struct policy_move){
			.thread = (uint32_t)i, .from = thread->cpu_before, .to = thread->cpu};
		if (thread->cpu_before != POLICY_NO_CPU)
			thread->left_cpu = thread->cpu_before;
	}
	decision->computing = policy_computing(policy);
	decision->idle = (uint32_t)policy->n - decision->computing;
	decision->regime = policy->regime;
	decision->reason = policy->chooser.reason;
	decision->changed = policy->regime != before;
	bool had_short = decision->short_slices;
	decision->short_slices = policy->params.slices &&
				 policy_regime_shortens(&policy->chooser, decision->computing,
					 (uint32_t)policy->m, had_short);
	decision->slices_changed = decision->short_slices != had_short;
	decision->rest = policy_regime_rest(&policy->chooser);
	if (decision->changed || policy->reason != decision->reason)
		policy->reason_ns = now_ns;
	policy->reason = decision->reason;
}

/* Idle threads are sampled in turns, so that thousands of them cost little. All have had their turn
 * after IDLE_ROUND member intervals, so that their ends are noticed as fast as others are born. */
#define IDLE_LOOKS 64
#define IDLE_ROUND 64

static void ask_idle(struct policy *policy)
{
	size_t looks = IDLE_LOOKS + policy->n / IDLE_ROUND;

	for (size_t k = 0; k < policy->n && looks > 0; k++) {
		if (policy->idle_look >= policy->n)
			policy->idle_look = 0;
		struct policy_thread *thread = &policy->thread[policy->idle_look++];
		if (thread->computes)
			continue;
		thread->look = POLICY_TIMES;
		looks--;
	}
}

/* What to sample next: threads that compute, and idle ones for a member interval. */
static void ask(struct policy *policy, uint64_t now_ns)
{
	struct policy_decision *decision = &policy->decision;
	/* A call is likely to come after half of the wait, a phase: see period.c. */
	uint64_t wait_ns = decision->bell ? decision->wait_ns / 2 : decision->wait_ns;
	uint64_t next_ns = now_ns + wait_ns;

	/* A little early is better than a whole interval late. */
	decision->members_next =
		policy_may_starve(policy) ||
		next_ns + wait_ns / 4 >= policy->members_ns + policy_slow_ns(policy, now_ns);
	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		thread->look = thread->computes ? POLICY_TIMES : 0;
		if (thread->computes && policy_swaps(policy))
			thread->look |= POLICY_UPDATES;
	}
	if (decision->members_next)
		ask_idle(policy);
	if (policy->params.kind->leaves_taken)
		policy_ask_states(policy, now_ns);
	policy_window_ask(policy, next_ns);
}

const struct policy_decision *policy_step(
	struct policy *policy, const struct policy_observation *observation)
{
	const struct policy_kind *kind = policy->params.kind;
	enum policy_regime before = policy->regime;
	uint64_t now_ns = observation->now_ns;

	if (policy_swaps(policy))
		policy_measure_point(policy, observation->cost_ns);
	begin(policy, observation);
	bool fewer = policy_take_in(policy, observation);
	if (fewer && policy->regime == POLICY_BALANCE && kind->balance != NULL)
		policy_even_out(policy->thread, policy->n, policy->cpu, policy->m);
	if (policy->decision.members) {
		policy_take_members(policy, observation);
		policy->members_ns = now_ns;
	}
	policy_look_for_yields(policy, now_ns);
	policy_sum_up_told(policy);
	if (policy->decision.members)
		kind->choose(policy, observation);
	size_t moved = 0;
	if (policy_swaps(policy) && kind->leaves_taken)
		moved = policy_leave_taken(policy, observation);
	if (moved == 0 && policy->decision.members && policy_swaps(policy) && kind->makes_way &&
		!policy->needs.differ)
		moved = policy_make_way(policy->thread, policy->n, policy->cpu, policy->m);
	if (moved == 0 && policy_swaps(policy))
		moved = kind->balance(policy);
	policy->quiet_points = moved == 0 ? policy->quiet_points + 1 : 0;
	policy_count(policy->thread, policy->n, policy->cpu, policy->m);
	decide(policy, before, now_ns);
	policy_set_period(policy, now_ns);
	policy->decision.bell = policy_wants_bell(policy);
	ask(policy, now_ns);
	return &policy->decision;
}
