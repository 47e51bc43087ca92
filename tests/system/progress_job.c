// SPDX-License-Identifier: MIT
/*
 * A job for the tests of progressive load balancing: threads that update subdomains until standard
 * input ends, one of them slowly. Their work is sleeping, so that it takes the same time on any
 * machine, or, when asked for, computing.
 *
 *     progress-job WORKERS SUBDOMAINS SLOW KIND BALANCING STATUS
 *
 * SLOW is the worker whose updates take ten times as long, -1 for none; KIND "sleep" or
 * "spin"; BALANCING a number of enum progress_balancing; STATUS what to exit with. Says
 * "ready" when all workers are registered, and in the end how many subdomains its own threads
 * have moved.
 */
#include "libprogress/progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UPDATE_NS 100000
#define SLOW_FACTOR 10

struct job {
	struct progress *progress;
	int slow;
	bool spin;
	pthread_barrier_t registered;
	_Atomic bool stop;
	_Atomic unsigned long moves;
};

struct worker {
	struct job *job;
	uint32_t number;
	pthread_t thread;
};

static void spin(long ns)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < ns);
}

static void update(const struct worker *worker)
{
	long ns = UPDATE_NS * ((int)worker->number == worker->job->slow ? SLOW_FACTOR : 1);

	if (worker->job->spin)
		spin(ns);
	else
		nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct job *job = worker->job;
	struct progress *p = job->progress;

	if (progress_register(p, worker->number) != 0)
		abort();
	pthread_barrier_wait(&job->registered);
	while (!atomic_load(&job->stop)) {
		const uint32_t *mine;
		uint32_t n = progress_begin(p, worker->number, &mine);
		for (uint32_t i = 0; i < n && !atomic_load(&job->stop); i++) {
			update(worker);
			uint64_t iteration = progress_iteration(p, mine[i]) + 1;
			progress_update(p, worker->number, mine[i], iteration, 0);
		}
		if (n == 0)
			nanosleep(&(struct timespec){.tv_nsec = UPDATE_NS}, NULL);
		atomic_fetch_add(&job->moves, progress_balance(p, worker->number));
	}
	progress_leave(p, worker->number);
	return NULL;
}

int main(int argc, char **argv)
{
	char byte;

	if (argc != 7)
		return 2;
	struct progress_options options = {
		.workers = (uint32_t)atoi(argv[1]),
		.subdomains = (uint32_t)atoi(argv[2]),
		.balancing = (uint32_t)atoi(argv[5]),
	};
	struct job job = {.slow = atoi(argv[3]), .spin = strcmp(argv[4], "spin") == 0};
	struct worker *worker = calloc(options.workers, sizeof *worker);
	if (worker == NULL || progress_create(&options, &job.progress) != 0)
		return 2;
	pthread_barrier_init(&job.registered, NULL, options.workers + 1);
	for (uint32_t w = 0; w < options.workers; w++) {
		worker[w] = (struct worker){.job = &job, .number = w};
		if (pthread_create(&worker[w].thread, NULL, work, &worker[w]) != 0)
			return 2;
	}
	pthread_barrier_wait(&job.registered);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	atomic_store(&job.stop, true);
	for (uint32_t w = 0; w < options.workers; w++)
		pthread_join(worker[w].thread, NULL);
	printf("%lu\n", (unsigned long)job.moves);
	pthread_barrier_destroy(&job.registered);
	progress_close(job.progress);
	free(worker);
	return atoi(argv[6]);
}
