/* SPDX-License-Identifier: MIT */
/* How many waits are left untold, and what is made of them; see untold.h. */
#include "libprogress/phases/untold.h"

#include <string.h>

#include "libprogress/phases/ticks.h"

/* Waits need not all be told after so many with less than FLEETING_TICKS (2 to 6 us) between turns. UNTOLD + 1 is a
 * prime number, for programs that wait in several places by turns. */
#define FLEETING_TICKS (FULL_TICKS / 32)
#define FLEETING_LEAST 256
#define UNTOLD 16
#define REST_TICKS (30 * FULL_TICKS) /* 2.4 to 6 ms, on average */
#define REST_MOST (4 * REST_TICKS) /* then other phases may have begun */
/* The most that a single wait or work counts for, as it says nothing of others. */
#define ALONE_MOST (32 * FULL_TICKS)
#define RUN_WAITS 8 /* of which the work before them is told, too */
/* With means of 64 waits (16 runs of 4), threads of LULESH seemed to do 0.86 of what they do outside waits: a few of
 * its many kinds of work are long. */
#define RUNS_SMOOTHING 128

/* Of waits that were told. Small, like struct thread in wait.c. */
struct told {
	uint64_t turn_ticks; /* when the last one ended */
	uint32_t site; /* of the last one */
	uint32_t fleeting; /* in a row */
	uint32_t fleeting_ticks; /* of the last one of them */
	uint32_t run_waits; /* of the run under way */
	uint32_t run_site; /* of one of them, at random, the more likely the longer it was */
	uint64_t work_ticks; /* before the last one */
	uint64_t run_waited_ticks;
	uint64_t all_waits, all_worked_ticks, all_waited_ticks; /* of several runs, smoothed */
};

static _Thread_local __attribute__((tls_model("initial-exec"))) struct told mine;
_Thread_local __attribute__((tls_model("initial-exec"))) struct untold_waits untold_waits;

/* Of so many waits in a rest, and the work before and after each. The rest should not have been longer than
 * REST_MOST. */
static void take_rest(struct untold_past *past, uint64_t passed_ticks)
{
	uint64_t waited = past->waits * mine.all_waited_ticks;
	uint64_t worked = ((uint64_t)past->waits + 1) * mine.all_worked_ticks;

	past->site = mine.run_site;
	past->excess_ticks = above(passed_ticks, REST_MOST);
	past->waited_ticks = share(lesser(passed_ticks, REST_MOST), waited, waited + worked);
}

static void take_fleeting(struct untold_past *past, uint64_t passed_ticks)
{
	past->site = mine.site;
	past->waited_ticks = lesser((uint64_t)past->waits * mine.fleeting_ticks, passed_ticks);
}

static void forget_untold(void)
{
	untold_waits.waits = untold_waits.phases = untold_waits.left = 0;
	untold_waits.until_ticks = 0;
	untold_waits.team_rests = false;
}

struct untold_past untold_take_past(uint32_t site, uint64_t passed_ticks)
{
	struct untold_past past = {.waits = untold_waits.waits, .phases = untold_waits.phases};
	bool fleeting = passed_ticks < (uint64_t)FLEETING_TICKS * (past.waits + 1);

	mine.fleeting = fleeting ? mine.fleeting + 1 : 0;
	mine.run_waits = past.waits > 0 ? 0 : mine.run_waits + 1;
	if (past.waits > 0 && untold_waits.until_ticks > 0)
		take_rest(&past, passed_ticks);
	else if (past.waits > 0)
		take_fleeting(&past, passed_ticks);
	mine.work_ticks = passed_ticks;
	mine.site = site;
	forget_untold();
	return past;
}

/* Less than n, which is less than 2^32. */
static uint32_t random_below(uint64_t n)
{
	return (uint32_t)((mine.turn_ticks * UINT64_C(0x9e3779b97f4a7c15) >> 32) % n);
}

static void smooth_runs(void)
{
	mine.all_waits -= mine.all_waits / RUNS_SMOOTHING;
	mine.all_worked_ticks -= mine.all_worked_ticks / RUNS_SMOOTHING;
	mine.all_waited_ticks -= mine.all_waited_ticks / RUNS_SMOOTHING;
	mine.run_waits = 0;
}

/* Takes in a wait of that length. Returns whether it is the last of a run. */
static bool end_run(uint64_t ticks)
{
	if (mine.run_waits == 0)
		return false;
	ticks = lesser(ticks, ALONE_MOST);
	mine.run_waited_ticks = mine.run_waits == 1 ? ticks : mine.run_waited_ticks + ticks;
	if (mine.run_waits == 1 || random_below(mine.run_waited_ticks + 1) < ticks)
		mine.run_site = mine.site;
	mine.all_waits++;
	mine.all_worked_ticks += lesser(mine.work_ticks, ALONE_MOST);
	mine.all_waited_ticks += ticks;
	if (mine.run_waits < RUN_WAITS)
		return false;
	smooth_runs();
	return true;
}

/* So many waits take REST_TICKS, on average. */
static uint32_t rest_waits(void)
{
	uint64_t each = (mine.all_worked_ticks + mine.all_waited_ticks) / mine.all_waits;
	uint64_t waits = lesser(REST_TICKS / (each + 1), UINT16_MAX / 2);

	return (uint32_t)waits / 2 + random_below(waits + 1);
}

static bool rests_now(void)
{
	return untold_waits.left > 0 && untold_waits.until_ticks > 0;
}

static void rest(uint32_t waits)
{
	untold_waits.left = waits;
	untold_waits.until_ticks = mine.turn_ticks + REST_MOST;
}

void untold_learn(uint64_t now_ticks, uint64_t waited_ticks, bool may_rest)
{
	mine.turn_ticks = now_ticks;
	bool ends_run = end_run(waited_ticks);
	if (waited_ticks >= FLEETING_TICKS)
		mine.fleeting = 0;
	if (mine.fleeting >= FLEETING_LEAST) {
		mine.fleeting_ticks = (uint32_t)waited_ticks;
		untold_waits.left = UNTOLD;
		untold_waits.until_ticks = 0;
	} else if (ends_run && may_rest && untold_may_rest()) {
		rest(rest_waits());
	}
}

struct untold_team untold_tell_team(bool untold)
{
	/* Those that have just rested tell first. */
	bool rests = untold && rests_now() && untold_waits.handed_on == 0;
	struct untold_team team = {.rests = rests, .handed_on = untold_waits.handed_on};

	untold_waits.handed_on = 0;
	untold_waits.team_rests = rests;
	untold_waits.within = true;
	return team;
}

void untold_hear_team(const struct untold_team *team, unsigned answers)
{
	untold_waits.within = false;
	if (answers != UNTOLD_RESTS)
		untold_waits.team_rests = false;
	if (answers == 0)
		untold_waits.handed_on += team->handed_on;
}

/* To take part in a rest, a thread has to have measured what it will be taken to do in it. */
static void rest_with_team(void)
{
	if ((!rests_now() && mine.run_waits == 0) || !untold_may_rest())
		return;
	if (mine.run_waits > 0)
		smooth_runs();
	rest(UINT32_MAX);
}

void untold_follow(const struct untold_team *team, bool may_rest)
{
	if (!team->rests && untold_waits.until_ticks > 0)
		untold_waits.left = 0;
	if (team->rests && may_rest)
		rest_with_team();
}

void untold_reset(const _Atomic uint8_t *resting)
{
	untold_waits = (struct untold_waits){.resting = resting};
	memset(&mine, 0, sizeof mine);
}
