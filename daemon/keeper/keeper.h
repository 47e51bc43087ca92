/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the process that the user started. It launches the command, passes
 * signals on, waits, and reports. It does not balance: that is a process beside it.
 */
#ifndef JUGGLE_KEEPER_H
#define JUGGLE_KEEPER_H

#include "daemon/options.h"

/* Run the command (or attach to options->pid) under a balancer. Returns the exit status
 * that juggle should have. */
int keeper_run(const struct options *options);

#endif
