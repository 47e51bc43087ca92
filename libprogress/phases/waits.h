/* SPDX-License-Identifier: MIT */
/*
 * For programs with barriers of their own: tells juggle when a thread waits for others. The functions
 * are in libphases.so, which is there only when somebody has preloaded it. So they are weak: a
 * program calls them if they are there, and needs no library.
 *
 *     if (phases_arrive)
 *             phases_arrive();
 *     ... wait ...
 *     if (phases_depart)
 *             phases_depart();
 *
 * Barriers of pthreads, OpenMP and MPI are seen without them. See phases(7).
 */
#ifndef JUGGLE_WAITS_H
#define JUGGLE_WAITS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread has done its part and waits for others from now on. Within another wait,
 * nothing. */
__attribute__((weak)) void phases_arrive(void);

/* It waits no longer. */
__attribute__((weak)) void phases_depart(void);

#ifdef __cplusplus
}
#endif

#endif
