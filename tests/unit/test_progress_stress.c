// SPDX-License-Identifier: MIT
/*
 * The hand-over while a hostile balancer writes owners at full speed, some of them out of range, and
 * sets flags at random. Each subdomain has memory that is not atomic, and that its holder alone
 * touches: ThreadSanitizer sees a hand-over without order as a race there, and
 * everybody sees an update that was lost.
 *
 * All loops end by work done, however slow the machine.
 */
#undef NDEBUG
#include "progress.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "progress_segment.h"
#include "random.h"

#define WORKERS 4u
#define SUBDOMAINS 24u
#define HAND_OVERS 4000u /* of all workers, to see before the end */
#define UPDATES 4000u

/* Of one subdomain, as a program has it. */
struct plain {
	uint64_t updates;
	uint32_t busy;
};

struct run {
	struct progress *p;
	struct view v;
	struct plain plain[SUBDOMAINS];
	atomic_bool stop;
	atomic_uint failures; /* cmocka's assertions are for the main thread */
	bool balances; /* the workers take turns as the balancer */
};

struct worker {
	struct run *run;
	uint32_t number;
	uint64_t updates;
};

static uint64_t sum_handed(const struct run *run)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < WORKERS; k++)
		sum += atomic_load_explicit(&run->v.worker[k].handed, memory_order_relaxed);
	return sum;
}

static bool has_worked(const struct run *run)
{
	uint64_t updates = 0;

	for (uint32_t s = 0; s < SUBDOMAINS; s++)
		updates += progress_updates(run->p, s);
	return updates >= UPDATES && sum_handed(run) >= HAND_OVERS;
}

static void work_on(struct worker *worker, uint32_t s)
{
	struct run *run = worker->run;
	struct plain *plain = &run->plain[s];

	if (progress_holder(run->p, s) != worker->number || plain->busy != 0 ||
		plain->updates != progress_iteration(run->p, s))
		atomic_fetch_add(&run->failures, 1);
	plain->busy = worker->number + 1;
	plain->updates++;
	worker->updates++;
	progress_update(run->p, worker->number, s, plain->updates, 0);
	if (plain->busy != worker->number + 1)
		atomic_fetch_add(&run->failures, 1);
	plain->busy = 0;
}

static void *work(void *opaque)
{
	struct worker *worker = opaque;
	struct run *run = worker->run;
	const uint32_t *mine;

	if (progress_register(run->p, worker->number) != 0)
		atomic_fetch_add(&run->failures, 1);
	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		uint32_t n = progress_begin(run->p, worker->number, &mine);
		for (uint32_t i = 0; i < n; i++)
			work_on(worker, mine[i]);
		if (run->balances) {
			/* Points as often as can be. */
			atomic_store_explicit(&run->v.header->due_ns, 0, memory_order_relaxed);
			progress_balance(run->p, worker->number);
		}
		if (has_worked(run))
			atomic_store_explicit(&run->stop, true, memory_order_relaxed);
		sched_yield();
	}
	progress_leave(run->p, worker->number);
	return NULL;
}

static void *write_owners(void *opaque)
{
	struct run *run = opaque;
	uint64_t seed = 1;

	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		uint32_t s = (uint32_t)random_int(&seed, 0, SUBDOMAINS - 1);
		uint32_t to = (uint32_t)random_int(&seed, 0, WORKERS);
		atomic_store_explicit(&run->v.subdomain[s].owner, to == WORKERS ? UINT32_MAX : to,
			memory_order_relaxed);
		uint32_t flag = (uint32_t)random_int(&seed, 0, WORKERS - 1);
		atomic_store_explicit(&run->v.worker[flag].dirty, 1, memory_order_relaxed);
	}
	return NULL;
}

static void run_workers(struct run *run, bool hostile)
{
	struct worker worker[WORKERS];
	pthread_t thread[WORKERS], balancer;
	uint64_t updates = 0;

	for (uint32_t k = 0; k < WORKERS; k++) {
		worker[k] = (struct worker){.run = run, .number = k};
		assert_int_equal(pthread_create(&thread[k], NULL, work, &worker[k]), 0);
	}
	if (hostile)
		assert_int_equal(pthread_create(&balancer, NULL, write_owners, run), 0);
	for (uint32_t k = 0; k < WORKERS; k++) {
		pthread_join(thread[k], NULL);
		updates += worker[k].updates;
	}
	if (hostile)
		pthread_join(balancer, NULL);

	assert_int_equal(atomic_load(&run->failures), 0);
	for (uint32_t s = 0; s < SUBDOMAINS; s++) {
		assert_int_equal(run->plain[s].updates, progress_updates(run->p, s));
		updates -= run->plain[s].updates;
	}
	assert_int_equal(updates, 0);
}

/* Once the balancer has stopped, all subdomains are with their holders, each once; and when one
 * that is sane follows, all reach their owners. */
static void assert_none_lost(struct run *run)
{
	const uint32_t *mine;

	for (int sane = 0; sane < 2; sane++) {
		uint32_t found[SUBDOMAINS] = {0};
		for (uint32_t s = 0; sane && s < SUBDOMAINS; s++) {
			give(&run->v, s, progress_holder(run->p, s), s % WORKERS);
		}
		/* Passed on in the first round, taken in the second, counted in the third. */
		for (int round = 0; round < 3; round++)
			for (uint32_t k = 0; k < WORKERS; k++) {
				uint32_t n = progress_begin(run->p, k, &mine);
				for (uint32_t i = 0; round == 2 && i < n; i++) {
					assert_int_equal(progress_holder(run->p, mine[i]), k);
					assert_true(!sane || mine[i] % WORKERS == k);
					found[mine[i]]++;
				}
			}
		for (uint32_t s = 0; s < SUBDOMAINS; s++)
			assert_int_equal(found[s], 1);
	}
}

static struct run *start(bool balances)
{
	struct progress_options options = {.workers = WORKERS,
		.subdomains = SUBDOMAINS,
		.low = 1,
		.high = SUBDOMAINS,
		.balancing = PROGRESS_BALANCE_JOINT};
	struct run *run = calloc(1, sizeof *run);

	assert_non_null(run);
	run->p = create_with(&options);
	run->v = view_open();
	run->balances = balances;
	return run;
}

static void finish(struct run *run)
{
	view_close(&run->v);
	progress_close(run->p);
	free(run);
}

static void test_hostile_balancer(void **state)
{
	(void)state;

	NEED_SHM();
	struct run *run = start(false);
	run_workers(run, true);
	assert_none_lost(run);
	finish(run);
}

/* Two balancers at once, of which one knows no manners. */
static void test_two_balancers(void **state)
{
	(void)state;

	NEED_SHM();
	struct run *run = start(true);
	run_workers(run, true);
	assert_none_lost(run);
	finish(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_balancer),
		cmocka_unit_test(test_two_balancers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
