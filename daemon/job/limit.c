/* SPDX-License-Identifier: MIT */
#include "daemon/job/limit.h"

#include <math.h>
#include <stdlib.h>

#include "daemon/telemetry/writer.h"

#define LOOK_NS UINT64_C(1000000000)
/* In a young job the next look is due after half of its age, and no earlier than this. */
#define LOOK_LEAST_NS UINT64_C(100000000)

/* ---- Looking ---- */

void limit_init(struct limit *limit, struct telemetry *telemetry, uint64_t now_ns)
{
	*limit = (struct limit){.telemetry = telemetry, .start_ns = now_ns};
	quota_init(&limit->quota, "");
}

bool limit_due(const struct limit *limit, uint64_t now_ns)
{
	uint64_t wait_ns = (now_ns - limit->start_ns) / 2;

	if (wait_ns < LOOK_LEAST_NS)
		wait_ns = LOOK_LEAST_NS;
	return !limit->looked ||
	       now_ns - limit->looked_ns >= (wait_ns < LOOK_NS ? wait_ns : LOOK_NS);
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

/* ---- Choosing CPUs ---- */

struct candidate {
	int32_t os_cpu;
	int sharers; /* CPUs of the same core that come before it */
	uint32_t speed;
	size_t place; /* in the topology, from some CPU on */
};

/* The best ones first: cores of their own, then the fastest, and then those that are close together. */
static int by_worth(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

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
	/* Where many jobs have quotas, they should not all begin with the same CPU. */
	size_t first = limit->start_ns / 1000 % topology.cpus;
	struct candidate *candidate = calloc(topology.cpus, sizeof *candidate);
	for (size_t i = 0; i < topology.cpus && candidate != NULL; i++)
		candidate[i] = (struct candidate){.os_cpu = topology.cpu[i].os_cpu,
			.sharers = sharers_of(&topology, i),
			.speed = topology_speed(&topology.cpu[i]),
			.place = (i + first) % topology.cpus};
	if (candidate != NULL) {
		qsort(candidate, topology.cpus, sizeof *candidate, by_worth);
		*cpus = (struct cpuset){0};
		for (size_t i = 0; i < most; i++)
			cpuset_add(cpus, candidate[i].os_cpu);
	}
	free(candidate);
	topology_deinit(&topology);
}
