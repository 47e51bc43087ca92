/* SPDX-License-Identifier: MIT */
/*
 * To make a table of phases, or to use one that somebody else has made. It is a file in memory that
 * can neither shrink nor grow, so that nobody who has it mapped is killed by another's ftruncate().
 */
#ifndef JUGGLE_PHASES_MAKE_H
#define JUGGLE_PHASES_MAKE_H

#include <stdbool.h>

struct phases_table;

/* A new, empty table, and its descriptor, closed by exec. The caller unmaps and closes them with
 * phases_unmap() and close(). Returns 0 or a negative errno; -EFBIG where no file may be that
 * large. */
int phases_make(int *fd, struct phases_table **table);

/* Maps the table of a descriptor, to write or only to read it; the descriptor may be closed
 * afterwards. Returns 0, a negative errno, or -EINVAL for what is not a table of this version. */
int phases_map(int fd, bool write, struct phases_table **table);

/* NULL is nothing to unmap. */
void phases_unmap(struct phases_table *table);

#endif
