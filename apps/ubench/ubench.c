/* SPDX-License-Identifier: MIT */
/*
 * ubench: the SPMD microbenchmark with pthreads. It exists because the gain of a balancer
 * is only known against a program whose ideal time is known.
 */
#include "apps/ubench/bench.h"
#include "apps/ubench/options.h"
#include "apps/ubench/setup.h"
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct bench_start {
	struct bench *bench;
	int index;
	pthread_t thread;
};

static void *member_main(void *arg)
{
	struct bench_start *member = arg;

	bench_member(member->bench, member->index);
	return NULL;
}

/* The first thread is thread 0: a job of N threads has N, none of them idle. */
static int start_threads(struct bench *bench)
{
	struct bench_start *members = calloc((size_t)bench->threads, sizeof(*members));
	int rc = members ? 0 : -ENOMEM;

	for (int i = 1; i < bench->threads && rc == 0; i++) {
		members[i].bench = bench;
		members[i].index = i;
		rc = -pthread_create(&members[i].thread, NULL, member_main, &members[i]);
	}
	if (rc < 0)
		return rc; /* those that run still use members */
	bench_member(bench, 0);
	for (int i = 1; i < bench->threads; i++)
		pthread_join(members[i].thread, NULL);
	free(members);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct model model = {
		.program = "ubench",
		.doc = "Threads that all do the same: phases of a fixed amount of work, a barrier "
		       "after each. Measures what sharing CPUs costs them, and what a balancer "
		       "gives back.",
		.notes = "Barriers: block sleeps (pthread_barrier_wait, the default), yield polls "
			 "and calls sched_yield, spin polls.",
		.barriers = 1 << BARRIER_BLOCK | 1 << BARRIER_YIELD | 1 << BARRIER_SPIN,
		.barrier_default = BARRIER_BLOCK,
	};
	struct ubench_options options;
	struct cpuset mask;
	int rc = ubench_options_parse(argc, argv, &model, false, &options);

	if (rc)
		return rc < 0 ? 2 : 0;
	rc = cpuset_of_thread(0, &mask);
	if (rc < 0)
		return setup_failed(model.program, "reading the affinity mask", rc);

	int cpus = cpuset_count(&mask);
	const struct bench_launch launch = {
		.threads = cpus < OPTIONS_THREADS_MAX ? cpus : OPTIONS_THREADS_MAX,
		.cpus = cpus,
		.mask = &mask,
		.run = start_threads,
	};
	return bench_main(&model, &options, &launch);
}
