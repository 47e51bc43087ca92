/* SPDX-License-Identifier: MIT */
/*
 * Placing threads: the even distribution that the rest relies on. All other moves are
 * swaps, so "never more than one apart" holds if it holds here.
 */
#include "daemon/policy/distribute.h"

static void add(struct policy_thread *threads, size_t row, struct policy_cpu *cpu)
{
	threads[row].next = cpu->first;
	cpu->first = (int32_t)row;
	cpu->threads++;
}

void policy_count(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	for (size_t j = 0; j < m; j++) {
		cpus[j].threads = 0;
		cpus[j].first = POLICY_NO_ROW;
	}
	for (size_t i = n; i-- > 0;)
		if (threads[i].cpu != POLICY_NO_CPU)
			add(threads, i, &cpus[threads[i].cpu]);
}

/* Does a CPU have fewer threads than another, or as many, and fewer of other jobs? CPUs that were
 * taken count as the fullest. */
static bool emptier(const struct policy_cpu *cpu, const struct policy_cpu *than)
{
	if (cpu->taken != than->taken)
		return than->taken;
	return cpu->threads != than->threads ? cpu->threads < than->threads
					     : cpu->neighbours < than->neighbours;
}

static size_t emptiest(const struct policy_cpu *cpus, size_t m)
{
	size_t best = 0;
	for (size_t j = 1; j < m; j++)
		if (emptier(&cpus[j], &cpus[best]))
			best = j;
	return best;
}

/* Of those that were not taken, which there always are. */
static size_t fullest(const struct policy_cpu *cpus, size_t m)
{
	size_t best = m;
	for (size_t j = 0; j < m; j++)
		if (!cpus[j].taken && (best == m || emptier(&cpus[best], &cpus[j])))
			best = j;
	return best;
}

void policy_place(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	policy_count(threads, n, cpus, m);
	for (size_t i = 0; i < n; i++) {
		if (!threads[i].computes || threads[i].loose || threads[i].cpu != POLICY_NO_CPU)
			continue;
		size_t to = emptiest(cpus, m);
		threads[i].cpu = (int32_t)to;
		cpus[to].threads++;
	}
}

/* Of the threads on a CPU take the one that is furthest behind. */
static size_t take_furthest_behind(struct policy_thread *threads, struct policy_cpu *cpu)
{
	int32_t *pick = &cpu->first;

	for (int32_t *link = pick; *link != POLICY_NO_ROW; link = &threads[*link].next) {
		int64_t progress_ns = threads[*link].progress_ns,
			least_ns = threads[*pick].progress_ns;
		if (progress_ns < least_ns || (progress_ns == least_ns && *link < *pick))
			pick = link;
	}
	size_t row = (size_t)*pick;
	*pick = threads[row].next;
	cpu->threads--;
	return row;
}

static void move(struct policy_thread *threads, struct policy_cpu *cpus, size_t from, size_t to)
{
	size_t row = take_furthest_behind(threads, &cpus[from]);

	threads[row].cpu = (int32_t)to;
	add(threads, row, &cpus[to]);
}

void policy_even_out(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	policy_count(threads, n, cpus, m);
	/* Each round takes a thread from a CPU with two or more above another: n rounds suffice. */
	for (size_t round = 0; round < n; round++) {
		size_t from = fullest(cpus, m), to = emptiest(cpus, m);
		if (cpus[from].threads <= cpus[to].threads + 1)
			break;
		move(threads, cpus, from, to);
	}
}

size_t policy_make_way(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	size_t moves = 0;

	policy_count(threads, n, cpus, m);
	/* Of the CPUs with most threads the one with most others, and likewise with the fewest. Each
	 * round makes the one or the other emptier: m rounds suffice. */
	for (size_t round = 0; round < m; round++) {
		size_t from = fullest(cpus, m), to = emptiest(cpus, m);
		if (cpus[from].threads != cpus[to].threads + 1 ||
			cpus[from].neighbours <= cpus[to].neighbours)
			break;
		move(threads, cpus, from, to);
		moves++;
	}
	return moves;
}

size_t policy_pick_domain(const struct policy_domain *domains, size_t count)
{
	size_t best = 0;

	for (size_t d = 1; d < count; d++)
		/* The domain that would have the fewest threads per CPU with one more. Products
		 * keep the comparison exact. */
		if ((uint64_t)(domains[d].threads + 1) * domains[best].cpus <
			(uint64_t)(domains[best].threads + 1) * domains[d].cpus)
			best = d;
	return best;
}
