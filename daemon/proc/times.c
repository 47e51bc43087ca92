/* SPDX-License-Identifier: MIT */
/* How the time of each CPU was spent: /proc/stat. */
#include "daemon/proc/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/base/cpuset.h"

#define TICKS_MOST (UINT64_MAX / 16)

int proc_parse_cpu_times(const char *line, struct proc_cpu_times *out)
{
	/* user, nice, system, idle, iowait, irq, softirq, steal. What follows is part of these. */
	enum { FIELDS = 8, STEAL = 7 };
	struct proc_cpu_times times = {0};
	int at = 0, bytes = 0;

	/* The line of all CPUs together has a blank there. */
	if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9' ||
		sscanf(line + 3, "%4d%n", &times.os_cpu, &at) != 1 ||
		times.os_cpu >= CPUSET_CPUS_MAX || line[3 + at] != ' ')
		return -EBADMSG;
	at += 3;
	for (int i = 0; i < FIELDS; i++, at += bytes) {
		uint64_t ticks;
		if (sscanf(line + at, " %19" SCNu64 "%n", &ticks, &bytes) != 1 ||
			ticks > TICKS_MOST)
			return -EBADMSG;
		times.all += ticks;
		times.stolen = i == STEAL ? ticks : 0;
	}
	*out = times;
	return 0;
}
