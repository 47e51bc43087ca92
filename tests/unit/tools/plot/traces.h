/* SPDX-License-Identifier: MIT */
/* Traces for tests of pictures: made up, and recorded. Include after cmocka.h. */
#ifndef TEST_PLOT_TRACES_H
#define TEST_PLOT_TRACES_H

#include "tests/unit/daemon/trace/text.h"
#include "tools/plot/stays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER TRACE_HEADER("1000") "cpus 1000 0:0 1:0\n"

static const struct plot_choice everything = {.to_ns = UINT64_MAX, .threads_max = UINT32_MAX};

static inline void parse(struct trace_file *trace, const char *text)
{
	struct trace_error error;

	if (trace_parse(trace, text, strlen(text), &error) != 0)
		fail_msg("%s", error.text);
}

static inline void load(struct trace_file *trace, const char *name)
{
	const char *folder = getenv("JUGGLE_FIXTURES");
	struct trace_error error;
	char path[4096];

	if (folder == NULL)
		fail_msg("JUGGLE_FIXTURES is not set");
	snprintf(path, sizeof(path), "%s/trace/%s", folder, name);
	assert_int_equal(trace_read(trace, path, &error), 0);
}

#endif
