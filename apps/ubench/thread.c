/* SPDX-License-Identifier: MIT */
/*
 * One thread of the benchmark; see thread.h.
 */
#include "apps/ubench/thread.h"
#include "apps/pin.h"

#include "daemon/base/clock.h"

#include <stddef.h>

int thread_init(struct bench_thread *thread, int index, uint64_t *phase_ns, struct job *job)
{
	int rc = 0;

	*thread = (struct bench_thread){.index = index, .phase_ns = phase_ns};
	burn_init(&thread->burn);
	/* Pin first: the memory belongs where the thread will be. */
	if (job->pin)
		rc = pin_caller(cpuset_nth(job->pin, index));
	if (rc == 0)
		rc = work_init(&thread->work, index, job->memory_bytes);
	if (rc < 0)
		atomic_store(&job->error, rc);
	return rc;
}

void thread_deinit(struct bench_thread *thread)
{
	work_deinit(&thread->work);
}

uint64_t job_phase_times(const struct job *job)
{
	return job->phases < JOB_PHASE_TIMES_MAX ? job->phases : JOB_PHASE_TIMES_MAX;
}

void thread_run(struct bench_thread *thread, struct job *job)
{
	uint64_t steps = thread->index == 0 ? job->steps_first : job->steps;
	uint64_t times = thread->phase_ns ? job_phase_times(job) : 0;

	job->wait(job->wait_arg);
	if (atomic_load(&job->error))
		return;

	uint64_t last_ns = clock_monotonic_ns();
	thread->started_ns = last_ns;
	for (uint64_t phase = 0; phase < job->phases; phase++) {
		if (job->slowdown.chunk_steps)
			slowdown_run(&job->slowdown, &thread->work, &thread->burn, steps);
		else
			work_run(&thread->work, steps);
		job->wait(job->wait_arg);
		if (phase < times) {
			uint64_t now_ns = clock_monotonic_ns();
			thread->phase_ns[phase] = now_ns - last_ns;
			last_ns = now_ns;
		}
	}
	thread->ended_ns = clock_monotonic_ns();
}
