/* SPDX-License-Identifier: MIT */
/* -P static: distribute the threads once, never move them. */
#include "daemon/policy/kind.h"

#include "daemon/policy/step.h"

void policy_choose_once(struct policy *policy, const struct policy_observation *observation)
{
	policy->chooser.reason = POLICY_REASON_OPTION;
	if (policy->regime == POLICY_BALANCE || !policy_is_complete(policy))
		return;
	/* A program that is pinned before it starts its threads would see one CPU only. */
	if (policy_computing(policy) >= policy->m || policy->params.expected > 0)
		policy_enter(policy, POLICY_BALANCE, observation->now_ns);
}

const struct policy_kind policy_kind_static = {
	.name = "static",
	.summary = "distribute once, never move",
	.choose = policy_choose_once,
	.weighs_speeds = true,
	.keeps_period = true,
};
