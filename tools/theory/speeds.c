/* SPDX-License-Identifier: MIT */
/* Unequal CPUs; see speeds.h. */
#include "tools/theory/speeds.h"

#include <math.h>
#include <stdlib.h>

static uint32_t used(const struct theory_case *c)
{
	return c->threads < c->cpus ? c->threads : c->cpus;
}

bool theory_unequal(const struct theory_case *c)
{
	return c->speed != NULL && c->speed[used(c) - 1] < c->speed[0];
}

double speeds_power(const struct theory_case *c)
{
	double power = 0;

	for (uint32_t j = 0; j < used(c); j++)
		power += c->speed[j];
	return power;
}

double speeds_static(const struct theory_case *c)
{
	uint32_t each = c->threads / c->cpus, more = c->threads % c->cpus;
	double time = 0;

	for (uint32_t j = 0; j < used(c); j++)
		time = fmax(time, c->phase * (each + (j < more)) / c->speed[j]);
	return time;
}

/* The CPU where one more thread would be fastest. */
static uint32_t best_cpu(const struct theory_case *c, const uint32_t *count)
{
	uint32_t best = 0;

	for (uint32_t j = 1; j < used(c); j++)
		if (c->speed[j] * (count[best] + 1) > c->speed[best] * (count[j] + 1))
			best = j;
	return best;
}

double speeds_best_static(const struct theory_case *c)
{
	uint32_t count[THEORY_UNEQUAL_MAX] = {0};
	double time = 0;

	for (uint32_t i = 0; i < c->threads; i++)
		count[best_cpu(c, count)]++;
	for (uint32_t j = 0; j < used(c); j++)
		time = fmax(time, c->phase * count[j] / c->speed[j]);
	return time;
}

static int largest_first(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one < *other) - (*one > *other);
}

/* First a thread for each CPU, so that none is idle, then each further one where it will be
 * fastest. Any first few threads are spread like that, too. Only the amounts of work matter, not
 * whose they are. */
double speeds_reactive(const struct theory_case *c)
{
	uint16_t cpu[THEORY_UNEQUAL_MAX];
	uint32_t count[THEORY_UNEQUAL_MAX] = {0}, n = c->threads;
	double left[THEORY_UNEQUAL_MAX], rate[THEORY_UNEQUAL_MAX], time = 0;

	for (uint32_t i = 0; i < n; i++) {
		cpu[i] = (uint16_t)(i < used(c) ? i : best_cpu(c, count));
		count[cpu[i]]++;
		left[i] = c->phase;
	}
	while (n > 0) {
		double step = INFINITY;
		for (uint32_t i = 0; i < n; i++)
			rate[i] = c->speed[cpu[i]] / count[cpu[i]];
		qsort(rate, n, sizeof *rate, largest_first);
		qsort(left, n, sizeof *left, largest_first);
		for (uint32_t i = 0; i < n; i++)
			step = fmin(step, left[i] / rate[i]);
		time += step;
		uint32_t still = 0;
		for (uint32_t i = 0; i < n; i++) {
			double rest = left[i] - step * rate[i];
			if (rest > 1e-9 * c->phase)
				left[still++] = rest;
		}
		while (n > still)
			count[cpu[--n]]--;
	}
	return time;
}
