/* SPDX-License-Identifier: MIT */
/* What juggle did in a run, by its report. */
#ifndef COMPARE_OUTCOME_H
#define COMPARE_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

struct outcome {
	bool known; /* there was a report */
	double balanced; /* share of the time */
	char aside[160]; /* why it stood aside for most of the time; "": it did not */
	/* What balancing was or would be worth, in a word and in sentences, as runtimes told of phases. */
	char verdict[16], advice[400];
};

/* From the text of a report, which is not trusted. Pure. */
void outcome_read(const char *report, size_t bytes, struct outcome *out);

/* Likewise, from a file, which is emptied. */
void outcome_take(int fd, struct outcome *out);

#endif
