/* SPDX-License-Identifier: MIT */
/* The options of jugglectl top, for the part that shows it. */
#ifndef TOP_H
#define TOP_H

#include "tools/top/view.h"

struct top_options {
	const char *program; /* for messages */
	const char *job; /* NULL: the only one, or one to choose */
	uint64_t interval_ns;
	uint32_t count; /* of frames, then exit; 0: no limit */
	bool exit; /* when the job ends */
	bool colour;
	enum view_sort sort;
	enum view_panel panel;
};

/* Show the job until the end. Returns an exit status. */
int top_run(const struct top_options *options);

#endif
