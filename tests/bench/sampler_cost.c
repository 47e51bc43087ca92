// SPDX-License-Identifier: MIT
/*
 * What reading one thread costs: the median over many readings, by each sampler that works
 * here, in batches of 1, 8 and 1000 sleeping threads. Writes JSON to standard output.
 */
#include "daemon/sample/sampler.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 1000
#define READINGS_OF_THREADS 100000 /* of each sampler and batch size */
#define STACK_BYTES 65536

struct sleeper {
	pthread_t thread;
	pid_t tid;
	sem_t ready;
	sem_t stop;
};

static void *sleep_until_stop(void *opaque)
{
	struct sleeper *sleeper = opaque;

	sleeper->tid = (pid_t)syscall(SYS_gettid);
	sem_post(&sleeper->ready);
	while (sem_wait(&sleeper->stop) != 0)
		;
	return NULL;
}

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

/* Median ns per thread, or a negative errno. */
static double measure(struct sampler *sampler, struct sampler_slot *slots,
	struct sampler_slot *const *pointers, size_t n)
{
	size_t rounds = READINGS_OF_THREADS / n;
	double result = 0;
	size_t attached = 0;
	double *times = calloc(rounds, sizeof(*times));

	if (times == NULL)
		return -ENOMEM;
	while (attached < n && result == 0)
		result = sampler_attach(sampler, &slots[attached++]);
	for (size_t i = 0; i < rounds && result == 0; i++) {
		double start = now_ns();
		sampler_read(sampler, pointers, n);
		times[i] = (now_ns() - start) / (double)n;
		for (size_t j = 0; j < n && result == 0; j++)
			result = slots[j].error;
	}
	if (result == 0) {
		qsort(times, rounds, sizeof(*times), compare);
		result = times[rounds / 2];
	}
	while (attached > 0)
		sampler_detach(sampler, &slots[--attached]);
	free(times);
	return result;
}

static json_t *measure_kind(enum sampler_kind kind, struct sampler_slot *slots,
	struct sampler_slot *const *pointers, size_t threads)
{
	static const size_t sizes[] = {1, 8, THREADS};
	struct sampler *sampler;
	json_t *out = json_object();
	int error = sampler_new(&sampler, kind);

	if (error != 0) {
		json_object_set_new(out, "error", json_string(sampler_advice(kind, error)));
		return out;
	}
	json_object_set_new(out, "unit", json_string(sampler_progress_unit(sampler)));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char key[32];
		if (sizes[i] > threads)
			continue;
		snprintf(key, sizeof(key), "threads_%zu", sizes[i]);
		json_object_set_new(
			out, key, json_real(measure(sampler, slots, pointers, sizes[i])));
	}
	sampler_free(sampler);
	return out;
}

int main(void)
{
	static const enum sampler_kind kinds[] = {
		SAMPLER_SCHEDSTAT, SAMPLER_TASKSTATS, SAMPLER_PERF};
	struct sleeper *sleepers = calloc(THREADS, sizeof(*sleepers));
	struct sampler_slot *slots = calloc(THREADS, sizeof(*slots));
	struct sampler_slot **pointers = calloc(THREADS, sizeof(struct sampler_slot *));
	struct rlimit files;
	pthread_attr_t attributes;
	size_t threads = 0;

	if (sleepers == NULL || slots == NULL || pointers == NULL)
		return EXIT_FAILURE;
	/* perf needs two descriptors per thread. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (; threads < THREADS; threads++) {
		struct sleeper *sleeper = &sleepers[threads];
		sem_init(&sleeper->ready, 0, 0);
		sem_init(&sleeper->stop, 0, 0);
		if (pthread_create(&sleeper->thread, &attributes, sleep_until_stop, sleeper) != 0)
			break;
		while (sem_wait(&sleeper->ready) != 0)
			;
		slots[threads] = (struct sampler_slot){.pid = getpid(), .tid = sleeper->tid};
		pointers[threads] = &slots[threads];
	}
	pthread_attr_destroy(&attributes);

	json_t *report = json_object();
	json_object_set_new(report, "what", json_string("median ns to read one thread"));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		json_object_set_new(report, sampler_kind_name(kinds[i]),
			measure_kind(kinds[i], slots, pointers, threads));
	json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(4));
	putchar('\n');
	json_decref(report);

	for (size_t i = 0; i < threads; i++)
		sem_post(&sleepers[i].stop);
	for (size_t i = 0; i < threads; i++)
		pthread_join(sleepers[i].thread, NULL);
	free(pointers);
	free(slots);
	free(sleepers);
	return EXIT_SUCCESS;
}
