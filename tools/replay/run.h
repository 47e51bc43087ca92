/* SPDX-License-Identifier: MIT */
/* A traced run, simulated: under what was recorded, and under what is asked for. */
#ifndef REPLAY_RUN_H
#define REPLAY_RUN_H

#include "tools/command/progress_line.h"
#include "tools/replay/follow.h"
#include "tools/replay/model.h"
#include "tools/sim/names.h"

/* The options: what the trace lacks, and what to change. */
struct replay_setup {
	bool policy_given, period_given, jitter_given, margin_given, always_given, barrier_given;
	size_t balancer; /* its number: names.h */
	enum threads_barrier barrier;
	uint64_t period_ns, phase_ns; /* 0: as in the trace */
	bool period_auto;
	uint64_t slice_ns, tick_ns, migration_ns, point_ns;
	double jitter;
	int64_t margin_ns;
	bool joint;
	uint32_t runs;
	bool effort_given; /* the period, the slice or the number of runs */
	uint64_t seed;
};

/* A run: recorded, or the mean of simulated ones. */
struct replay_outcome {
	double time_s, lag_s, lag_mean_s, migrations, busy;
	bool watched; /* lags are known, as there were balancing points */
};

struct replay {
	struct replay_setup setup;
	struct trace_file trace;
	struct replay_model model;
	/* `asked`: with the options given. */
	struct replay_settings settings, asked_settings;
	struct replay_follow follow;
	struct replay_follow asked_follow; /* only for policies of juggle */
	struct threads_cpu *cpu; /* those of the header, each once */
	size_t cpus;
	uint32_t domains;
	size_t balancer, asked_balancer;
	uint64_t phase_ns, phases; /* of each thread */
	struct replay_outcome recorded, simulated, asked;
	bool differs; /* the options change something */
};

/* Replay the decisions, and prepare the simulations, from trace and setup. Returns 0, -ENODATA (as
 * replay_model_init()), -ENXIO (no CPUs), -ENOENT (an unknown policy), -ERANGE (the phase is too
 * short for so long a run), or -ENOMEM. */
int replay_prepare(struct replay *replay);
/* Simulate the recorded run, then the one with the options given. The trace does not show how much
 * of the CPU time was work when threads don't sleep at barriers: then the work is chosen such that
 * the first simulation takes the recorded time. Returns 0, -ETIME (a simulation does not end),
 * -EINVAL (as threads_new()), -ERANGE (the phase is too short for so much work), -E2BIG (it would
 * take hours) or -ENOMEM. */
int replay_simulate(struct replay *replay, struct command_progress *progress);
/* Accepts a zeroed one. */
void replay_deinit(struct replay *replay);

#endif
