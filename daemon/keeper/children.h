/* SPDX-License-Identifier: MIT */
/*
 * The two processes that the keeper starts: the balancer and the command.
 */
#ifndef JUGGLE_CHILDREN_H
#define JUGGLE_CHILDREN_H

#include <signal.h>
#include <sys/types.h>

#include "daemon/job/ledger.h"
#include "daemon/options.h"
#include "daemon/telemetry/telemetry.h"

/* What the balancer shares with the keeper. */
struct balancer_start {
	const struct options *options;
	struct telemetry *telemetry;
	int telemetry_fd; /* of its file; negative: there is none */
	struct ledger *ledger;
	struct phases_table *phases; /* NULL: none */
	int signal_fd; /* the keeper's alone: closed in the balancer */
};

/* The caller's settings, which the keeper changes for itself and the command gets. */
struct caller_signals {
	sigset_t blocked;
	struct sigaction sigchld;
};

struct command_start {
	const struct options *options;
	const struct caller_signals *caller;
	const struct preload *preload; /* of libphases */
	const char *table; /* the path of the job's table of phases; "": nothing is preloaded */
};

/* Start the balancer, and the guard below it. Returns the balancer's pid, or a negative errno.
 * *control_fd and *life_fd become the write ends of pipes. Closing the first makes the balancer
 * finish, and so does the keeper's death; the second stays open as long as the keeper lives. */
pid_t children_start_balancer(const struct balancer_start *start, int *control_fd, int *life_fd);

/* Start the command, and wait until it is executed. Returns its pid, or a negative errno, which
 * is that of execvp() when all else worked: then no process is left. */
pid_t children_start_command(const struct command_start *start);

#endif
