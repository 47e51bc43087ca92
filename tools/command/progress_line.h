/* SPDX-License-Identifier: MIT */
/* How far something long has come, on one line of a terminal. Nothing is shown when standard error is
 * none, with --quiet, and in the first half second. */
#ifndef COMMAND_PROGRESS_LINE_H
#define COMMAND_PROGRESS_LINE_H

#include "tools/command/parse.h"

struct command_progress {
	bool shown, wanted;
	uint64_t begin_ns, last_ns;
};

void command_progress_begin(
	struct command_progress *progress, const struct command_options *options);
/* done: from 0 to 1. Cheap enough for every few milliseconds. */
void command_progress(struct command_progress *progress, double done);
/* Wipes the line. */
void command_progress_end(struct command_progress *progress);

#endif
