/* SPDX-License-Identifier: MIT */
/* Names of balancers and barriers; see names.h. */
#include "tools/sim/names.h"

#include "tools/sim/threads.h"

const char *const names_balancer[NAMES_BALANCERS] = {
	[THREADS_STATIC] = "pinned",
	[THREADS_REACTIVE] = "reactive",
	[THREADS_IDEAL] = "ideal",
	[THREADS_JUGGLE] = "juggle",
};

const char *const names_barrier[NAMES_BARRIERS] = {
	[THREADS_BLOCK] = "block",
	[THREADS_YIELD] = "yield",
	[THREADS_SPIN] = "spin",
};
