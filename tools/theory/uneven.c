/* SPDX-License-Identifier: MIT */
/* Unequal work, unequal CPUs, and the cost of moves; see uneven.h. */
#include "tools/theory/uneven.h"

#include <math.h>
#include <stddef.h>

static double speed(const struct uneven_case *c, uint32_t cpu)
{
	return c->speed != NULL ? c->speed[cpu] : 1;
}

double uneven_static(const struct uneven_case *c)
{
	double time = 0;

	for (uint32_t j = 0; j < c->cpus && j < c->threads; j++) {
		double work = 0;
		for (uint32_t i = j; i < c->threads; i += c->cpus)
			work += c->work[i];
		time = fmax(time, work / speed(c, j));
	}
	return time;
}

double uneven_bound(const struct uneven_case *c)
{
	double work = 0, speeds = 0, time = 0;

	for (uint32_t j = 0; j < c->threads; j++) {
		work += c->work[j];
		speeds += j < c->cpus ? speed(c, j) : 0;
		if (j < c->cpus || j + 1 == c->threads)
			time = fmax(time, work / speeds);
	}
	return time;
}

/* The sum of the speeds of the CPUs that this many threads use. */
static double power(const struct uneven_case *c, uint32_t threads)
{
	double sum = 0;

	for (uint32_t j = 0; j < threads && j < c->cpus; j++)
		sum += speed(c, j);
	return sum;
}

double uneven_by_progress(const struct uneven_case *c)
{
	double time = 0, done = 0;

	for (uint32_t left = c->threads; left > 0; left--) {
		time += (c->work[left - 1] - done) * left / power(c, left);
		done = c->work[left - 1];
	}
	return time;
}

/* ---- By the work that is left ---- */

/* Threads from .. to - 1 of the largest works, which have the same left, and the sum of their rates. */
struct group {
	uint32_t from, to;
	double left, rate;
};

/* The sum of the largest `taken` rates of `threads` threads. The largest rate is on the CPU with the
 * most speed for each of its threads; on each, rates are equal. */
static double largest_rates(const struct uneven_case *c, uint32_t threads, uint32_t taken)
{
	uint32_t each = threads / c->cpus, more = threads % c->cpus;
	uint32_t crowded = 0, other = more, end = threads < c->cpus ? threads : c->cpus;
	double sum = 0;

	/* CPUs with one thread more are the first; both kinds are in order among themselves. */
	while (taken > 0) {
		double a = crowded < more ? speed(c, crowded) / (each + 1) : 0;
		double b = other < end ? speed(c, other) / each : 0;
		uint32_t here = a >= b ? each + 1 : each;
		uint32_t some = here < taken ? here : taken;
		sum += some * (a >= b ? a : b);
		taken -= some;
		if (a >= b)
			crowded++;
		else
			other++;
	}
	return sum;
}

/* Groups of the largest works first. */
static double time_by_rest(const struct uneven_case *c, struct group *group)
{
	uint32_t groups = 0, threads = c->threads;
	double time = 0;

	for (uint32_t i = 0; i < threads; i++)
		group[groups++] = (struct group){i, i + 1, c->work[i], 0};
	while (groups > 0) {
		/* Those that have as much left, within rounding, are one. */
		uint32_t kept = 0;
		for (uint32_t g = 1; g < groups; g++)
			if (group[kept].left - group[g].left <= 1e-12 * c->work[0])
				group[kept].to = group[g].to;
			else
				group[++kept] = group[g];
		groups = kept + 1;
		double before = 0, step = INFINITY;
		for (uint32_t g = 0; g < groups; g++) {
			double until = largest_rates(c, threads, group[g].to);
			group[g].rate = (until - before) / (group[g].to - group[g].from);
			before = until;
		}
		for (uint32_t g = 0; g + 1 < groups; g++) {
			double closer = group[g].rate - group[g + 1].rate;
			if (closer > 0)
				step = fmin(step, (group[g].left - group[g + 1].left) / closer);
		}
		step = fmin(step, group[groups - 1].left / group[groups - 1].rate);
		time += step;
		for (uint32_t g = 0; g < groups; g++)
			group[g].left -= step * group[g].rate;
		if (group[groups - 1].left <= 1e-12 * c->work[0])
			threads = group[--groups].from;
	}
	return time;
}

double uneven_by_rest(const struct uneven_case *c)
{
	struct group group[UNEVEN_THREADS_MAX];

	return time_by_rest(c, group);
}

/* ---- Moves ---- */

double uneven_moves(uint32_t threads, uint32_t cpus)
{
	double slow = (double)(threads % cpus) * (threads / cpus + 1);

	return threads > cpus ? 2 * fmin(slow, threads - slow) : 0;
}

bool uneven_moves_known(uint32_t threads, uint32_t cpus)
{
	return threads % cpus == 0 || threads <= cpus + 1 || 3ull * threads <= 4ull * cpus;
}

double uneven_moves_cost(uint32_t threads, uint32_t cpus, double period, double cost)
{
	double lost = uneven_moves(threads, cpus) * cost / (cpus * period);

	return lost < 1 ? 1 / (1 - lost) : INFINITY;
}
