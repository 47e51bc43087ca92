/* SPDX-License-Identifier: MIT */
#include "daemon/policy/dry.h"

#include <math.h>

#include "daemon/policy/distribute.h"
#include "daemon/policy/period.h"
#include "daemon/policy/step.h"
#include "daemon/policy/told.h"

#define RECENT 3 /* phases: calls that came in these go on to come */
#define MEMORY_NS 1e8 /* what CPUs gave, and threads wanted, is known of the time before */
#define SHARED 0.8 /* others have part of a CPU that gives less of what is wanted */
/* For that long after a change, turns are taken to have a CPU run dry a first time; and for that long after a call
 * another one is expected. */
#define FIRST_NS 1e8
#define LATE_STEP 0.25 /* of what a phase began later than foretold */

/* Was a thread left to the kernel, as after a trial? Then it is not known which CPU gave it time. */
static bool was_loose(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n; i++)
		if (policy->thread[i].computes && policy->thread[i].cpu_before == POLICY_NO_CPU)
			return true;
	return false;
}

/* Intervals differ in length, and the kernel counts the times of running threads late: each has a weight by
 * its length. */
static void watch_shares(struct policy *policy)
{
	double elapsed_ns = (double)policy->decision.elapsed_ns;
	double weight = fmin(elapsed_ns / MEMORY_NS, 1);

	if (was_loose(policy))
		return;
	for (size_t j = 0; j < policy->m; j++)
		policy->cpu[j].had *= 1 - weight;
	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		double run_ns = (double)thread->run_ns,
		       left_ns = fmin((double)thread->left_ns, run_ns);
		thread->wanted +=
			weight * ((run_ns + (double)thread->wait_ns) / elapsed_ns - thread->wanted);
		if (thread->cpu_before != POLICY_NO_CPU)
			policy->cpu[thread->cpu_before].had +=
				weight * (run_ns - left_ns) / elapsed_ns;
		if (left_ns > 0)
			policy->cpu[thread->left_cpu].had += weight * left_ns / elapsed_ns;
	}
}

bool policy_is_shared(const struct policy *policy, size_t cpu)
{
	double wanted = 0;

	for (int32_t i = policy->cpu[cpu].first; i != POLICY_NO_ROW; i = policy->thread[i].next)
		wanted = fmax(wanted, policy->thread[i].wanted);
	return policy->cpu[cpu].had < SHARED * fmin(wanted, 1);
}

/* Where few CPUs of many have a thread more than the others, these run dry when two threads are left to a
 * CPU that both have half of their work to do. Do turns before that gain more than they cost? */
static bool turns_gain(const struct policy *policy)
{
	uint32_t n = policy_computing(policy), m = (uint32_t)policy->m;
	double idle = 1.0 / (n / m + 1) - (double)(n % m) / m; /* of a phase */

	return n % m > 0 && idle > 0 &&
	       policy_turns_pay(policy->needs.mean_ns, policy_point_ns(policy), n, m, idle * m / n);
}

bool policy_bell_would_do(const struct policy *policy)
{
	uint32_t n = policy_computing(policy);

	return policy->params.bells && policy->m > 1 && n >= policy->m &&
	       n <= POLICY_BELL_THREADS && policy->needs.mean_ns >= POLICY_BELL_LEAST_NS &&
	       policy->needs.regular && !policy->needs.differ && !policy->needs.dynamic &&
	       !policy->chooser.speeds_differ && !policy->chooser.spins && !turns_gain(policy);
}

bool policy_wants_bell(const struct policy *policy)
{
	return policy_swaps(policy) && policy_bell_would_do(policy);
}

/* Did CPUs run dry in the last phases, and will so again? */
static bool is_recent(const struct policy *policy)
{
	return policy->rung_ns > 0 &&
	       (double)(policy->last_ns - policy->rung_ns) < RECENT * policy_told_wall_ns(policy);
}

bool policy_bell_lately(const struct policy *policy)
{
	return policy->rung_ns > 0 && (double)(policy->last_ns - policy->rung_ns) < FIRST_NS;
}

bool policy_bell_suffices(const struct policy *policy)
{
	if (!policy_wants_bell(policy) || !is_recent(policy))
		return false;
	for (size_t j = 0; j < policy->m; j++)
		if (policy->cpu[j].taken || policy_is_shared(policy, j))
			return false;
	return true;
}

/* ---- Turns until the next CPU runs dry ---- */

/* All threads are in the same phase, or have ended it. */
static uint64_t phase_number(const struct policy *policy)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < policy->n; i++)
		if (policy->thread[i].computes && policy->thread[i].total_arrivals < least)
			least = policy->thread[i].total_arrivals;
	return least;
}

/* A CPU that had so many threads has just run dry, the first in this phase: when did it begin, and when will
 * the next one? */
static void take_beat(struct policy *policy, uint32_t threads)
{
	double begin_ns = (double)policy->last_ns - policy->needs.mean_ns * threads;
	double off_ns = begin_ns - policy->beat.next_ns, most_ns = policy_told_wall_ns(policy) / 2;

	if (fabs(off_ns) < most_ns)
		policy->beat.late_ns += LATE_STEP * off_ns;
	policy->beat.late_ns = fmin(fmax(policy->beat.late_ns, -most_ns), most_ns);
	policy->beat.next_ns = begin_ns + policy_told_wall_ns(policy) + policy->beat.late_ns;
}

/* From that time on. */
static void plan_turns(struct policy *policy, double from_ns)
{
	uint32_t least = UINT32_MAX;

	for (size_t j = 0; j < policy->m; j++)
		if (policy->cpu[j].threads < least)
			least = policy->cpu[j].threads;
	for (size_t j = 0; j < policy->m; j++) {
		struct policy_cpu *cpu = &policy->cpu[j];
		if (cpu->threads <= least)
			continue;
		double gap_ns = policy->needs.mean_ns * least / cpu->threads;
		/* A phase may have begun before the clock did, by the mean of phases. */
		cpu->turn_ns = (uint64_t)fmax(from_ns + gap_ns, 0);
		cpu->turn_gap_ns = cpu->threads > 2 || !is_recent(policy) ? (uint64_t)gap_ns : 0;
	}
}

/* No CPU has run dry yet, or not for some phases: in short phases threads that share a CPU take no turns, so that
 * perhaps none will. */
static bool is_to_begin(const struct policy *policy)
{
	uint64_t since_ns =
		policy->rung_ns > policy->reason_ns ? policy->rung_ns : policy->reason_ns;

	return (double)(policy->last_ns - policy->rung_ns) > policy_told_wall_ns(policy) &&
	       (double)(policy->last_ns - since_ns) < FIRST_NS;
}

/* ---- Filling CPUs ---- */

static void count_working(struct policy *policy)
{
	for (size_t j = 0; j < policy->m; j++)
		policy->cpu[j].working = 0;
	for (size_t i = 0; i < policy->n; i++)
		if (policy->thread[i].cpu != POLICY_NO_CPU && !policy->thread[i].waits)
			policy->cpu[policy->thread[i].cpu].working++;
}

/* How much work shares the CPU, if a thread could leave it. */
static uint32_t sharers(const struct policy *policy, size_t cpu)
{
	uint32_t working = policy->cpu[cpu].working;

	return working > 0 ? working + policy_is_shared(policy, cpu) : 0;
}

static size_t most_crowded(const struct policy *policy)
{
	size_t most = 0;

	for (size_t j = 1; j < policy->m; j++)
		if (sharers(policy, j) > sharers(policy, most))
			most = j;
	return most;
}

/* A thread of the CPU that waits, or works. The last that moved is taken: the others keep their caches. */
static int32_t pick(const struct policy *policy, size_t cpu, bool waits)
{
	int32_t found = POLICY_NO_ROW;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		if (thread->cpu != (int32_t)cpu || thread->cpu_before != thread->cpu ||
			thread->waits != waits)
			continue;
		if (found == POLICY_NO_ROW || thread->filled_ns > policy->thread[found].filled_ns)
			found = (int32_t)i;
	}
	return found;
}

/* Returns how many threads move. */
static size_t fill(struct policy *policy, size_t dry, size_t crowded)
{
	struct policy_cpu *to = &policy->cpu[dry], *from = &policy->cpu[crowded];
	int32_t goes = pick(policy, crowded, false), comes = POLICY_NO_ROW;

	if (goes == POLICY_NO_ROW)
		return 0;
	if (to->threads + 1 > from->threads)
		comes = pick(policy, dry, true);
	policy->thread[goes].cpu = (int32_t)dry;
	policy->thread[goes].filled_ns = policy->last_ns;
	from->working--;
	to->working++;
	if (comes != POLICY_NO_ROW) {
		policy->thread[comes].cpu = (int32_t)crowded;
		return 2;
	}
	from->threads--;
	to->threads++;
	return 1;
}

size_t policy_fill_dry(struct policy *policy)
{
	size_t moved = 0, now;

	if (!policy->params.bells || policy_computing(policy) > POLICY_BELL_THREADS)
		return 0;
	policy_count(policy->thread, policy->n, policy->cpu, policy->m);
	watch_shares(policy);
	if (!policy_wants_bell(policy))
		return 0;
	count_working(policy);
	for (size_t j = 0; j < policy->m; j++) {
		uint32_t threads = policy->cpu[j].threads;
		if (policy->cpu[j].working > 0 || policy->cpu[j].taken)
			continue;
		size_t crowded = most_crowded(policy);
		if (sharers(policy, crowded) < 2 || (now = fill(policy, j, crowded)) == 0)
			break;
		moved += now;
		if (phase_number(policy) != policy->beat.number)
			take_beat(policy, threads);
		policy->beat.number = phase_number(policy);
	}
	if (is_recent(policy) && moved > 0)
		plan_turns(policy, policy->beat.next_ns);
	else if (is_to_begin(policy))
		plan_turns(policy, (double)policy->last_ns);
	return moved;
}
