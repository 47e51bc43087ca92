/* SPDX-License-Identifier: MIT */
/* Tables as JSON. */
#ifndef TABLE_JSON_H
#define TABLE_JSON_H

#include <jansson.h>

#include "tools/table/table.h"

/* Add the cells of a row to an object, by their keys. What is not known, and text that is not UTF-8, is
 * null. Returns 0 or -1, as jansson does; also when object is NULL. */
int table_add_cells(json_t *object, const struct table *table, const void *row);

#endif
