// SPDX-License-Identifier: MIT
/*
 * Threads that update subdomains, the first thread at half the speed of the others: with the
 * library, no subdomain stays behind. Prints how far apart the subdomains are, and who
 * holds them at the end.
 *
 *     cc braid.c $(pkg-config --cflags --libs libprogress) -pthread
 *     ./a.out [none]
 */
#include <progress.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 3u
#define SUBDOMAINS (4 * WORKERS)
#define UPDATES 2000u /* of the first subdomain that gets there */

struct worker {
	struct progress *progress;
	atomic_bool *done;
	uint64_t *iteration; /* of each subdomain; touched by its holder alone */
	uint32_t number;
};

static void compute(uint32_t worker)
{
	volatile double x = 1;

	for (int i = worker == 0 ? 10000 : 5000; i > 0; i--)
		x = x * 0.5 + 1;
}

static void *work(void *opaque)
{
	struct worker *me = opaque;
	const uint32_t *mine;

	if (progress_register(me->progress, me->number) != 0)
		return NULL;
	while (!atomic_load(me->done)) {
		uint32_t n = progress_begin(me->progress, me->number, &mine);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t s = mine[i];
			compute(me->number);
			me->iteration[s]++;
			progress_update(me->progress, me->number, s, me->iteration[s], 0);
			if (me->iteration[s] >= UPDATES)
				atomic_store(me->done, true);
		}
		progress_balance(me->progress, me->number);
	}
	progress_leave(me->progress, me->number);
	return NULL;
}

int main(int argc, char **argv)
{
	struct progress_options options = {.workers = WORKERS, .subdomains = SUBDOMAINS};
	uint64_t iteration[SUBDOMAINS] = {0};
	struct worker worker[WORKERS];
	pthread_t thread[WORKERS];
	struct progress *progress;
	atomic_bool done = false;

	if (argc > 1 && strcmp(argv[1], "none") == 0)
		options.balancing = PROGRESS_BALANCE_NONE;
	int error = progress_create(&options, &progress);
	if (error != 0) {
		fprintf(stderr, "progress_create: %s\n", strerror(-error));
		return EXIT_FAILURE;
	}
	for (uint32_t w = 0; w < WORKERS; w++) {
		worker[w] = (struct worker){progress, &done, iteration, w};
		if (pthread_create(&thread[w], NULL, work, &worker[w]) != 0)
			return EXIT_FAILURE;
	}
	for (uint32_t w = 0; w < WORKERS; w++)
		pthread_join(thread[w], NULL);
	printf("spread %llu\n", (unsigned long long)progress_spread(progress));
	for (uint32_t s = 0; s < SUBDOMAINS; s++)
		printf("subdomain %u: %llu updates, held by %u\n", s,
			(unsigned long long)progress_updates(progress, s),
			progress_holder(progress, s));
	progress_close(progress);
	return EXIT_SUCCESS;
}
