/* SPDX-License-Identifier: MIT */
#include "daemon/policy/ends.h"

#include <math.h>

#include "daemon/policy/speeds.h"
#include "daemon/policy/step.h"
#include "daemon/policy/told.h"

/* What a transfer has to gain; and of two that gain as much, that of one thread is taken. */
#define TRANSFER_NS 1.5e5
#define MOVE_NS 1e4
#define LEAST 0.02 /* no transfer gains less of what remains: that is noise */
/* Phases of no more intervals than that are over before a move pays: then threads have places, if these win that
 * share. */
#define INTERVALS_LEAST 2.0
#define PLACES_LEAST 0.05
#define CROWD_MOST 16 /* threads on a CPU: all pairs of two CPUs are tried */
#define FREE 0.95 /* CPUs that give more than this share are taken to be ours ... */
#define FREE_PERIODS 4 /* ... and before so many periods nobody knows */

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

	return active > 0 && cpu->periods >= FREE_PERIODS && share < FREE && share > 0
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

static bool cpus_differ(const struct policy *policy)
{
	bool differ = policy->chooser.speeds_differ;

	for (size_t j = 0; j < policy->m; j++)
		differ |= policy->cpu[j].others > 0;
	return differ;
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
struct transfer {
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

static void try_transfer(struct policy *policy, size_t from, size_t to, int32_t goes, int32_t comes,
	bool next, struct transfer *best)
{
	move(policy, goes, from, to, next);
	move(policy, comes, to, from, next);
	double ns = fmax(dry_ns(policy->cpu, from), dry_ns(policy->cpu, to));
	if (comes != POLICY_NO_ROW)
		ns += MOVE_NS;
	if (ns < best->dry_ns)
		*best = (struct transfer){goes, comes, (uint32_t)to, ns};
	move(policy, goes, to, from, next);
	move(policy, comes, from, to, next);
}

/* The links are those from before the point: threads that have moved are passed over. */
static struct transfer best_transfer(struct policy *policy, size_t from, bool next)
{
	const struct policy_thread *threads = policy->thread;
	struct transfer best = {POLICY_NO_ROW, POLICY_NO_ROW, 0, policy->cpu[from].dry_ns};

	for (int32_t i = policy->cpu[from].first; i != POLICY_NO_ROW; i = threads[i].next) {
		if (threads[i].moved)
			continue;
		for (size_t to = 0; to < policy->m; to++) {
			if (to == from || policy->cpu[to].taken ||
				policy->cpu[to].dry_ns >= best.dry_ns)
				continue;
			if (policy->cpu[from].threads > 1)
				try_transfer(policy, from, to, i, POLICY_NO_ROW, next, &best);
			for (int32_t k = policy->cpu[to].first; k != POLICY_NO_ROW;
				k = threads[k].next)
				if (!threads[k].moved)
					try_transfer(policy, from, to, i, k, next, &best);
		}
	}
	return best;
}

static void carry_out(
	struct policy *policy, size_t from, const struct transfer *transfer, bool next)
{
	struct policy_thread *threads = policy->thread;

	move(policy, transfer->goes, from, transfer->to, next);
	move(policy, transfer->comes, transfer->to, from, next);
	threads[transfer->goes].cpu = (int32_t)transfer->to;
	threads[transfer->goes].moved = true;
	if (transfer->comes != POLICY_NO_ROW) {
		threads[transfer->comes].cpu = (int32_t)from;
		threads[transfer->comes].moved = true;
	} else {
		policy->cpu[from].threads--;
		policy->cpu[transfer->to].threads++;
	}
	policy->cpu[from].dry_ns = dry_ns(policy->cpu, from);
	policy->cpu[transfer->to].dry_ns = dry_ns(policy->cpu, transfer->to);
}

size_t policy_end_together(struct policy *policy)
{
	double elapsed_ns = (double)policy->decision.elapsed_ns;
	size_t moved = 0;

	if (!policy->needs.regular || policy->needs.dynamic || policy->needs.brief ||
		policy_computing(policy) > CROWD_MOST * policy->m)
		return POLICY_UNTOLD;
	bool next = policy_told_wall_ns(policy) < INTERVALS_LEAST * elapsed_ns;
	if (next && !policy->needs.differ)
		return POLICY_UNTOLD;
	guess_hidden(policy);
	take_stock(policy, next);
	if (!policy->needs.differ && !cpus_differ(policy))
		return POLICY_UNTOLD;
	for (size_t i = 0; i < policy->n; i++)
		policy->thread[i].moved = policy->thread[i].cpu == POLICY_NO_CPU;
	for (size_t k = 0; k < policy->m; k++) {
		size_t from = last_dry(policy);
		double before_ns = policy->cpu[from].dry_ns;
		struct transfer transfer = best_transfer(policy, from, next);
		double least_ns =
			fmax(next ? 0 : TRANSFER_NS, (next ? PLACES_LEAST : LEAST) * before_ns);
		if (transfer.goes == POLICY_NO_ROW || transfer.dry_ns > before_ns - least_ns)
			break;
		carry_out(policy, from, &transfer, next);
		moved += 1 + (transfer.comes != POLICY_NO_ROW);
	}
	return moved;
}
