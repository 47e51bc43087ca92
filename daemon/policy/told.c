/* SPDX-License-Identifier: MIT */
#include "daemon/policy/told.h"

#include <math.h>
#include <string.h>

#include "daemon/policy/step.h"

#define SMOOTHING 8.0 /* phases over which needs are smoothed */
/* A thread that has done several times its need without arriving waits where nobody tells, or begins
 * another part of the program. */
#define OVERDUE 4
#define OVERDUE_NS 1e8
#define REGULAR 0.3 /* needs that vary by more from phase to phase foretell nothing */
#define DIFFER 0.05 /* needs that differ by less count as equal ... */
#define TELLING_NS 4e5 /* ... as do all of phases so short, which don't show CPUs' speeds either */
/* CPUs' speeds, as phases show them: steps towards what one phase says, and a phase has to be spent on known
 * CPUs nearly whole. After that many phases a speed counts; small changes don't. */
#define LEARN_STEP 0.1
#define LEARN_FIRST 2.0 /* the first steps are larger */
#define LEARN_AFTER 3 /* phases of a thread */
#define LEARN_LEAST 0.05
#define ELSEWHERE 0.1
#define LESSONS_LEAST 8
#define LEARN_CHANGE 0.04
#define LEARN_EQUAL 0.88 /* so near the fastest CPU, it may be chance */

/* Of the phase under way: so much CPU time on that CPU. */
static void take_part(struct policy_thread *thread, int32_t cpu, double ns)
{
	for (size_t k = 0; k < POLICY_PARTS && cpu != POLICY_NO_CPU; k++)
		if (thread->part[k].ns == 0 || thread->part[k].cpu == cpu) {
			thread->part[k].cpu = cpu;
			thread->part[k].ns += ns;
			return;
		}
	thread->elsewhere_ns += ns;
}

/* The useful time of the interval, or a share of it, by CPU. */
static void take_parts(struct policy_thread *thread, double share)
{
	double run = (double)thread->run_ns, useful = (double)thread->useful_ns * share;
	double left = thread->left_ns < thread->run_ns ? (double)thread->left_ns : run;

	if (run <= 0)
		return;
	take_part(thread, thread->left_cpu, useful * left / run);
	take_part(thread, thread->cpu_before, useful * (1 - left / run));
}

/* So many phases have ended. Each takes the same work; what they took of CPUs' time shows how fast these
 * are (Kaczmarz' method, a step a phase). */
static void learn(struct policy *policy, struct policy_thread *thread, double count)
{
	double work = 0, squares = 0, total = thread->elsewhere_ns;

	for (size_t k = 0; k < POLICY_PARTS; k++) {
		double ns = thread->part[k].ns;
		work += ns > 0 ? ns * policy->cpu[thread->part[k].cpu].learnt : 0;
		squares += ns * ns;
		total += ns;
	}
	if (squares > 0 && thread->elsewhere_ns < ELSEWHERE * total &&
		thread->need_ns >= TELLING_NS) {
		double off = count * thread->learnt_ns - work;
		for (size_t k = 0; k < POLICY_PARTS && thread->phases >= LEARN_AFTER; k++) {
			struct policy_cpu *cpu = &policy->cpu[thread->part[k].cpu];
			if (thread->part[k].ns <= 0)
				continue;
			cpu->learnt += fmax(LEARN_STEP, LEARN_FIRST / (1 + cpu->lessons)) * off *
				       thread->part[k].ns / squares;
			cpu->learnt = fmin(fmax(cpu->learnt, LEARN_LEAST), 1 / LEARN_LEAST);
			cpu->lessons += thread->part[k].ns / total;
		}
		thread->learnt_ns +=
			fmin(count / thread->phases, 1) * (work / count - thread->learnt_ns);
	}
	memset(thread->part, 0, sizeof thread->part);
	thread->elsewhere_ns = 0;
}

/* Phases have ended in the interval, which did that share of its work before. */
static void take_phases(struct policy *policy, struct policy_thread *thread, double share)
{
	double count = (double)thread->arrivals, gain = (double)thread->gain_ns;
	double need_ns = (thread->done_ns + gain * share) / count;

	double off_ns = thread->phases > 0 ? fabs(need_ns - thread->need_ns) : 0;
	thread->phases = fmin(thread->phases + count, SMOOTHING);
	double step = fmin(count / thread->phases, 1);
	thread->need_off_ns += step * (off_ns - thread->need_off_ns);
	thread->need_ns += step * (need_ns - thread->need_ns);
	thread->done_ns = 0;
	take_parts(thread, share);
	learn(policy, thread, count);
}

void policy_take_told(
	struct policy *policy, struct policy_thread *thread, const struct policy_sight *sight)
{
	bool news = sight->news & POLICY_PHASES, before = thread->tells;
	double share = 0;

	thread->arrivals = thread->useful_ns = 0;
	thread->passed = 0;
	thread->tells = news && sight->arrivals > 0;
	thread->told = false;
	if (!thread->tells)
		return;
	if (before && sight->useful_ns > thread->total_useful)
		thread->useful_ns = sight->useful_ns - thread->total_useful;
	if (before && sight->arrivals > thread->total_arrivals)
		thread->arrivals = sight->arrivals - thread->total_arrivals;
	thread->total_arrivals = sight->arrivals;
	thread->total_useful = sight->useful_ns;
	thread->waits = sight->waits;
	if (thread->useful_ns < thread->run_ns)
		thread->gain_ns = (uint64_t)((double)thread->gain_ns * (double)thread->useful_ns /
					     (double)thread->run_ns);
	if (thread->arrivals > 0) {
		share = thread->useful_ns > sight->done_ns
				? 1 - (double)sight->done_ns / (double)thread->useful_ns
				: 0;
		take_phases(policy, thread, share);
	}
	take_parts(thread, 1 - share);
	thread->done_ns += (double)thread->gain_ns * (1 - share);
	double position = (double)thread->total_arrivals +
			  (thread->need_ns > 0 ? fmin(thread->done_ns / thread->need_ns, 1) : 0);
	thread->passed = before ? fmax(position - thread->position, 0) : 0;
	thread->position = position;
	thread->told = thread->phases > 0 &&
		       (thread->waits || thread->done_ns < OVERDUE * thread->need_ns + OVERDUE_NS);
}

bool policy_told_speeds(struct policy *policy)
{
	double most = 0;
	bool changed = false;

	for (size_t j = 0; j < policy->m; j++) {
		if (policy->cpu[j].threads > 0 && policy->cpu[j].lessons < LESSONS_LEAST)
			return false;
		most = fmax(most, policy->cpu[j].learnt);
	}
	for (size_t j = 0; j < policy->m; j++) {
		struct policy_cpu *cpu = &policy->cpu[j];
		double speed = cpu->learnt / most;
		if (cpu->threads == 0 || fabs(speed - cpu->rated) < LEARN_CHANGE ||
			(speed > LEARN_EQUAL && cpu->rated == 1))
			continue;
		cpu->rated = speed > LEARN_EQUAL ? 1 : speed;
		changed = true;
	}
	return changed;
}

void policy_sum_up_told(struct policy *policy)
{
	double count = 0, need = 0, off = 0, least = HUGE_VAL, most = 0;
	bool all = true;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		if (!thread->computes)
			continue;
		all &= thread->told;
		count++;
		need += thread->need_ns;
		off += thread->need_off_ns;
		least = fmin(least, thread->need_ns);
		most = fmax(most, thread->need_ns);
	}
	policy->needs.told = all && count > 0 && need > 0;
	policy->needs.regular = policy->needs.told && off < REGULAR * need;
	policy->needs.mean_ns = count > 0 ? need / count : 0;
	policy->needs.most_ns = most;
	policy->needs.differ = policy->needs.regular && policy->needs.mean_ns >= TELLING_NS &&
			       least < (1 - DIFFER) * most;
}

double policy_told_gain(const struct policy *policy)
{
	double n = policy_computing(policy), m = (double)policy->m;
	double mean = policy->needs.mean_ns, most = policy->needs.most_ns;

	if (!policy->needs.differ || n < m)
		return 0;
	double pinned = most + mean * (ceil(n / m) - 1);
	return pinned / fmax(mean * n / m, most) - 1;
}
