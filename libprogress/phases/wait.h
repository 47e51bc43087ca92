/* SPDX-License-Identifier: MIT */
/*
 * A thread arrives somewhere and waits, and departs. Of waits within each other the outermost counts.
 * Both keep errno.
 */
#ifndef LIBPHASES_WAIT_H
#define LIBPHASES_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libprogress/phases/clocks.h"
#include "libprogress/phases/phases.h"

struct site;

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

/* Waits that the calling thread need not tell. */
struct wait_untold {
	/* The thread's in the table, see phases.h. Valid if left > 0. */
	const _Atomic uint8_t *resting;
	/* So many more before that, if PHASES_RESTS_MORE: a rest. 0: at any time, if PHASES_RESTS */
	uint64_t until_ticks;
	uint32_t left; /* so many more */
	uint32_t waits, phases; /* those that were not told, and those of them that ended a phase */
	/* Of a thread that begins parallel regions: */
	uint32_t regions; /* that it has begun unseen, since it last told the others of its team */
	bool team_rests; /* they have been told to rest, and do */
};
extern _Thread_local __attribute__((tls_model("initial-exec"))) struct wait_untold wait_untold;

/* Whether the calling thread may leave the wait that it begins untold, instead of calling wait_arrive(), which would
 * end a phase, or wait_fork(), which would not. If so, the wait is counted. Takes some nanoseconds. */
static inline bool wait_leave_untold(bool ends_phase)
{
	uint64_t until_ticks = wait_untold.until_ticks;

	if (wait_untold.left == 0)
		return false;
	uint8_t resting = atomic_load_explicit(wait_untold.resting, memory_order_relaxed);
	if (resting < (until_ticks > 0 ? PHASES_RESTS_MORE : PHASES_RESTS) ||
		(until_ticks > 0 && ticks_now() >= until_ticks))
		return false;
	wait_untold.left--;
	wait_untold.waits++;
	wait_untold.phases += ends_phase;
	return true;
}

/* Whether the calling thread may begin a parallel region as if this library were not there, as it rests, and with it
 * all threads of its team. If so, both its waits are counted. Takes some nanoseconds. */
static inline bool wait_leave_region(void)
{
	if (!wait_untold.team_rests || !wait_leave_untold(true))
		return false;
	wait_untold.left -= wait_untold.left > 0;
	wait_untold.waits++;
	wait_untold.regions++;
	return true;
}

/* Otherwise: whether it may leave the wait for the others untold. Where the team has rested until now, it tells. */
static inline bool wait_leave_fork(void)
{
	return !wait_untold.team_rests && wait_leave_untold(false);
}

/* What the thread that begins a parallel region tells those that run it. */
struct wait_region {
	uint32_t untold; /* they have run that many others that nobody told them of */
	bool rests; /* they shall rest from now on */
};

/* The calling thread yields, which counts if it waits. Safe in signal handlers. */
void wait_yield(void);

/* The calling thread begins to work with others. If it has told nothing yet, its first phase begins here instead of at
 * the first arrival: a program may have only one. */
void wait_begin(void);

/* The calling thread begins a parallel region, for which it may have to wait for the others, unless it may leave that
 * untold. It is time in waiting, but ends no phase. */
void wait_fork(struct site *site);

/* What it is to tell of the region then. `untold`: the wait was left so. */
struct wait_region wait_tell_region(bool untold);

/* The region has begun for the calling thread, which ends a wait for it. Returns false if it can't rest although it
 * shall. Then wait_wake_team() has to follow, in the thread that began the region. */
bool wait_begin_region(struct wait_region region);

/* The team of the calling thread does not rest. */
void wait_wake_team(void);

/* The calling thread has no row any more. Returns the tid that it had it for, or 0. */
uint32_t wait_forget_row(void);

/* The calling thread is another one, as after fork(). */
void wait_forget_all(void);

#endif
