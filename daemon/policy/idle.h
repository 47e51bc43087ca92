/* SPDX-License-Identifier: MIT */
/* Which threads do no work of their own (Section 2: "regard a particular thread as idle"). */
#ifndef JUGGLE_POLICY_IDLE_H
#define JUGGLE_POLICY_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/* Judged from CPU use alone. */
struct policy_idle {
	uint64_t window_run_ns;
	uint64_t window_ns;
	bool idle;
};

/* Take in what a thread ran during elapsed_ns. Over windows of 50 ms: under 1 % of a CPU
 * makes a thread idle, over 5 % makes it a compute thread again. Returns whether
 * the verdict changed. */
bool policy_idle_update(struct policy_idle *idle, uint64_t run_ns, uint64_t elapsed_ns);

#endif
