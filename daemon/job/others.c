/* SPDX-License-Identifier: MIT */
#include "daemon/job/others.h"

#include <math.h>
#include <string.h>

#define STEPS 4 /* of a share */
#define CROWDED 0.3 /* a difference of shares, of more than a step */

static double busy_share(const struct proc_cpu_times *before, const struct proc_cpu_times *now)
{
	if (before->total_ticks == 0 || now->total_ticks <= before->total_ticks)
		return 0;
	uint64_t total = now->total_ticks - before->total_ticks;
	uint64_t idle =
		now->idle_ticks > before->idle_ticks ? now->idle_ticks - before->idle_ticks : 0;
	return idle < total ? 1 - (double)idle / (double)total : 0;
}

/* On which of the used CPUs the job's threads ran doesn't show: others have an equal part of each.
 * Returns that part. */
static double weigh(struct others *others, const struct cpuset *used, double own_cpus)
{
	double busy = 0;

	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++) {
		others->share[cpu] = busy_share(&others->before[cpu], &others->times[cpu]);
		if (cpuset_has(used, cpu))
			busy += others->share[cpu];
	}
	double part = fmax(0, busy - own_cpus) / cpuset_count(used);
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++)
		if (cpuset_has(used, cpu))
			others->share[cpu] = part;
	return part;
}

bool others_look(struct others *others, const struct cpuset *used, const struct cpuset *cpus,
	uint64_t run_ns, uint64_t now_ns, int patience)
{
	bool first = others->looked_ns == 0 || now_ns <= others->looked_ns;
	double least = 1, part = 0;

	/* Threads that have ended may be missing in the sum. */
	if (!first && run_ns >= others->run_ns)
		part = weigh(others, used,
			(double)(run_ns - others->run_ns) / (double)(now_ns - others->looked_ns));
	memcpy(others->before, others->times, sizeof others->before);
	others->run_ns = run_ns;
	others->looked_ns = now_ns;
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++)
		if (cpuset_has(cpus, cpu) && !cpuset_has(used, cpu))
			least = fmin(least, others->share[cpu]);
	others->crowded_looks = part < least + CROWDED ? 0 : others->crowded_looks + 1;
	if (others->crowded_looks < patience)
		return false;
	others->crowded_looks = 0;
	return true;
}

int others_step(const struct others *others, int os_cpu)
{
	return (int)(STEPS * others->share[os_cpu]);
}
