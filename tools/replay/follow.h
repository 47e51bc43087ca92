/* SPDX-License-Identifier: MIT */
/*
 * A trace, point by point, through the policy that the daemon runs: does it decide what was recorded
 * (or, with other parameters, what would it have decided), and what share of each CPU does it see the
 * job get?
 */
#ifndef REPLAY_FOLLOW_H
#define REPLAY_FOLLOW_H

#include "daemon/policy/policy.h"
#include "daemon/trace/reader.h"
#include "tools/sim/threads.h"

/* What the policy decides at the recorded points. It is asked where threads were placed and could
 * be moved; elsewhere there is nothing to compare. */
struct replay_decisions {
	uint64_t points; /* at which it was asked */
	uint64_t same; /* of these, it decides exactly the recorded moves */
	uint64_t recorded_moves, moves; /* at these: recorded, and decided now */
};

/* What a CPU of the header did besides the job: loads from `begin_ns` on, by time. */
struct replay_load {
	struct threads_load *load;
	size_t loads, room;
	double share; /* mean */
};

struct replay_follow {
	struct replay_decisions decisions;
	struct replay_load *cpu; /* as trace->cpu; without threads there, no loads */
	size_t cpus;
};

/* Follow a trace. Times of loads count from begin_ns. What the trace does not tell is taken to be
 * this: a thread's progress in a period is the CPU time that it used, as much of it as fits the
 * period on the CPU it had.
 * O(size of the trace). Returns 0 or -ENOMEM. */
int replay_follow_init(struct replay_follow *follow, const struct trace_file *trace,
	const struct policy_juggle_params *params, uint64_t begin_ns);
/* Accepts a zeroed one. */
void replay_follow_deinit(struct replay_follow *follow);

#endif
