/* SPDX-License-Identifier: MIT */
#include "daemon/policy/packing.h"

#include <math.h>

#include "daemon/policy/regime.h"

/* Threads are packed on CPUs of which they would use no more than this share, as to sleep and to be woken takes some
 * of it, too. So a trial costs little, of the time of a window: */
#define USED_MOST 0.8
#define COST_FIRST_NS (0.1 * POLICY_WINDOW_NS)
#define GAIN_LEAST 1.05 /* what packing has to gain */
#define SLOWER 0.8 /* than before: another part of the program, or other load */
#define GAP_LEAST 4
#define GAP_MOST 1024

static uint32_t cpus_that_do(const struct policy_window *window)
{
	double used = (double)window->useful_ns / (double)window->elapsed_ns;
	double cpus = fmax(1, ceil(used / USED_MOST));

	return cpus < window->cpus ? (uint32_t)cpus : 0;
}

void policy_packing_reset(struct policy_packing *packing)
{
	*packing = (struct policy_packing){.turn = packing->turn, .wait = 1, .gap = GAP_LEAST};
}

/* Both ways were tried, now this one: the better one, until a look at the other. */
static bool decide(struct policy_packing *packing, bool packed, uint64_t window_ns)
{
	double gain = packing->rate[1] / packing->rate[0];
	bool better = gain > GAIN_LEAST, confirmed = better != packed;

	packing->trial = false;
	if (!confirmed)
		packing->gap = GAP_LEAST;
	else if (packing->gap < GAP_MOST)
		packing->gap *= 4;
	packing->wait = packing->gap;
	if (packed)
		packing->cost_ns = fmax(0, 1 - gain) * (double)window_ns;
	if (!better)
		packing->turn++;
	return better;
}

bool policy_packing_next(struct policy_packing *packing, const struct policy_window *window,
	bool packed, bool stalled, double budget_ns)
{
	double rate = window->passed / (double)window->elapsed_ns;
	bool slower = packed && (stalled || rate < SLOWER * packing->rate[1]);

	packing->cost_ns = 0;
	if (stalled || (slower && !packing->trial)) {
		policy_packing_reset(packing);
		packing->turn += slower;
		return false;
	}
	packing->rate[packed] = rate;
	if (packing->trial)
		return decide(packing, packed, window->elapsed_ns);
	if (packing->wait > 0)
		packing->wait--;
	if (!packed)
		packing->cpus = cpus_that_do(window);
	if (packing->wait > 0 || (!packed && (packing->cpus == 0 || COST_FIRST_NS > budget_ns)))
		return packed;
	packing->trial = true;
	return !packed;
}
