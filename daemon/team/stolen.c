/* SPDX-License-Identifier: MIT */
#include "daemon/team/stolen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_NS UINT64_C(500000000)
#define LOOK_CALM_NS UINT64_C(5000000000) /* while nothing was ever stolen: on most machines */
#define SMOOTHING 4 /* looks */
#define STEP 20 /* thousandths: less is left out, as each change makes policies plan anew */

void stolen_take(struct stolen *stolen, const struct proc_cpu_times *times)
{
	uint64_t all = times->all - stolen->cpu[times->os_cpu].all;
	uint64_t ticks = times->stolen - stolen->cpu[times->os_cpu].stolen;
	bool first = stolen->cpu[times->os_cpu].all == 0;
	double *share = &stolen->cpu[times->os_cpu].share;

	stolen->any |= times->stolen > 0;
	stolen->cpu[times->os_cpu].all = times->all;
	stolen->cpu[times->os_cpu].stolen = times->stolen;
	/* Counters of a CPU may go back a little, or begin anew when it comes online. */
	if (first || all == 0 || all > INT64_MAX || ticks > all)
		return;
	*share += ((double)ticks / (double)all - *share) / SMOOTHING;
	uint32_t shown = stolen_of(stolen, times->os_cpu), now = (uint32_t)(*share * 1000 + 0.5);
	if (now + STEP <= shown || now >= shown + STEP || (now < STEP && shown > 0))
		atomic_store_explicit(
			&stolen->share[times->os_cpu], now < STEP ? 0 : now, memory_order_relaxed);
}

void stolen_look(struct stolen *stolen, uint64_t now_ns)
{
	struct proc_cpu_times times;
	char *line = NULL;
	size_t bytes = 0;

	if (now_ns < stolen->look_ns)
		return;
	FILE *file = fopen("/proc/stat", "re");
	bool more = file != NULL && getline(&line, &bytes, file) > 0; /* the sum of all CPUs */
	while (more && getline(&line, &bytes, file) > 0 && proc_parse_cpu_times(line, &times) == 0)
		stolen_take(stolen, &times);
	free(line);
	if (file != NULL)
		fclose(file);
	stolen->look_ns = now_ns + (stolen->any ? LOOK_NS : LOOK_CALM_NS);
}
