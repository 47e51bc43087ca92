/* SPDX-License-Identifier: MIT */
/*
 * From options to a job; see setup.h.
 */
#include "apps/ubench/setup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int setup_failed(const char *program, const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program, what, strerror(-error));
	return 1;
}

int setup_rate(const char *program, const struct ubench_options *options, int threads,
	uint64_t *rate_steps_per_ms)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

	/* Without this check the kernel would grant the memory, and kill a process when it is
	 * touched. */
	if (pages > 0 && page_bytes > 0 &&
		(double)options->memory_bytes * threads > (double)pages * (double)page_bytes) {
		fprintf(stderr,
			"%s: --memory %" PRIu64 " for each of %d threads is more than this machine "
			"has\n",
			program, options->memory_bytes, threads);
		return 2;
	}
	*rate_steps_per_ms = options->rate_steps_per_ms;
	if (*rate_steps_per_ms)
		return 0;

	int rc = work_calibrate(options->memory_bytes, rate_steps_per_ms);
	if (rc < 0)
		return setup_failed(program, "calibrating", rc);
	if (!options->quiet && !options->calibrate)
		fprintf(stderr, "%s: calibrated: --rate %" PRIu64 "\n", program,
			*rate_steps_per_ms);
	return 0;
}

int setup_speeds(const char *program, const struct ubench_options *options, int cpus)
{
	if (options->speed_count == 0 || options->speed_count == (size_t)cpus)
		return 0;
	fprintf(stderr, "%s: --speeds: speeds given: %zu, CPUs in the affinity mask: %d\n", program,
		options->speed_count, cpus);
	return 2;
}

void setup_job(struct job *job, const struct ubench_options *options, uint64_t rate_steps_per_ms,
	const struct cpuset *cpus)
{
	double extra = options->imbalance_pct / 100;
	uint64_t steps = work_steps(rate_steps_per_ms, options->phase_ns);

	*job = (struct job){
		.phases = options->phases,
		.steps = steps,
		.steps_first = (uint64_t)((double)steps * (1 + extra) + 0.5),
		.memory_bytes = options->memory_bytes,
		.pin = options->pin ? cpus : NULL,
	};
	if (options->speed_count)
		slowdown_init(&job->slowdown, rate_steps_per_ms, cpus, options->speed);
}
