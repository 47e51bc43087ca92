/* SPDX-License-Identifier: MIT */
#include "daemon/policy/told.h"

#include <math.h>

#include "daemon/policy/step.h"

#define SMOOTHING 8.0 /* phases over which needs are smoothed */
/* A thread that has done several times its need without arriving waits where nobody tells, or begins
 * another part of the program. */
#define OVERDUE 4
#define OVERDUE_NS 1e8
#define REGULAR 0.3 /* needs that vary by more from phase to phase foretell nothing */
#define DIFFER 0.05 /* needs that differ by less count as equal ... */
#define DIFFER_OFF 2 /* ... or by less than so many times what they vary from phase to phase ... */
#define TELLING_NS 4e5 /* ... as do all of phases so short, which don't show CPUs' speeds either */
/* Threads that spin or yield, and need less than that for each further thread on a CPU, gain most where whoever waits
 * is soon moved, or preempted. Measured. */
#define BRIEF_NS 3e6
/* Work counts as handed out where that was so in this share of the last time, and as long as it is in the smaller one.
 * So a part of a program without such loops is soon balanced, and so are programs with both kinds. A single look counts
 * for no more than a part of that time. */
#define DYNAMIC_MOST 0.9
#define DYNAMIC_STILL 0.8
#define DYNAMIC_MEMORY_NS 5e8
#define DYNAMIC_LOOK_NS 5e7
/* CPUs' speeds, as phases show them: steps towards what one phase says, and a phase has to be spent on known
 * CPUs nearly whole. After that many phases a speed counts; small changes don't. */
#define LEARN_STEP 0.1
#define LEARN_FIRST 0.5 /* the first steps are larger */
#define LEARN_DIFFERENCE 0.3 /* part of two phases that was on different CPUs */
#define LEARN_LEAST 0.05
#define ELSEWHERE 0.1
#define LESSONS_LEAST 8
#define LEARN_CHANGE 0.04
#define LEARN_EQUAL 0.88 /* so near the fastest CPU, it may be chance */

/* Of the phase under way: so much CPU time on that CPU. */
static void take_part(struct policy_parts *parts, int32_t cpu, double ns)
{
	for (size_t k = 0; k < POLICY_PARTS && cpu != POLICY_NO_CPU; k++)
		if (parts->part[k].ns == 0 || parts->part[k].cpu == cpu) {
			parts->part[k].cpu = cpu;
			parts->part[k].ns += ns;
			return;
		}
	parts->elsewhere_ns += ns;
}

/* The useful time of the interval, or a share of it, by CPU. */
static void take_parts(struct policy_thread *thread, double share)
{
	double run = (double)thread->run_ns, useful = (double)thread->useful_ns * share;
	double left = thread->left_ns < thread->run_ns ? (double)thread->left_ns : run;

	if (run <= 0)
		return;
	take_part(&thread->now, thread->left_cpu, useful * left / run);
	take_part(&thread->now, thread->cpu_before, useful * (1 - left / run));
}

static double on_cpu(const struct policy_parts *parts, int32_t cpu)
{
	for (size_t k = 0; k < POLICY_PARTS; k++)
		if (parts->part[k].ns > 0 && parts->part[k].cpu == cpu)
			return parts->part[k].ns;
	return 0;
}

static double whole(const struct policy_parts *parts)
{
	double ns = parts->elsewhere_ns;

	for (size_t k = 0; k < POLICY_PARTS; k++)
		ns += parts->part[k].ns;
	return ns;
}

/* By how much a phase used a CPU more than the one before; with that CPU, or with one of the other's. */
struct difference {
	struct {
		int32_t cpu;
		double ns;
	} on[2 * POLICY_PARTS];
	size_t cpus;
	double sum_ns; /* without signs */
	bool more, less; /* on some CPU */
};

static void take_difference(struct difference *difference, int32_t cpu, double ns)
{
	difference->on[difference->cpus].cpu = cpu;
	difference->on[difference->cpus++].ns = ns;
	difference->sum_ns += fabs(ns);
	difference->more |= ns > 0;
	difference->less |= ns < 0;
}

static struct difference subtract(const struct policy_parts *now, const struct policy_parts *before)
{
	struct difference difference = {0};

	for (size_t k = 0; k < POLICY_PARTS; k++)
		if (now->part[k].ns > 0)
			take_difference(&difference, now->part[k].cpu,
				now->part[k].ns - on_cpu(before, now->part[k].cpu));
	for (size_t k = 0; k < POLICY_PARTS; k++)
		if (before->part[k].ns > 0 && on_cpu(now, before->part[k].cpu) <= 0)
			take_difference(&difference, before->part[k].cpu, -before->part[k].ns);
	return difference;
}

/* Two phases of a thread in a row take the same work. If it was elsewhere in one of them, their CPU time shows
 * how fast these CPUs are, of each other: speeds times differences have to add up to 0, and a step goes
 * there (Kaczmarz' method). */
static void learn(
	struct policy_cpu *cpus, const struct policy_parts *now, const struct policy_parts *before)
{
	struct difference difference = subtract(now, before);
	double off = 0, squares = 0, total = whole(now) + whole(before);

	if (difference.sum_ns < LEARN_DIFFERENCE * total || !difference.more || !difference.less)
		return;
	for (size_t k = 0; k < difference.cpus; k++) {
		off += difference.on[k].ns * cpus[difference.on[k].cpu].learnt;
		squares += difference.on[k].ns * difference.on[k].ns;
	}
	for (size_t k = 0; k < difference.cpus; k++) {
		struct policy_cpu *cpu = &cpus[difference.on[k].cpu];
		double step = fmax(LEARN_STEP, LEARN_FIRST / (1 + cpu->lessons / LESSONS_LEAST));
		cpu->learnt -= step * off * difference.on[k].ns / squares;
		cpu->learnt = fmin(fmax(cpu->learnt, LEARN_LEAST), 1 / LEARN_LEAST);
		cpu->lessons += fabs(difference.on[k].ns) / total;
	}
}

/* So many phases have ended: compare with the one before. */
static void end_parts(struct policy *policy, struct policy_thread *thread, double count)
{
	struct policy_parts *now = &thread->now, *before = &thread->before;
	bool known = !thread->dynamic && thread->need_ns >= TELLING_NS && whole(now) > 0 &&
		     now->elsewhere_ns < ELSEWHERE * whole(now);

	for (size_t k = 0; k < POLICY_PARTS; k++)
		now->part[k].ns /= count;
	now->elsewhere_ns /= count;
	if (known && whole(before) > 0)
		learn(policy->cpu, now, before);
	*before = known ? *now : (struct policy_parts){0};
	*now = (struct policy_parts){0};
}

/* Phases have ended in the interval, which did that share of its gain before. */
static void take_phases(
	struct policy *policy, struct policy_thread *thread, double gain_ns, double share)
{
	double count = (double)thread->arrivals;
	double need_ns = (thread->done_ns + gain_ns * share) / count;

	double off_ns = thread->phases > 0 ? fabs(need_ns - thread->need_ns) : 0;
	thread->phases = fmin(thread->phases + count, SMOOTHING);
	double step = fmin(count / thread->phases, 1);
	thread->need_off_ns += step * (off_ns - thread->need_off_ns);
	thread->need_ns += step * (need_ns - thread->need_ns);
	thread->done_ns = 0;
	take_parts(thread, share);
	end_parts(policy, thread, count);
}

void policy_take_told(
	struct policy *policy, struct policy_thread *thread, const struct policy_sight *sight)
{
	bool before = thread->tells;
	double share = 0, gain_ns = (double)thread->gain_ns;

	thread->arrivals = thread->useful_ns = 0;
	thread->passed = 0;
	thread->tells = sight->news & POLICY_PHASES;
	thread->told = false;
	if (!thread->tells)
		return;
	if (!before) {
		thread->done_ns = policy->params.by_work ? 0 : (double)sight->done_ns;
		thread->now = (struct policy_parts){.elsewhere_ns = (double)sight->done_ns};
	}
	if (before && sight->useful_ns > thread->total_useful)
		thread->useful_ns = sight->useful_ns - thread->total_useful;
	if (before && sight->arrivals > thread->total_arrivals)
		thread->arrivals = sight->arrivals - thread->total_arrivals;
	/* What is useful may be put right later, and then count again only from where it had been. */
	if (!before || sight->useful_ns > thread->total_useful ||
		sight->arrivals < thread->total_arrivals)
		thread->total_useful = sight->useful_ns;
	thread->total_arrivals = sight->arrivals;
	thread->waits = sight->waits;
	thread->yields = sight->yields;
	thread->dynamic |= sight->dynamic; /* also if it was in a phase that has ended */
	if (thread->useful_ns < thread->run_ns)
		gain_ns *= (double)thread->useful_ns / (double)thread->run_ns;
	if (thread->arrivals > 0) {
		share = thread->useful_ns > sight->done_ns
				? 1 - (double)sight->done_ns / (double)thread->useful_ns
				: 0;
		take_phases(policy, thread, gain_ns, share);
	}
	thread->dynamic = sight->dynamic;
	take_parts(thread, 1 - share);
	thread->done_ns += gain_ns * (1 - share);
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

static void forget_dynamic(struct policy *policy)
{
	policy->needs.dynamic_share = policy->needs.watched_ns = 0;
	policy->needs.dynamic = false;
}

/* All compute threads tell, and several work. Is it handed out to all of these? */
static void watch_dynamic(struct policy *policy, bool dynamic)
{
	double elapsed_ns = fmin(fmax((double)policy->decision.elapsed_ns, 1), DYNAMIC_LOOK_NS);
	double least = policy->needs.dynamic ? DYNAMIC_STILL : DYNAMIC_MOST;

	if (!dynamic && policy->needs.dynamic_share <= 0) {
		forget_dynamic(policy);
		return;
	}
	policy->needs.watched_ns = fmin(policy->needs.watched_ns + elapsed_ns, DYNAMIC_MEMORY_NS);
	double weight = fmin(elapsed_ns / policy->needs.watched_ns, 1);
	policy->needs.dynamic_share += weight * (dynamic - policy->needs.dynamic_share);
	policy->needs.dynamic = policy->needs.dynamic_share >= least;
}

void policy_sum_up_told(struct policy *policy)
{
	double count = 0, working = 0, need = 0, off = 0, least = HUGE_VAL, most = 0, yields = 0,
	       done = 0;
	bool all = true, sure = true, tell = true, arrived = true, dynamic = true;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		if (!thread->computes)
			continue;
		tell &= thread->tells;
		dynamic &= thread->dynamic || thread->waits;
		working += !thread->waits;
		arrived &= thread->total_arrivals > 0;
		all &= thread->told;
		sure &= thread->phases >= SMOOTHING;
		count++;
		yields += thread->yields;
		done += thread->done_ns;
		need += thread->need_ns;
		off += thread->need_off_ns;
		least = fmin(least, thread->need_ns);
		most = fmax(most, thread->need_ns);
	}
	policy->needs.told = all && count > 0 && need > 0;
	policy->needs.begun_ns = tell && !policy->needs.told && count > 0 ? done / count : 0;
	policy->needs.arrived = arrived;
	policy->needs.yields = policy->needs.told && 2 * yields > count;
	policy->needs.sure = policy->needs.told && sure;
	policy->needs.regular = policy->needs.told && off < REGULAR * need;
	policy->needs.mean_ns = count > 0 ? need / count : 0;
	policy->needs.most_ns = most;
	if (!tell || count == 0)
		forget_dynamic(policy);
	else if (working > 1) /* a serial part says nothing of the others */
		watch_dynamic(policy, dynamic);
	policy->needs.differ = policy->needs.regular && !policy->needs.dynamic &&
			       policy->needs.mean_ns >= TELLING_NS &&
			       most - least > fmax(DIFFER * most, DIFFER_OFF * off / count);
	double sharers = ceil(count / (double)policy->m);
	policy->needs.brief = policy->needs.told && !policy->needs.differ &&
			      (policy->chooser.spins || policy->chooser.yields) &&
			      policy->needs.mean_ns < BRIEF_NS * (sharers - 1);
}

double policy_told_wall_ns(const struct policy *policy)
{
	return policy_wall_ns(policy->needs.mean_ns, policy_computing(policy), (uint32_t)policy->m);
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
