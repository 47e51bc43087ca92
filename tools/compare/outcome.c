/* SPDX-License-Identifier: MIT */
/* What juggle did in a run; see outcome.h. */
#include "tools/compare/outcome.h"

#include "daemon/base/text.h"
#include "tools/command/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT_BYTES_MAX (64 << 20)

static void copy_text(const json_t *object, const char *key, char *out, size_t bytes)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(out, bytes, "%s", text != NULL ? text : "");
	text_make_printable(out);
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Ways that it spent time in come with the longest first. */
static void read_reason(const json_t *report, struct outcome *out)
{
	const json_t *longest = json_array_get(json_object_get(report, "regimes"), 0);
	const char *regime = json_string_value(json_object_get(longest, "regime"));

	if (regime != NULL && strcmp(regime, "aside") == 0)
		copy_text(longest, "reason", out->aside, sizeof out->aside);
}

void outcome_read(const char *text, size_t bytes, struct outcome *out)
{
	json_t *report = json_loadb(text, bytes, 0, NULL);
	const json_t *phases = json_object_get(report, "phases");
	double elapsed_s = number(report, "elapsed_s"), balanced_s = number(report, "balanced_s");

	*out = (struct outcome){.known = json_is_object(report)};
	if (elapsed_s > 0 && balanced_s > 0)
		out->balanced = balanced_s < elapsed_s ? balanced_s / elapsed_s : 1;
	read_reason(report, out);
	copy_text(phases, "verdict", out->verdict, sizeof out->verdict);
	copy_text(phases, "advice", out->advice, sizeof out->advice);
	json_decref(report);
}

void outcome_take(int fd, struct outcome *out)
{
	off_t bytes = lseek(fd, 0, SEEK_END);
	char *text = bytes > 0 && bytes <= REPORT_BYTES_MAX ? malloc((size_t)bytes) : NULL;
	ssize_t n = text != NULL ? pread(fd, text, (size_t)bytes, 0) : 0;

	outcome_read(text, n > 0 ? (size_t)n : 0, out);
	free(text);
	if (ftruncate(fd, 0) < 0)
		out->known = false; /* the next one would be read with this one's end */
}
