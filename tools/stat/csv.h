/* SPDX-License-Identifier: MIT */
/* Tables as comma-separated values: RFC 4180, but with Unix line ends. */
#ifndef JUGGLECTL_STAT_CSV_H
#define JUGGLECTL_STAT_CSV_H

#include <stdio.h>

#include "tools/table/sample.h"

/* Print the line of keys. Tables other than sample_head begin with the time. */
void csv_keys(FILE *to, const struct sample_table *table);

/* Print a line for each row. Unknown values are empty. Returns 0 or -ENOMEM. */
int csv_rows(FILE *to, const struct sample_table *table, const struct live_sample *sample,
	int64_t unix_time_ms, enum sample_order order);

#endif
