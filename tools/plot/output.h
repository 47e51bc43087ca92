/* SPDX-License-Identifier: MIT */
/*
 * A file that is written as a whole or not at all: its bytes gather in a file without a name, and
 * take the place of what was there by a rename.
 */
#ifndef PLOT_OUTPUT_H
#define PLOT_OUTPUT_H

#include <stdint.h>

/* A descriptor of an empty file without a name, or a negative errno. */
int output_scratch(void);

/* Write all of the scratch file to `path` (NULL: standard output) and set *bytes to its size. What is
 * no regular file, as a device or a pipe, is written to as it is. Returns 0 or a negative errno; then
 * a file that was there is as it was. While a file is replaced, SIGHUP, SIGINT, SIGQUIT and SIGTERM are
 * blocked; one that comes, or that was blocked and pending before, gives -EINTR. */
int output_commit(int scratch, const char *path, uint64_t *bytes);

#endif
