/* SPDX-License-Identifier: MIT */
/*
 * A run whose threads share one process; see team.h.
 */
#include "apps/ubench/team.h"

#include "apps/ubench/result.h"
#include "apps/ubench/setup.h"

#include <errno.h>
#include <stdlib.h>

static void wait_barrier(void *arg)
{
	barrier_wait(arg);
}

void team_member(struct team *team, int index)
{
	struct worker *worker = &team->workers[index];

	/* An error is in the job, where all see it after the start barrier. */
	worker_init(worker, index, index == 0 ? team->phase_ns : NULL, &team->job);
	worker_run(worker, &team->job);
}

static int team_init(struct team *team, const struct team_launch *launch)
{
	uint64_t times = worker_phase_times(&team->job);

	team->workers = aligned_alloc(
		_Alignof(struct worker), (size_t)team->threads * sizeof(struct worker));
	team->phase_ns = calloc(times, sizeof(uint64_t));
	if (!team->workers || !team->phase_ns)
		return -ENOMEM;
	for (int i = 0; i < team->threads; i++)
		team->workers[i] = (struct worker){0};
	if (team->options->barrier == BARRIER_OMP) {
		team->job.wait = launch->wait;
		return 0;
	}
	team->job.wait = wait_barrier;
	team->job.wait_arg = &team->barrier;
	return barrier_init(&team->barrier, team->options->barrier, (unsigned)team->threads);
}

static void team_deinit(struct team *team)
{
	for (int i = 0; team->workers && i < team->threads; i++)
		worker_deinit(&team->workers[i]);
	barrier_deinit(&team->barrier);
	free(team->workers);
	free(team->phase_ns);
}

/* From the first thread that leaves the start barrier to the last that leaves the end:
 * thread 0 alone may come late to either. */
static void team_collect(const struct team *team, struct result *result)
{
	uint64_t started_ns = UINT64_MAX, ended_ns = 0;

	for (int i = 0; i < team->threads; i++) {
		const struct worker *worker = &team->workers[i];

		if (worker->started_ns < started_ns)
			started_ns = worker->started_ns;
		if (worker->ended_ns > ended_ns)
			ended_ns = worker->ended_ns;
		result->checksum ^= worker->work.state;
	}
	result->elapsed_ns = ended_ns - started_ns;
}

int team_main(
	const struct model *model, const struct options *options, const struct team_launch *launch)
{
	struct team team = {
		.model = model,
		.options = options,
		.threads = options->threads ? options->threads : launch->threads,
	};
	uint64_t rate = 0;
	int status =
		setup_rate(model->program, options, options->calibrate ? 1 : team.threads, &rate);

	if (status)
		return status;
	if (options->calibrate)
		return result_write_rate(model->program, rate, options);
	setup_job(&team.job, options, rate, launch->mask);

	int rc = team_init(&team, launch);
	if (rc < 0) {
		status = setup_failed(model->program, "preparing the threads", rc);
		goto out;
	}
	rc = launch->run(&team);
	if (rc < 0) /* threads may still wait for others that never came: leave all as it is */
		return setup_failed(model->program, "starting the threads", rc);
	rc = atomic_load(&team.job.error);
	if (rc < 0) {
		status = setup_failed(model->program, "starting a thread", rc);
		goto out;
	}

	struct result result = {
		.program = model->program,
		.threads = team.threads,
		.cpus = launch->cpus,
		.rate_steps_per_ms = rate,
		.phase_ns = team.phase_ns,
		.phase_count = worker_phase_times(&team.job),
	};
	team_collect(&team, &result);
	status = result_write(&result, options);
out:
	team_deinit(&team);
	return status;
}
