/* SPDX-License-Identifier: MIT */
/* Two reports of juggle(1), side by side on a web page: the same program before and after a change. */
#ifndef PLOT_COMPARISON_H
#define PLOT_COMPARISON_H

#include <jansson.h>
#include <stdio.h>

#define COMPARISON_REPORTS 2

struct comparison {
	const char *name[COMPARISON_REPORTS]; /* of the files; the caller's */
	json_t *report[COMPARISON_REPORTS];
	double elapsed_s[COMPARISON_REPORTS]; /* above 0 */
};

/* Read both files. Returns 0 or, after a message, an exit status. comparison_deinit() in any case. */
int comparison_init(struct comparison *comparison, const char *program,
	const char *const name[COMPARISON_REPORTS]);
/* Accepts a zeroed one. */
void comparison_deinit(struct comparison *comparison);

/* Write the page. ferror(3) shows whether that failed. */
void comparison_write(const struct comparison *comparison, FILE *to);

#endif
