// SPDX-License-Identifier: MIT
/*
 * What libprogress costs a program that has nothing else to do: the median ns over many batches
 * of each of its calls. Writes JSON to standard output.
 */
#include "libprogress/progress.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libprogress/segment.h"

#define BATCHES 301
#define CALLS 10000 /* a batch */
#define WORKERS 24u
#define SUBDOMAINS 96u

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The segment as seen from outside, to play the balancer. */
struct context {
	struct progress *p;
	struct segment_header *header;
	uint64_t iteration;
};

/* Begin, then update one subdomain after the other: the whole cost of an update. */
static void update(struct context *c)
{
	const uint32_t *mine;

	for (int i = 0; i < CALLS / 4; i++) {
		uint32_t n = progress_begin(c->p, 0, &mine);
		for (uint32_t k = 0; k < n; k++)
			progress_update(c->p, 0, mine[k], ++c->iteration, 0.5);
	}
}

/* The same with the worst case, one subdomain for each look at the flag. */
static void begin_and_update(struct context *c)
{
	const uint32_t *mine;

	for (int i = 0; i < CALLS; i++) {
		progress_begin(c->p, 0, &mine);
		progress_update(c->p, 0, mine[0], ++c->iteration, 0.5);
	}
}

static void balance_not_due(struct context *c)
{
	for (int i = 0; i < CALLS; i++) {
		atomic_store_explicit(&c->header->due_ns, UINT64_MAX, memory_order_relaxed);
		progress_balance(c->p, 0);
	}
}

static void balance(struct context *c)
{
	for (int i = 0; i < CALLS / 100; i++) {
		atomic_store_explicit(&c->header->due_ns, 0, memory_order_relaxed);
		progress_balance(c->p, 0);
	}
}

/* A begin that has to look at all subdomains. */
static void look(struct context *c)
{
	struct segment_worker *worker =
		(struct segment_worker *)((char *)c->header + segment_worker_offset(0));
	const uint32_t *mine;

	for (int i = 0; i < CALLS / 10; i++) {
		atomic_store_explicit(&worker->dirty, 1, memory_order_relaxed);
		progress_begin(c->p, 0, &mine);
	}
}

static double median_ns(void (*batch)(struct context *), struct context *context, int calls)
{
	double times[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		double start = now_ns();
		batch(context);
		times[i] = (now_ns() - start) / calls;
	}
	qsort(times, BATCHES, sizeof times[0], compare);
	return times[BATCHES / 2];
}

int main(void)
{
	struct progress_options options = {.workers = WORKERS, .subdomains = SUBDOMAINS};
	size_t bytes = segment_size(WORKERS, SUBDOMAINS);
	struct context context = {0};
	char path[64];

	int error = progress_create(&options, &context.p);
	if (error != 0) {
		fprintf(stderr, "progress_create: %s\n", strerror(-error));
		return EXIT_FAILURE;
	}
	snprintf(path, sizeof path, "/dev/shm/progress.%u.%d", (unsigned)geteuid(), (int)getpid());
	int fd = open(path, O_RDWR);
	void *memory =
		fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror(path);
		progress_close(context.p);
		return EXIT_FAILURE;
	}
	context.header = memory;
	for (uint32_t k = 0; k < WORKERS; k++)
		progress_register(context.p, k);

	json_t *report = json_object();
	json_object_set_new(report, "what", json_string("median ns of one call"));
	json_object_set_new(report, "workers", json_integer(WORKERS));
	json_object_set_new(report, "subdomains", json_integer(SUBDOMAINS));
	json_object_set_new(
		report, "update_of_4_a_begin", json_real(median_ns(update, &context, CALLS)));
	json_object_set_new(report, "begin_and_update",
		json_real(median_ns(begin_and_update, &context, CALLS)));
	json_object_set_new(
		report, "balance_not_due", json_real(median_ns(balance_not_due, &context, CALLS)));
	json_object_set_new(
		report, "balance", json_real(median_ns(balance, &context, CALLS / 100)));
	json_object_set_new(
		report, "begin_that_looks", json_real(median_ns(look, &context, CALLS / 10)));
	json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(4));
	putchar('\n');
	json_decref(report);

	munmap(memory, bytes);
	close(fd);
	progress_close(context.p);
	return EXIT_SUCCESS;
}
