/* SPDX-License-Identifier: MIT */
/*
 * A crew of threads with a barrier, for ubench and jacobi: by OpenMP in crew_omp.c, by pthreads in
 * crew_pthread.c, for builds without OpenMP and for ThreadSanitizer, which OpenMP's runtime does
 * not support.
 */
#ifndef APPS_CREW_H
#define APPS_CREW_H

#include <stdbool.h>
#include <stdint.h>

struct crew;

/* What each thread runs; worker is from 0. */
typedef void crew_member(struct crew *crew, uint32_t worker, void *arg);

/* How many threads to run by default: 1 or more. */
uint32_t crew_threads_default(void);

/* Whether the runtime has bound threads to CPUs by itself. */
bool crew_is_bound(void);

/* Run the member in that many threads, and wait for all; the caller is worker 0. Returns 0, or a
 * negative errno when not all threads could be started; then no member has run. */
int crew_run(uint32_t threads, crew_member *member, void *arg);

/* The barrier of all threads of the crew. */
void crew_wait(struct crew *crew);

#endif
