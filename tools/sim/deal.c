/* SPDX-License-Identifier: MIT */
/* Fig. 4 of the Juggle paper; see deal.h. */
#include "tools/sim/deal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int deal_init(struct deal *deal, uint32_t n, uint32_t m)
{
	uint32_t *at = calloc(3 * (size_t)n + 3 * (size_t)m, sizeof *at);

	*deal = (struct deal){.n = n, .m = m, .unblocked = n, .block = at};
	if (at == NULL)
		return -ENOMEM;
	deal->order = at;
	deal->cpu = deal->order + n;
	deal->spare = deal->cpu + n;
	deal->count = deal->spare + n;
	deal->label = deal->count + m;
	deal->taken = deal->label + m;
	for (uint32_t i = 0; i < n; i++)
		deal->order[i] = i;
	return 0;
}

void deal_deinit(struct deal *deal)
{
	free(deal->block);
	*deal = (struct deal){0};
}

double deal_epsilon(uint32_t n, uint32_t m, double phase, double period)
{
	double floor = n / m > 0 ? n / m : 1;
	double lag = period / (floor * (floor + 1));
	double epsilon = 1e-9 * phase;

	return epsilon < 1e-3 * lag ? epsilon : 1e-3 * lag;
}

/* The end of the run of ordered threads that begins there. */
static uint32_t run_end(
	const uint32_t *order, uint32_t n, const double *progress, double epsilon, uint32_t at)
{
	for (at++; at < n; at++)
		if (progress[order[at]] < progress[order[at - 1]] - epsilon)
			return at;
	return n;
}

/* Line 7. Threads that ran on fast CPUs are still in order among themselves, and so are those on
 * slow ones: merging the two takes O(n). Stable. */
static void sort(struct deal *deal, const double *progress, double epsilon)
{
	for (;;) {
		const uint32_t *from = deal->order;
		uint32_t *to = deal->spare, out = 0, runs = 0;

		for (uint32_t begin = 0; begin < deal->n; runs++) {
			uint32_t middle = run_end(from, deal->n, progress, epsilon, begin);
			if (runs == 0 && middle == deal->n)
				return;
			uint32_t end = middle == deal->n
					       ? middle
					       : run_end(from, deal->n, progress, epsilon, middle);
			uint32_t a = begin, b = middle;
			while (a < middle && b < end)
				to[out++] = progress[from[b]] < progress[from[a]] - epsilon
						    ? from[b++]
						    : from[a++];
			while (a < middle)
				to[out++] = from[a++];
			while (b < end)
				to[out++] = from[b++];
			begin = end;
		}
		deal->spare = deal->order;
		deal->order = to;
		if (runs < 2) /* an empty domain has none at all */
			return;
	}
}

/* Deal the threads order[from ... to) cyclically to a number of CPUs, the first of which is
 * `begin`. The threads dealt to one CPU are a hand. A hand gets the CPU of its first thread that
 * has one of these CPUs which is not taken yet; the other hands get the remaining CPUs. */
static uint32_t deal_class(
	struct deal *deal, uint32_t from, uint32_t to, uint32_t begin, uint32_t cpus)
{
	uint32_t hands = to - from < cpus ? to - from : cpus, moved = 0, free_cpu = 0;
	uint32_t *label = deal->label, *taken = deal->taken;

	if (hands == 0)
		return 0;
	memset(taken, 0, cpus * sizeof *taken);
	for (uint32_t hand = 0; hand < hands; hand++)
		label[hand] = cpus;
	for (uint32_t i = from, hand = 0; i < to; i++) {
		uint32_t cpu = deal->cpu[deal->order[i]] - begin;
		if (cpu < cpus && !taken[cpu] && label[hand] == cpus) {
			label[hand] = cpu;
			taken[cpu] = 1;
		}
		hand = hand + 1 < hands ? hand + 1 : 0;
	}
	for (uint32_t hand = 0; hand < hands; hand++) {
		if (label[hand] < cpus)
			continue;
		while (taken[free_cpu])
			free_cpu++;
		label[hand] = free_cpu++;
	}
	for (uint32_t i = from, hand = 0; i < to; i++) {
		uint32_t *cpu = &deal->cpu[deal->order[i]];
		moved += *cpu != begin + label[hand];
		*cpu = begin + label[hand];
		hand = hand + 1 < hands ? hand + 1 : 0;
	}
	return moved;
}

/* Seat the threads at the barrier, so that with them no CPU has more than one more than another. */
static uint32_t seat_blocked(struct deal *deal)
{
	uint32_t floor = deal->n / deal->m, more = deal->n % deal->m, moved = 0, cpu = 0;
	uint32_t *count = deal->count;

	memset(count, 0, deal->m * sizeof *count);
	for (uint32_t i = 0; i < deal->unblocked; i++)
		more -= ++count[deal->cpu[deal->order[i]]] > floor;
	uint32_t homeless = 0;
	for (uint32_t i = deal->unblocked; i < deal->n; i++) {
		uint32_t at = deal->cpu[deal->order[i]];
		if (count[at] < floor || (count[at] == floor && more > 0))
			more -= ++count[at] > floor;
		else
			deal->spare[homeless++] = deal->order[i];
	}
	for (; moved < homeless; moved++) {
		while (count[cpu] > floor || (count[cpu] == floor && more == 0))
			cpu++;
		deal->cpu[deal->spare[moved]] = cpu;
		more -= ++count[cpu] > floor;
	}
	return moved;
}

uint32_t deal_threads(struct deal *deal, const double *progress, double full, double epsilon)
{
	uint32_t m = deal->m, n = deal->n;

	sort(deal, progress, epsilon);
	while (n > 0 && progress[deal->order[n - 1]] >= full - epsilon)
		n--;
	deal->unblocked = n;
	uint32_t slow_cpus = n > m ? n % m : 0;
	uint32_t slow = slow_cpus * (n / m + 1), fast_cpus = m - slow_cpus;
	uint32_t moved = deal_class(deal, 0, n - slow, 0, fast_cpus);
	moved += deal_class(deal, n - slow, n, fast_cpus, slow_cpus);
	return n < deal->n ? moved + seat_blocked(deal) : moved;
}
