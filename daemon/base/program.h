/* SPDX-License-Identifier: MIT */
/* Commands: which program files they are, and of what kind. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Find a program as execvp(3) does: the first in `path` (the value of PATH; NULL: it isn't set) that
 * can be executed. A name with a slash is a path already. Writes at most `bytes`; out is "" when
 * nothing is there. Returns 0, or the reason why there is none: -ENOENT, -EACCES, -EISDIR, or
 * another negative errno. */
int program_find(const char *path, const char *name, char *out, size_t bytes);

/* Does a command start the ranks of MPI programs? By its name; that of a
 * thread, which the kernel cuts to 15 bytes, will do. */
bool program_is_launcher(const char *command);

#endif
