/* SPDX-License-Identifier: MIT */
/*
 * The table that this process writes: juggle's if it has one, else its own; and who has which row.
 */
#ifndef LIBPHASES_TABLE_H
#define LIBPHASES_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct phases_row;
struct phases_table;

/* The table, made or mapped by the first call. NULL when there is none, or not yet: nobody waits
 * for another thread that makes it. */
struct phases_table *table_get(void);

/* A free row for the calling thread, which gives it back at its end; NULL when there is none. Its
 * times are 0. */
struct phases_row *table_take_row(uint32_t tid);

/* The process has tasks: all its rows are marked, and those that are taken from now on. */
void table_mark_tasks(void);

#endif
