/* SPDX-License-Identifier: MIT */
/*
 * --trace: every balancing point as text, in the format that juggle(1) documents.
 *
 * Balancers append to memory; another thread writes it out, so that a slow or full disk
 * never delays a balancing point. What does not fit is dropped and counted. All functions
 * accept a NULL trace, and are thread-safe but for trace_free().
 */
#ifndef JUGGLE_TRACE_H
#define JUGGLE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/options.h"
#include "daemon/telemetry/telemetry.h"

struct trace;

/* Create the file options->trace and write the header. Returns 0 or a negative errno. */
int trace_new(struct trace **out, const struct options *options, const struct telemetry *telemetry);
/* Writes what is left. Accepts NULL. */
void trace_free(struct trace *trace);

/* Append one record made of one or more lines, all or nothing: begin, text that ends in a newline, end.
 * The last returns whether it was kept; true without a trace. */
void trace_begin(struct trace *trace);
void trace_print(struct trace *trace, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool trace_end(struct trace *trace);

/* Write out what has come together. Returns 0, or a negative errno once when writing
 * fails; nothing is written from then on. */
int trace_flush(struct trace *trace);

#endif
