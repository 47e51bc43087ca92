/* SPDX-License-Identifier: MIT */
/*
 * Whether a command gets libphases, and how: --phases.
 *
 * libphases is preloaded into all programs of the job that heed LD_PRELOAD. Unless the user asks for
 * it, only commands get it to which it surely does no harm, and to which it may be of use: programs
 * that use OpenMP, MPI or barriers of pthreads, and commands that have such a program among their
 * arguments, as launchers do. Nothing is run to find that out; files are only read.
 */
#ifndef JUGGLE_PRELOAD_H
#define JUGGLE_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

/* PHASES_AUTO: where it surely does no harm and may be of use; PHASES_ON: wherever it can work. */
enum phases_choice { PHASES_AUTO, PHASES_ON, PHASES_OFF };

/* Another path of libphases, for tests. */
#define PRELOAD_PATH_ENVIRONMENT "JUGGLE_LIBPHASES"

struct preload {
	bool wanted;
	bool impossible; /* it can't work, whatever the user asks for */
	char library[PATH_MAX]; /* where wanted: the path of libphases */
	/* Why it is not wanted: "off", "app is linked statically"; or what it is wanted for:
	 * "libgomp.so.1", or "" for PHASES_ON. Printable. */
	char why[112];
};

/* Decide. command and environment are ended by NULL. Takes much less than a millisecond. */
void preload_decide(struct preload *out, enum phases_choice choice, const char *const *command,
	const char *const *environment);

/* Set the environment of this process, which is about to become the command; `table` is the path of
 * the job's table. Without memory, a part is not set. */
void preload_set(const struct preload *preload, const char *table);

/* For preload_set(): the value of a list of libraries with this one in it, first or last; the caller
 * frees it. `was` may be NULL. Returns NULL where it is in the list already, or without memory. */
char *preload_join(const char *was, const char *library, bool first);

#endif
