/* SPDX-License-Identifier: MIT */
#include "daemon/policy/packing.h"

#include <math.h>

#include "daemon/policy/regime.h"

/* Threads are packed on CPUs of which they would use no more than this share, as to sleep and to be woken takes some
 * of it, too. A first trial is taken to cost the job so much: */
#define USED_MOST 0.8
#define COST_FIRST_NS (0.15 * (POLICY_PACKING_NS + POLICY_SETTLE_NS))
/* What packing has to gain: useful time may be more on fewer CPUs, by what caches lose. Phases are no more than a check,
 * as those of an iteration are often of many kinds; but serial parts of a program are useful, too. */
#define GAIN_LEAST 1.1
#define PHASES_LEAST 0.9
#define SLOWER 0.8 /* than before: another part of the program, or other load */
/* Likewise, by what phases need in so many windows in a row: one may show a part of an iteration. */
#define NEED_CHANGE 0.5
#define STRANGE_WINDOWS 2
#define COMPARED 2 /* windows that a trial is compared with */
#define SMOOTHING 8
/* Windows after a trial that was won, which show whether phases really are no fewer. */
#define CERTAIN 2
#define GAP_LEAST 4
#define GAP_MOST 128

static uint32_t cpus_that_do(double useful, uint32_t all)
{
	double cpus = fmax(1, ceil(useful / USED_MOST));

	return cpus < all ? (uint32_t)cpus : 0;
}

void policy_packing_reset(struct policy_packing *packing)
{
	*packing = (struct policy_packing){
		.turn = packing->turn + packing->cpus, .wait = COMPARED, .gap = GAP_LEAST};
}

/* Do threads pass about as many phases on fewer CPUs as on all? */
static bool passes_phases(const struct policy_packing_means *mean)
{
	return mean[1].phases >= PHASES_LEAST * mean[0].phases;
}

/* The threads are packed from now on, or left to the kernel, until a look at the other way. Returns packed. */
static bool conclude(struct policy_packing *packing, bool packed, bool confirmed)
{
	packing->trial = false;
	if (!confirmed)
		packing->gap = GAP_LEAST;
	else if (packing->gap < GAP_MOST)
		packing->gap *= 4;
	packing->wait = packing->gap;
	packing->turn += packed ? 0 : packing->cpus;
	packing->packed_ns = 0;
	return packed;
}

/* Both ways were tried, now this one. */
static bool decide(struct policy_packing *packing, bool packed)
{
	const struct policy_packing_means *mean = packing->mean;
	double gain = mean[1].useful / mean[0].useful;
	bool better = gain > GAIN_LEAST && passes_phases(mean);

	if (!better)
		packing->cost_ns = fmax(0, 1 - gain) * packing->packed_ns;
	else if (packed)
		packing->mean[1].windows = 0; /* whole windows tell more */
	return conclude(packing, better, better != packed);
}

/* What a trial showed was chance: a part of an iteration, perhaps. */
static bool take_back(struct policy_packing *packing)
{
	packing->cost_ns =
		fmax(0, 1 - packing->mean[1].phases / packing->mean[0].phases) * packing->packed_ns;
	return conclude(packing, false, true);
}

/* Threads that were packed have become slower. */
static bool give_up(struct policy_packing *packing, double useful, double window_ns)
{
	double cost_ns = fmax(0, 1 - useful / packing->mean[0].useful) * window_ns;

	policy_packing_reset(packing);
	packing->cost_ns = cost_ns;
	return false;
}

/* Something else has begun. A trial under way shows nothing, and has cost something. */
static void begin_anew(struct policy_packing *packing, uint32_t threads, bool packed)
{
	double cost_ns = packed && packing->trial ? COST_FIRST_NS : 0;
	bool first = packing->threads == 0;

	policy_packing_reset(packing);
	if (!first) /* it may have begun within this window */
		packing->wait++;
	packing->threads = threads;
	packing->cost_ns = cost_ns;
}

static void take_in(
	struct policy_packing_means *mean, const struct policy_packing_means *window, bool strange)
{
	mean->windows = mean->windows < SMOOTHING ? mean->windows + 1 : SMOOTHING;
	mean->useful += (window->useful - mean->useful) / mean->windows;
	mean->phases += (window->phases - mean->phases) / mean->windows;
	if (!strange || mean->need_ns == 0)
		mean->need_ns += (window->need_ns - mean->need_ns) / mean->windows;
}

/* One more window has passed as the threads are now. Returns whether the other way is to be tried. */
static bool is_time(
	struct policy_packing *packing, bool packed, uint32_t all_cpus, double budget_ns)
{
	if (!packed)
		packing->cpus = cpus_that_do(packing->mean[0].useful, all_cpus);
	bool may_try = packed || (packing->cpus > 0 && COST_FIRST_NS <= budget_ns);
	uint32_t least = may_try ? 0 : COMPARED + 1;
	packing->wait = packing->wait > least ? packing->wait - 1 : least;
	return packing->wait == 0;
}

bool policy_packing_next(struct policy_packing *packing, const struct policy_window *window,
	bool packed, double budget_ns)
{
	double window_ns = (double)window->elapsed_ns;
	const struct policy_packing_means now = {.useful = (double)window->useful_ns / window_ns,
		.phases = window->passed / window_ns,
		.need_ns = window->need_ns};
	struct policy_packing_means *mean = &packing->mean[packed];
	bool few = window->passed < POLICY_PHASES_MANY * (double)window->threads;
	bool strange = !packing->trial && mean->windows > 0 &&
		       fabs(now.need_ns - mean->need_ns) > NEED_CHANGE * mean->need_ns;

	packing->cost_ns = 0;
	if (packed)
		packing->packed_ns += window_ns + (packing->trial ? POLICY_SETTLE_NS : 0);
	if (packed && !packing->trial &&
		(now.useful < SLOWER * mean->useful || now.useful < packing->mean[0].useful))
		return give_up(packing, now.useful, window_ns);
	if (few && !packed) /* a pause shows nothing */
		return false;
	packing->strange = strange ? packing->strange + 1 : 0;
	if (packing->threads != window->threads || packing->strange >= STRANGE_WINDOWS) {
		begin_anew(packing, window->threads, packed);
		if (packed)
			return false;
	}
	if (packing->trial || (!packed && packing->wait == COMPARED))
		mean->windows = 0;
	if (!few || packing->trial)
		take_in(mean, &now, strange);
	if (packing->trial)
		return decide(packing, packed);
	if (packed && mean->windows == CERTAIN && !passes_phases(packing->mean))
		return take_back(packing);
	packing->trial = is_time(packing, packed, window->cpus, budget_ns);
	return packing->trial ? !packed : packed;
}
