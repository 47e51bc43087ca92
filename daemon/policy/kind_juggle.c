/* SPDX-License-Identifier: MIT */
/* -P juggle: the paper's balancer, while it pays. */
#include "daemon/policy/kind.h"

#include <math.h>

#include "daemon/policy/distribute.h"
#include "daemon/policy/dry.h"
#include "daemon/policy/ends.h"
#include "daemon/policy/speeds.h"
#include "daemon/policy/step.h"
#include "daemon/policy/swap.h"
#include "daemon/policy/told.h"

/* CPUs differ in speed by this share at least. Where threads share CPUs, small differences are less than
 * what trials, and standing aside in short phases, gain. */
#define DIFFER 0.05
#define DIFFER_CROWDED 0.15
/* As long without another thread, a job has started all of them. */
#define STEADY_NS UINT64_C(500000000)
/* Where speeds of CPUs are known to differ, leads are hardly ever chance: such a part of the margin will
 * do. Simulated. */
#define MARGIN_PARTS 5
/* A CPU that was taken will be taken again. */
#define TAKEN_MEMORY_NS UINT64_C(10000000000)

/* Do phases of that length, if it is known, leave no time for turns? */
static bool are_short(const struct policy *policy, double phase_ns)
{
	return phase_ns > 0 &&
	       !policy_turns_pay(phase_ns, policy_point_ns(policy), policy_computing(policy),
		       (uint32_t)policy->m, policy->chooser.turns_gain);
}

/* Are phases told that are so short that not even bells help, by threads that yield or switch too often to be
 * spinning? */
static bool are_told_short(const struct policy *policy)
{
	return policy->needs.sure && policy->needs.mean_ns < POLICY_BELL_LEAST_NS &&
	       (policy->phases.loud > 0 || policy->needs.yields);
}

/* What turns gain by what is known of the CPUs. It changes with the number of threads. */
static void know_turns(struct policy *policy, uint64_t now_ns)
{
	struct policy_chooser *chooser = &policy->chooser;
	uint32_t threads = policy_computing(policy);
	bool counts = policy->params.by_work, told = policy->needs.told && !counts;

	chooser->learns = counts && !policy->speeds_given;
	if ((counts || told) && !policy->speeds_given && policy_swaps(policy) &&
		(told ? policy_told_speeds(policy) : policy_learn_speeds(policy->cpu, policy->m)))
		policy->turns.known = false;
	chooser->steady = now_ns - policy->joined_ns >= STEADY_NS;
	if (policy->turns.known && policy->turns.threads == threads &&
		policy->turns.others == policy->others)
		return;
	policy->turns.known = true;
	policy->turns.threads = threads;
	policy->turns.others = policy->others;
	chooser->others = policy->others;
	chooser->turns_gain_beside =
		policy_turns_gain(policy->cpu, policy->m, threads + policy->others);
	chooser->turns_gain = policy_turns_gain(policy->cpu, policy->m, threads);
	chooser->speeds_differ = policy_speeds_differ(
		policy->cpu, policy->m, threads > policy->m ? DIFFER_CROWDED : DIFFER);
	policy_count(policy->thread, policy->n, policy->cpu, policy->m);
}

/* Is it being found out whether a CPU has been taken? Then it is no time for a trial. */
static bool is_unsure(const struct policy *policy)
{
	for (size_t j = 0; j < policy->m; j++)
		if (policy->cpu[j].silent_ns > 0 && !policy->cpu[j].taken)
			return true;
	return false;
}

static bool is_packed(const struct policy *policy)
{
	return policy->chooser.reason == POLICY_REASON_PACKED;
}

/* Pack threads, if that is decided: which CPUs are to have none. The last CPUs are the first to be tried, as interrupts
 * mostly go to the first ones. */
static void set_spare(struct policy *policy)
{
	const struct policy_packing *packing = &policy->chooser.packing;
	bool packs = is_packed(policy);

	for (size_t j = 0; j < policy->m; j++) {
		size_t k = policy->m - 1 - (packing->turn + j) % policy->m;
		policy->cpu[k].spare = packs && j >= packing->cpus;
	}
}

static void enter(struct policy *policy, uint64_t now_ns)
{
	set_spare(policy);
	policy_enter(policy, policy->chooser.regime, now_ns);
}

/* The regime is the same, but threads begin or cease to move, as subdomains move instead; or they were packed. */
static void enter_anew(struct policy *policy, uint64_t now_ns)
{
	enter(policy, now_ns);
	policy_even_out(policy->thread, policy->n, policy->cpu, policy->m);
}

static void choose(struct policy *policy, const struct policy_observation *observation)
{
	struct policy_chooser *chooser = &policy->chooser;
	uint64_t now_ns = observation->now_ns;
	bool swapped = policy_swaps(policy), packed = is_packed(policy);

	chooser->subdomains = policy_subdomains_move(policy, observation);
	if (!policy_is_complete(policy))
		return;
	if (policy->m == 1 && policy->params.domains == 1 && !policy->params.always) {
		chooser->reason = POLICY_REASON_ONE_CPU;
		return;
	}
	know_turns(policy, now_ns);
	chooser->needs_gain = policy_told_gain(policy);
	/* With a CPU for each thread, one that runs dry has only the place beside other work to give in exchange. */
	chooser->bells = policy_computing(policy) > policy->m && policy_bell_would_do(policy);
	chooser->told_short = are_told_short(policy);
	chooser->dynamic = policy->needs.dynamic;
	if (policy_regime_count(chooser, policy_computing(policy), (uint32_t)policy->m)) {
		enter(policy, now_ns);
	} else if (policy_swaps(policy) != swapped || is_packed(policy) != packed) {
		enter_anew(policy, now_ns);
	}
	if (policy_starves_aside(policy, now_ns) && policy_regime_starved(chooser)) {
		policy->starved_ns = now_ns;
		enter(policy, now_ns);
		return;
	}
	if (!policy->window.due || is_unsure(policy))
		return;
	if (!policy->window.open) {
		policy_window_open(policy, observation);
		return;
	}
	struct policy_window window = policy_window_close(policy, observation);
	policy_phases_sleeps(&policy->phases, (double)window.run_ns / fmax(1, window.threads),
		window.sleeps, window.threads);
	window.phase_ns = policy->phases.sleeps.phase_ns;
	window.short_yields = are_short(policy, policy->phases.yields.phase_ns);
	window.short_needs = chooser->bells ? window.need_ns < POLICY_BELL_LEAST_NS
					    : are_short(policy, window.need_ns);
	window.taken = policy->taken_ns > 0 && now_ns - policy->taken_ns < TAKEN_MEMORY_NS;
	if (policy_regime_update(chooser, &window))
		enter(policy, now_ns);
	else if (policy_swaps(policy) != swapped || is_packed(policy) != packed)
		enter_anew(policy, now_ns);
	else
		policy_window_open(policy, observation);
}

struct policy_swap_params policy_juggle_params(const struct policy *policy)
{
	int64_t margin_ns = policy->params.margin_ns;

	if (policy->chooser.speeds_differ)
		margin_ns /= MARGIN_PARTS;
	return policy_swap_defaults(margin_ns, policy->decision.elapsed_ns);
}

size_t policy_juggle_balance(struct policy *policy, const struct policy_swap_params *params)
{
	uint64_t elapsed_ns = policy->decision.elapsed_ns;
	size_t moved = 0;

	if (policy->chooser.reason == POLICY_REASON_UNEQUAL ||
		policy->chooser.reason == POLICY_REASON_LEARN)
		moved = policy_take_places(policy->thread, policy->n, policy->cpu, policy->m);
	if (moved > 0 || policy->n == 0 || policy->m < 2 || elapsed_ns == 0)
		return moved;
	moved = policy_fill_dry(policy);
	if (moved > 0 || policy_bell_suffices(policy) || policy->chooser.apart)
		return moved;
	policy_measure_cpus(params, elapsed_ns, policy->thread, policy->n, policy->cpu, policy->m);
	moved = policy_end_together(policy);
	if (moved != POLICY_UNTOLD)
		return moved;
	return policy_swap_measured(
		params, policy->thread, policy->n, policy->cpu, policy->m, policy->order);
}

static size_t balance(struct policy *policy)
{
	struct policy_swap_params params = policy_juggle_params(policy);

	return policy_juggle_balance(policy, &params);
}

const struct policy_kind policy_kind_juggle = {
	.name = "juggle",
	.summary = "keep all threads at the same rate",
	.windows = true,
	.fills_dry = true,
	.makes_way = true,
	.weighs_speeds = true,
	.leaves_taken = true,
	.choose = choose,
	.balance = balance,
};
