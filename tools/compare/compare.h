/* SPDX-License-Identifier: MIT */
/* A comparison: its command line, its runs, and what came out of them. */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "tools/command/parse.h"
#include "tools/compare/contrast.h"
#include "tools/compare/outcome.h"
#include "tools/compare/ways.h"

struct compare_options {
	struct ways_wanted ways;
	uint32_t repeats, warmups;
	uint64_t timeout_ns; /* 0: none */
	const char *beside; /* NULL: nothing */
	const char *time_after; /* see struct output */
	bool show_output;
};

struct comparison {
	struct ways ways;
	uint32_t repeats; /* in which each way has run */
	double stolen; /* share of the CPUs' time that a hypervisor took meanwhile */
	struct outcome outcome; /* of the last run of the first way of juggle */
	int signal; /* that ended it early; 0: none did */
};

/* Run all ways in turn, as often as wanted. Returns 0, also when a signal ended it early; or an exit
 * status, after a message. */
int compare_run(const char *program, const struct compare_options *options,
	const struct command_options *common, struct comparison *comparison);

/* Print the times and what follows from them; at least one repeat. Returns an exit status. */
int compare_print_text(const char *program, const struct compare_options *options,
	struct comparison *comparison, bool quiet);
int compare_print_json(
	const char *program, const struct compare_options *options, struct comparison *comparison);

#endif
