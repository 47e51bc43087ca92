/* SPDX-License-Identifier: MIT */
/*
 * What juggle says of a run when it ends: the report, as JSON for programs, and the summary,
 * as a screen of text for people. Both come from telemetry, so that they can be written even
 * when the balancer was killed.
 */
#ifndef JUGGLE_REPORT_H
#define JUGGLE_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "daemon/telemetry/telemetry.h"

/* The report as a JSON object, for the caller to release; NULL without memory. exit_status is
 * the one that juggle will have. Reads telemetry (as telemetry_create() makes it) and nothing
 * else. */
json_t *report_build(const struct telemetry *telemetry, int exit_status, double elapsed_s);

/* Write the report to a file, replacing it; "-" is standard error. Takes over the reference to
 * it. Returns 0, -ENOMEM when it is NULL, or the negative errno of opening or writing. */
int report_write(const char *path, json_t *report);

/* Write a line that says what juggle won, or why it stood aside. Of a run that is not to be balanced, that
 * its balancer did not survive, or that was too short for one, it says nothing. */
void report_line(FILE *out, const struct telemetry *telemetry, double elapsed_s);

/* Write the summary of -v. */
void report_summary(FILE *out, const struct telemetry *telemetry, double elapsed_s);

#endif
