/* SPDX-License-Identifier: MIT */
/*
 * What is checked before anything starts: a run that cannot be as the user asked for fails
 * then, with a message, and the command does not run.
 */
#ifndef JUGGLE_CHECKS_H
#define JUGGLE_CHECKS_H

#include "daemon/options.h"

struct check_results {
	enum sampler_kind sampler; /* the one to use: never auto */
	int process_fd; /* -p: a pidfd of the process, the caller's to close; else -1 */
};

/* Check CPUs, sampler, the process of -p, and the files to write. Sets options->cpus to the
 * caller's mask where -c is not given. Returns 0, or a negative errno after printing one line.
 * Sets *out in either case; after an error process_fd may be open, too. */
int checks_run(struct options *options, struct check_results *out);

#endif
