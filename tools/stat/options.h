/* SPDX-License-Identifier: MIT */
/* The command line of stat. */
#ifndef JUGGLECTL_STAT_OPTIONS_H
#define JUGGLECTL_STAT_OPTIONS_H

#include "tools/command/parse.h"
#include "tools/table/sample.h"

enum { OPTIONS_TABLES = 4 };

struct options {
	struct command_options common;
	const char *job; /* NULL: the only one */
	uint64_t interval_ns; /* 0: once */
	uint32_t count; /* 0: till the job ends */
	enum sample_order order;
	bool csv;
	bool summary; /* no table */
	bool all; /* all tables, and whole */
	bool chosen[OPTIONS_TABLES]; /* those of options_table */
};

extern const struct sample_table *const options_table[OPTIONS_TABLES];

/* How many tables were chosen by name. Pure. */
size_t options_chosen(const struct options *options);

/* Returns 0 to go on, 1 when help or version was all that was wanted, -EINVAL after a message. */
int options_parse(struct options *out, int argc, char **argv);

#endif
