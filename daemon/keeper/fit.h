/* SPDX-License-Identifier: MIT */
/*
 * --fit: numbers of threads, and ways to wait, that fit the CPUs and the quota, for what the
 * environment leaves unset. Runtimes count the CPUs of the affinity mask: they know no quota, and
 * nothing of the other ranks on these CPUs. Deciding is pure.
 */
#ifndef JUGGLE_FIT_H
#define JUGGLE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/options.h"

#define FIT_SETTINGS 8 /* at most */

struct fit_facts {
	int cpus; /* that juggle uses */
	int shared_cpus; /* that the ranks of this machine have together, these included */
	double quota_cpus; /* of them all; INFINITY: none */
	uint32_t ranks; /* on this machine, at least 1 */
	bool launcher; /* the command starts ranks: how many threads a rank may have, nobody knows */
	const char *const *environment; /* NAME=VALUE, ended by NULL */
};

struct fit_setting {
	const char *name;
	char value[16];
};

/* Decide what to set. Returns how many settings that is; never one that the environment has. */
size_t fit_decide(const struct fit_facts *facts, struct fit_setting out[FIT_SETTINGS]);

/* How many ranks on this machine belong together, by what their launcher has set; 1 where nothing is
 * known. */
uint32_t fit_local_ranks(const char *const *environment);

/* Find out the facts, set the environment of this process, and say so on standard error unless
 * options->quiet. Returns 0 or a negative errno. */
int fit_environment(const struct options *options);

#endif
