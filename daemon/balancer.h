/* SPDX-License-Identifier: MIT */
/*
 * The balancer process: finds the job's threads and runs the teams that balance them.
 *
 * It is a process of its own, beside the keeper that launches and minds the command, so that each
 * can put the threads' masks back when the other is killed.
 */
#ifndef JUGGLE_BALANCER_H
#define JUGGLE_BALANCER_H

#include "daemon/keeper/ledger.h"
#include "daemon/options.h"
#include "daemon/telemetry/telemetry.h"

struct balancer_setup {
	const struct options *options;
	struct telemetry *telemetry;
	struct ledger *ledger;
	pid_t keeper; /* the job is what lives below it, or below options->pid */
	int control_fd; /* read end of a pipe: a byte, or its end, means finish */
};

/* Run until told to finish; returns the process's exit status. All signals are blocked;
 * standard input and output are closed. */
int balancer_run(const struct balancer_setup *setup);

#endif
