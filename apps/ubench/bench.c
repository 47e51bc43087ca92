/* SPDX-License-Identifier: MIT */
/*
 * A run whose threads share one process; see bench.h.
 */
#include "apps/ubench/bench.h"

#include "apps/crew.h"
#include "apps/ubench/result.h"
#include "apps/ubench/setup.h"
#include "apps/ubench/thread.h"
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct bench {
	int threads;
	struct job job;
	struct barrier barrier; /* when the options name one of barrier.h */
	struct bench_thread *thread; /* one a thread */
	uint64_t *phase_ns; /* thread 0's */
};

static void wait_barrier(void *arg)
{
	barrier_wait(arg);
}

/* One thread's life. */
static void member(struct crew *crew, uint32_t index, void *arg)
{
	struct bench *bench = arg;
	struct bench_thread *thread = &bench->thread[index];

	(void)crew;
	/* An error is kept in the job, where all threads see it after the start barrier. */
	thread_init(thread, (int)index, index == 0 ? bench->phase_ns : NULL, &bench->job);
	thread_run(thread, &bench->job);
}

static int bench_init(struct bench *bench, enum barrier_kind barrier, void (*wait)(void *))
{
	uint64_t times = job_phase_times(&bench->job);

	bench->thread = aligned_alloc(_Alignof(struct bench_thread),
		(size_t)bench->threads * sizeof(struct bench_thread));
	bench->phase_ns = calloc(times, sizeof(uint64_t));
	if (!bench->thread || !bench->phase_ns)
		return -ENOMEM;
	for (int i = 0; i < bench->threads; i++)
		bench->thread[i] = (struct bench_thread){0};
	if (barrier == BARRIER_OMP) {
		bench->job.wait = wait;
		return 0;
	}
	bench->job.wait = wait_barrier;
	bench->job.wait_arg = &bench->barrier;
	return barrier_init(&bench->barrier, barrier, (unsigned)bench->threads);
}

static void bench_deinit(struct bench *bench)
{
	for (int i = 0; bench->thread && i < bench->threads; i++)
		thread_deinit(&bench->thread[i]);
	barrier_deinit(&bench->barrier);
	free(bench->thread);
	free(bench->phase_ns);
}

/* Measures from the first thread that leaves the start barrier to the last that leaves the end
 * barrier: thread 0 may be late at either. */
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

/* Run and report. Returns the exit status. */
static int run(struct bench *bench, const struct model *model, const struct ubench_options *options,
	uint64_t rate, int cpus, void (*wait)(void *))
{
	int rc = bench_init(bench, options->barrier, wait);

	if (rc < 0)
		return setup_failed(model->program, "preparing the threads", rc);
	rc = crew_run((uint32_t)bench->threads, member, bench);
	if (rc < 0)
		return setup_failed(model->program, "starting the threads", rc);
	rc = atomic_load(&bench->job.error);
	if (rc < 0)
		return setup_failed(model->program, "starting a thread", rc);

	struct result result = {
		.program = model->program,
		.threads = bench->threads,
		.cpus = cpus,
		.rate_steps_per_ms = rate,
		.phase_ns = bench->phase_ns,
		.phase_count = job_phase_times(&bench->job),
	};
	bench_collect(bench, &result);
	return result_write(&result, options);
}

static int threads_of(const struct ubench_options *options)
{
	uint32_t threads = crew_threads_default();

	if (options->threads)
		return options->threads;
	return threads < OPTIONS_THREADS_MAX ? (int)threads : OPTIONS_THREADS_MAX;
}

int bench_main(const struct model *model, int argc, char **argv, int cpus, void (*wait)(void *))
{
	struct ubench_options options;
	struct cpuset mask;
	uint64_t rate = 0;
	int rc = ubench_options_parse(argc, argv, model, false, &options);

	if (rc)
		return rc < 0 ? 2 : 0;
	if ((options.pin || options.speed_count) && crew_is_bound()) {
		/* The runtime has restricted our mask by now, so the CPUs are unknown. */
		fprintf(stderr, "%s: %s: OMP_PROC_BIND already binds the threads\n", model->program,
			options.pin ? "--pin" : "--speeds");
		return 2;
	}
	rc = cpuset_of_thread(0, &mask);
	if (rc < 0)
		return setup_failed(model->program, "reading the affinity mask", rc);

	struct bench bench = {.threads = threads_of(&options)};
	int status = setup_speeds(model->program, &options, cpuset_count(&mask));
	if (status == 0)
		status = setup_rate(
			model->program, &options, options.calibrate ? 1 : bench.threads, &rate);
	if (status)
		return status;
	if (options.calibrate)
		return result_write_rate(model->program, rate, &options);
	setup_job(&bench.job, &options, rate, &mask);
	if (cpus == 0 || options.speed_count) /* speeds are those of the mask */
		cpus = cpuset_count(&mask);
	status = run(&bench, model, &options, rate, cpus, wait);
	bench_deinit(&bench);
	return status;
}
