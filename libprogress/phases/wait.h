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
	/* Until then the thread rests, with PHASES_RESTS_MORE. 0: it doesn't, and needs PHASES_RESTS */
	uint64_t until_ticks;
	uint32_t left; /* so many more may be left untold */
	uint32_t waits, phases; /* those that were not told, and those of them that ended a phase */
	/* Of a thread that begins parallel regions: */
	uint32_t handed_on; /* regions since its team was last told of one */
	bool team_rests; /* together with it, in this rest */
	bool within; /* a region that it has begun */
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

/* What the thread that begins a parallel region tells the others that run it. */
struct wait_team {
	bool rests; /* they shall rest from now on */
	uint32_t handed_on; /* so many regions that they have run before */
};

/* What they answer at its end, if they were told any of that: a sum of these. */
enum wait_answer {
	WAIT_RESTS = 1, /* the wait there was left untold */
	WAIT_RESTLESS = 2,
};

/* Whether the calling thread may hand on the parallel region that it begins, as if this library were not there: it
 * rests, and with it all threads of its team. If so, its wait for them is counted, and wait_end_handed_on() has to
 * follow. Takes some nanoseconds. */
static inline bool wait_hand_on(void)
{
	if (!wait_untold.team_rests || wait_untold.within || !wait_leave_untold(false))
		return false;
	wait_untold.handed_on++;
	wait_untold.within = true;
	return true;
}

/* Counts waits that were not told, each of which ended a phase. The rest may have ended meanwhile. */
static inline void wait_add_untold(uint32_t phases)
{
	wait_untold.waits += phases;
	wait_untold.phases += phases;
	if (wait_untold.until_ticks == 0)
		wait_untold.until_ticks = 1; /* one that is over */
}

/* The region has ended, and with it the wait at its end. */
static inline void wait_end_handed_on(void)
{
	wait_add_untold(1);
	wait_untold.left -= wait_untold.left > 0;
	wait_untold.within = false;
}

/* The calling thread yields, which counts if it waits. Safe in signal handlers. */
void wait_yield(void);

/* The calling thread begins to work with others. If it has told nothing yet, its first phase begins here instead of at
 * the first arrival: a program may have only one. */
void wait_begin(void);

/* The calling thread begins a parallel region, for which it may have to wait for the others, unless it may leave that
 * untold. It is time in waiting, but ends no phase. */
void wait_fork(struct site *site);

/* Then, unless it is `within` another region, or alone: what to tell its team. `untold`: the wait was left so. */
struct wait_team wait_lead(bool untold);

/* The region of that team has ended. `answers`: a sum of enum wait_answer; 0 if nobody else has run it. */
void wait_end_lead(const struct wait_team *team, unsigned answers);

/* The region has begun for the thread that began it, which ends a wait for it. */
void wait_begin_region(void);

/* The same for another thread. */
void wait_join_region(const struct wait_team *team);

/* The calling thread has no row any more. Returns the tid that it had it for, or 0. */
uint32_t wait_forget_row(void);

/* The calling thread is another one, as after fork(). */
void wait_forget_all(void);

#endif
