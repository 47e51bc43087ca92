/* SPDX-License-Identifier: MIT */
#include "daemon/policy/told.h"

#include <math.h>
#include <string.h>

#include "daemon/policy/distribute.h"
#include "daemon/policy/speeds.h"
#include "daemon/policy/step.h"
#include "daemon/policy/swap.h"

#define SMOOTHING 8.0 /* phases over which needs are smoothed */
/* A thread that has done several times its need without arriving waits where nobody tells, or begins
 * another part of the program. */
#define OVERDUE 4
#define OVERDUE_NS 1e8
#define REGULAR 0.3 /* needs that vary by more from phase to phase foretell nothing */
#define DIFFER 0.05 /* needs that differ by less count as equal */
/* What two threads that swap their places lose, and the balancer. */
#define SWAP_NS 1.5e5
#define LEAST 0.02 /* no exchange gains less of what remains: that is noise */
/* Phases that end within so many intervals are over before a move pays. */
#define INTERVALS_LEAST 2.0
#define CROWD_MOST 16 /* threads on a CPU: all pairs of two CPUs are tried */
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
#define FREE 0.95 /* CPUs that give more than this share are taken to be ours */

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
	if (squares > 0 && thread->elsewhere_ns < ELSEWHERE * total) {
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
	policy->needs.differ = policy->needs.regular && least < (1 - DIFFER) * most;
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

/* ---- A balancing point ---- */

/* What remains to a thread: of this phase, or of the next one. */
static double remains(const struct policy_thread *thread, bool next)
{
	if (next)
		return thread->need_ns;
	return thread->waits ? 0 : fmax(thread->need_ns - thread->done_ns - thread->hidden_ns, 0);
}

/* The kernel counts the times of running threads at its ticks, which may be further apart than balancing points. A
 * thread of which nothing is new has had its share of the CPU meanwhile. */
static void guess_hidden(struct policy *policy)
{
	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		if (thread->cpu == POLICY_NO_CPU || thread->waits || thread->asleep ||
			thread->run_ns > 0 || thread->wait_ns > 0) {
			thread->hidden_ns = 0;
			continue;
		}
		const struct policy_cpu *cpu = &policy->cpu[thread->cpu];
		double sharers = fmax(1, cpu->working + cpu->waiting + cpu->others);
		thread->hidden_ns += (double)policy->decision.elapsed_ns *
				     policy_rate_of(policy->cpu, (size_t)thread->cpu) / sharers;
	}
}

/* Does the thread take time of its CPU although nothing remains to it? It spins, or yields. */
static bool in_the_way(const struct policy_thread *thread, bool next)
{
	return remains(thread, next) <= 0 && !thread->asleep && thread->run_ns > 0;
}

static void put(struct policy_cpu *cpu, const struct policy_thread *thread, bool next, int sign)
{
	double ns = remains(thread, next);

	cpu->remains_ns += sign * ns;
	cpu->working += (uint32_t)(sign * (ns > 0));
	cpu->waiting += (uint32_t)(sign * in_the_way(thread, next));
}

/* When the CPU runs dry. */
static double dry_ns(const struct policy_cpu *cpus, size_t j)
{
	const struct policy_cpu *cpu = &cpus[j];

	if (cpu->working == 0)
		return 0;
	return fmax(cpu->remains_ns, 0) * (1 + (cpu->waiting + cpu->others) / cpu->working) /
	       policy_rate_of(cpus, j);
}

/* Others' work on the CPU, as so many threads more that share it. */
static double others_on(const struct policy_cpu *cpu)
{
	double active = cpu->working + cpu->waiting;
	double share = cpu->runnable > 0 ? cpu->ran / cpu->runnable : 1;

	return active > 0 && cpu->periods >= 4 && share < FREE && share > 0
		       ? active * (1 / share - 1)
		       : 0;
}

static void take_stock(struct policy *policy, bool next)
{
	for (size_t j = 0; j < policy->m; j++) {
		policy->cpu[j].remains_ns = 0;
		policy->cpu[j].working = policy->cpu[j].waiting = 0;
	}
	for (size_t i = 0; i < policy->n; i++)
		if (policy->thread[i].cpu != POLICY_NO_CPU)
			put(&policy->cpu[policy->thread[i].cpu], &policy->thread[i], next, 1);
	for (size_t j = 0; j < policy->m; j++) {
		policy->cpu[j].others = others_on(&policy->cpu[j]);
		policy->cpu[j].dry_ns = dry_ns(policy->cpu, j);
	}
}

static size_t last_dry(const struct policy *policy)
{
	size_t last = 0;

	for (size_t j = 1; j < policy->m; j++)
		if (policy->cpu[j].dry_ns > policy->cpu[last].dry_ns)
			last = j;
	return last;
}

/* A thread of one CPU that goes to another, and one that comes instead, or POLICY_NO_ROW. */
struct exchange {
	int32_t goes, comes;
	uint32_t to;
	double dry_ns; /* when the later of the two CPUs runs dry then */
};

static void move(struct policy *policy, int32_t i, size_t from, size_t to, bool next)
{
	if (i == POLICY_NO_ROW)
		return;
	put(&policy->cpu[from], &policy->thread[i], next, -1);
	put(&policy->cpu[to], &policy->thread[i], next, 1);
}

static void try_exchange(struct policy *policy, size_t from, size_t to, int32_t goes, int32_t comes,
	bool next, struct exchange *best)
{
	move(policy, goes, from, to, next);
	move(policy, comes, to, from, next);
	double ns = fmax(dry_ns(policy->cpu, from), dry_ns(policy->cpu, to));
	if (ns < best->dry_ns)
		*best = (struct exchange){goes, comes, (uint32_t)to, ns};
	move(policy, goes, to, from, next);
	move(policy, comes, from, to, next);
}

/* The links are those from before the point: threads that have moved are passed over. */
static struct exchange best_exchange(struct policy *policy, size_t from, bool next)
{
	const struct policy_thread *threads = policy->thread;
	struct exchange best = {POLICY_NO_ROW, POLICY_NO_ROW, 0, policy->cpu[from].dry_ns};

	for (int32_t i = policy->cpu[from].first; i != POLICY_NO_ROW; i = threads[i].next) {
		if (threads[i].moved)
			continue;
		for (size_t to = 0; to < policy->m; to++) {
			if (to == from || policy->cpu[to].taken ||
				policy->cpu[to].dry_ns >= best.dry_ns)
				continue;
			if (policy->cpu[from].threads > 1)
				try_exchange(policy, from, to, i, POLICY_NO_ROW, next, &best);
			for (int32_t k = policy->cpu[to].first; k != POLICY_NO_ROW;
				k = threads[k].next)
				if (!threads[k].moved)
					try_exchange(policy, from, to, i, k, next, &best);
		}
	}
	return best;
}

static void carry_out(
	struct policy *policy, size_t from, const struct exchange *exchange, bool next)
{
	struct policy_thread *threads = policy->thread;

	move(policy, exchange->goes, from, exchange->to, next);
	move(policy, exchange->comes, exchange->to, from, next);
	threads[exchange->goes].cpu = (int32_t)exchange->to;
	threads[exchange->goes].moved = true;
	if (exchange->comes != POLICY_NO_ROW) {
		threads[exchange->comes].cpu = (int32_t)from;
		threads[exchange->comes].moved = true;
	}
	if (exchange->comes == POLICY_NO_ROW) {
		policy->cpu[from].threads--;
		policy->cpu[exchange->to].threads++;
	}
	policy->cpu[from].dry_ns = dry_ns(policy->cpu, from);
	policy->cpu[exchange->to].dry_ns = dry_ns(policy->cpu, exchange->to);
}

size_t policy_end_together(struct policy *policy)
{
	double elapsed_ns = (double)policy->decision.elapsed_ns;
	size_t moved = 0;

	if (!policy->needs.regular || policy_computing(policy) > CROWD_MOST * policy->m)
		return POLICY_UNTOLD;
	double wall_ns =
		policy->needs.mean_ns * fmax(1, policy_computing(policy) / (double)policy->m);
	bool next = wall_ns < INTERVALS_LEAST * elapsed_ns;
	if (next && !policy->needs.differ)
		return POLICY_UNTOLD;
	guess_hidden(policy);
	take_stock(policy, next);
	for (size_t i = 0; i < policy->n; i++)
		policy->thread[i].moved = policy->thread[i].cpu == POLICY_NO_CPU;
	for (size_t k = 0; k < policy->m; k++) {
		size_t from = last_dry(policy);
		double before_ns = policy->cpu[from].dry_ns;
		struct exchange exchange = best_exchange(policy, from, next);
		double least_ns = fmax(next ? 0 : SWAP_NS, (next ? DIFFER : LEAST) * before_ns);
		if (exchange.goes == POLICY_NO_ROW || exchange.dry_ns > before_ns - least_ns)
			break;
		carry_out(policy, from, &exchange, next);
		moved += 1 + (exchange.comes != POLICY_NO_ROW);
	}
	return moved;
}
