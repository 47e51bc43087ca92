/* SPDX-License-Identifier: MIT */
/*
 * The command line of juggle(1): one table holds every option's name, default and help.
 */
#ifndef JUGGLE_OPTIONS_H
#define JUGGLE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/cpuset.h"
#include "daemon/policy/kind.h"
#include "daemon/preload/preload.h"
#include "daemon/sample/sampler.h"
#include "daemon/topology/topology.h"

enum { /* exit statuses of juggle itself, as those of timeout(1) and env(1) */
	EXIT_JUGGLE_FAILED = 125,
	EXIT_CANNOT_EXECUTE = 126,
	EXIT_NOT_FOUND = 127,
};

enum { IDLE_AUTO = 1, IDLE_MAIN = 2, IDLE_COMM = 4 }; /* 0: none */

struct options {
	struct cpuset cpus; /* the CPUs to use: -c, or the caller's mask */
	bool cpus_given;
	uint32_t threads; /* compute threads to expect; 0: find them by watching */
	bool fit; /* set what the environment leaves unset */
	enum phases_choice phases;
	uint64_t period_ns;
	bool period_auto;
	double jitter; /* a share of the period ... */
	bool jitter_given; /* ... that the user chose */
	const struct policy_kind *policy;
	bool always; /* balance without trials */
	enum topology_domains domains;
	double *speed; /* of the CPUs of `cpus`, in their order; owned; NULL: not given */
	size_t speeds;
	unsigned idle; /* a sum of IDLE_ constants */
	const char *idle_list; /* the argument of --idle, for the globs in it */
	enum sampler_kind sampler;
	int64_t margin_ns;
	const char *report; /* path, "-" for standard error, NULL for none */
	const char *trace;
	bool quiet;
	int verbose;
	pid_t pid; /* -p: attach; 0: run command */
	char **command; /* NULL-terminated */
	char *environment; /* words of JUGGLE_OPTIONS, owned */
};

/* Parse $JUGGLE_OPTIONS and then the command line. On an error, prints one line and exits with
 * EXIT_JUGGLE_FAILED; on --help and --version, prints and exits with 0. *options points into argv
 * afterwards. Free it with options_deinit(). */
void options_parse(struct options *options, int argc, char **argv);
void options_deinit(struct options *options);

/* Does a comm=GLOB of --idle match this thread name? */
bool options_idle_comm(const struct options *options, const char *comm);

/* What topology_init() has to know of them. */
static inline struct topology_setup options_topology(const struct options *options)
{
	return (struct topology_setup){
		.domains = options->domains, .speed = options->speed, .speed_cpus = &options->cpus};
}

#endif
