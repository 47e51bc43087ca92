/* SPDX-License-Identifier: MIT */
/* The equations of the Juggle paper; see theory.h. Counts are computed as integers: a quotient that
 * should be whole may not be, as a double. */
#include "tools/theory/theory.h"

#include "tools/theory/speeds.h"

#include <math.h>
#include <stddef.h>

/* e, where CPUs have one speed. */
static double alone(const struct theory_case *c)
{
	return c->speed != NULL ? c->phase / c->speed[0] : c->phase;
}

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

/* The time of one phase. */
static double static_phase(const struct theory_case *c)
{
	return theory_unequal(c) ? speeds_static(c) : alone(c) * ceil_of(c);
}

static double perfect_phase(const struct theory_case *c)
{
	if (theory_unequal(c))
		return c->phase * c->threads / speeds_power(c);
	return theory_unbalanced(c) ? alone(c) * c->threads / c->cpus : static_phase(c);
}

bool theory_unbalanced(const struct theory_case *c)
{
	return (c->threads > c->cpus && c->threads % c->cpus != 0) || theory_unequal(c);
}

bool theory_long_period(const struct theory_case *c)
{
	return c->period >= static_phase(c);
}

double theory_static(const struct theory_case *c)
{
	return c->phases * static_phase(c);
}

double theory_best_static(const struct theory_case *c)
{
	return c->phases * (theory_unequal(c) ? speeds_best_static(c) : static_phase(c));
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
	if (theory_long_period(c))
		return NAN;
	return alone(c) * floor_of(c) + theory_lag(c);
}

double theory_balanced_once(const struct theory_case *c)
{
	double high = ceil_of(c), low = floor_of(c);

	if (!theory_unbalanced(c) || 2 * slow_threads(c) > c->threads)
		return static_phase(c);
	return alone(c) * low * (1 + 1 / (low + high));
}

double theory_balanced_once_mean(const struct theory_case *c)
{
	if (!theory_unbalanced(c))
		return static_phase(c);
	if (theory_unequal(c))
		return (static_phase(c) + perfect_phase(c)) / 2;
	return larger(alone(c) * (ceil_of(c) - 0.25), perfect_phase(c));
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
	bool proven = !theory_unequal(c) && c->threads / c->cpus == 1 &&
		      2 * slow_threads(c) <= c->threads;

	return proven ? theory_balanced_once(c) : perfect_phase(c);
}

/* The least time of a phase that begins at a balancing point, when the period is shorter. */
static double first_phase(const struct theory_case *c)
{
	return theory_unequal(c) ? perfect_phase(c) : larger(theory_lag_bound(c), perfect_phase(c));
}

double theory_juggle_bound(const struct theory_case *c)
{
	if (!theory_unbalanced(c))
		return theory_static(c);
	if (!theory_long_period(c))
		return first_phase(c) + (c->phases - 1) * perfect_phase(c);
	double balanced = theory_balanced_phases(c);
	return (c->phases - balanced) * static_phase(c) + balanced * least_with_point(c);
}

/* On unequal CPUs: threads that take turns are level whenever all have been everywhere, but the
 * barrier comes at any moment between. What is lost then grows with the period, up to half of what
 * static placement loses when only one point is left in a phase. */
static double late_phase(const struct theory_case *c)
{
	double perfect = perfect_phase(c), fixed = static_phase(c);

	return perfect + (fixed - perfect) / 2 * c->period / fixed;
}

double theory_juggle(const struct theory_case *c)
{
	if (!theory_unbalanced(c))
		return theory_static(c);
	if (!theory_long_period(c))
		return c->phases * (theory_unequal(c) ? late_phase(c) : first_phase(c));
	double balanced = theory_balanced_phases(c);
	return (c->phases - balanced) * static_phase(c) + balanced * theory_balanced_once_mean(c);
}

/* The threads on fast CPUs complete all at once, and the others are then equally far. In each step
 * these are spread again, until all fit. */
double theory_reactive(const struct theory_case *c)
{
	uint64_t left = c->threads, cpus = c->cpus;
	double work = alone(c), time = 0;

	if (theory_unequal(c))
		return c->phases * speeds_reactive(c);
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
