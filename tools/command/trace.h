/* SPDX-License-Identifier: MIT */
/* The trace that a command line names. */
#ifndef COMMAND_TRACE_H
#define COMMAND_TRACE_H

#include "daemon/trace/reader.h"

/* Read a trace of juggle, as trace_read(). Returns an exit status, after a message. */
int command_read_trace(const char *program, const char *path, struct trace_file *out);
/* Print to standard error what is missing in it. */
void command_trace_warnings(const char *program, const struct trace_file *trace);

#endif
