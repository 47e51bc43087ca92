/* SPDX-License-Identifier: MIT */
/*
 * A thread arrives somewhere and waits, and departs. Of waits within each other the outermost counts.
 * Both keep errno.
 */
#ifndef LIBPHASES_WAIT_H
#define LIBPHASES_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct site;
struct untold_team;

/* Who says that a wait has ended: */
enum wait_kind {
	WAIT_NONE,
	WAIT_CALL, /* the function that the thread waits in */
	WAIT_OMPT, /* a callback of the runtime */
	WAIT_REGION, /* the beginning of the next parallel region, or the end of the call of this one */
	WAIT_OWN, /* the program */
	WAIT_SEND, /* as WAIT_CALL. It may be over at once, and so ends no phase */
	WAIT_FORK, /* ends none either, see below */
};

/* Returns whether it counts, i.e. whether the thread does not wait already. `frame` is an address in
 * the stack frame that the wait is in, or NULL when it may end in another one. */
bool wait_arrive(enum wait_kind kind, struct site *site, const void *frame);

/* Ends the wait if it is of that kind. */
void wait_depart(enum wait_kind kind);

/* The calling thread yields, which counts if it waits. Safe in signal handlers. */
void wait_yield(void);

/* The calling thread begins to work with others. If it has told nothing yet, its first phase begins here instead of at
 * the first arrival: a program may have only one. */
void wait_begin(void);

/* The work of this phase is handed out as threads ask for it: PHASES_DYNAMIC. */
void wait_dynamic(void);

/* The calling thread begins a parallel region, for which it may have to wait for the others, unless it may leave that
 * untold. It is time in waiting, but ends no phase. */
void wait_fork(struct site *site);

/* The region has begun for the thread that began it, which ends a wait for it. */
void wait_begin_region(void);

/* The same for another thread of the team. */
void wait_join_region(const struct untold_team *team);

/* The calling thread has no row any more. Returns the tid that it had it for, or 0. */
uint32_t wait_forget_row(void);

/* The calling thread is another one, as after fork(). */
void wait_forget_all(void);

#endif
