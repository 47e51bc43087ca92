/* SPDX-License-Identifier: MIT */
/* A sample as one JSON object. */
#ifndef JUGGLECTL_STAT_RECORD_H
#define JUGGLECTL_STAT_RECORD_H

#include <jansson.h>

#include "tools/table/sample.h"

/* An object with the keys of sample_head, and an array of row objects for each of these n tables.
 * Unknown values are null. Returns NULL without memory. The caller owns the reference. */
json_t *record_json(const struct sample_table *const *table, size_t n,
	const struct live_sample *sample, int64_t unix_time_ms, enum sample_order order);

#endif
