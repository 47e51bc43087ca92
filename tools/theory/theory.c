/* SPDX-License-Identifier: MIT */
/* The equations of the Juggle paper; see theory.h. Counts are computed as integers: a quotient that
 * should be whole may not be, as a double. */
#include "tools/theory/theory.h"

#include <math.h>

static double floor_of(const struct theory_case *c)
{
	return c->threads / c->cpus;
}

static double ceil_of(const struct theory_case *c)
{
	return c->threads / c->cpus + (c->threads % c->cpus != 0);
}

/* How many threads are, at first, on the CPUs that have one thread more. The paper's text takes the
 * floor for these CPUs; its Fig. 4 has the ceiling, which is right. */
static uint64_t slow_threads(const struct theory_case *c)
{
	return (uint64_t)(c->threads % c->cpus) * (c->threads / c->cpus + 1);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Then each phase has at most one balancing point. */
static bool is_long_period(const struct theory_case *c)
{
	return c->period >= c->phase * ceil_of(c);
}

/* The time of one phase. */
static double static_phase(const struct theory_case *c)
{
	return c->phase * ceil_of(c);
}

static double perfect_phase(const struct theory_case *c)
{
	return theory_unbalanced(c) ? c->phase * c->threads / c->cpus : static_phase(c);
}

bool theory_unbalanced(const struct theory_case *c)
{
	return c->threads > c->cpus && c->threads % c->cpus != 0;
}

double theory_static(const struct theory_case *c)
{
	return c->phases * static_phase(c);
}

double theory_perfect(const struct theory_case *c)
{
	return c->phases * perfect_phase(c);
}

double theory_lag(const struct theory_case *c)
{
	return theory_unbalanced(c) ? c->period / (ceil_of(c) * floor_of(c)) : 0;
}

double theory_lag_bound(const struct theory_case *c)
{
	if (!theory_unbalanced(c))
		return static_phase(c);
	if (is_long_period(c))
		return NAN;
	return c->phase * floor_of(c) + theory_lag(c);
}

double theory_balanced_once(const struct theory_case *c)
{
	double high = ceil_of(c), low = floor_of(c);

	if (!theory_unbalanced(c) || 2 * slow_threads(c) > c->threads)
		return static_phase(c);
	return c->phase * low * (1 + 1 / (low + high));
}

double theory_balanced_once_mean(const struct theory_case *c)
{
	if (!theory_unbalanced(c))
		return static_phase(c);
	return larger(c->phase * (ceil_of(c) - 0.25), perfect_phase(c));
}

double theory_balanced_phases(const struct theory_case *c)
{
	double most = c->phases - 1;

	if (!theory_unbalanced(c) || most <= 0)
		return 0;
	/* A little more than the quotient, so that rounding does not lose a point. */
	double points = floor(theory_static(c) / c->period * (1 + 1e-15));
	return points < most ? points : most;
}

/* The shortest time of a phase with one balancing point, at any moment. */
static double least_with_point(const struct theory_case *c)
{
	bool proven = c->threads / c->cpus == 1 && 2 * slow_threads(c) <= c->threads;

	return proven ? theory_balanced_once(c) : perfect_phase(c);
}

double theory_juggle_bound(const struct theory_case *c)
{
	if (!theory_unbalanced(c))
		return theory_static(c);
	if (!is_long_period(c))
		return larger(theory_lag_bound(c), perfect_phase(c)) +
		       (c->phases - 1) * perfect_phase(c);
	double balanced = theory_balanced_phases(c);
	return (c->phases - balanced) * static_phase(c) + balanced * least_with_point(c);
}

double theory_juggle(const struct theory_case *c)
{
	if (!theory_unbalanced(c))
		return theory_static(c);
	if (!is_long_period(c))
		return c->phases * larger(theory_lag_bound(c), perfect_phase(c));
	double balanced = theory_balanced_phases(c);
	return (c->phases - balanced) * static_phase(c) + balanced * theory_balanced_once_mean(c);
}

/* The threads on fast CPUs complete all at once, and the others are then equally far. In each step
 * these are spread again, until all fit. */
double theory_reactive(const struct theory_case *c)
{
	uint64_t left = c->threads, cpus = c->cpus;
	double work = c->phase, time = 0;

	while (left > cpus && left % cpus != 0) {
		uint64_t low = left / cpus, slow_cpus = left % cpus;
		time += work * (double)low;
		work /= (double)(low + 1); /* 1 - low / (low + 1) of it is left to the slow */
		left = slow_cpus * (low + 1);
	}
	return c->phases * (time + work * (double)(left > cpus ? left / cpus : 1));
}

double theory_speedup(const struct theory_case *c, double time)
{
	return theory_static(c) / time;
}

double theory_speedup_bound(const struct theory_case *c)
{
	return theory_speedup(c, theory_juggle_bound(c));
}
