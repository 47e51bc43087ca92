/* SPDX-License-Identifier: MIT */
/*
 * Placing threads: the even distribution that the rest relies on. Where no phases are told, all other moves are
 * swaps, so "never more than one apart" holds if it holds here, over the CPUs that are to have threads.
 */
#include "daemon/policy/distribute.h"

#include <math.h>

#include "daemon/policy/speeds.h"

#define PLACE_MARGIN 1.1 /* an unused CPU has to promise that much more than a used one */

static void add(struct policy_thread *threads, size_t row, struct policy_cpu *cpus, size_t j)
{
	threads[row].next = cpus[j].first;
	cpus[j].first = (int32_t)row;
	policy_occupy(cpus, j);
}

void policy_count(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	for (size_t j = 0; j < m; j++) {
		cpus[j].threads = cpus[j].core_used = 0;
		cpus[j].cache_cpus = cpus[j].cache_threads = 0;
		cpus[j].first = POLICY_NO_ROW;
	}
	for (size_t j = 0; j < m; j++)
		cpus[cpus[j].cache].cache_cpus++;
	for (size_t i = n; i-- > 0;)
		if (threads[i].cpu != POLICY_NO_CPU)
			add(threads, i, cpus, (size_t)threads[i].cpu);
}

/* Do fewer threads share its cache, for the number of its CPUs? */
static bool emptier_cache(const struct policy_cpu *cpus, size_t j, size_t than)
{
	const struct policy_cpu *one = &cpus[cpus[j].cache], *other = &cpus[cpus[than].cache];

	return (uint64_t)one->cache_threads * other->cache_cpus <
	       (uint64_t)other->cache_threads * one->cache_cpus;
}

/* Is it to have no threads? */
static bool is_out(const struct policy_cpu *cpu)
{
	return cpu->taken || cpu->spare;
}

/* Does a CPU have fewer threads than another, or as many and more room for one, or as much and an emptier
 * cache? CPUs that are to have none count as the fullest. */
static bool emptier(const struct policy_cpu *cpus, size_t j, size_t than)
{
	if (is_out(&cpus[j]) != is_out(&cpus[than]))
		return is_out(&cpus[than]);
	if (cpus[j].threads != cpus[than].threads)
		return cpus[j].threads < cpus[than].threads;
	double room = policy_room(cpus, j), other = policy_room(cpus, than);
	return room != other ? room > other : emptier_cache(cpus, j, than);
}

static size_t emptiest(const struct policy_cpu *cpus, size_t m)
{
	size_t best = 0;
	for (size_t j = 1; j < m; j++)
		if (emptier(cpus, j, best))
			best = j;
	return best;
}

/* Of those that are to have threads, which there always are. */
static size_t fullest(const struct policy_cpu *cpus, size_t m)
{
	size_t best = m;
	for (size_t j = 0; j < m; j++)
		if (!is_out(&cpus[j]) && (best == m || emptier(cpus, best, j)))
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
		policy_occupy(cpus, to);
	}
}

/* Of the threads on a CPU take the one that is furthest behind. */
static size_t take_furthest_behind(struct policy_thread *threads, struct policy_cpu *cpus, size_t j)
{
	int32_t *pick = &cpus[j].first;

	for (int32_t *link = pick; *link != POLICY_NO_ROW; link = &threads[*link].next) {
		int64_t progress_ns = threads[*link].progress_ns,
			least_ns = threads[*pick].progress_ns;
		if (progress_ns < least_ns || (progress_ns == least_ns && *link < *pick))
			pick = link;
	}
	size_t row = (size_t)*pick;
	*pick = threads[row].next;
	policy_vacate(cpus, j);
	return row;
}

static void move(struct policy_thread *threads, struct policy_cpu *cpus, size_t from, size_t to)
{
	size_t row = take_furthest_behind(threads, cpus, from);

	threads[row].cpu = (int32_t)to;
	add(threads, row, cpus, to);
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
	/* Of the CPUs with most threads the one with the least room, and of those with the fewest
	 * threads the one with the most. Each round makes the one or the other emptier: m rounds
	 * suffice. */
	for (size_t round = 0; round < m; round++) {
		size_t from = fullest(cpus, m), to = emptiest(cpus, m);
		/* Unused CPUs are left to policy_take_places(), which goes by what CPUs gave: by turns,
		 * the two would move a thread back and forth. */
		if (cpus[to].threads == 0 || cpus[from].threads != cpus[to].threads + 1 ||
			policy_room(cpus, from) >= policy_room(cpus, to))
			break;
		move(threads, cpus, from, to);
		moves++;
	}
	return moves;
}

/* The used CPU of a single thread that gives least, or m. */
static size_t least_place(const struct policy_cpu *cpus, size_t m)
{
	size_t best = m;

	for (size_t j = 0; j < m; j++)
		if (cpus[j].threads == 1 && (best == m || cpus[j].potential < cpus[best].potential))
			best = j;
	return best;
}

/* What an unused CPU promises: perhaps less than it has room for, as it gave less when it was used. */
static double promise(const struct policy_cpu *cpus, size_t j)
{
	double speed = cpus[j].rated * (1 - cpus[j].stolen);

	return speed > 0 ? policy_room(cpus, j) * fmin(1, cpus[j].potential / speed) : 0;
}

static size_t best_unused(const struct policy_cpu *cpus, size_t m)
{
	size_t best = m;

	for (size_t j = 0; j < m; j++)
		if (cpus[j].threads == 0 && !cpus[j].taken &&
			(best == m || promise(cpus, j) > promise(cpus, best)))
			best = j;
	return best;
}

size_t policy_take_places(
	struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	size_t moves = 0;

	policy_count(threads, n, cpus, m);
	for (size_t round = 0; round < m; round++) {
		size_t from = least_place(cpus, m), to = best_unused(cpus, m);
		if (from == m || to == m ||
			promise(cpus, to) <= PLACE_MARGIN * cpus[from].potential)
			break;
		move(threads, cpus, from, to);
		/* So much is promised, and will be measured. */
		cpus[to].potential = promise(cpus, to);
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
