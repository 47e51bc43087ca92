/* SPDX-License-Identifier: MIT */
/*
 * Running a command and timing it, with a watch on signals. Commands get a process group of their
 * own, so that all of one can be ended; standard input is /dev/null.
 */
#ifndef COMPARE_RUN_H
#define COMPARE_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/command/progress_line.h"
#include "tools/compare/output.h"

struct run_watch {
	int signals; /* signalfd of those that end the comparison */
	sigset_t before; /* the signal mask that commands get */
	uint64_t timeout_ns; /* of a run; 0: none */
	struct command_progress *progress;
	double done, share; /* how far the progress is at the start of this run, and its part */
	double expected_s; /* 0: not known */
};

/* Block SIGINT, SIGTERM, SIGHUP and SIGQUIT, to see them instead, and SIGTSTP. Returns 0 or a negative
 * errno. */
int run_watch_init(struct run_watch *watch);
void run_watch_deinit(struct run_watch *watch);

struct run_end {
	double elapsed_s; /* from before its start to its end */
	int status; /* exit status; 128 + N when signal N killed it */
	bool late; /* it was ended after the timeout */
	int signal; /* 0; or we got it, and the command was ended */
};

/* Start the command, NULL-terminated and found by PATH, and wait for its end. What it prints goes
 * to `output`. When it has to be ended, all of its group get the signal, and SIGKILL 5 seconds later.
 * Returns 0, or the negative errno of starting it. */
int run_to_end(
	struct run_watch *watch, char *const command[], struct output *output, struct run_end *out);

/* Another command, as the shell takes it, that runs all the while. */
struct run_beside {
	pid_t pid; /* 0: it does not run */
	int fd; /* pidfd */
};
/* Returns 0 or a negative errno. What it prints goes nowhere. */
int run_beside_start(const struct run_watch *watch, const char *command, struct run_beside *beside);
/* Has it ended by itself? Then *status is set as above. */
bool run_beside_has_ended(struct run_beside *beside, int *status);
/* End it. Accepts one that does not run. */
void run_beside_stop(struct run_beside *beside);

#endif
