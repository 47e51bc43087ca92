/* SPDX-License-Identifier: MIT */
/*
 * One thread of the benchmark; see worker.h.
 */
#include "apps/ubench/worker.h"
#include "apps/pin.h"

#include "daemon/base/clock.h"

#include <stddef.h>

int worker_init(struct worker *worker, int index, uint64_t *phase_ns, struct job *job)
{
	int rc = 0;

	*worker = (struct worker){.index = index, .phase_ns = phase_ns};
	/* Pin first: the memory belongs where the thread will be. */
	if (job->pin)
		rc = pin_caller(cpuset_nth(job->pin, index));
	if (rc == 0)
		rc = work_init(&worker->work, index, job->memory_bytes);
	if (rc < 0)
		atomic_store(&job->error, rc);
	return rc;
}

void worker_deinit(struct worker *worker)
{
	work_deinit(&worker->work);
}

uint64_t worker_phase_times(const struct job *job)
{
	return job->phases < WORKER_PHASE_TIMES_MAX ? job->phases : WORKER_PHASE_TIMES_MAX;
}

void worker_run(struct worker *worker, struct job *job)
{
	uint64_t steps = worker->index == 0 ? job->steps_first : job->steps;
	uint64_t times = worker->phase_ns ? worker_phase_times(job) : 0;

	job->wait(job->wait_arg);
	if (atomic_load(&job->error))
		return;

	uint64_t last_ns = clock_monotonic_ns();
	worker->started_ns = last_ns;
	for (uint64_t phase = 0; phase < job->phases; phase++) {
		work_run(&worker->work, steps);
		job->wait(job->wait_arg);
		if (phase < times) {
			uint64_t now_ns = clock_monotonic_ns();
			worker->phase_ns[phase] = now_ns - last_ns;
			last_ns = now_ns;
		}
	}
	worker->ended_ns = clock_monotonic_ns();
}
