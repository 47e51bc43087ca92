/* SPDX-License-Identifier: MIT */
/*
 * What stat prints for people: lines of at most TEXT_COLUMNS.
 *
 * Functions return 0 or -ENOMEM; whether the stream took it is the caller's to ask.
 */
#ifndef JUGGLECTL_STAT_TEXT_H
#define JUGGLECTL_STAT_TEXT_H

#include <stdio.h>

#include "tools/table/sample.h"

enum { TEXT_COLUMNS = 80, TEXT_ROWS = 20 };

/* Print a table of at most `most` rows; `more` names the option that shows the rest. Columns in
 * which nothing is known are left out, and those that can be spared when lines get too long. */
int text_table(FILE *to, const struct sample_table *table, const struct live_sample *sample,
	enum sample_order order, size_t most, const char *more);

/* Print the job as a whole, in some lines of words. since_start: averages are since the start, else
 * of the interval. */
void text_head(FILE *to, const struct live_sample *sample, bool since_start);
/* Print of which processes nothing is known, and why; at most so many. */
void text_troubles(FILE *to, const struct live_sample *sample, size_t most);

/* Print the two lines above those of intervals; and one of those. */
void text_interval_titles(FILE *to);
void text_interval(FILE *to, const struct live_sample *sample);

#endif
