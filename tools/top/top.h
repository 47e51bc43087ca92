/* SPDX-License-Identifier: MIT */
/* What jugglectl top was asked for, for whoever shows it. */
#ifndef TOP_H
#define TOP_H

#include "tools/top/view.h"

struct top_options {
	const char *program; /* for messages */
	const char *job; /* NULL: the only one, or one to choose */
	uint64_t interval_ns;
	uint32_t count; /* of frames, then exit; 0: till told */
	bool exit; /* when the job ends */
	bool colour;
	enum view_sort sort;
	enum view_panel panel;
};

/* Show it till the end. Returns an exit status. */
int top_run(const struct top_options *options);

#endif
