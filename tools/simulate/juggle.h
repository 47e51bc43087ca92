/* SPDX-License-Identifier: MIT */
/* The command line of jugglectl simulate juggle. */
#ifndef SIMULATE_JUGGLE_H
#define SIMULATE_JUGGLE_H

#include "tools/command/parse.h"
#include "tools/sim/names.h"
#include "tools/sim/threads.h"

enum { SIMULATE_THREADS_MAX = 4096, SIMULATE_CPUS_MAX = COMMAND_SPEEDS_MAX };

struct simulate_juggle {
	struct command_options common;
	/* All but .balancer and .kind; .cpu is the array below. */
	struct threads_params params;
	struct threads_cpu cpu[SIMULATE_CPUS_MAX];
	struct threads_load load[SIMULATE_CPUS_MAX];
	const char *name[NAMES_BALANCERS_MAX]; /* of all balancers */
	size_t balancers;
	bool wanted[NAMES_BALANCERS_MAX];
	const char *series; /* file name, or NULL */
	bool heat_map;
	uint32_t threads_max; /* of the heat map */
};

/* About how many elementary steps all wanted policies and pinned take together. */
double simulate_steps(const struct simulate_juggle *options);

/* An estimate of the longest time that pinned threads can take. */
double simulate_worst_ns(const struct threads_params *params);

/* Pointers point into *out. Returns 0 to go on, 1 when help was printed, or -EINVAL after a
 * message. */
int simulate_juggle_parse(int argc, char **argv, struct simulate_juggle *out);

#endif
