/* SPDX-License-Identifier: MIT */
/*
 * The balancer process: finds the job's threads and runs the teams that balance them.
 *
 * It is a process of its own, beside the keeper, which launches the command and waits for it. So
 * each can restore the masks of the threads when the other is killed.
 */
#ifndef JUGGLE_BALANCER_H
#define JUGGLE_BALANCER_H

#include "daemon/job/ledger.h"
#include "daemon/options.h"
#include "daemon/telemetry/telemetry.h"
#include "libprogress/phases/phases.h"

struct balancer_setup {
	const struct options *options;
	struct telemetry *telemetry;
	int telemetry_fd; /* of its file; negative: there is none */
	struct ledger *ledger;
	struct phases_table *phases; /* of the job; NULL: none */
	pid_t keeper; /* the job is all processes below it, or below options->pid */
	int control_fd; /* read end of a pipe: a byte, or end of file, means finish */
};

/* Run until asked to finish. Returns the exit status of the process. Call it with all signals
 * blocked, and standard input and output closed. */
int balancer_run(const struct balancer_setup *setup);

#endif
