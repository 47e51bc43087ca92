/* SPDX-License-Identifier: MIT */
#include "daemon/policy/packing.h"

#include <math.h>

#include "daemon/policy/regime.h"

/* Threads are packed on CPUs of which they would use no more than this share, as to sleep and to be woken takes some
 * of it, too. So a trial costs little, of the time of a window: */
#define USED_MOST 0.8
#define COST_FIRST_NS (0.15 * (POLICY_PACKING_NS + POLICY_SETTLE_NS))
#define GAIN_LEAST                                                                                 \
	1.1 /* what packing has to gain: useful time may be more on fewer CPUs, by what caches lose */
#define SLOWER 0.8 /* than before: another part of the program, or other load */
#define NEED_CHANGE                                                                                \
	0.5 /* likewise, by what phases need; an iteration of a program may have many kinds of them */
#define WAIT_FIRST 2 /* windows before the first trial, as there is but one to compare with */
#define SMOOTHING 8
#define GAP_LEAST 4
#define GAP_MOST 128

static uint32_t cpus_that_do(const struct policy_window *window)
{
	double used = (double)window->useful_ns / (double)window->elapsed_ns;
	double cpus = fmax(1, ceil(used / USED_MOST));

	return cpus < window->cpus ? (uint32_t)cpus : 0;
}

void policy_packing_reset(struct policy_packing *packing)
{
	*packing = (struct policy_packing){
		.turn = packing->turn + packing->cpus, .wait = WAIT_FIRST, .gap = GAP_LEAST};
}

/* Both ways were tried, now this one: the better one, until a look at the other. */
static bool decide(struct policy_packing *packing, bool packed)
{
	double gain = packing->rate[1] / packing->rate[0];
	bool better = gain > GAIN_LEAST, confirmed = better != packed;

	packing->trial = false;
	if (!confirmed)
		packing->gap = GAP_LEAST;
	else if (packing->gap < GAP_MOST)
		packing->gap *= 4;
	packing->wait = packing->gap;
	if (!better) {
		packing->cost_ns = fmax(0, 1 - gain) * packing->packed_ns;
		packing->turn += packing->cpus;
	}
	packing->packed_ns = 0;
	return better;
}

/* Threads that were packed have become slower. */
static bool give_up(struct policy_packing *packing, double rate, double window_ns)
{
	double cost_ns = fmax(0, 1 - rate / packing->rate[0]) * window_ns;

	policy_packing_reset(packing);
	packing->cost_ns = cost_ns;
	return false;
}

static void smooth(double *mean, double value)
{
	*mean += *mean > 0 ? (value - *mean) / SMOOTHING : value;
}

bool policy_packing_next(struct policy_packing *packing, const struct policy_window *window,
	bool packed, double budget_ns)
{
	double window_ns = (double)window->elapsed_ns, rate = (double)window->useful_ns / window_ns;
	double *need_ns = &packing->need_ns[packed];
	bool few = window->passed < POLICY_PHASES_MANY * (double)window->threads;
	bool other = packing->threads != window->threads ||
		     (*need_ns > 0 && fabs(window->need_ns - *need_ns) > NEED_CHANGE * *need_ns);

	packing->cost_ns = 0;
	if (packed)
		packing->packed_ns += window_ns + (packing->trial ? POLICY_SETTLE_NS : 0);
	if (packed && !packing->trial &&
		(rate < SLOWER * packing->rate[1] || rate < packing->rate[0]))
		return give_up(packing, rate, window_ns);
	if (few && !packed) /* a pause shows nothing */
		return false;
	if (other) {
		policy_packing_reset(packing);
		packing->threads = window->threads;
		if (packed)
			return false;
	}
	smooth(&packing->need_ns[packed], window->need_ns);
	if (packing->trial) {
		packing->rate[packed] = rate;
		return decide(packing, packed);
	}
	smooth(&packing->rate[packed], rate);
	if (packing->wait > 0)
		packing->wait--;
	if (!packed)
		packing->cpus = cpus_that_do(window);
	if (packing->wait > 0 || (!packed && (packing->cpus == 0 || COST_FIRST_NS > budget_ns)))
		return packed;
	packing->trial = true;
	return !packed;
}
