/* SPDX-License-Identifier: MIT */
#include "daemon/job/limit.h"

#include <math.h>
#include <stdlib.h>

#include "daemon/proc/proc.h"
#include "daemon/telemetry/writer.h"

#define LOOK_NS UINT64_C(1000000000)
#define EARLY_FOR_NS UINT64_C(1000000000)
#define EARLY_LOOK_NS UINT64_C(100000000)

#define PATIENCE 2 /* looks at CPUs that others need; more from time to time */

/* ---- Looking ---- */

void limit_init(struct limit *limit, struct telemetry *telemetry, uint64_t now_ns)
{
	*limit = (struct limit){.telemetry = telemetry, .start_ns = now_ns};
	quota_init(&limit->quota, "");
}

void limit_deinit(struct limit *limit)
{
	free(limit->others);
	limit->others = NULL;
}

bool limit_due(const struct limit *limit, uint64_t now_ns)
{
	bool early = now_ns - limit->start_ns < EARLY_FOR_NS;

	return !limit->looked || now_ns - limit->looked_ns >= (early ? EARLY_LOOK_NS : LOOK_NS);
}

static uint64_t thousandths(double cpus)
{
	/* The kernel's quotas end far below. */
	return cpus < 1e15 ? (uint64_t)fmax(1, round(cpus * 1000)) : 0;
}

void limit_look(struct limit *limit, pid_t pid, uint64_t now_ns)
{
	limit->looked = true;
	limit->looked_ns = now_ns;
	if (quota_look(&limit->quota, pid) < 0)
		return;
	telemetry_set(&limit->telemetry->quota, thousandths(limit->quota.cpus));
	telemetry_set(&limit->telemetry->throttled_ns, limit->quota.throttled_ns);
}

/* ---- The load of others ---- */

static uint64_t run_of_job(const struct telemetry *t)
{
	uint32_t slots = telemetry_get32(&t->slots);
	uint64_t run_ns = 0;

	for (uint32_t i = 0; i < slots && i < TELEMETRY_THREADS; i++)
		run_ns += telemetry_get(&telemetry_threads(t)[i].progress_ns);
	return run_ns;
}

bool limit_is_crowded(struct limit *limit, const struct cpuset *used, const struct cpuset *cpus)
{
	/* Two that crowd each other should not both make way, and nobody all the time. */
	int patience = PATIENCE + (int)(limit->start_ns / 1000 % 3) + limit->left;

	if (cpuset_count(used) == cpuset_count(cpus))
		return false;
	if (limit->others == NULL)
		limit->others = calloc(1, sizeof *limit->others);
	if (limit->others == NULL ||
		proc_read_cpu_times(limit->others->times, CPUSET_CPUS_MAX) < 0 ||
		!others_look(limit->others, used, cpus, run_of_job(limit->telemetry),
			limit->looked_ns, patience))
		return false;
	limit->left++;
	return true;
}

/* ---- Choosing CPUs ---- */

struct candidate {
	int32_t os_cpu;
	int load; /* of others, in steps */
	int sharers; /* CPUs of the same core that come before it */
	uint32_t speed;
	size_t place; /* in the topology */
};

/* The best ones first: those that others need least, then cores of their own, then the fastest, and then
 * those that are close together. */
static int by_worth(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->load != y->load)
		return x->load - y->load;
	if (x->sharers != y->sharers)
		return x->sharers - y->sharers;
	if (x->speed != y->speed)
		return x->speed > y->speed ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* How many CPUs of its core come before it. */
static int sharers_of(const struct topology *topology, size_t place)
{
	int count = 0;

	for (size_t i = 0; i < place; i++)
		count += topology->cpu[i].core == topology->cpu[place].core;
	return count;
}

void limit_cut(const struct limit *limit, const struct topology_setup *setup, struct cpuset *cpus)
{
	size_t most = (size_t)quota_cpus_of(limit->quota.cpus, cpuset_count(cpus));
	struct topology topology = {0};

	if (most == (size_t)cpuset_count(cpus) || topology_init(&topology, cpus, setup) < 0)
		return;
	struct candidate *candidate = calloc(topology.cpus, sizeof *candidate);
	for (size_t i = 0; i < topology.cpus && candidate != NULL; i++)
		candidate[i] = (struct candidate){.os_cpu = topology.cpu[i].os_cpu,
			.load = limit->others != NULL
					? others_step(limit->others, topology.cpu[i].os_cpu)
					: 0,
			.sharers = sharers_of(&topology, i),
			.speed = topology_speed(&topology.cpu[i]),
			.place = i};
	if (candidate != NULL) {
		qsort(candidate, topology.cpus, sizeof *candidate, by_worth);
		*cpus = (struct cpuset){0};
		for (size_t i = 0; i < most; i++)
			cpuset_add(cpus, candidate[i].os_cpu);
	}
	free(candidate);
	topology_deinit(&topology);
}
