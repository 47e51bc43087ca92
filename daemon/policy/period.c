/* SPDX-License-Identifier: MIT */
/* How long until the next interval, and where threads that spin need a finer tick meanwhile. */
#include "daemon/policy/step.h"

#include "daemon/policy/kind.h"
#include "libprogress/policy/random.h"

#define SLOW_NS UINT64_C(20000000) /* between member intervals, and between all when aside */
#define EAGER_NS UINT64_C(5000000) /* the same while the job is starting */
#define EAGER_FOR_NS UINT64_C(1000000000)
/* --period auto: after this many points without a move, the period grows. */
#define QUIET_POINTS 32
#define QUIET_DOUBLINGS 2
/* --period auto: threads that have not yielded for this long are in a long phase. */
#define LONG_PHASE_NS UINT64_C(100000000)
#define LONG_PHASE_PERIODS 4

uint64_t policy_slow_ns(const struct policy *policy, uint64_t now_ns)
{
	return now_ns - policy->params.start_ns < EAGER_FOR_NS ? EAGER_NS : SLOW_NS;
}

static uint64_t auto_period_ns(const struct policy *policy, uint64_t now_ns)
{
	uint64_t shortest_ns = policy->params.period_ns;
	uint32_t doublings = policy->quiet_points / QUIET_POINTS;
	uint64_t period_ns = shortest_ns
			     << (doublings < QUIET_DOUBLINGS ? doublings : QUIET_DOUBLINGS);

	/* The length of phases can't be seen when threads spin. */
	if (policy->chooser.yields && now_ns - policy->yielded_ns > LONG_PHASE_NS &&
		period_ns < LONG_PHASE_PERIODS * shortest_ns)
		period_ns = LONG_PHASE_PERIODS * shortest_ns;
	return period_ns;
}

static uint64_t period_ns(const struct policy *policy, uint64_t now_ns)
{
	const struct policy_params *params = &policy->params;
	uint64_t slow_ns = policy_slow_ns(policy, now_ns);

	if (policy_swaps(policy))
		return params->period_auto ? auto_period_ns(policy, now_ns) : params->period_ns;
	if ((params->kind->keeps_period && !params->period_auto) || params->period_ns > slow_ns)
		return params->period_ns;
	return slow_ns;
}

/* Threads that sleep or yield give way by themselves: a ticker would only disturb them. So it would
 * workers between whom subdomains move, as they wait for nobody. */
static void set_ticks(struct policy *policy)
{
	const struct policy_chooser *chooser = &policy->chooser;
	bool spins = policy_swaps(policy) && chooser->spins && !chooser->subdomains;

	for (size_t j = 0; j < policy->m; j++)
		policy->cpu[j].tick = spins && policy->cpu[j].threads > 1;
}

void policy_set_period(struct policy *policy, uint64_t now_ns)
{
	struct policy_decision *decision = &policy->decision;
	double random = (double)policy_random(&policy->random) / INT32_MAX;

	set_ticks(policy);
	decision->period_ns = period_ns(policy, now_ns);
	decision->wait_ns = (uint64_t)((double)decision->period_ns *
				       (1 + policy->params.jitter * (2 * random - 1)));
}
