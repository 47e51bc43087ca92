/* SPDX-License-Identifier: MIT */
/*
 * ubench: the SPMD microbenchmark with pthreads. It exists because the gain of a balancer
 * is only known against a program whose ideal time is known.
 */
#include "apps/ubench/options.h"
#include "apps/ubench/setup.h"
#include "apps/ubench/team.h"
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct member {
	struct team *team;
	int index;
	pthread_t thread;
};

static void *member_main(void *arg)
{
	struct member *member = arg;

	team_member(member->team, member->index);
	return NULL;
}

/* The first thread is thread 0: a job of N threads has N, none of them idle. */
static int run(struct team *team)
{
	struct member *members = calloc((size_t)team->threads, sizeof(*members));
	int rc = members ? 0 : -ENOMEM;

	for (int i = 1; i < team->threads && rc == 0; i++) {
		members[i].team = team;
		members[i].index = i;
		rc = -pthread_create(&members[i].thread, NULL, member_main, &members[i]);
	}
	if (rc < 0)
		return rc; /* those that run still use members */
	team_member(team, 0);
	for (int i = 1; i < team->threads; i++)
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
	struct options options;
	struct cpuset mask;
	int rc = options_parse(argc, argv, &model, false, &options);

	if (rc)
		return rc < 0 ? 2 : 0;
	rc = cpuset_of_thread(0, &mask);
	if (rc < 0)
		return setup_failed(model.program, "reading the affinity mask", rc);

	int cpus = cpuset_count(&mask);
	const struct team_launch launch = {
		.threads = cpus < OPTIONS_THREADS_MAX ? cpus : OPTIONS_THREADS_MAX,
		.cpus = cpus,
		.mask = &mask,
		.run = run,
	};
	return team_main(&model, &options, &launch);
}
