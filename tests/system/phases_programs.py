# SPDX-License-Identifier: MIT
"""Programs in C that wait at barriers, for the tests of libphases."""

import shutil
import subprocess

import pytest

import helpers

# Threads that compute a multiple of a given time, wait for each other, and so on. Their number, how
# often, milliseconds for the first and for the others, and how to end.
PTHREADS = r"""
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t barrier;
static int phases;
static double first_ms, other_ms;

static void compute(double ms)
{
	struct timespec start, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1e3 + (now.tv_nsec - start.tv_nsec) / 1e6 < ms);
}

static void *run(void *first)
{
	for (int i = 0; i < phases; i++) {
		compute(first ? first_ms : other_ms);
		errno = 4711;
		pthread_barrier_wait(&barrier);
		if (errno != 4711)
			abort();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int number = atoi(argv[1]);

	phases = atoi(argv[2]);
	first_ms = atof(argv[3]);
	other_ms = atof(argv[4]);
	pthread_barrier_init(&barrier, NULL, number);
	for (int i = 1; i < number; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	run(argv);
	for (int i = 1; i < number; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	if (argv[5])
		raise(atoi(argv[5]));
	return 7;
}
"""

# All that OpenMP programs do, with tasks in place of TASKS or without them.
CONSTRUCTS = r"""
#include <omp.h>
#include <stdio.h>

int main(void)
{
	long sum = 0, tasks = 0, single = 0, copied = 0;

	for (int round = 0; round < 20; round++) {
		#pragma omp parallel for schedule(static, 3) reduction(+ : sum)
		for (int i = 0; i < 100; i++)
			sum += i;
		#pragma omp parallel for schedule(dynamic, 7) reduction(+ : sum)
		for (int i = 0; i < 100; i++)
			sum += i;
		#pragma omp parallel for schedule(monotonic : dynamic) reduction(+ : sum)
		for (int i = 0; i < 100; i++)
			sum += i;
		#pragma omp parallel for schedule(guided) reduction(+ : sum)
		for (long i = 0; i < 100; i++)
			sum += i;
		#pragma omp parallel for schedule(runtime) reduction(+ : sum)
		for (int i = 0; i < 100; i++)
			sum += i;
		#pragma omp parallel for schedule(auto) reduction(+ : sum) collapse(2)
		for (int i = 0; i < 10; i++)
			for (int k = 0; k < 10; k++)
				sum += 10 * i + k;
		#pragma omp parallel
		{
			#pragma omp for schedule(dynamic) reduction(+ : sum)
			for (unsigned long long i = 0; i < 100; i++)
				sum += i;
			#pragma omp for ordered schedule(static, 1)
			for (int i = 0; i < 100; i++) {
				#pragma omp ordered
				sum += i;
			}
			#pragma omp sections
			{
				#pragma omp section
				{
					#pragma omp atomic
					single++;
				}
				#pragma omp section
				{
					#pragma omp atomic
					single++;
				}
			}
			long mine = 0;
			#pragma omp single copyprivate(mine)
			mine = 5;
			#pragma omp atomic
			copied += mine;
		}
		#pragma omp parallel sections
		{
			#pragma omp section
			{
				#pragma omp atomic
				single++;
			}
			#pragma omp section
			{
				#pragma omp atomic
				single++;
			}
		}
		#pragma omp parallel num_threads(2)
		{
			#pragma omp parallel num_threads(2)
			{
				#pragma omp atomic
				single++;
			}
			#pragma omp for
			for (int i = 0; i < 100; i++) {
				#pragma omp cancel for if (i == 50)
			}
		}
		TASKS
	}
	printf("%ld %ld %ld %ld\n", sum, tasks, single, copied);
	return 0;
}
"""
TASKS = r"""
		long reduced = 0, a[4] = {1, 2, 3, 4};
		#pragma omp parallel
		#pragma omp single
		{
			for (int i = 0; i < 100; i++) {
				#pragma omp task firstprivate(i) shared(tasks) depend(inout : tasks) priority(i)
				tasks += a[i % 4] * i;
			}
			#pragma omp taskwait
			#pragma omp taskloop grainsize(10) firstprivate(a)
			for (int i = 0; i < 100; i++) {
				#pragma omp atomic
				tasks += a[i % 4];
			}
			#pragma omp taskgroup
			for (int i = 0; i < 10; i++) {
				#pragma omp task
				{
					#pragma omp atomic
					tasks++;
				}
			}
		}
		#pragma omp parallel reduction(task, + : reduced)
		{
			#pragma omp task in_reduction(+ : reduced)
			reduced++;
		}
		tasks += reduced;
"""


def openmp(folder, compiler, source, *flags):
    """A program that is compiled for OpenMP; skips the test where that can't be done."""
    if not shutil.which(compiler):
        pytest.skip("no " + compiler)
    try:
        return helpers.compile_c(folder, source, "-fopenmp", *flags, compiler=compiler)
    except subprocess.CalledProcessError:
        pytest.skip(compiler + " has no OpenMP here")
