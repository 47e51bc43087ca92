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
	/* The caller's to close; else -1: */
	int process_fd; /* -p: a pidfd of the process */
	/* FIFOs for the report and the trace: they stay open, or their readers would see the end. */
	int fifo_fd[2];
};

/* Check CPUs and their speeds, sampler, the process of -p, and the files to write. Sets options->cpus to the
 * caller's mask where -c is not given. Returns 0, or a negative errno after printing one line.
 * Sets *out in either case; after an error descriptors may be open, too. */
int checks_run(struct options *options, struct check_results *out);

#endif
