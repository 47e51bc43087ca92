/* SPDX-License-Identifier: MIT */
/*
 * Threads by pthreads; see crew.h.
 */
#include "apps/crew.h"

#include "daemon/base/cpuset.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum verdict { VERDICT_NONE, VERDICT_GO, VERDICT_LEAVE };

struct crew {
	crew_member *member;
	void *arg;
	pthread_barrier_t barrier;
	/* How the threads that were started learn whether all were: */
	pthread_mutex_t lock;
	pthread_cond_t decided;
	enum verdict verdict;
};

struct crew_thread {
	struct crew *crew;
	uint32_t worker;
	pthread_t id;
};

uint32_t crew_threads_default(void)
{
	struct cpuset mask;

	if (cpuset_of_thread(0, &mask) < 0)
		return 1;
	return (uint32_t)cpuset_count(&mask);
}

bool crew_is_bound(void)
{
	return false;
}

static void *thread_main(void *arg)
{
	struct crew_thread *thread = arg;
	struct crew *crew = thread->crew;

	pthread_mutex_lock(&crew->lock);
	while (crew->verdict == VERDICT_NONE)
		pthread_cond_wait(&crew->decided, &crew->lock);
	bool go = crew->verdict == VERDICT_GO;
	pthread_mutex_unlock(&crew->lock);
	if (go)
		crew->member(crew, thread->worker, crew->arg);
	return NULL;
}

static void decide(struct crew *crew, enum verdict verdict)
{
	pthread_mutex_lock(&crew->lock);
	crew->verdict = verdict;
	pthread_cond_broadcast(&crew->decided);
	pthread_mutex_unlock(&crew->lock);
}

int crew_run(uint32_t threads, crew_member *member, void *arg)
{
	struct crew crew = {.member = member,
		.arg = arg,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.decided = PTHREAD_COND_INITIALIZER};
	struct crew_thread *all = calloc(threads, sizeof(*all));
	uint32_t started = 1; /* the caller */
	int rc = all ? -pthread_barrier_init(&crew.barrier, NULL, threads) : -ENOMEM;

	if (rc < 0) {
		free(all);
		return rc;
	}
	while (started < threads) {
		struct crew_thread *thread = &all[started];

		*thread = (struct crew_thread){.crew = &crew, .worker = started};
		rc = -pthread_create(&thread->id, NULL, thread_main, thread);
		if (rc < 0)
			break;
		started++;
	}
	decide(&crew, rc < 0 ? VERDICT_LEAVE : VERDICT_GO);
	if (rc == 0)
		member(&crew, 0, arg);
	while (started > 1)
		pthread_join(all[--started].id, NULL);
	pthread_barrier_destroy(&crew.barrier);
	free(all);
	return rc;
}

void crew_wait(struct crew *crew)
{
	pthread_barrier_wait(&crew->barrier);
}
