/* SPDX-License-Identifier: MIT */
/* -P observe: sample and report, move nothing. */
#include "daemon/policy/kind.h"

static void choose(struct policy *policy, const struct policy_observation *observation)
{
	(void)observation;
	policy->chooser.reason = POLICY_REASON_OPTION;
}

const struct policy_kind policy_kind_observe = {
	.name = "observe",
	.summary = "touch nothing",
	.choose = choose,
	.keeps_period = true,
};
