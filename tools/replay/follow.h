/* SPDX-License-Identifier: MIT */
/*
 * A trace, replayed through the decision step that the daemon runs. Recorded observations go in,
 * and its decisions are compared with the recorded ones. With the settings of the recording, all
 * are the same; with others, this shows where they part. It also estimates what share of each CPU
 * other work took.
 */
#ifndef REPLAY_FOLLOW_H
#define REPLAY_FOLLOW_H

#include "daemon/policy/kind.h"
#include "daemon/trace/reader.h"
#include "tools/sim/threads.h"

/* The settings of the policy, as in the trace's header, or others. */
struct replay_settings {
	const struct policy_kind *kind;
	uint64_t period_ns;
	bool period_auto, always;
	double jitter;
	int64_t margin_ns;
};

/* The first time that a decision differs. */
struct replay_parting {
	bool parted;
	uint64_t now_ns;
};

struct replay_decisions {
	uint64_t points; /* intervals */
	uint64_t same; /* of these, with exactly the recorded decision */
	uint64_t recorded_moves, moves; /* from CPU to CPU: recorded, and decided now */
	/* The regime or its reason; moves and handovers; the period with its jitter, and ticks. */
	struct replay_parting regime, moved, period;
};

/* What other work took of a CPU of the header: loads in the order of time. */
struct replay_load {
	struct threads_load *load;
	size_t loads, room;
	double share; /* mean */
};

struct replay_follow {
	struct replay_decisions decisions;
	struct replay_load *cpu; /* as trace->cpu; a CPU without threads has no loads */
	size_t cpus;
};

/* The settings of the recording. Returns false when its policy is unknown here. */
bool replay_recorded_settings(const struct trace_file *trace, struct replay_settings *out);

/* Replay a trace in O(its size * log threads). Times of loads count from begin_ns; loads are known
 * for the time that the policy swaps threads. Returns 0 or -ENOMEM. */
int replay_follow_init(struct replay_follow *follow, const struct trace_file *trace,
	const struct replay_settings *settings, uint64_t begin_ns);
/* Accepts a zeroed one. */
void replay_follow_deinit(struct replay_follow *follow);

#endif
