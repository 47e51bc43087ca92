/* SPDX-License-Identifier: MIT */
#ifndef LIBPHASES_BELL_H
#define LIBPHASES_BELL_H

struct phases_row;
struct phases_table;

/* The thread of that row has just arrived: call juggle if it has asked for that, and can do something now.
 * Keeps errno. */
void bell_ring(struct phases_table *table, const struct phases_row *row);

#endif
