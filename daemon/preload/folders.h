/* SPDX-License-Identifier: MIT */
/* Where the loader would find a program's libraries: most of its rules, without its cache. */
#ifndef PRELOAD_FOLDERS_H
#define PRELOAD_FOLDERS_H

#include <limits.h>

struct folders {
	const char *run_path, *library_path; /* "": none */
	char origin[PATH_MAX]; /* the program's own folder */
	char usual[PATH_MAX]; /* that of the C library */
};

/* For a program at `path` with that run path, in an environment with that LD_LIBRARY_PATH (or NULL).
 * The texts stay the caller's. */
void folders_init(
	struct folders *folders, const char *run_path, const char *path, const char *library_path);

/* Open a library to be read. Returns a descriptor or a negative errno. */
int folders_open(const struct folders *folders, const char *library);

#endif
