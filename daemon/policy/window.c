/* SPDX-License-Identifier: MIT */
/*
 * The windows that the chooser of the regime takes in: from one member interval to a later one, how
 * long the job ran and waited, and how often its threads went to sleep.
 */
#include <math.h>

#include "daemon/policy/step.h"

#include "daemon/policy/kind.h"
#include "daemon/policy/regime.h"

#define SLEEPS_SAMPLE 4 /* threads whose sleeps are read: that costs twice as much as their times */

static void begin(struct policy *policy, uint64_t now_ns)
{
	policy->window.open = true;
	policy->window.start_ns = now_ns;
	policy->window.run_ns = 0;
	policy->window.wait_ns = 0;
	policy->window.useful_ns = 0;
	policy->window.passed = 0;
	policy->window.told = policy->needs.told;
	policy->window.number++;
}

void policy_window_open(struct policy *policy, const struct policy_observation *observation)
{
	begin(policy, observation->now_ns);
	for (size_t i = 0; i < policy->n; i++) {
		struct policy_thread *thread = &policy->thread[i];
		if (!thread->computes || !(observation->thread[i].news & POLICY_SLEEPS))
			continue;
		thread->total_sleeps = observation->thread[i].sleeps;
		thread->sleeps_window = policy->window.number;
	}
}

/* How often a thread slept in the window that closes: the mean over those whose sleeps were read at
 * both ends. A count falls where a thread executes a program, and so takes its leader's number. All others of that
 * process have ended then, so that the mean of one window matters little. */
static double mean_sleeps(const struct policy *policy, const struct policy_observation *observation)
{
	double sum = 0;
	uint32_t count = 0;

	for (size_t i = 0; i < policy->n; i++) {
		const struct policy_thread *thread = &policy->thread[i];
		const struct policy_sight *sight = &observation->thread[i];
		if (!thread->computes || thread->sleeps_window != policy->window.number ||
			!(sight->news & POLICY_SLEEPS))
			continue;
		sum += (double)sight->sleeps - (double)thread->total_sleeps;
		count++;
	}
	return count > 0 ? fmax(sum / count, 0) : 0;
}

struct policy_window policy_window_close(
	struct policy *policy, const struct policy_observation *observation)
{
	uint64_t now_ns = observation->now_ns;
	uint32_t threads = policy_computing(policy);
	double passed = policy->window.passed;
	bool many = passed >= POLICY_PHASES_MANY * fmax(1, threads);
	struct policy_window window = {
		.elapsed_ns = now_ns - policy->window.start_ns,
		.run_ns = policy->window.run_ns,
		.wait_ns = policy->window.wait_ns,
		.useful_ns = policy->window.useful_ns,
		.told = policy->window.told && policy->needs.told,
		.passed = passed,
		.regular = many || policy->needs.regular,
		.yields = policy->needs.yields,
		.need_ns = many ? (double)policy->window.useful_ns / passed : policy->needs.mean_ns,
		.since_yield_ns = policy->phases.yielded_ns > 0 ? now_ns - policy->phases.yielded_ns
								: UINT64_MAX,
		.sleeps = mean_sleeps(policy, observation),
		.threads = threads,
		.cpus = (uint32_t)policy->m,
	};

	policy->window.open = false;
	return window;
}

void policy_window_reset(struct policy *policy, uint64_t now_ns)
{
	policy->window.open = false;
	policy->window.due = false;
	policy->window.start_ns = now_ns + POLICY_SETTLE_NS;
}

void policy_window_ask(struct policy *policy, uint64_t next_ns)
{
	uint64_t due_ns = policy->window.start_ns;
	uint32_t count = 0;

	if (policy->window.open)
		due_ns += policy_window_ns(policy, policy->last_ns);
	policy->window.due = policy->params.kind->windows && policy->complete &&
			     policy->decision.members_next && next_ns >= due_ns;
	for (size_t i = 0; i < policy->n && policy->window.due && count < SLEEPS_SAMPLE; i++)
		if (policy->thread[i].computes) {
			policy->thread[i].look |= POLICY_SLEEPS;
			count++;
		}
}
