/* SPDX-License-Identifier: MIT */
/*
 * ubench-omp: the same benchmark on an OpenMP runtime, whose barrier spins for a while,
 * then sleeps, and does not see other processes: what most programs really wait with.
 */
#include "apps/ubench/bench.h"
#include "apps/ubench/options.h"
#include "apps/ubench/setup.h"
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>

static void wait_omp(void *arg)
{
	(void)arg;
#pragma omp barrier
}

static int start_threads(struct bench *bench)
{
	int got = 0;

	omp_set_dynamic(0);
#pragma omp parallel num_threads(bench->threads)
	{
		/* OMP_THREAD_LIMIT may have given fewer: the barrier would wait for the others. */
		if (omp_get_num_threads() == bench->threads)
			bench_member(bench, omp_get_thread_num());
#pragma omp master
		got = omp_get_num_threads();
	}
	return got == bench->threads ? 0 : -EAGAIN;
}

int main(int argc, char **argv)
{
	static const struct model model = {
		.program = "ubench-omp",
		.doc = "The ubench benchmark on OpenMP: phases of a fixed amount of work, a "
		       "barrier after each.",
		.notes =
			"Barriers: omp is the runtime's (the default; OMP_WAIT_POLICY, "
			"GOMP_SPINCOUNT "
			"and the like apply); block sleeps (pthread_barrier_wait), yield polls and "
			"calls sched_yield, spin polls. OMP_PROC_BIND and --pin exclude each "
			"other.",
		.barriers = 1 << BARRIER_OMP | 1 << BARRIER_BLOCK | 1 << BARRIER_YIELD |
			    1 << BARRIER_SPIN,
		.barrier_default = BARRIER_OMP,
	};
	struct ubench_options options;
	struct cpuset mask;
	int rc = ubench_options_parse(argc, argv, &model, false, &options);

	if (rc)
		return rc < 0 ? 2 : 0;
	if (options.pin && omp_get_proc_bind() != omp_proc_bind_false) {
		/* The runtime has shrunk our mask by now, so there is nothing to pin to. */
		fprintf(stderr, "%s: --pin: OMP_PROC_BIND already binds the threads\n",
			model.program);
		return 2;
	}
	rc = cpuset_of_thread(0, &mask);
	if (rc < 0)
		return setup_failed(model.program, "reading the affinity mask", rc);

	int threads = omp_get_max_threads();
	const struct bench_launch launch = {
		.threads = threads < OPTIONS_THREADS_MAX ? threads : OPTIONS_THREADS_MAX,
		/* Not from the mask: OMP_PROC_BIND leaves one CPU in it. The runtime knows the
		 * others. */
		.cpus = omp_get_num_procs(),
		.mask = &mask,
		.wait = wait_omp,
		.run = start_threads,
	};
	return bench_main(&model, &options, &launch);
}
