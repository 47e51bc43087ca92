/* SPDX-License-Identifier: MIT */
/* The report at the end, as JSON for programs and as a screen of text for people. */
#ifndef JUGGLE_REPORT_H
#define JUGGLE_REPORT_H

#include <stdio.h>

#include "daemon/telemetry/telemetry.h"

/* Write the JSON report to path ("-": standard error). exit_status is the one that juggle
 * will have. Returns 0 or a negative errno. */
int report_write(
	const char *path, const struct telemetry *telemetry, int exit_status, double elapsed_s);

/* Write the summary of -v. */
void report_summary(FILE *out, const struct telemetry *telemetry, double elapsed_s);

#endif
