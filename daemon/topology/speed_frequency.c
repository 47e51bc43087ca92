/* SPDX-License-Identifier: MIT */
/*
 * Maximum frequencies. They come last: a small core also does less per cycle, and drivers derive
 * some of these frequencies from rankings of cores (see speed_cppc.c).
 */
#include "daemon/topology/speed.h"

static int read_frequency(const struct speed_query *query, double *speed)
{
	return speed_read_files(query, "cpufreq/cpuinfo_max_freq", speed);
}

const struct speed_source speed_frequency = {.name = "frequency", .read = read_frequency};
