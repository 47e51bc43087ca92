/* SPDX-License-Identifier: MIT */
/* How long a command will take: said before, and shown by a progress line on a terminal. That does not show when
 * standard error is not a terminal, with --quiet, or in the first half second. */
#ifndef COMMAND_PROGRESS_LINE_H
#define COMMAND_PROGRESS_LINE_H

#include "tools/command/parse.h"

/* If it is more than a few seconds, say so on standard error, not with --quiet. `how` is "about" or
 * "at most about"; `less` is what takes less. */
void command_announce(const struct command_options *options, const char *program, const char *how,
	double seconds, const char *less);

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
