/* SPDX-License-Identifier: MIT */
/* What a run printed: its end, for when it fails, and the time that it printed itself. */
#ifndef COMPARE_OUTPUT_H
#define COMPARE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
	bool shown; /* pass everything on to standard error */
	const char *time_after; /* the text before the time; NULL: none is looked for */
	double time_s; /* the last one; 0: none was printed */
	char line[1024]; /* that is not complete yet; the beginning of a long one */
	size_t line_bytes;
	char tail[2048]; /* of everything */
	size_t tail_bytes;
};

/* Take in the next bytes. */
void output_take(struct output *output, const char *data, size_t bytes);
/* There are no more. */
void output_end(struct output *output);

#endif
