/* SPDX-License-Identifier: MIT */
/* Speeds of CPUs; see speeds.h. */
#include "tools/doctor/speeds.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/theory/theory.h"

#define SLOW 0.5

static int fastest_first(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one < *other) - (*one > *other);
}

/* Returns how many CPUs there are; 0 if a speed is not known. */
static uint32_t sorted(const struct doctor_system *system, double speed[CPUSET_CPUS_MAX])
{
	uint32_t n = 0;

	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++)
		if (cpuset_has(&system->cpus, cpu))
			speed[n++] = system->speed[cpu];
	qsort(speed, n, sizeof *speed, fastest_first);
	return n > 0 && speed[n - 1] > 0 ? n : 0;
}

bool doctor_speeds_differ(const struct doctor_system *system)
{
	double speed[CPUSET_CPUS_MAX];
	uint32_t n = sorted(system, speed);

	return n > 0 && speed[n - 1] < speed[0];
}

bool doctor_speeds_list(const struct doctor_system *system, char *out, size_t bytes)
{
	double speed[CPUSET_CPUS_MAX];
	uint32_t n = sorted(system, speed);
	size_t filled = 0;

	for (uint32_t i = 0, same; i < n && filled < bytes; i += same) {
		for (same = 1; i + same < n && speed[i + same] == speed[i];)
			same++;
		int more = same > 1 ? snprintf(out + filled, bytes - filled, "%s%ux%.3g",
					      i > 0 ? "," : "", same, speed[i])
				    : snprintf(out + filled, bytes - filled, "%s%.3g",
					      i > 0 ? "," : "", speed[i]);
		filled += (size_t)more;
	}
	return n > 0 && filled < bytes;
}

double doctor_speeds_gain(const struct doctor_system *system, uint32_t n)
{
	double speed[CPUSET_CPUS_MAX];
	struct theory_case c = {.threads = n, .speed = speed, .phase = 1, .period = 1, .phases = 1};

	c.cpus = sorted(system, speed);
	return c.cpus > 0 && theory_unequal(&c) ? theory_speedup(&c, theory_perfect(&c)) : 1;
}

double doctor_speeds_slow(const struct doctor_system *system, struct cpuset *slow)
{
	double speed[CPUSET_CPUS_MAX], all = 0, of_slow = 0;
	uint32_t n = sorted(system, speed);

	*slow = (struct cpuset){0};
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX && n > 0; cpu++) {
		if (!cpuset_has(&system->cpus, cpu))
			continue;
		all += system->speed[cpu];
		if (system->speed[cpu] >= SLOW * speed[0])
			continue;
		of_slow += system->speed[cpu];
		cpuset_add(slow, cpu);
	}
	return n > 0 ? of_slow / all : 0;
}
