/* SPDX-License-Identifier: MIT */
/*
 * When not to balance. Programs with a barrier every millisecond gain nothing from migration, and
 * can lose by it. What can't be seen from outside, trials find out.
 */
#include <math.h>

#include "daemon/policy/regime.h"

#define WAIT_SHARE 0.02 /* threads that wait this share of their time contend for CPUs */
#define NEVER_HZ 0.5 /* fewer sleeps per second and thread count as none */
#define SELDOM_HZ 10.0 /* fewer don't show in a window */
#define SLEEP_WINDOWS 8
#define YIELD_MEMORY_NS UINT64_C(10000000000) /* threads that yielded still do */
#define GAIN_LEAST 0.01 /* balancing has to gain this share of the CPUs' time */
#define IDLE_LEAST 0.05 /* a trial needs this share of the CPUs' time to be idle */
#define WEIGHT_MAX 16.0
#define TRIAL_WINDOWS 2
#define GAP_LEAST 4
#define GAP_MOST 128

void policy_regime_init(struct policy_chooser *chooser, bool always)
{
	*chooser = (struct policy_chooser){
		.always = always,
		.regime = POLICY_ASIDE,
		.settled = POLICY_ASIDE,
		.reason = POLICY_REASON_START,
		.wait = TRIAL_WINDOWS,
		.gap = GAP_LEAST,
	};
}

const char *policy_reason_text(enum policy_reason reason)
{
	switch (reason) {
	case POLICY_REASON_START:
		return "starting";
	case POLICY_REASON_FEW:
		return "fewer compute threads than CPUs";
	case POLICY_REASON_NO_CONTEST:
		return "a CPU for each thread, and none waits";
	case POLICY_REASON_NEVER_IDLE:
		return "threads that do not sleep";
	case POLICY_REASON_LONG:
		return "threads that sleep, but seldom";
	case POLICY_REASON_TRIAL:
		return "a trial";
	case POLICY_REASON_SLOWER:
		return "trials: balancing does not keep the CPUs busier";
	case POLICY_REASON_FASTER:
		return "trials: balancing keeps the CPUs busier";
	case POLICY_REASON_OPTION:
		return "as the options want it";
	case POLICY_REASON_BUSY:
		return "threads that sleep, but leave no CPU idle";
	case POLICY_REASON_UNTRIED:
		return "threads that sleep, and nothing was tried yet";
	case POLICY_REASON_SUBDOMAINS:
		return "a CPU for each thread, and subdomains move instead";
	}
	return "unknown";
}

static void arm_update(struct policy_arm *arm, double busy)
{
	if (arm->weight < WEIGHT_MAX)
		arm->weight += 1;
	double step = 1 / arm->weight, off = busy - arm->busy;
	arm->busy += step * off;
	arm->variance = (1 - step) * (arm->variance + step * off * off);
}

static bool change(
	struct policy_chooser *chooser, enum policy_regime regime, enum policy_reason reason)
{
	bool changed = chooser->regime != regime;

	chooser->regime = regime;
	chooser->reason = reason;
	return changed;
}

/* A decision that needs no trial. The results of earlier trials no longer hold. */
static bool settle(
	struct policy_chooser *chooser, enum policy_regime regime, enum policy_reason reason)
{
	bool changed = change(chooser, regime, reason);
	bool subdomains = chooser->subdomains;
	double sleep_rate = chooser->sleep_rate;
	uint32_t sleep_windows = chooser->sleep_windows;

	policy_regime_init(chooser, chooser->always);
	chooser->subdomains = subdomains;
	chooser->sleep_rate = sleep_rate;
	chooser->sleep_windows = sleep_windows;
	change(chooser, regime, reason);
	return changed;
}

/* Both regimes were measured: settle on the better one, and on the time until the next trial. */
static bool decide(struct policy_chooser *chooser)
{
	const struct policy_arm *aside = &chooser->arm[POLICY_ASIDE];
	const struct policy_arm *balance = &chooser->arm[POLICY_BALANCE];
	double gain = balance->busy - aside->busy;
	double doubt = sqrt(aside->variance / aside->weight + balance->variance / balance->weight);
	bool better = gain > fmax(GAIN_LEAST, doubt);
	enum policy_regime before = chooser->settled;

	chooser->settled = better ? POLICY_BALANCE : POLICY_ASIDE;
	if (chooser->settled != before)
		chooser->gap = GAP_LEAST;
	else
		chooser->gap *= fabs(gain - GAIN_LEAST) > 2 * doubt ? 4 : 2;
	if (chooser->gap > GAP_MOST)
		chooser->gap = GAP_MOST;
	chooser->wait = chooser->gap;
	return change(
		chooser, chooser->settled, better ? POLICY_REASON_FASTER : POLICY_REASON_SLOWER);
}

bool policy_regime_count(struct policy_chooser *chooser, uint32_t threads, uint32_t cpus)
{
	if (threads < cpus || threads == 0)
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_FEW);
	if (chooser->subdomains && threads == cpus)
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_SUBDOMAINS);
	if (chooser->reason == POLICY_REASON_SUBDOMAINS)
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_START);
	/* There are more threads than CPUs now. Every millisecond of an uneven distribution is
	 * lost, so balance; a trial follows soon. */
	if (threads > cpus && chooser->regime == POLICY_ASIDE &&
		(chooser->reason == POLICY_REASON_START || chooser->reason == POLICY_REASON_FEW))
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_START);
	return false;
}

bool policy_regime_update(struct policy_chooser *chooser, const struct policy_window *window)
{
	double elapsed = (double)window->elapsed_ns;

	if (window->elapsed_ns == 0)
		return false;
	if (window->threads < window->cpus || window->threads == 0)
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_FEW);
	if (chooser->subdomains && window->threads == window->cpus)
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_SUBDOMAINS);
	if (!chooser->always && window->threads == window->cpus &&
		(double)window->wait_ns < WAIT_SHARE * elapsed * window->threads)
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_NO_CONTEST);
	double rate = window->sleeps / elapsed * 1e9;
	if (chooser->sleep_windows < SLEEP_WINDOWS)
		chooser->sleep_windows++;
	chooser->sleep_rate += (rate - chooser->sleep_rate) / chooser->sleep_windows;
	if (chooser->sleep_rate < NEVER_HZ) {
		bool changed = settle(chooser, POLICY_BALANCE, POLICY_REASON_NEVER_IDLE);
		chooser->yields = window->since_yield_ns < YIELD_MEMORY_NS;
		chooser->spins = !chooser->yields;
		return changed;
	}
	chooser->yields = chooser->spins = false;
	if (chooser->always)
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_OPTION);
	if (chooser->sleep_rate < SELDOM_HZ)
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_LONG);

	/* Another part of the program has begun: try again soon. */
	if (chooser->trial == 0 && chooser->window_sleep_rate > 0 &&
		(rate > 4 * chooser->window_sleep_rate || rate < chooser->window_sleep_rate / 4)) {
		chooser->arm[0] = chooser->arm[1] = (struct policy_arm){0};
		chooser->gap = GAP_LEAST;
		if (chooser->wait > TRIAL_WINDOWS)
			chooser->wait = TRIAL_WINDOWS;
	}
	chooser->window_sleep_rate = rate;

	arm_update(
		&chooser->arm[chooser->regime], (double)window->run_ns / (elapsed * window->cpus));
	if (chooser->trial > 0) {
		if (--chooser->trial > 0)
			return false;
		return decide(chooser);
	}
	if (chooser->regime != chooser->settled) /* the job has only just begun to block */
		return change(chooser, chooser->settled, POLICY_REASON_UNTRIED);
	if (chooser->wait > 0) {
		chooser->wait--;
		return false;
	}
	/* Balancing can gain no more than the time that is idle without it. */
	if (chooser->regime == POLICY_ASIDE && chooser->arm[POLICY_ASIDE].busy > 1 - IDLE_LEAST)
		return change(chooser, POLICY_ASIDE, POLICY_REASON_BUSY);
	chooser->trial = TRIAL_WINDOWS;
	return change(chooser, chooser->settled == POLICY_BALANCE ? POLICY_ASIDE : POLICY_BALANCE,
		POLICY_REASON_TRIAL);
}
