/* SPDX-License-Identifier: MIT */
/*
 * A file that is written as a whole or not at all: its bytes go to a file without a name, which a
 * rename puts in the place of the old one.
 */
#ifndef COMMAND_OUTPUT_H
#define COMMAND_OUTPUT_H

#include <stdint.h>

/* A descriptor of an empty file without a name, or a negative errno. */
int output_scratch(void);

/* Write all of the scratch file to `path` (NULL: standard output) and set *bytes to its size.
 * Anything but a regular file, such as a device or a pipe, is written directly. Returns 0, or a
 * negative errno with an existing file unchanged. While a file is replaced, SIGHUP, SIGINT, SIGQUIT
 * and SIGTERM are blocked; -EINTR when one of them came, or was pending before. */
int output_commit(int scratch, const char *path, uint64_t *bytes);

#endif
