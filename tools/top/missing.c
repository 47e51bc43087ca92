/* SPDX-License-Identifier: MIT */
/* For builds without ncurses: says so. */
#include "tools/command/print.h"
#include "tools/top/top.h"

int top_run(const struct top_options *options)
{
	return command_fail(options->program,
		"built without ncurses, so that it has no live screen; "
		"use `jugglectl stat --interval %g'",
		(double)options->interval_ns * 1e-9);
}
