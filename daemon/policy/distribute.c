/* SPDX-License-Identifier: MIT */
/*
 * Placing threads: the even distribution that the rest relies on. All other moves are
 * swaps, so "never more than one apart" holds if it holds here.
 */
#include "daemon/policy/policy.h"

static void count_threads(
	const struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m)
{
	for (size_t j = 0; j < m; j++)
		cpus[j].threads = 0;
	for (size_t i = 0; i < n; i++)
		if (threads[i].cpu != POLICY_NO_CPU)
			cpus[threads[i].cpu].threads++;
}

static size_t emptiest(const struct policy_cpu *cpus, size_t m)
{
	size_t best = 0;
	for (size_t j = 1; j < m; j++)
		if (cpus[j].threads < cpus[best].threads)
			best = j;
	return best;
}

static size_t fullest(const struct policy_cpu *cpus, size_t m)
{
	size_t best = 0;
	for (size_t j = 1; j < m; j++)
		if (cpus[j].threads > cpus[best].threads)
			best = j;
	return best;
}

size_t policy_place(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m,
	struct policy_move *moves)
{
	size_t count = 0;

	if (m == 0)
		return 0;
	count_threads(threads, n, cpus, m);
	for (size_t i = 0; i < n; i++) {
		if (threads[i].cpu != POLICY_NO_CPU)
			continue;
		size_t to = emptiest(cpus, m);
		threads[i].cpu = (int32_t)to;
		cpus[to].threads++;
		moves[count++] = (struct policy_move){
			.thread = (uint32_t)i, .from = POLICY_NO_CPU, .to = (int32_t)to};
	}
	return count;
}

size_t policy_even_out(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m,
	struct policy_move *moves)
{
	size_t count = 0;

	if (m == 0)
		return 0;
	count_threads(threads, n, cpus, m);
	/* Each round takes a thread from a CPU two or more above another, so n rounds do. */
	while (count < n) {
		size_t from = fullest(cpus, m), to = emptiest(cpus, m);
		if (cpus[from].threads <= cpus[to].threads + 1)
			break;
		size_t pick = n;
		for (size_t i = 0; i < n; i++)
			if (threads[i].cpu == (int32_t)from &&
				(pick == n || threads[i].progress_ns < threads[pick].progress_ns))
				pick = i;
		threads[pick].cpu = (int32_t)to;
		cpus[from].threads--;
		cpus[to].threads++;
		moves[count++] = (struct policy_move){
			.thread = (uint32_t)pick, .from = (int32_t)from, .to = (int32_t)to};
	}
	return count;
}

size_t policy_pick_domain(const uint32_t *threads, const uint32_t *cpus, size_t domains)
{
	size_t best = 0;

	for (size_t d = 1; d < domains; d++)
		/* The domain that would have the fewest threads a CPU with one more;
		 * compared as products to stay exact. */
		if ((uint64_t)(threads[d] + 1) * cpus[best] <
			(uint64_t)(threads[best] + 1) * cpus[d])
			best = d;
	return best;
}
