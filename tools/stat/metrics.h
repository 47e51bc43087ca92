/* SPDX-License-Identifier: MIT */
/* Samples of jobs as metrics for monitoring: OpenMetrics 1.0, or Prometheus' older text format. */
#ifndef JUGGLECTL_STAT_METRICS_H
#define JUGGLECTL_STAT_METRICS_H

#include <stdio.h>

#include "tools/live/live.h"

enum metrics_format {
	METRICS_OPENMETRICS,
	METRICS_PROMETHEUS, /* names counters with their _total, and has no units */
};

/* The pid by which a job is known in metrics: that of juggle, or of the first process that
 * publishes. 0: there is none. Pure. */
pid_t metrics_pid(const struct live_sample *sample);

/* Print all metrics of n samples, after live_compare(), each of another job. Unknown values are left
 * out; without samples there are only the descriptions. Looks up names of users, which isn't
 * thread-safe. The caller checks the stream for errors. */
void metrics_print(
	FILE *to, enum metrics_format format, const struct live_sample *sample, size_t n);

#endif
