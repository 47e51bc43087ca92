/* SPDX-License-Identifier: MIT */
/*
 * Waits that a thread need not tell, as telling them would cost more than anybody gains by it. All of this is about
 * the calling thread.
 *
 * A wait in which a thread has slept costs more than others: what it needs here is no longer in its CPU's caches, and
 * a switch follows where the clock of CPU time shows that a slice is over. A thread by whose times hardly anybody
 * decides, as it is left to the kernel for its short phases, rests: it tells a run of waits, and leaves those of the
 * next few milliseconds untold. It is taken to have waited in the same share of that time as in the last runs, and in
 * the same places as in the last one. A rest is a random number of waits long, so that runs show no kind of wait more
 * often than others.
 *
 * In libgomp's regions, whose beginning is ours (gomp.c), a team rests together: the thread that begins regions hands
 * them on as they are, so that none of the others finds anything of ours in its way. The region at which a rest begins
 * tells them to, and they answer at its end whether they do; the first one after the rest tells them how many
 * they have run meanwhile.
 *
 * Even looks at the ticks are dear beside barriers of less than a microsecond. A thread by whose times nobody
 * decides, as it has a CPU of its own, tells one of many such waits. The others are taken to have been as long as the
 * last one that was told.
 */
#ifndef LIBPHASES_UNTOLD_H
#define LIBPHASES_UNTOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libprogress/phases/clocks.h"
#include "libprogress/phases/phases.h"

struct untold_waits {
	/* The thread's in the table, see phases.h. NULL before it has a row there; then nothing is left. */
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
extern _Thread_local __attribute__((tls_model("initial-exec"))) struct untold_waits untold_waits;

/* Whether the wait that begins may be left untold. If not, wait_arrive() tells it if `ends_phase`, else wait_fork(). If
 * so, it is counted. Takes some nanoseconds. */
static inline bool untold_leave(bool ends_phase)
{
	uint64_t until_ticks = untold_waits.until_ticks;

	if (untold_waits.left == 0)
		return false;
	uint8_t resting = atomic_load_explicit(untold_waits.resting, memory_order_relaxed);
	if (resting < (until_ticks > 0 ? PHASES_RESTS_MORE : PHASES_RESTS) ||
		(until_ticks > 0 && ticks_now() >= until_ticks))
		return false;
	untold_waits.left--;
	untold_waits.waits++;
	untold_waits.phases += ends_phase;
	return true;
}

/* Whether the thread may rest, as hardly anybody decides by its times. It has to have a row. */
static inline bool untold_may_rest(void)
{
	return atomic_load_explicit(untold_waits.resting, memory_order_relaxed) >=
	       PHASES_RESTS_MORE;
}

/* ---- Teams ---- */

/* What the thread that begins a parallel region tells the others that run it. */
struct untold_team {
	bool rests; /* they shall rest from now on */
	uint32_t handed_on; /* so many regions that they have run before */
};

/* What they answer at its end, if they were told any of that: a sum of these. */
enum untold_answer {
	UNTOLD_RESTS = 1, /* the wait there was left untold */
	UNTOLD_RESTLESS = 2,
};

/* Whether the parallel region that begins may be handed on as if this library were not there: the thread rests, and
 * with it all of its team. If so, its wait for them is counted, and untold_end_handed_on() has to follow. Takes some
 * nanoseconds. */
static inline bool untold_hand_on(void)
{
	if (!untold_waits.team_rests || untold_waits.within || !untold_leave(false))
		return false;
	untold_waits.handed_on++;
	untold_waits.within = true;
	return true;
}

/* Counts waits that were not told, each of which ended a phase. The rest may have ended meanwhile. */
static inline void untold_add(uint32_t phases)
{
	untold_waits.waits += phases;
	untold_waits.phases += phases;
	if (untold_waits.until_ticks == 0)
		untold_waits.until_ticks = 1; /* one that is over */
}

/* The region has ended, and with it the wait at its end. */
static inline void untold_end_handed_on(void)
{
	untold_add(1);
	untold_waits.left -= untold_waits.left > 0;
	untold_waits.within = false;
}

/* What to tell the team of a region that begins, and is neither handed on, nor `within` another one, nor of one thread
 * alone. `untold`: the wait for the others was left so. */
struct untold_team untold_tell_team(bool untold);

/* The region has ended. `answers`: a sum of enum untold_answer; 0 if nobody else has run it. */
void untold_hear_team(const struct untold_team *team, unsigned answers);

/* A thread that another one has told `team` begins to run the region. `may_rest`: it waits no longer, and may rest if
 * it is told to. */
void untold_follow(const struct untold_team *team, bool may_rest);

/* ---- Of waits that are told; for wait.c ---- */

/* What is taken to have happened from the end of one of these to the beginning of the next one. */
struct untold_past {
	uint32_t waits, phases; /* how many were not told, and ended a phase */
	uint64_t waited_ticks; /* in them */
	uint32_t site; /* at which that was */
	uint64_t excess_ticks; /* not in them: a rest took so much longer than it should */
};

/* A wait begins that is told, at that site, and `passed_ticks` after the end of the last one. Forgets what it
 * returns. */
struct untold_past untold_take_past(uint32_t site, uint64_t passed_ticks);

/* That wait has ended, after so many ticks. May allow that the next ones are left untold, if the thread `may_rest`
 * also for a rest. */
void untold_learn(uint64_t now_ticks, uint64_t waited_ticks, bool may_rest);

/* Nothing is known any more. `resting`: the thread's in the table; NULL: it has none. */
void untold_reset(const _Atomic uint8_t *resting);

#endif
