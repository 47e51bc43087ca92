/* SPDX-License-Identifier: MIT */
/* The bell that the job's threads ring when a CPU runs dry: struct phases_bell. */
#include "daemon/team/internal.h"

#include "daemon/policy/dry.h"

/* However often a job rings, calls take a quarter of a CPU at most; for short, they may take more. */
#define CALL_SHARE 4
#define BURST_NS UINT64_C(10000000)

void team_pay_call(struct team *team, uint64_t cost_ns, uint64_t now_ns)
{
	uint64_t from_ns = now_ns > BURST_NS ? now_ns - BURST_NS : 0;

	if (team->deaf_ns < from_ns)
		team->deaf_ns = from_ns;
	team->deaf_ns += CALL_SHARE * cost_ns;
}

_Static_assert(POLICY_BELL_THREADS == PHASES_RINGERS, "all threads of a domain can ring");

bool team_rung(struct team *team)
{
	uint32_t rings = atomic_load_explicit(team->bell.word, memory_order_acquire);
	bool rung = rings != team->bell.seen;

	team->bell.seen = rings;
	return rung;
}

static size_t list_ringers(const struct team *team)
{
	const struct policy *policy = &team->policy;
	size_t n = 0;

	for (size_t j = 0; j < policy->m; j++) {
		int32_t i = policy->cpu[j].first;
		for (bool first = true; i != POLICY_NO_ROW;
			i = policy->thread[i].next, first = false)
			team->ringer[n++] = (struct told_ringer){.row = team->thread[i]->told_row,
				.first = first,
				.crowded = policy_is_shared(policy, j)};
	}
	return n;
}

void team_hang_bell(struct team *team)
{
	size_t n = team->policy.decision.bell ? list_ringers(team) : 0;

	if (n == 0 && !team->hung)
		return;
	if (!team->hung) /* what was rung before is over */
		(void)team_rung(team);
	told_hang_bell(team->context->told, team->policy.params.domain, team->ringer, n);
	team->hung = n > 0;
}
