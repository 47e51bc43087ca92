/* SPDX-License-Identifier: MIT */
/* What a run printed; see output.h. */
#include "tools/compare/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_line(struct output *output)
{
	output->line[output->line_bytes] = '\0';
	output->line_bytes = 0;
	const char *found = strstr(output->line, output->time_after);
	if (found == NULL)
		return;
	double time_s = strtod(found + strlen(output->time_after), NULL);
	if (isfinite(time_s) && time_s > 0)
		output->time_s = time_s;
}

static void look_for_time(struct output *output, const char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (data[i] == '\n')
			take_line(output);
		else if (output->line_bytes < sizeof output->line - 1)
			output->line[output->line_bytes++] = data[i];
	}
}

static void keep_tail(struct output *output, const char *data, size_t bytes)
{
	size_t room = sizeof output->tail;

	if (bytes > room) {
		data += bytes - room;
		bytes = room;
	}
	size_t kept = output->tail_bytes < room - bytes ? output->tail_bytes : room - bytes;
	memmove(output->tail, output->tail + output->tail_bytes - kept, kept);
	memcpy(output->tail + kept, data, bytes);
	output->tail_bytes = kept + bytes;
}

void output_take(struct output *output, const char *data, size_t bytes)
{
	if (output->shown)
		fwrite(data, 1, bytes, stderr);
	else
		keep_tail(output, data, bytes);
	if (output->time_after != NULL)
		look_for_time(output, data, bytes);
}

void output_end(struct output *output)
{
	if (output->time_after != NULL)
		take_line(output);
}
