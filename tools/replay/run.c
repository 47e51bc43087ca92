/* SPDX-License-Identifier: MIT */
/* Simulates a traced run; see run.h. */
#include "tools/replay/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PHASES_MAX 1e7
#define WORK_MAX_NS 1e18 /* more than this, from a damaged trace, would take forever */
#define SLOWER_MAX 1000 /* give up on a simulation that takes this many times the recorded time */
#define FITS 3 /* simulations that find how much of the CPU time was work */
#define SLICES 50 /* a simulation advances by such parts of the recorded time */

/* ---- Before ---- */

/* The CPUs of the header, without duplicates, with domains renumbered from 0 without gaps. */
static int set_cpus(struct replay *r)
{
	const struct trace_file *trace = &r->trace;
	bool *seen = calloc(TRACE_OS_CPU_MAX + 1, sizeof(*seen));
	uint32_t *number = calloc(TRACE_DOMAINS_MAX, sizeof(*number)); /* plus 1 */

	r->cpu = calloc(trace->cpus + 1, sizeof(*r->cpu));
	if (seen == NULL || number == NULL || r->cpu == NULL) {
		free(seen);
		free(number);
		return -ENOMEM;
	}
	for (size_t i = 0; i < trace->cpus; i++) {
		const struct trace_cpu *cpu = &trace->cpu[i];
		if (seen[cpu->os_cpu])
			continue;
		seen[cpu->os_cpu] = true;
		if (number[cpu->domain] == 0)
			number[cpu->domain] = ++r->domains;
		r->cpu[r->cpus++] = (struct threads_cpu){.speed = 1,
			.domain = number[cpu->domain] - 1,
			.load = r->follow.cpu[i].load,
			.loads = r->follow.cpu[i].loads};
	}
	free(seen);
	free(number);
	return r->cpus > 0 ? 0 : -ENXIO;
}

/* Divide a thread's work into phases, as near to the wanted length as a whole number allows. */
static int set_phases(struct replay *r, double work_ns)
{
	uint64_t wanted = r->setup.phase_ns > 0 ? r->setup.phase_ns : r->model.phase_ns;
	double phases = wanted > 0 ? fmax(1, round(work_ns / (double)wanted)) : 1;

	if (phases > PHASES_MAX)
		return -ERANGE;
	r->phases = (uint64_t)phases;
	r->phase_ns = (uint64_t)fmax(1, fmin(work_ns / phases, WORK_MAX_NS));
	return 0;
}

/* The settings to simulate: the recorded ones, except those given on the command line. */
static void set_settings(struct replay *r)
{
	const struct replay_setup *setup = &r->setup;
	struct replay_settings *asked = &r->asked_settings;

	*asked = r->settings;
	r->balancer = names_of_kind(r->settings.kind);
	r->asked_balancer = setup->policy_given ? setup->balancer : r->balancer;
	if (setup->policy_given)
		asked->kind = names_kind(setup->balancer);
	if (setup->period_given) {
		asked->period_ns = setup->period_ns;
		asked->period_auto = setup->period_auto;
	}
	if (setup->jitter_given)
		asked->jitter = setup->jitter;
	if (setup->margin_given)
		asked->margin_ns = setup->margin_ns;
	asked->always |= setup->always_given;
	r->differs = r->asked_balancer != r->balancer || setup->joint ||
		     asked->period_ns != r->settings.period_ns ||
		     asked->period_auto != r->settings.period_auto ||
		     asked->always != r->settings.always ||
		     asked->margin_ns != r->settings.margin_ns ||
		     fabs(asked->jitter - r->settings.jitter) > 1e-9;
}

int replay_prepare(struct replay *r)
{
	if (!replay_recorded_settings(&r->trace, &r->settings))
		return -ENOENT;
	set_settings(r);
	int rc = replay_model_init(&r->model, &r->trace);
	if (rc == 0)
		rc = replay_follow_init(&r->follow, &r->trace, &r->settings, r->model.begin_ns);
	if (rc == 0 && r->asked_settings.kind != NULL)
		rc = replay_follow_init(
			&r->asked_follow, &r->trace, &r->asked_settings, r->model.begin_ns);
	if (rc == 0)
		rc = set_cpus(r);
	if (rc == 0)
		rc = set_phases(r, r->model.work_ns / r->model.threads);
	if (rc < 0)
		return rc;
	double time_ns = (double)(r->model.end_ns - r->model.begin_ns);
	r->recorded = (struct replay_outcome){.watched = true,
		.time_s = time_ns * 1e-9,
		.lag_s = r->model.lag_ns * 1e-9,
		.lag_mean_s = r->model.lag_mean_ns * 1e-9,
		.migrations = (double)r->model.migrations,
		.busy = r->model.work_ns / time_ns / (double)r->cpus};
	return 0;
}

/* ---- Simulations ---- */

struct counter {
	struct command_progress *progress;
	uint32_t done, all; /* simulations */
};

static struct threads_params params_of(const struct replay *r, bool asked)
{
	const struct replay_setup *setup = &r->setup;
	const struct replay_settings *settings = asked ? &r->asked_settings : &r->settings;
	uint64_t mean_ns = (r->model.end_ns - r->model.begin_ns) / r->model.points + 1;
	struct threads_params params = {
		.threads = r->model.threads,
		.domains = r->domains,
		.cpu = r->cpu,
		.cpus = r->cpus,
		.phase_ns = r->phase_ns,
		.phases = r->phases,
		.barrier = setup->barrier,
		.slice_ns = setup->slice_ns,
		.tick_ns = setup->tick_ns,
		.migration_ns = setup->migration_ns,
		.period_ns = settings->period_ns > 0 ? settings->period_ns : mean_ns,
		.period_auto = settings->period_auto,
		.jitter = settings->jitter,
		.point_ns = setup->point_ns,
		.joint = asked && setup->joint,
		.always = settings->always,
		.idle_auto = r->model.idle_auto,
		.margin_ns = settings->margin_ns,
	};

	names_set_balancer(&params, asked ? r->asked_balancer : r->balancer);
	return params;
}

/* Run one simulation to its end. */
static int simulate_once(const struct replay *r, const struct threads_params *params,
	struct counter *counter, struct threads_result *result)
{
	uint64_t recorded_ns = r->model.end_ns - r->model.begin_ns, until_ns = 0;
	struct threads_sim *sim;
	int rc = threads_new(&sim, params);

	if (rc < 0)
		return rc;
	uint64_t step_ns = recorded_ns / SLICES + 1,
		 limit_ns = recorded_ns > UINT64_MAX / SLOWER_MAX / 4 ? UINT64_MAX / 4
								      : recorded_ns * SLOWER_MAX;
	bool ended = false;
	while (!ended && until_ns < limit_ns) {
		until_ns += step_ns;
		ended = threads_run(sim, until_ns);
		command_progress(counter->progress,
			(counter->done + threads_done(sim)) / (double)counter->all);
	}
	threads_get(sim, result);
	threads_free(sim);
	counter->done++;
	return ended ? 0 : -ETIME;
}

/* The mean of the number of simulations that the user wants. */
static int simulate(
	const struct replay *r, bool asked, struct counter *counter, struct replay_outcome *out)
{
	struct threads_params params = params_of(r, asked);
	double share = 1.0 / r->setup.runs;

	*out = (struct replay_outcome){0};
	out->watched = params.balancer != THREADS_REACTIVE;
	for (uint32_t k = 0; k < r->setup.runs; k++) {
		struct threads_result result;
		params.seed = r->setup.seed + k;
		int rc = simulate_once(r, &params, counter, &result);
		if (rc < 0)
			return rc;
		out->time_s += share * (double)result.time_ns * 1e-9;
		out->lag_s += share * result.lag_ns * 1e-9;
		out->lag_mean_s += share * result.lag_mean_ns * 1e-9;
		out->migrations += share * (double)result.migrations;
		out->busy += share * result.busy;
	}
	return 0;
}

/* Threads that wait without sleeping use CPU time, too: find how much work reproduces the time. */
static int fit_work(struct replay *r, struct counter *counter)
{
	double work_ns = r->model.work_ns / r->model.threads;

	for (int k = 0; k < FITS; k++) {
		struct replay_outcome outcome;
		int rc = simulate(r, false, counter, &outcome);
		if (rc < 0)
			return rc;
		work_ns *= r->recorded.time_s / outcome.time_s;
		rc = set_phases(r, work_ns);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int replay_simulate(struct replay *r, struct command_progress *progress)
{
	const struct replay_setup *setup = &r->setup;
	bool fit = setup->barrier != THREADS_BLOCK;

	struct counter counter = {.progress = progress,
		.all = setup->runs * (1 + (fit ? FITS : 0) + (r->differs ? 1 : 0))};
	double steps = 0;
	for (int asked = 0; asked <= r->differs; asked++) {
		const struct threads_params params = params_of(r, asked);
		steps += threads_steps(&params) * (asked || !fit ? 1 : 1 + FITS);
	}
	if (steps * setup->runs > THREADS_STEPS_MAX)
		return -E2BIG;
	int rc = fit ? fit_work(r, &counter) : 0;
	if (rc == 0)
		rc = simulate(r, false, &counter, &r->simulated);
	r->asked = r->simulated;
	if (rc == 0 && r->differs)
		rc = simulate(r, true, &counter, &r->asked);
	return rc;
}

void replay_deinit(struct replay *r)
{
	replay_follow_deinit(&r->follow);
	replay_follow_deinit(&r->asked_follow);
	trace_file_deinit(&r->trace);
	free(r->cpu);
	*r = (struct replay){0};
}
