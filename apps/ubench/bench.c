/* SPDX-License-Identifier: MIT */
/*
 * A run whose threads share one process; see bench.h.
 */
#include "apps/ubench/bench.h"

#include "apps/ubench/result.h"
#include "apps/ubench/setup.h"

#include <errno.h>
#include <stdlib.h>

static void wait_barrier(void *arg)
{
	barrier_wait(arg);
}

void bench_member(struct bench *bench, int index)
{
	struct bench_thread *thread = &bench->thread[index];

	/* An error is kept in the job, where all threads see it after the start barrier. */
	thread_init(thread, index, index == 0 ? bench->phase_ns : NULL, &bench->job);
	thread_run(thread, &bench->job);
}

static int bench_init(struct bench *bench, const struct bench_launch *launch)
{
	uint64_t times = job_phase_times(&bench->job);

	bench->thread = aligned_alloc(_Alignof(struct bench_thread),
		(size_t)bench->threads * sizeof(struct bench_thread));
	bench->phase_ns = calloc(times, sizeof(uint64_t));
	if (!bench->thread || !bench->phase_ns)
		return -ENOMEM;
	for (int i = 0; i < bench->threads; i++)
		bench->thread[i] = (struct bench_thread){0};
	if (bench->options->barrier == BARRIER_OMP) {
		bench->job.wait = launch->wait;
		return 0;
	}
	bench->job.wait = wait_barrier;
	bench->job.wait_arg = &bench->barrier;
	return barrier_init(&bench->barrier, bench->options->barrier, (unsigned)bench->threads);
}

static void bench_deinit(struct bench *bench)
{
	for (int i = 0; bench->thread && i < bench->threads; i++)
		thread_deinit(&bench->thread[i]);
	barrier_deinit(&bench->barrier);
	free(bench->thread);
	free(bench->phase_ns);
}

/* The time from the first thread that leaves the start barrier to the last that leaves the end
 * barrier: thread 0 alone may be late at either. */
static void bench_collect(const struct bench *bench, struct result *result)
{
	uint64_t started_ns = UINT64_MAX, ended_ns = 0;

	for (int i = 0; i < bench->threads; i++) {
		const struct bench_thread *thread = &bench->thread[i];

		if (thread->started_ns < started_ns)
			started_ns = thread->started_ns;
		if (thread->ended_ns > ended_ns)
			ended_ns = thread->ended_ns;
		result->checksum ^= thread->work.state;
	}
	result->elapsed_ns = ended_ns - started_ns;
}

int bench_main(const struct model *model, const struct ubench_options *options,
	const struct bench_launch *launch)
{
	struct bench bench = {
		.options = options,
		.threads = options->threads ? options->threads : launch->threads,
	};
	uint64_t rate = 0;
	int status =
		setup_rate(model->program, options, options->calibrate ? 1 : bench.threads, &rate);

	if (status)
		return status;
	if (options->calibrate)
		return result_write_rate(model->program, rate, options);
	setup_job(&bench.job, options, rate, launch->mask);

	int rc = bench_init(&bench, launch);
	if (rc < 0) {
		status = setup_failed(model->program, "preparing the threads", rc);
		goto out;
	}
	rc = launch->run(&bench);
	if (rc < 0) /* threads may still wait for others that never came: leave all as it is */
		return setup_failed(model->program, "starting the threads", rc);
	rc = atomic_load(&bench.job.error);
	if (rc < 0) {
		status = setup_failed(model->program, "starting a thread", rc);
		goto out;
	}

	struct result result = {
		.program = model->program,
		.threads = bench.threads,
		.cpus = launch->cpus,
		.rate_steps_per_ms = rate,
		.phase_ns = bench.phase_ns,
		.phase_count = job_phase_times(&bench.job),
	};
	bench_collect(&bench, &result);
	status = result_write(&result, options);
out:
	bench_deinit(&bench);
	return status;
}
