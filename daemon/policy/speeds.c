/* SPDX-License-Identifier: MIT */
#include "daemon/policy/speeds.h"

#include <math.h>

/* What a core does more for each of its CPUs beyond the first that has threads. The paper saw 0.35
 * with one program; most compute-bound ones have 0.2 to 0.3. */
#define SMT_GAIN 0.25
#define DIFFER 0.05 /* speeds that are closer count as equal */
#define LEAST 0.001 /* no CPU is slower */
#define LEARN_PERIODS 8 /* with fewer, the kernel's ticks show more than the CPU's speed */

static double speed_of(const struct policy_cpu *cpu)
{
	return cpu->rated * (1 - cpu->stolen);
}

static double smt_share(uint32_t used)
{
	return used > 1 ? (1 + SMT_GAIN * (used - 1)) / used : 1;
}

/* Some kernels count what the hypervisor took as the thread's. Then the CPU seems to have run more than
 * it can have. */
static bool counts_stolen(const struct policy_cpu *cpu)
{
	return cpu->ran > 1 - cpu->stolen / 2;
}

double policy_rate_of(const struct policy_cpu *cpus, size_t j)
{
	const struct policy_cpu *cpu = &cpus[j];

	return (counts_stolen(cpu) ? speed_of(cpu) : cpu->rated) *
	       smt_share(cpus[cpu->core].core_used);
}

double policy_room(const struct policy_cpu *cpus, size_t j)
{
	const struct policy_cpu *cpu = &cpus[j];
	uint32_t used = cpus[cpu->core].core_used;
	/* Another CPU of a busy core slows those that are in use. */
	double share = cpu->threads > 0 ? smt_share(used) : used > 0 ? SMT_GAIN : 1;

	return speed_of(cpu) * share / (1 + cpu->neighbours);
}

void policy_occupy(struct policy_cpu *cpus, size_t j)
{
	cpus[cpus[j].cache].cache_threads++;
	if (cpus[j].threads++ == 0)
		cpus[cpus[j].core].core_used++;
}

void policy_vacate(struct policy_cpu *cpus, size_t j)
{
	cpus[cpus[j].cache].cache_threads--;
	if (--cpus[j].threads == 0)
		cpus[cpus[j].core].core_used--;
}

bool policy_speeds_differ(const struct policy_cpu *cpus, size_t m, double share)
{
	double least = HUGE_VAL, most = 0;

	for (size_t j = 0; j < m; j++) {
		least = fmin(least, speed_of(&cpus[j]));
		most = fmax(most, speed_of(&cpus[j]));
	}
	return least < most * (1 - share);
}

bool policy_learn_speeds(struct policy_cpu *cpus, size_t m)
{
	double most = 0;

	for (size_t j = 0; j < m; j++) {
		if (cpus[j].threads > 0 && cpus[j].periods < LEARN_PERIODS)
			return false;
		if (cpus[j].threads > 0)
			most = fmax(most, cpus[j].potential / (1 - cpus[j].stolen));
	}
	for (size_t j = 0; j < m && most > 0; j++)
		if (cpus[j].threads > 0) {
			double speed = cpus[j].potential / (1 - cpus[j].stolen) / most;
			cpus[j].rated = speed > 1 - DIFFER ? 1 : fmax(speed, LEAST);
		}
	return most > 0;
}

/* The next place of an even distribution. */
static size_t next_place(const struct policy_cpu *cpus, size_t m)
{
	size_t best = 0;

	for (size_t j = 1; j < m; j++)
		if (cpus[j].threads < cpus[best].threads ||
			(cpus[j].threads == cpus[best].threads &&
				policy_room(cpus, j) > policy_room(cpus, best)))
			best = j;
	return best;
}

double policy_turns_gain(struct policy_cpu *cpus, size_t m, uint32_t n)
{
	uint32_t each = n / (uint32_t)m;
	double sum = 0, least = HUGE_VAL;

	for (size_t j = 0; j < m; j++) {
		cpus[j].threads = each;
		cpus[j].core_used = 0;
	}
	for (size_t j = 0; j < m; j++)
		cpus[cpus[j].core].core_used += each > 0;
	for (uint32_t i = each * (uint32_t)m; i < n; i++)
		policy_occupy(cpus, next_place(cpus, m));
	for (size_t j = 0; j < m; j++) {
		if (cpus[j].threads == 0)
			continue;
		double rate = speed_of(&cpus[j]) * smt_share(cpus[cpus[j].core].core_used);
		sum += rate;
		least = fmin(least, rate / cpus[j].threads);
	}
	return n > 0 && least > 0 ? sum / n / least - 1 : 0;
}
