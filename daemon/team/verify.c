/* SPDX-License-Identifier: MIT */
/*
 * Are threads still where they were put?
 *
 * When a CPU leaves the cpuset of the job, the kernel moves the threads that are confined to it, and
 * refuses to confine others to it. Juggle's own cpuset may be another one, so nothing else shows
 * that, or that the CPU has come back. When a cpuset changes, kernels before 6.2 also forget to which
 * CPU of it a thread was confined. And anybody may use taskset(1).
 */
#include "daemon/team/internal.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "daemon/act/act.h"
#include "daemon/job/reach.h"

#define VERIFY_NS UINT64_C(500000000)
#define THREADS_MOST 64 /* that are looked at each time */

void team_report_refusal(struct team *team)
{
	if (!atomic_exchange_explicit(team->context->refused, true, memory_order_relaxed))
		eventfd_write(team->context->kick_fd, 1);
}

static void verify(struct team *team, size_t i)
{
	const struct policy_sight *sight = &team->sight[i];
	struct cpuset mask;

	if (sight->cpu == POLICY_NO_CPU || cpuset_of_thread(sight->tid, &mask) < 0)
		return;
	int os_cpu = team->policy.cpu[sight->cpu].os_cpu;
	if (cpuset_has(&mask, os_cpu) && cpuset_count(&mask) == 1)
		return;
	if (act_pin(sight->tid, os_cpu) == -EINVAL) {
		team_report_refusal(team);
		team_release(team, i);
	}
}

static int find_reach(struct team *team, size_t i, int *reach)
{
	const struct policy_sight *sight = &team->sight[i];
	const struct team_context *context = team->context;

	if (sight->cpu == POLICY_NO_CPU)
		return reach_of_free(
			context->ledger, team->thread[i], context->own, team_within(team), reach);
	int r = reach_of_confined(sight->tid, context->own, reach);
	if (act_pin(sight->tid, team->policy.cpu[sight->cpu].os_cpu) < 0)
		team_release(team, i);
	return r;
}

/* May a thread use other CPUs than before, whose cpuset kept it from some? */
static void verify_reach(struct team *team, size_t i)
{
	int reach;

	if (find_reach(team, i, &reach) == 0 && reach != team->thread[i]->reach)
		team_report_refusal(team);
}

void team_verify(struct team *team, uint64_t now_ns)
{
	if (now_ns - team->verified_ns < VERIFY_NS)
		return;
	team->verified_ns = now_ns;
	for (size_t k = 0; k < team->n && k < THREADS_MOST; k++)
		verify(team, team->verify_next++ % team->n);
	for (size_t k = 0; k < team->n; k++) {
		size_t i = team->reach_next++ % team->n;
		if (team->thread[i]->reach != REACH_ALL) {
			verify_reach(team, i);
			break;
		}
	}
}
