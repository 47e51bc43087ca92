/* SPDX-License-Identifier: MIT */
/*
 * A third process, which sleeps until the keeper and the balancer have both ended, and then gives the
 * masks back if neither of them has: "killall -9 juggle" leaves no thread confined.
 */
#ifndef JUGGLE_GUARD_H
#define JUGGLE_GUARD_H

#include <sys/types.h>

#include "daemon/job/ledger.h"
#include "daemon/options.h"

struct guard_start {
	const struct options *options;
	struct ledger *ledger;
	pid_t keeper;
	int life[2]; /* a pipe: the others, and nobody else, hold its write end while they live */
};

/* Start it from the balancer, before that has threads. It does not belong to the job, as it is the
 * balancer's child. Returns its pid; or a negative errno: all works without it. */
pid_t guard_start(const struct guard_start *start);

/* It is no longer needed. Accepts what guard_start() returned. */
void guard_end(pid_t pid);

#endif
