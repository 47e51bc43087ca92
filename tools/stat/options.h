/* SPDX-License-Identifier: MIT */
/* The command line of stat. */
#ifndef JUGGLECTL_STAT_OPTIONS_H
#define JUGGLECTL_STAT_OPTIONS_H

#include "tools/command/parse.h"
#include "tools/table/sample.h"

enum { STAT_TABLES = 4 };

struct stat_options {
	struct command_options common;
	const char *job; /* NULL: the only one */
	char *const *jobs; /* those to make metrics of, in argv */
	size_t jobs_given; /* 0: all */
	uint64_t interval_ns; /* 0: once */
	uint32_t count; /* 0: until the job ends */
	enum sample_order order;
	bool csv;
	bool openmetrics, prometheus; /* at most one of them */
	const char *output; /* the file of metrics; NULL: standard output */
	bool summary; /* no table */
	bool all; /* all tables, and whole */
	bool chosen[STAT_TABLES]; /* those of stat_tables */
};

extern const struct sample_table *const stat_tables[STAT_TABLES];

/* How many tables were chosen by name. Pure. */
size_t stat_options_chosen(const struct stat_options *options);

/* Are metrics wanted? Pure. */
bool stat_options_metrics(const struct stat_options *options);

/* Returns 0 to go on, 1 when help or version was all that was wanted, -EINVAL after a message. */
int stat_options_parse(struct stat_options *out, int argc, char **argv);

#endif
