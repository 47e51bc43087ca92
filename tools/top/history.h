/* SPDX-License-Identifier: MIT */
/*
 * The last values of a few series, for the lines over time; NAN where one was not known. Fixed in
 * size, without memory of its own.
 */
#ifndef TOP_HISTORY_H
#define TOP_HISTORY_H

#include "tools/live/live.h"

enum history_series {
	HISTORY_MIGRATIONS, /* a second */
	HISTORY_THREAD_SPREAD, /* seconds */
	HISTORY_MOVES, /* of subdomains, a second */
	HISTORY_SPREAD, /* of subdomains, updates */
	HISTORY_SERIES,
};

enum { HISTORY_LENGTH = 512 };

struct history {
	size_t next, count;
	double value[HISTORY_SERIES][HISTORY_LENGTH];
};

/* Add the values of a compared sample. The oldest go. */
void history_add(struct history *history, const struct live_sample *sample);

/* The value `ago` samples before the last; NAN beyond the first. */
double history_value(const struct history *history, enum history_series series, size_t ago);

#endif
