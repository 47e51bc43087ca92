/* SPDX-License-Identifier: MIT */
/* Which threads do no work of their own (Section 2: "regard a particular thread as idle"). */
#ifndef JUGGLE_POLICY_IDLE_H
#define JUGGLE_POLICY_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/* A judgement by CPU use alone. */
struct policy_idle {
	uint64_t window_run_ns;
	uint64_t window_ns;
	bool idle;
};

/* Take in that a thread ran run_ns of elapsed_ns. In windows of 50 ms, a thread that uses less than
 * 1 % of a CPU becomes idle, and one that uses more than 5 % computes again. */
void policy_idle_update(struct policy_idle *idle, uint64_t run_ns, uint64_t elapsed_ns);

#endif
