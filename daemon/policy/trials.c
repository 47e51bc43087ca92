/* SPDX-License-Identifier: MIT */
/*
 * Two regimes, each measured in windows of its own. How often the other one is tried depends on how sure the result is;
 * whether at all, on what trials have cost.
 */
#include <math.h>

#include "daemon/policy/trials.h"

#define GAIN_LEAST 0.01 /* balancing has to gain this share of the CPUs' time */
/* Threads that use that share of the CPUs' time leave too little for trials to show anything: what one regime gains may
 * be lost in spinning, which looks like work. */
#define BUSY_MOST 0.95
#define BUSY_STILL 0.90 /* likewise, as long as that was so in the window before */
#define WEIGHT_MAX 16.0 /* windows over which a share is smoothed */
/* After that many windows of both regimes trials get rarer, however close they are. */
#define SURE 4
#define NOISE_LEAST (0.03 * 0.03) /* variance of a window's share, whatever few windows show */
#define GAP_LEAST 4
#define GAP_MOST 128
/* Trials may cost the job this much time, and this share of the time that has passed ... */
#define TRIALS_NS 5e6
#define TRIALS_SHARE 0.005
/* ... where the first trial is taken to cost this part of what perfect turns would gain; a larger one if
 * threads spin, as Linux takes no turns then, or yield in long phases; a smaller one if they spin before they sleep,
 * and only keep apart. */
#define SLOWER_FIRST 0.3
#define SLOWER_FIRST_SPINS 0.5
#define SLOWER_FIRST_APART 0.1
/* Phases that take this long with perfect turns are long. Those that yield lost 0.3 at 3 ms, and 0.5 at 15 and 75 ms. */
#define LONG_YIELDS_NS 1e7
#define SPINS_FIRST 1.25 /* such threads use so many times the CPU time that is useful */

double policy_trials_turns_gain(
	const struct policy_chooser *chooser, uint32_t threads, uint32_t cpus)
{
	return threads > cpus ? fmax(chooser->turns_gain, chooser->needs_gain) : 1;
}

void policy_trials_forget(struct policy_chooser *chooser)
{
	chooser->arm[0] = chooser->arm[1] = (struct policy_arm){0};
	chooser->settled = POLICY_BALANCE;
	chooser->wait = 1;
	chooser->gap = GAP_LEAST;
	chooser->trial = false;
}

void policy_trials_anew(struct policy_chooser *chooser)
{
	chooser->trial = false;
	chooser->arm[0] = chooser->arm[1] = (struct policy_arm){0};
	chooser->gap = GAP_LEAST;
	if (chooser->wait > 1)
		chooser->wait = 1;
}

/* ---- What a regime shows ---- */

static void arm_update(struct policy_arm *arm, double busy)
{
	if (arm->weight < WEIGHT_MAX)
		arm->weight += 1;
	double step = 1 / arm->weight, off = busy - arm->busy;
	arm->busy += step * off;
	arm->variance = (1 - step) * (arm->variance + step * off * off);
}

static double gain_of(const struct policy_chooser *chooser)
{
	return chooser->arm[POLICY_BALANCE].busy - chooser->arm[POLICY_ASIDE].busy;
}

/* Do threads that tell no phases gain by turns, as far as can be known before trials? */
static bool gain_by_turns(const struct policy_window *window, enum policy_regime first)
{
	return !window->told && first == POLICY_BALANCE && window->threads > window->cpus;
}

bool policy_trials_vain(const struct policy_chooser *chooser, const struct policy_window *window,
	double busy, enum policy_regime first)
{
	double most = chooser->reason == POLICY_REASON_BUSY ? BUSY_STILL : BUSY_MOST;

	return gain_by_turns(window, first) && chooser->regime == POLICY_BALANCE &&
	       !chooser->trial && chooser->reason != POLICY_REASON_FASTER && busy >= most;
}

/* So much of the CPUs' time does balancing have to gain; or, for a job that gains by turns, so much that the job uses
 * BUSY_MOST of it. Then trials show nothing, and what balancing itself takes does not count against it. */
static double gain_least(const struct policy_chooser *chooser, const struct policy_window *window,
	enum policy_regime first)
{
	double least = BUSY_MOST - chooser->arm[POLICY_ASIDE].busy;

	return gain_by_turns(window, first) ? fmin(GAIN_LEAST, least) : GAIN_LEAST;
}

/* Both regimes were measured: settle on the better one, and on the time until the next trial. */
static bool decide(struct policy_chooser *chooser, const struct policy_window *window,
	enum policy_regime first)
{
	const struct policy_arm *aside = &chooser->arm[POLICY_ASIDE];
	const struct policy_arm *balance = &chooser->arm[POLICY_BALANCE];
	double gain = gain_of(chooser), least = gain_least(chooser, window, first);
	double doubt = sqrt(fmax(aside->variance, NOISE_LEAST) / aside->weight +
			    fmax(balance->variance, NOISE_LEAST) / balance->weight);
	bool better = gain > least, faster = gain > GAIN_LEAST;
	enum policy_regime before = chooser->settled;
	double lost = chooser->regime == POLICY_ASIDE ? gain : -gain;

	chooser->trials_ns += fmax(0, lost) * (double)window->elapsed_ns - chooser->trial_ns;
	chooser->settled = better ? POLICY_BALANCE : POLICY_ASIDE;
	if (chooser->settled != before)
		chooser->gap = GAP_LEAST;
	else if (fabs(gain - least) > 2 * doubt)
		chooser->gap *= 4;
	else if (fabs(gain - least) > doubt || fmin(aside->weight, balance->weight) > SURE)
		chooser->gap *= 2;
	if (chooser->gap > GAP_MOST)
		chooser->gap = GAP_MOST;
	chooser->wait = chooser->gap;
	return policy_regime_change(chooser, chooser->settled,
		!better  ? POLICY_REASON_SLOWER
		: faster ? POLICY_REASON_FASTER
			 : POLICY_REASON_BUSY);
}

/* ---- What trials cost ---- */

static double slower_first(const struct policy_chooser *chooser, const struct policy_window *window)
{
	if (chooser->spins || (chooser->yields && chooser->told_ns >= LONG_YIELDS_NS))
		return SLOWER_FIRST_SPINS;
	bool spins_first = (double)window->run_ns > SPINS_FIRST * (double)window->useful_ns;
	return chooser->apart && spins_first ? SLOWER_FIRST_APART : SLOWER_FIRST;
}

/* What a first trial, of a window of that length, is taken to cost. */
static double first_cost_ns(const struct policy_chooser *chooser, uint64_t window_ns,
	const struct policy_window *window)
{
	return slower_first(chooser, window) *
	       policy_trials_turns_gain(chooser, window->threads, window->cpus) * (double)window_ns;
}

double policy_trials_budget_ns(const struct policy_chooser *chooser)
{
	return TRIALS_NS + TRIALS_SHARE * (double)chooser->elapsed_ns - chooser->trials_ns;
}

/* What any trial is taken to cost. */
static double trial_cost_ns(const struct policy_chooser *chooser, uint64_t window_ns,
	const struct policy_window *window)
{
	bool tried = chooser->arm[0].weight > 0 && chooser->arm[1].weight > 0;

	return tried ? fabs(gain_of(chooser)) * (double)window_ns
		     : first_cost_ns(chooser, window_ns, window);
}

/* ---- The next one ---- */

bool policy_trials_next(struct policy_chooser *chooser, const struct policy_window *window,
	double busy, enum policy_regime first)
{
	uint64_t window_ns = policy_regime_window_ns(chooser);

	if (chooser->reason != POLICY_REASON_PACKED) /* which is no regime that trials know */
		arm_update(&chooser->arm[chooser->regime], busy);
	if (chooser->trial) {
		chooser->trial = false;
		return decide(chooser, window, first);
	}
	if (!policy_reason_by_trials(chooser->reason)) { /* it has only just begun to */
		chooser->settled = first;
		return policy_regime_change(chooser, first, POLICY_REASON_UNTRIED);
	}
	if (chooser->reason == POLICY_REASON_TRIAL) /* which has shown nothing */
		return policy_regime_change(chooser, chooser->settled, POLICY_REASON_UNTRIED);
	/* A window that was longer than it had to be counts as several. */
	double windows = round((double)window->elapsed_ns / (double)window_ns);
	chooser->wait -= (uint32_t)fmin(fmax(windows, 1), chooser->wait);
	double cost_ns = trial_cost_ns(chooser, window_ns, window);
	if (chooser->wait > 0 || cost_ns > policy_trials_budget_ns(chooser))
		return false;
	chooser->trial = true;
	chooser->trial_ns = cost_ns;
	chooser->trials_ns += cost_ns;
	return policy_regime_change(chooser,
		chooser->regime == POLICY_BALANCE ? POLICY_ASIDE : POLICY_BALANCE,
		POLICY_REASON_TRIAL);
}
