/* SPDX-License-Identifier: MIT */
/*
 * What firmware says of each CPU on one scale (ACPI's Collaborative Processor Performance Control).
 *
 * This is the nominal performance: what a CPU sustains. The highest performance isn't used: AMD
 * ranks the preferred cores by it, from 166 to 255 for cores that are equally fast when all are
 * busy; Intel adds what single favoured cores gain while the others rest; and boards that overclock
 * say 255 of all.
 */
#include "daemon/topology/speed.h"

static int read_cppc(const struct speed_query *query, double *speed)
{
	return speed_read_files(query, "acpi_cppc/nominal_perf", speed);
}

const struct speed_source speed_cppc = {.name = "CPPC", .read = read_cppc};
