/* SPDX-License-Identifier: MIT */
/*
 * CPUs that others have taken: real-time threads, a hypervisor, a quota. Threads on such a CPU stand
 * still, however few they are, and swaps would only bring the next ones there. So its threads go to
 * other CPUs, and from there are left to the kernel, until the CPU is back.
 *
 * A thread that stands still shows that a CPU may have been taken. A ticker shows whether it has: it
 * is awake for so short a time that ordinary threads let it run. But against those of another control
 * group it has hardly any weight where none of ours run. So the kernel gets a say in where threads go
 * meanwhile, and the CPU is tried again after some time, and watched for longer from then on if it was
 * there all the time.
 */
#include "daemon/policy/step.h"

#include "daemon/policy/distribute.h"

/* A ticker that has not run for that long can't, until it was found that it could. */
#define SILENT_NS UINT64_C(16000000)
#define SILENT_MOST_NS UINT64_C(1000000000)
/* A CPU is tried again after that long, and after twice as long each time that it is still taken. */
#define RETRY_NS UINT64_C(500000000)
#define RETRY_MOST_NS UINT64_C(4000000000)
#define TRIED_MORE 8 /* times as long as else before such a CPU counts as taken again */
/* The states of that many threads tell whether those of a CPU sleep or starve. */
#define STATES_PER_CPU 4
/* A thread that the kernel placed starves if, seen to be ready, it has not run for that long, a tick and more.
 * Outside trials, something is done about that once in the second of these times. */
#define STARVES_NS UINT64_C(10000000)
#define STARVED_AGAIN_NS UINT64_C(1000000000)
#define STARVES_THREADS 2 /* for each CPU */
#define LATELY_NS UINT64_C(200000000) /* of idle threads: until all were sampled */
/* Idle threads that ran lately count as one that computes: programs have some that help. */
#define CROWD 8

/* When threads last ran on each CPU, and on which one stands still that could run. A CPU without
 * threads has nothing to run. */
static void look_at_threads(struct policy *policy, uint64_t now_ns)
{
	for (size_t j = 0; j < policy->m; j++) {
		policy->cpu[j].stands = false;
		if (policy->cpu[j].threads == 0)
			policy->cpu[j].ran_ns = now_ns;
	}
	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		if (thread->cpu == POLICY_NO_CPU)
			continue;
		policy->cpu[thread->cpu].stands |= thread->stands;
		/* What it ran before it came is not known apart. */
		if (!thread->came && thread->run_ns > thread->left_ns)
			policy->cpu[thread->cpu].ran_ns = now_ns;
	}
}

/* Has nothing run there for long, or is that being watched already? */
static bool stands_still(const struct policy_cpu *cpu, uint64_t now_ns)
{
	return now_ns - cpu->ran_ns >= POLICY_STILL_NS || cpu->silent_ns > 0;
}

/* Has a CPU that its threads still have been taken? */
static bool is_taken(struct policy_cpu *cpu, uint64_t now_ns)
{
	bool ran = cpu->threads > 0 && cpu->ran_ns == now_ns, silent = cpu->silent_ns > 0;

	if (ran || cpu->heard)
		cpu->silent_ns = 0;
	if (ran && cpu->tried) {
		cpu->tried = false;
		cpu->retry_ns = RETRY_NS;
		if (!silent && cpu->patience_ns < SILENT_MOST_NS)
			cpu->patience_ns *= 2;
	}
	if (ran || !cpu->stands || !stands_still(cpu, now_ns))
		return false;
	if (cpu->silent_ns == 0)
		cpu->silent_ns = now_ns;
	uint64_t silence_ns = cpu->patience_ns;
	if (cpu->tried)
		silence_ns = cpu->patience_ns < SILENT_MOST_NS / TRIED_MORE
				     ? cpu->patience_ns * TRIED_MORE
				     : SILENT_MOST_NS;
	return now_ns - cpu->silent_ns >= silence_ns;
}

/* A CPU that is back counts as as fast as the others are on average, until it was measured. */
static void give_back(struct policy *policy, struct policy_cpu *cpu)
{
	double ran = 0, gained = 0;
	uint32_t used = 0;

	cpu->taken = false;
	cpu->silent_ns = 0;
	for (size_t j = 0; j < policy->m; j++) {
		const struct policy_cpu *other = &policy->cpu[j];
		if (other == cpu || other->threads == 0)
			continue;
		ran += other->ran;
		gained += other->gained;
		cpu->periods = other->periods;
		used++;
	}
	if (used > 0) {
		cpu->ran = ran / used;
		cpu->gained = gained / used;
	}
}

/* Returns whether any CPU has been given back. */
static bool hear(struct policy *policy, const struct policy_observation *observation)
{
	bool changed = false;

	for (size_t j = 0; j < policy->m; j++) {
		struct policy_cpu *cpu = &policy->cpu[j];
		cpu->heard = observation->ticked[j] != 0 && (cpu->taken || cpu->silent_ns > 0);
		if (cpu->heard)
			cpu->retry_ns = RETRY_NS;
		if (cpu->heard && cpu->taken && cpu->patience_ns > SILENT_NS)
			cpu->patience_ns /= 2;
		if (cpu->taken && (cpu->heard || observation->now_ns >= cpu->until_ns)) {
			cpu->tried = !cpu->heard;
			give_back(policy, cpu);
			changed = true;
		}
	}
	return changed;
}

static void take(struct policy_cpu *cpu, uint64_t now_ns)
{
	cpu->taken = true;
	cpu->tried = false;
	cpu->until_ns = now_ns + cpu->retry_ns;
	cpu->retry_ns = cpu->retry_ns < RETRY_MOST_NS ? 2 * cpu->retry_ns : RETRY_MOST_NS;
}

/* One CPU is always left. */
static void find_taken(struct policy *policy, uint64_t now_ns)
{
	size_t left = policy->m;

	for (size_t j = 0; j < policy->m; j++)
		left -= policy->cpu[j].taken;
	for (size_t j = 0; j < policy->m; j++) {
		struct policy_cpu *cpu = &policy->cpu[j];
		if (!cpu->taken && is_taken(cpu, now_ns) && left > 1) {
			take(cpu, now_ns);
			policy->taken_ns = now_ns;
			left--;
		}
	}
}

/* Threads of CPUs that were taken now go elsewhere, and those that went there before are left to the
 * kernel. Returns whether there were any. */
static bool evict(struct policy *policy)
{
	bool any = false;

	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		if (thread->cpu == POLICY_NO_CPU)
			continue;
		bool there = policy->cpu[thread->cpu].taken;
		if (!there && !thread->loose)
			continue;
		thread->cpu = POLICY_NO_CPU;
		thread->loose = !there;
		any = true;
	}
	return any;
}

/* After policy_place(): threads that went elsewhere are to be left to the kernel. */
static void loosen(struct policy *policy)
{
	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		if (thread->cpu != POLICY_NO_CPU && thread->cpu_before != POLICY_NO_CPU &&
			policy->cpu[thread->cpu_before].taken)
			thread->loose = true;
	}
}

bool policy_leave_taken(struct policy *policy, const struct policy_observation *observation)
{
	look_at_threads(policy, observation->now_ns);
	if (!policy->params.tickers)
		return false;
	bool changed = hear(policy, observation);
	for (size_t i = 0; i < policy->n && changed; i++)
		policy->thread[i].loose = false;
	find_taken(policy, observation->now_ns);
	if (!evict(policy) && !changed)
		return false;
	policy_place(policy->thread, policy->n, policy->cpu, policy->m);
	policy_even_out(policy->thread, policy->n, policy->cpu, policy->m);
	loosen(policy);
	return true;
}

void policy_forget_taken(struct policy *policy, uint64_t now_ns)
{
	for (size_t j = 0; j < policy->m; j++) {
		struct policy_cpu *cpu = &policy->cpu[j];
		if (cpu->taken)
			give_back(policy, cpu);
		cpu->tried = cpu->heard = false;
		cpu->silent_ns = 0;
		cpu->ran_ns = now_ns;
		cpu->retry_ns = RETRY_NS;
		if (cpu->patience_ns == 0)
			cpu->patience_ns = SILENT_NS;
	}
	for (size_t i = 0; i < policy->n; i++)
		policy->thread[i].loose = false;
}

/* ---- Threads that the kernel placed ---- */

/* A crowd that runs a little each is idle, too, and the CPUs are busy with it. */
static uint32_t crowd(const struct policy *policy, uint64_t now_ns)
{
	uint32_t count = 0;

	for (size_t i = 0; i < policy->n; i++)
		count += !policy->thread[i].computes &&
			 now_ns - policy->thread[i].ran_ns < LATELY_NS;
	return count / CROWD;
}

/* With fewer threads, there are idle CPUs, which fetch them; with many, also of others, it is nothing
 * unusual for one to wait. */
static bool could_starve_aside(const struct policy *policy, uint64_t now_ns)
{
	if (policy->regime != POLICY_ASIDE || !policy->params.tickers || policy->m < 2)
		return false;
	uint32_t threads = policy_computing(policy);
	uint32_t all = threads + policy->others + crowd(policy, now_ns);
	return threads >= policy->m && all <= STARVES_THREADS * policy->m;
}

/* Intervals are long: the first in which a thread does not run has to tell. */
static void ask_states_aside(struct policy *policy)
{
	for (size_t i = 0; i < policy->n; i++)
		if (policy->thread[i].computes)
			policy->thread[i].look |= POLICY_STATE;
}

bool policy_may_starve(const struct policy *policy)
{
	for (size_t i = 0; i < policy->n && policy->regime == POLICY_ASIDE; i++)
		if (policy->thread[i].computes && policy->thread[i].ready &&
			policy->thread[i].wait_ns < STARVES_NS)
			return true;
	return false;
}

bool policy_starves_aside(const struct policy *policy, uint64_t now_ns)
{
	if (!could_starve_aside(policy, now_ns) ||
		(!policy->chooser.trial && policy->starved_ns > 0 &&
			now_ns - policy->starved_ns < STARVED_AGAIN_NS))
		return false;
	for (size_t i = 0; i < policy->n; i++)
		if (policy->thread[i].computes && policy->thread[i].ready &&
			policy->thread[i].wait_ns >= STARVES_NS)
			return true;
	return false;
}

void policy_ask_states(struct policy *policy, uint64_t now_ns)
{
	if (could_starve_aside(policy, now_ns))
		ask_states_aside(policy);
	if (!policy_swaps(policy))
		return;
	for (size_t j = 0; j < policy->m; j++)
		policy->cpu[j].states = 0;
	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		if (thread->cpu == POLICY_NO_CPU)
			continue;
		struct policy_cpu *cpu = &policy->cpu[thread->cpu];
		if (stands_still(cpu, now_ns) && cpu->states++ < STATES_PER_CPU)
			thread->look |= POLICY_STATE;
	}
}
