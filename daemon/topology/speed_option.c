/* SPDX-License-Identifier: MIT */
/* Speeds that the user gave, by CPU number, so that a CPU which goes and comes back keeps its own. */
#include <errno.h>

#include "daemon/topology/speed.h"

static int read_option(const struct speed_query *query, double *speed)
{
	double fastest = 0;

	if (query->given == NULL)
		return -ENODATA;
	for (int i = cpuset_count(query->given_cpus) - 1; i >= 0; i--)
		fastest = query->given[i] > fastest ? query->given[i] : fastest;
	/* A CPU that a cpuset gained later has no number. It counts as a fast one, since slow ones
	 * are the exception. */
	for (size_t i = 0; i < query->cpus; i++) {
		int os_cpu = query->cpu[i].os_cpu;
		speed[i] = cpuset_has(query->given_cpus, os_cpu)
				   ? query->given[cpuset_rank(query->given_cpus, os_cpu)]
				   : fastest;
	}
	return 0;
}

const struct speed_source speed_option = {.name = "option", .read = read_option};
