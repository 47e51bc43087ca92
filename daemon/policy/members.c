/* SPDX-License-Identifier: MIT */
/* Which threads compute, and which domain a new one belongs to. */
#include "daemon/policy/step.h"

#include "daemon/policy/distribute.h"
#include "daemon/policy/kind.h"

static bool should_compute(const struct policy_thread *thread, const struct policy_sight *sight)
{
	if (thread->ended || sight->rule == POLICY_RULE_IDLE)
		return false;
	if (sight->rule == POLICY_RULE_COMPUTE || sight->role == POLICY_ROLE_WORKER ||
		sight->role == POLICY_ROLE_BALANCED)
		return true;
	/* In a program that publishes its workers, all other threads are idle. */
	return sight->role == POLICY_ROLE_UNKNOWN && !thread->idle.idle;
}

/* Does a thread that begins to compute stay in this domain? If not, hand it over. */
static bool stays(struct policy *policy, const struct policy_observation *observation, size_t i)
{
	size_t own = policy->params.domain, to = own;

	if (policy->thread[i].assigned) /* it counts here already */
		return true;
	if (observation->may_hand_over)
		to = policy_pick_domain(policy->domain, policy->params.domains);
	policy->domain[to].threads++;
	if (to != own)
		policy->handover[policy->decision.handovers++] =
			(struct policy_handover){.thread = (uint32_t)i, .domain = (uint32_t)to};
	return to == own;
}

static void take_joining(struct policy *policy, const struct policy_observation *observation)
{
	int64_t mean_ns = policy_mean_progress_ns(policy);

	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		if (thread->computes || !should_compute(thread, &observation->thread[i]) ||
			!stays(policy, observation, i))
			continue;
		if (!thread->computed)
			policy->joined_ns = observation->now_ns;
		thread->computes = thread->computed = true;
		thread->assigned = thread->loose = false;
		/* It joins at the mean of the others, neither ahead nor behind. */
		thread->progress_ns = mean_ns;
		thread->runnable = 0;
		thread->periods = 0;
	}
}

static void take_leaving(struct policy *policy, const struct policy_observation *observation)
{
	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		if (should_compute(thread, &observation->thread[i]) ||
			(!thread->computes && !thread->assigned))
			continue;
		thread->computes = thread->assigned = thread->loose = false;
		thread->cpu = POLICY_NO_CPU;
		policy->domain[policy->params.domain].threads--;
	}
}

void policy_take_members(struct policy *policy, const struct policy_observation *observation)
{
	take_joining(policy, observation);
	take_leaving(policy, observation);
	/* This also places threads that could not be placed before. */
	if (policy->regime == POLICY_BALANCE)
		policy_place(policy->thread, policy->n, policy->cpu, policy->m);
	if (policy->params.kind->balance != NULL)
		policy_even_out(policy->thread, policy->n, policy->cpu, policy->m);
}

bool policy_is_complete(struct policy *policy)
{
	uint32_t expected = policy->params.expected, there = 0;

	for (size_t d = 0; d < policy->params.domains; d++)
		there += policy->domain[d].threads;
	if (expected == 0 ? policy_computing(policy) > 0 : there >= expected)
		policy->complete = true;
	return policy->complete;
}

bool policy_subdomains_move(
	const struct policy *policy, const struct policy_observation *observation)
{
	bool any = false;

	for (size_t i = 0; i < policy->n; i++) {
		if (!policy->thread[i].computes)
			continue;
		if (observation->thread[i].role != POLICY_ROLE_BALANCED)
			return false;
		any = true;
	}
	return any;
}
