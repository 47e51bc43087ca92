/* SPDX-License-Identifier: MIT */
#include "daemon/team/stolen.h"

#include <stdlib.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(500000000)
#define LOOK_CALM_NS UINT64_C(5000000000) /* while nothing was ever stolen: on most machines */
#define SMOOTHING 4 /* looks */
#define STEP 20 /* thousandths: less is left out, as each change makes policies plan anew */

void stolen_take(struct stolen *stolen, int32_t os_cpu, const struct proc_cpu_times *times)
{
	struct proc_cpu_times before = stolen->cpu[os_cpu].times;
	uint64_t total = times->total_ticks - before.total_ticks;
	uint64_t ticks = times->stolen_ticks - before.stolen_ticks;
	double *share = &stolen->cpu[os_cpu].share;

	stolen->any |= times->stolen_ticks > 0;
	stolen->cpu[os_cpu].times = *times;
	/* Counters of a CPU may go back a little, or begin anew when it comes online. */
	if (before.total_ticks == 0 || total == 0 || total > INT64_MAX || ticks > total)
		return;
	*share += ((double)ticks / (double)total - *share) / SMOOTHING;
	uint32_t shown = stolen_of(stolen, os_cpu), now = (uint32_t)(*share * 1000 + 0.5);
	if (now + STEP <= shown || now >= shown + STEP || (now < STEP && shown > 0))
		atomic_store_explicit(
			&stolen->share[os_cpu], now < STEP ? 0 : now, memory_order_relaxed);
}

void stolen_look(struct stolen *stolen, uint64_t now_ns)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t count = cpus > 0 && cpus < CPUSET_CPUS_MAX ? (size_t)cpus : CPUSET_CPUS_MAX;

	if (now_ns < stolen->look_ns)
		return;
	struct proc_cpu_times *times = calloc(count, sizeof *times);
	if (times != NULL && proc_read_cpu_times(times, count) == 0)
		for (size_t j = 0; j < count; j++)
			if (times[j].total_ticks > 0)
				stolen_take(stolen, (int32_t)j, &times[j]);
	free(times);
	stolen->look_ns = now_ns + (stolen->any ? LOOK_NS : LOOK_CALM_NS);
}
