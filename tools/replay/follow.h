/* SPDX-License-Identifier: MIT */
/*
 * A trace, interval by interval, through the decision step that the daemon runs: the observations go
 * in as they were recorded, and what comes out is held against the recorded decisions. With the
 * settings of the recording all are the same; with others it shows where they part. On the way one sees
 * what share of each CPU the job got.
 */
#ifndef REPLAY_FOLLOW_H
#define REPLAY_FOLLOW_H

#include "daemon/policy/kind.h"
#include "daemon/trace/reader.h"
#include "tools/sim/threads.h"

/* What the trace's header tells, or is to be other than there. */
struct replay_settings {
	const struct policy_kind *kind;
	uint64_t period_ns;
	bool period_auto, always;
	double jitter;
	int64_t margin_ns;
};

/* When something was decided otherwise for the first time. */
struct replay_parting {
	bool parted;
	uint64_t now_ns;
};

struct replay_decisions {
	uint64_t points; /* intervals */
	uint64_t same; /* of these, with exactly the recorded decision */
	uint64_t recorded_moves, moves; /* from CPU to CPU: recorded, and decided now */
	/* The regime or its reason; where threads are to be; the period with its jitter, and ticks. */
	struct replay_parting regime, moved, period;
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

/* The settings of the recording. Returns false when the trace names a policy that is not known here. */
bool replay_recorded_settings(const struct trace_file *trace, struct replay_settings *out);

/* Follow a trace. Times of loads count from begin_ns. Loads are seen while the policy moves threads.
 * O(size of the trace * log threads). Returns 0 or -ENOMEM. */
int replay_follow_init(struct replay_follow *follow, const struct trace_file *trace,
	const struct replay_settings *settings, uint64_t begin_ns);
/* Accepts a zeroed one. */
void replay_follow_deinit(struct replay_follow *follow);

#endif
