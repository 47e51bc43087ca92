/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own measure, which its scheduler uses: from the device tree on Arm and RISC-V, and
 * from firmware elsewhere.
 *
 * Equal capacities mean nothing: x86 says 1024 for all CPUs, whatever they are, where cores have
 * several hardware threads.
 */
#include <errno.h>

#include "daemon/topology/speed.h"

static int read_capacity(const struct speed_query *query, double *speed)
{
	if (speed_read_files(query, "cpu_capacity", speed) < 0)
		return -ENODATA;
	for (size_t i = 1; i < query->cpus; i++)
		if (speed[i] != speed[0])
			return 0;
	return -ENODATA;
}

const struct speed_source speed_capacity = {.name = "cpu_capacity", .read = read_capacity};
