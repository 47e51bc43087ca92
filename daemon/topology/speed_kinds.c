/* SPDX-License-Identifier: MIT */
/*
 * The kinds of CPUs that hwloc finds. It knows which CPUs are alike, and which kind is the faster
 * one, but not by how much. That is the mean of CPPC or of frequencies in each kind, so that cores
 * of one kind are equal.
 */
#include <errno.h>

#include "daemon/topology/speed.h"

#define KINDS 16

struct kinds {
	double sum[KINDS];
	size_t cpus[KINDS];
};

static size_t count_kinds(const struct speed_query *query)
{
	bool seen[KINDS] = {false};
	size_t count = 0;

	for (size_t i = 0; i < query->cpus; i++) {
		int32_t kind = query->cpu[i].kind;
		if (kind < 0 || kind >= KINDS)
			return 0;
		count += !seen[kind];
		seen[kind] = true;
	}
	return count;
}

/* Replace speeds by the means of their kinds. */
static void average(const struct speed_query *query, double *speed, struct kinds *kinds)
{
	*kinds = (struct kinds){0};
	for (size_t i = 0; i < query->cpus; i++) {
		kinds->sum[query->cpu[i].kind] += speed[i];
		kinds->cpus[query->cpu[i].kind]++;
	}
	for (size_t i = 0; i < query->cpus; i++) {
		int32_t kind = query->cpu[i].kind;
		speed[i] = kinds->sum[kind] / (double)kinds->cpus[kind];
	}
}

static bool has_order(const struct kinds *kinds)
{
	double fastest = 0;

	for (size_t k = 0; k < KINDS; k++) {
		if (kinds->cpus[k] == 0)
			continue;
		double mean = kinds->sum[k] / (double)kinds->cpus[k];
		if (mean < fastest * (1 - SPEED_MARGIN))
			return false;
		fastest = mean > fastest ? mean : fastest;
	}
	return true;
}

static int read_kinds(const struct speed_query *query, double *speed)
{
	static const struct speed_source *const numbers[] = {&speed_cppc, &speed_frequency};
	bool contradicted = false;
	struct kinds kinds;

	if (count_kinds(query) < 2)
		return -ENODATA;
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		if (numbers[i]->read(query, speed) < 0)
			continue;
		average(query, speed, &kinds);
		if (!query->ranked || has_order(&kinds))
			return 0;
		contradicted = true;
	}
	/* Numbers that make the faster kind the slower one aren't for the next sources, either. */
	for (size_t i = 0; i < query->cpus; i++)
		speed[i] = 1;
	return contradicted ? 0 : -ENODATA;
}

const struct speed_source speed_kinds = {.name = "CPU kinds", .read = read_kinds};
