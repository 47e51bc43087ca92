/* SPDX-License-Identifier: MIT */
/* -P juggle2012: the balancer of the paper to the letter, so that deviations can be measured. */
#include "daemon/policy/kind.h"

#include "daemon/policy/step.h"
#include "daemon/policy/swap.h"

#define PERIOD_NS UINT64_C(100000000)

static size_t balance(struct policy *policy)
{
	const struct policy_swap_params params = {
		.margin_ns = policy->params.margin_ns, .to_the_letter = POLICY_PAPER};

	return policy_swap(&params, policy->decision.elapsed_ns, policy->thread, policy->n,
		policy->cpu, policy->m, policy->order);
}

const struct policy_kind policy_kind_juggle2012 = {
	.name = "juggle2012",
	.summary = "the paper's balancer, always and every 100 ms",
	.choose = policy_choose_once,
	.balance = balance,
	.period_ns = PERIOD_NS,
	.regular = true, /* Section 5.2: "adding randomness should not be necessary" */
};
