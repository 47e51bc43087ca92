/* SPDX-License-Identifier: MIT */
/*
 * Threads by pthreads; see team.h.
 */
#include "apps/jacobi/team.h"

#include "daemon/base/cpuset.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum verdict { VERDICT_NONE, VERDICT_GO, VERDICT_LEAVE };

struct team {
	team_member *member;
	void *arg;
	pthread_barrier_t barrier;
	/* Whether all could be started, for those that were: */
	pthread_mutex_t lock;
	pthread_cond_t decided;
	enum verdict verdict;
};

struct thread {
	struct team *team;
	uint32_t worker;
	pthread_t id;
};

uint32_t team_threads_default(void)
{
	struct cpuset mask;

	if (cpuset_of_thread(0, &mask) < 0)
		return 1;
	return (uint32_t)cpuset_count(&mask);
}

bool team_is_bound(void)
{
	return false;
}

static void *thread_main(void *arg)
{
	struct thread *thread = arg;
	struct team *team = thread->team;

	pthread_mutex_lock(&team->lock);
	while (team->verdict == VERDICT_NONE)
		pthread_cond_wait(&team->decided, &team->lock);
	bool go = team->verdict == VERDICT_GO;
	pthread_mutex_unlock(&team->lock);
	if (go)
		team->member(team, thread->worker, team->arg);
	return NULL;
}

static void decide(struct team *team, enum verdict verdict)
{
	pthread_mutex_lock(&team->lock);
	team->verdict = verdict;
	pthread_cond_broadcast(&team->decided);
	pthread_mutex_unlock(&team->lock);
}

int team_run(uint32_t threads, team_member *member, void *arg)
{
	struct team team = {.member = member,
		.arg = arg,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.decided = PTHREAD_COND_INITIALIZER};
	struct thread *all = calloc(threads, sizeof(*all));
	uint32_t started = 1; /* the caller */
	int rc = all ? -pthread_barrier_init(&team.barrier, NULL, threads) : -ENOMEM;

	if (rc < 0) {
		free(all);
		return rc;
	}
	while (started < threads) {
		struct thread *thread = &all[started];

		*thread = (struct thread){.team = &team, .worker = started};
		rc = -pthread_create(&thread->id, NULL, thread_main, thread);
		if (rc < 0)
			break;
		started++;
	}
	decide(&team, rc < 0 ? VERDICT_LEAVE : VERDICT_GO);
	if (rc == 0)
		member(&team, 0, arg);
	while (started > 1)
		pthread_join(all[--started].id, NULL);
	pthread_barrier_destroy(&team.barrier);
	free(all);
	return rc;
}

void team_wait(struct team *team)
{
	pthread_barrier_wait(&team->barrier);
}
