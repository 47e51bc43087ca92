/* SPDX-License-Identifier: MIT */
/*
 * A number of threads and their barrier. By OpenMP (team_omp.c); by pthreads (team_pthread.c)
 * where the build has no OpenMP, so that ThreadSanitizer, which OpenMP's runtime is
 * not built for, can watch all that the solver does.
 */
#ifndef JACOBI_TEAM_H
#define JACOBI_TEAM_H

#include <stdbool.h>
#include <stdint.h>

struct team;

/* What each thread runs; worker is from 0. */
typedef void team_member(struct team *team, uint32_t worker, void *arg);

/* How many threads a user wants who did not say. At least 1. */
uint32_t team_threads_default(void);

/* Whether the runtime has bound threads to CPUs by itself. */
bool team_is_bound(void);

/* Run so many threads to their end; the caller is worker 0. Returns 0, or a negative errno when not
 * all could be started: then none has run. */
int team_run(uint32_t threads, team_member *member, void *arg);

/* The barrier of all threads of the team. */
void team_wait(struct team *team);

#endif
