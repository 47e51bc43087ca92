/* SPDX-License-Identifier: MIT */
/* Traces named on the command line; see trace.h. */
#include "tools/command/trace.h"

#include "tools/command/print.h"

#include <stdio.h>
#include <string.h>

int command_read_trace(const char *program, const char *path, struct trace_file *out)
{
	struct trace_error error;
	int r = trace_read(out, path, &error);

	if (r == 0)
		return 0;
	if (error.line > 0)
		return command_fail(program, "%s: line %zu: %s", path, error.line, error.text);
	return command_fail(
		program, "%s: %s", path, error.text[0] != '\0' ? error.text : strerror(-r));
}

void command_trace_warnings(const char *program, const struct trace_file *trace)
{
	if (trace->cut_short)
		fprintf(stderr, "%s: the trace is cut short; what is there is used\n", program);
	if (trace->dropped > 0)
		fprintf(stderr, "%s: %llu records are missing in the trace\n", program,
			(unsigned long long)trace->dropped);
	if (trace->unknown > 0)
		fprintf(stderr, "%s: %llu records are of a later version, and left out\n", program,
			(unsigned long long)trace->unknown);
}
