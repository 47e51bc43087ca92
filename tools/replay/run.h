/* SPDX-License-Identifier: MIT */
/* A traced run, simulated: under what was recorded, and under what is asked for. */
#ifndef REPLAY_RUN_H
#define REPLAY_RUN_H

#include "tools/command/progress_line.h"
#include "tools/replay/follow.h"
#include "tools/replay/model.h"
#include "tools/sim/names.h"

/* What the trace does not tell, and what shall be other than in it. */
struct replay_setup {
	bool policy_given, period_given, jitter_given, margin_given, always_given, barrier_given;
	size_t balancer; /* by number: names.h */
	enum threads_barrier barrier;
	uint64_t period_ns, phase_ns; /* 0: as in the trace */
	bool period_auto;
	uint64_t slice_ns, tick_ns, migration_ns, point_ns;
	double jitter;
	int64_t margin_ns;
	bool joint;
	uint32_t runs;
	bool effort_given; /* the period, the slice or runs */
	uint64_t seed;
};

/* A run: recorded, or the mean of simulated ones. */
struct replay_outcome {
	double time_s, lag_s, lag_mean_s, migrations, busy;
	bool watched; /* there were balancing points, at which lags were seen */
};

struct replay {
	struct replay_setup setup;
	struct trace_file trace;
	struct replay_model model;
	struct replay_settings settings, asked_settings; /* recorded, and asked for */
	struct replay_follow follow; /* as recorded */
	struct replay_follow asked_follow; /* as asked for, if that is a policy of juggle */
	struct threads_cpu *cpu; /* without those that the header has twice */
	size_t cpus;
	uint32_t domains;
	size_t balancer, asked_balancer; /* as recorded, and asked for */
	uint64_t phase_ns, phases; /* of each thread */
	struct replay_outcome recorded, simulated, asked;
	bool differs; /* something else than recorded was asked for */
};

/* From trace and setup make model, follow and the rest that a simulation needs. Returns 0, -ENODATA
 * (as replay_model_init()), -ENXIO (no CPUs), -ENOENT (a policy that is not known here), -ERANGE (the
 * phase is too short for so long a run), or -ENOMEM. */
int replay_prepare(struct replay *replay);
/* Simulate what was recorded, then what is asked for. Where threads do not sleep at barriers, how
 * much of their CPU time was work does not show: it is taken such that the simulation of what was
 * recorded takes as long. Returns 0, -ETIME (a simulation does not end), -EINVAL (as threads_new()),
 * -ERANGE (the phase is too short for so much work), -E2BIG (it would take hours) or -ENOMEM. */
int replay_simulate(struct replay *replay, struct command_progress *progress);
/* Accepts a zeroed one. */
void replay_deinit(struct replay *replay);

#endif
