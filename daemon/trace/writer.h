/* SPDX-License-Identifier: MIT */
/*
 * --trace: every balancing point as text, in the format that juggle(1) documents.
 *
 * Records go to memory; the balancer's main thread writes them out, so that a slow or full disk
 * never delays a balancing point. Records that don't fit are dropped and counted. All functions
 * accept a NULL trace, and are thread-safe except trace_free().
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
/* Writes what is left, unless a reader has stopped to read. Accepts NULL. Returns 0; or a negative
 * errno when the end could not be written and trace_flush() has not said so. */
int trace_free(struct trace *trace);

/* Append a record of one or more lines, all or nothing: begin, print text that ends in a newline,
 * end. trace_end() returns whether the record was kept; true without a trace. */
void trace_begin(struct trace *trace);
void trace_print(struct trace *trace, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool trace_end(struct trace *trace);

/* Write out what was appended. Returns 0; or a negative errno the first time that writing fails,
 * after which nothing more is written. */
int trace_flush(struct trace *trace);

#endif
