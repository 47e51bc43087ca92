/* SPDX-License-Identifier: MIT */
/*
 * What stat prints for people, in lines of at most TEXT_COLUMNS.
 *
 * Functions return 0 or -ENOMEM. The caller checks the stream for errors.
 */
#ifndef JUGGLECTL_STAT_TEXT_H
#define JUGGLECTL_STAT_TEXT_H

#include <stdio.h>

#include "tools/table/sample.h"

enum { TEXT_COLUMNS = 80, TEXT_ROWS = 20 };

/* Print a table of at most `most` rows; `more` names the option that shows the rest. Leaves out
 * columns where nothing is known, and dispensable ones when lines get too long. */
int text_table(FILE *to, const struct sample_table *table, const struct live_sample *sample,
	enum sample_order order, size_t most, const char *more);

/* Print the job as a whole, in some lines of words. since_start: averages since the start; false:
 * of the interval. */
void text_head(FILE *to, const struct live_sample *sample, bool since_start);
/* Print for which processes nothing is known, and why; at most `most` of them. */
void text_troubles(FILE *to, const struct live_sample *sample, size_t most);

/* Print the two title lines of intervals; and the line of an interval. */
void text_interval_titles(FILE *to);
void text_interval(FILE *to, const struct live_sample *sample);

#endif
