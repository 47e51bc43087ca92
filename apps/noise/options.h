/* SPDX-License-Identifier: MIT */
/*
 * The command line of noise.
 */
#ifndef NOISE_OPTIONS_H
#define NOISE_OPTIONS_H

#include "apps/noise/hog.h"
#include "daemon/base/cpuset.h"

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_HOGS_MAX 4096
#define OPTIONS_NICES_MAX 64

struct noise_options {
	enum hog_pattern pattern;
	uint64_t busy_ns;
	uint64_t period_ns;
	double scale;
	uint64_t seed;
	int hogs; /* how many threads */
	bool pinned; /* hog i to the i-th of cpus */
	struct cpuset cpus;
	int nice_count; /* 0: as the process */
	int nice[OPTIONS_NICES_MAX]; /* hog i's; the last also for all further ones */
	uint64_t time_ns; /* 0: until killed */
	bool with_parent;
	char **command; /* to disturb as one of several ranks; points into argv, or NULL */
	struct cpuset ranks; /* those whose command is disturbed */
	int command_nice;
	const char *json; /* points into argv, or is constant */
};

/* Read the command line. Errors go to standard error, one line each, and help to standard output.
 * Returns 0 to go on, 1 when the command line asked for help or the version, or -EINVAL. */
int noise_options_parse(int argc, char **argv, struct noise_options *out);

#endif
