/* SPDX-License-Identifier: MIT */
/* The part of the report, and of the summary, about phases that runtimes tell: where threads waited
 * for each other, how well CPUs were used, and what balancing is worth. */
#ifndef JUGGLE_PHASES_REPORT_H
#define JUGGLE_PHASES_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "daemon/telemetry/telemetry.h"

/* The object "phases" of the report, for the caller to release; NULL without memory. Numbers are null
 * where nothing was told. */
json_t *phases_report(const struct telemetry *telemetry, double elapsed_s);

/* How many times as long the job would have taken, at least, with threads that stay on their CPUs; 0:
 * not known, or hardly longer. */
double phases_brought(const struct telemetry *telemetry, double elapsed_s);

/* Lines of the summary. */
void phases_summary(FILE *out, const struct telemetry *telemetry, double elapsed_s);

#endif
