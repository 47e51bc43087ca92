/* SPDX-License-Identifier: MIT */
/* How long until the next interval, and where threads that spin need a finer tick meanwhile. */
#include "daemon/policy/period.h"

#include <math.h>

#include "daemon/policy/dry.h"
#include "daemon/policy/kind.h"
#include "daemon/policy/step.h"
#include "daemon/policy/told.h"
#include "libprogress/policy/random.h"

#define SLOW_NS UINT64_C(20000000) /* between member intervals */
/* When aside, the same between all intervals, and for windows: longer ones, the longer that has
 * been so. There are two intervals in a long window. With the two of the balancer's main thread, no more
 * than 20 wake-ups a second. */
#define ASIDE_NS UINT64_C(56000000)
/* Likewise, while each thread has a CPU of its own: 18 wake-ups a second. */
#define ASIDE_CALM_NS UINT64_C(62500000)
/* While threads are packed for a trial: even with jitter, one is longer than POLICY_SETTLE_NS, and two than
 * POLICY_PACKING_NS. */
#define PACKING_NS UINT64_C(12000000)
#define SUSPECT_NS UINT64_C(15000000) /* until a thread that may starve is looked at again */
#define ASIDE_WINDOW_MOST_NS UINT64_C(300000000)
#define ASIDE_WINDOW_SHARE 20
#define EAGER_NS UINT64_C(5000000) /* both are shorter in a young job: this, ... */
#define EAGER_SHARE 20 /* ... or this part of its age; unless it was left alone */
/* --period auto: after this many points without a move, the period grows. */
#define QUIET_POINTS 32
#define QUIET_DOUBLINGS 2
/* --period auto: without signs of phases, for each thread on a CPU. What is lost by too long a period
 * in short phases outweighs what is lost by too short a one in long phases. */
#define UNKNOWN_NS 4e6
/* What a point costs the job, in multiples of the balancer's CPU time: threads are preempted,
 * moved away from what they had in caches, and queued again. Measured, from the best fixed periods
 * of 3 to 7 threads on two CPUs in phases of 1 ms to 2 s. */
#define POINT_LOSS 2.8
#define POINT_SMOOTHING 64 /* points */
/* The shortest period, in multiples of the balancer's CPU time for a point and divided by the CPUs; and
 * the same undivided. So the points of jobs with very many threads cost 2.5 % of the CPUs. */
#define POINT_REST 40
#define POINT_REST_LEAST 8.0
/* On CPUs of unequal speed, turns need a phase of that many periods. */
#define PERIODS_LEAST 1.25
/* Three or more threads on a CPU take turns in slices of that length. A thread that is moved before
 * the others had theirs has waited in vain. */
#define SLICE_NS 4e6
#define BELL_PHASES 2
/* In phases that are told to be that long, ticks cost CPU time and gain nothing that could be measured. */
#define TICKS_MOST_NS 7.5e7

const char *policy_pace_text(enum policy_pace pace)
{
	switch (pace) {
	case POLICY_PACE_ASIDE:
		return "nothing is moved";
	case POLICY_PACE_OPTION:
		return "as the options want it";
	case POLICY_PACE_UNKNOWN:
		return "no sign of phases";
	case POLICY_PACE_SLEEPS:
		return "by phases, seen by sleeps";
	case POLICY_PACE_YIELDS:
		return "by phases, seen by yields";
	case POLICY_PACE_QUIET:
		return "no thread had to be moved";
	case POLICY_PACE_COST:
		return "points are costly";
	case POLICY_PACE_TOLD:
		return "by phases, told by the program";
	case POLICY_PACE_DRY:
		return "as soon as a CPU has no thread at work";
	case POLICY_PACE_SHORT:
		return "phases too short for turns";
	}
	return "unknown";
}

double policy_wall_ns(double need_ns, uint32_t n, uint32_t m)
{
	return need_ns * fmax(1, (double)n / m);
}

double policy_best_period_ns(double phase_ns, double point_ns, uint32_t n, uint32_t m)
{
	double wall_ns = policy_wall_ns(phase_ns, n, m);
	double best_ns = 2 * sqrt(POINT_LOSS * point_ns * wall_ns / m);
	double turn_ns = SLICE_NS * (ceil((double)n / m) - 2);

	best_ns = fmax(best_ns, fmax(turn_ns, POLICY_PERIOD_LEAST_NS));
	return fmin(best_ns, POLICY_PERIOD_MOST_NS);
}

bool policy_turns_pay(double phase_ns, double point_ns, uint32_t n, uint32_t m, double gain)
{
	double wall_ns = policy_wall_ns(phase_ns, n, m);
	double period_ns = policy_best_period_ns(phase_ns, point_ns, n, m);
	double points_ns = POINT_LOSS * point_ns * wall_ns / (m * period_ns);
	double last_turn_ns = period_ns / 4;

	return gain <= 0 || points_ns + last_turn_ns < gain * wall_ns;
}

static uint64_t longer(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static bool is_aside(const struct policy *policy)
{
	return policy->regime == POLICY_ASIDE && !policy->chooser.trial;
}

static uint64_t aside_window_ns(const struct policy *policy, uint64_t now_ns)
{
	uint64_t share_ns = (now_ns - policy->reason_ns) / ASIDE_WINDOW_SHARE;

	return share_ns < ASIDE_WINDOW_MOST_NS ? share_ns : ASIDE_WINDOW_MOST_NS;
}

/* Are threads balanced as those that never sleep and tell no phases, and now tell some, which may be better left to the
 * kernel? */
static bool is_outdated(const struct policy *policy)
{
	return policy->regime == POLICY_BALANCE && policy->chooser.told_ns <= 0 &&
	       policy->needs.sure && (policy->needs.yields || policy->chooser.others > 0);
}

uint64_t policy_window_ns(const struct policy *policy, uint64_t now_ns)
{
	uint64_t window_ns = policy_regime_window_ns(&policy->chooser);

	if (is_outdated(policy) && window_ns > POLICY_WINDOW_NS)
		return POLICY_WINDOW_NS;
	return is_aside(policy) ? longer(window_ns, aside_window_ns(policy, now_ns)) : window_ns;
}

/* Was it decided to leave more threads than CPUs to the kernel? Then a look costs the job time. */
static bool is_left_alone(const struct policy *policy)
{
	return is_aside(policy) && policy->reason != POLICY_REASON_START &&
	       policy_computing(policy) > policy->m;
}

uint64_t policy_slow_ns(const struct policy *policy, uint64_t now_ns)
{
	bool calm = policy_regime_rest(&policy->chooser) == POLICY_RESTS;
	uint64_t aside_ns = calm ? ASIDE_CALM_NS : ASIDE_NS;
	uint64_t slow_ns =
		is_aside(policy) ? longer(aside_ns, aside_window_ns(policy, now_ns) / 2) : SLOW_NS;
	uint64_t young_ns = (now_ns - policy->params.start_ns) / EAGER_SHARE;

	if (is_left_alone(policy))
		return slow_ns;
	if (policy_regime_tries_packing(&policy->chooser))
		return PACKING_NS;
	if (young_ns < EAGER_NS)
		return EAGER_NS;
	return young_ns < slow_ns ? young_ns : slow_ns;
}

double policy_point_ns(const struct policy *policy)
{
	return policy->points > 0 ? policy->point_ns : POLICY_POINT_NS;
}

/* Is there time for turns in a phase? As policy_turns_pay(), but where phases are hardly longer than
 * periods, all threads wait for those of the CPU on which points run. */
static bool time_for_turns(double wall_ns, double period_ns, double point_ns, double gain)
{
	double points_ns = POINT_LOSS * point_ns * wall_ns / period_ns,
	       last_turn_ns = period_ns / 4;

	return wall_ns >= PERIODS_LEAST * period_ns && points_ns + last_turn_ns < gain * wall_ns;
}

/* Intervals end earlier, with each phase. Should they not, then soon after that. */
static double bell_period_ns(struct policy *policy)
{
	double phases_ns = BELL_PHASES * policy_told_wall_ns(policy);

	policy->decision.pace = POLICY_PACE_DRY;
	policy->decision.phase_ns = policy->needs.mean_ns;
	policy->decision.point_ns = policy_point_ns(policy);
	return fmin(fmax(phases_ns, (double)policy->params.period_ns), POLICY_PERIOD_MOST_NS);
}

/* What follows from the phases. Where CPUs differ in speed, threads have their places even where there
 * is no time for turns. */
static double phases_period_ns(struct policy *policy, double phase_ns)
{
	uint32_t n = policy_computing(policy), m = (uint32_t)policy->m;
	double point_ns = policy_point_ns(policy);
	double period_ns = policy_best_period_ns(phase_ns, point_ns, n, m);
	double wall_ns = policy_wall_ns(phase_ns, n, m);

	policy->decision.phase_ns = phase_ns;
	policy->decision.point_ns = point_ns;
	if (policy->needs.told &&
		!policy_turns_pay(phase_ns, point_ns, n, m, policy->chooser.turns_gain)) {
		if (policy_bell_lately(policy))
			return bell_period_ns(policy);
		policy->decision.pace = POLICY_PACE_SHORT;
		/* It is not known yet whether threads spin. If not, the kernel does better: look again soon. */
		return policy->chooser.reason == POLICY_REASON_START ? EAGER_NS
								     : POLICY_PERIOD_MOST_NS;
	}
	if (!policy->chooser.speeds_differ ||
		time_for_turns(wall_ns, period_ns, point_ns, policy->chooser.turns_gain))
		return period_ns;
	policy->decision.pace = POLICY_PACE_SHORT;
	return POLICY_PERIOD_MOST_NS;
}

/* Nothing shows how long phases are. Where the one under way is told, it is as long as it has taken, at least; and no
 * shorter than an update of libprogress, where threads may wait for each other after these. */
static double unknown_period_ns(struct policy *policy)
{
	uint32_t n = policy_computing(policy), m = (uint32_t)policy->m;
	double default_ns = fmin(UNKNOWN_NS * fmax(1, (double)n / m), POLICY_PERIOD_MOST_NS);
	double update_ns = policy->chooser.subdomains ? 0 : policy->update_ns;
	double begun_ns = fmax(policy->needs.begun_ns, update_ns),
	       point_ns = policy_point_ns(policy);
	double best_ns = begun_ns > 0 ? policy_best_period_ns(begun_ns, point_ns, n, m) : 0;

	if (best_ns <= default_ns)
		return default_ns;
	policy->decision.pace = POLICY_PACE_TOLD;
	policy->decision.phase_ns = begun_ns;
	policy->decision.point_ns = point_ns;
	return best_ns;
}

static uint64_t auto_period_ns(struct policy *policy)
{
	const struct policy_chooser *chooser = &policy->chooser;
	enum policy_pace *pace = &policy->decision.pace;
	uint32_t doublings = policy->quiet_points / QUIET_POINTS;
	bool sleeps = policy_regime_sleeps(chooser);
	double phase_ns = policy_phases_length_ns(&policy->phases, sleeps, chooser->yields);
	double period_ns;

	*pace = POLICY_PACE_UNKNOWN;
	if (policy->needs.told && !(policy->needs.brief && chooser->spins)) {
		*pace = POLICY_PACE_TOLD;
		if (policy_bell_suffices(policy))
			return (uint64_t)bell_period_ns(policy);
		period_ns = phases_period_ns(policy, policy->needs.mean_ns);
	} else if (phase_ns > 0) {
		*pace = sleeps ? POLICY_PACE_SLEEPS : POLICY_PACE_YIELDS;
		period_ns = phases_period_ns(policy, phase_ns);
	} else {
		period_ns = unknown_period_ns(policy);
	}
	double least_ns =
		policy_point_ns(policy) * fmax((double)POINT_REST / policy->m, POINT_REST_LEAST);
	if (policy->points >= POINT_SMOOTHING && period_ns < least_ns) {
		*pace = POLICY_PACE_COST;
		period_ns = least_ns;
	}
	if (doublings > 0 && period_ns < POLICY_PERIOD_MOST_NS) {
		*pace = POLICY_PACE_QUIET;
		period_ns *= 1 << (doublings < QUIET_DOUBLINGS ? doublings : QUIET_DOUBLINGS);
		period_ns = fmin(period_ns, POLICY_PERIOD_MOST_NS);
	}
	return (uint64_t)fmax(period_ns, (double)policy->params.period_ns);
}

static uint64_t period_ns(struct policy *policy, uint64_t now_ns)
{
	const struct policy_params *params = &policy->params;
	enum policy_pace *pace = &policy->decision.pace;
	uint64_t slow_ns = policy_slow_ns(policy, now_ns);

	*pace = POLICY_PACE_OPTION;
	if (policy_swaps(policy)) {
		if (!params->period_auto)
			return params->period_ns;
		return params->kind->period_ns > 0 ? params->kind->period_ns
						   : auto_period_ns(policy);
	}
	if (!params->period_auto && (params->kind->keeps_period || params->period_ns > slow_ns))
		return params->period_ns;
	*pace = POLICY_PACE_ASIDE;
	uint64_t soon_ns = longer(SUSPECT_NS, params->period_ns);
	return policy_may_starve(policy) && soon_ns < slow_ns ? soon_ns : slow_ns;
}

/* Are phases told, or the one under way, that are too long for ticks to gain anything? A first phase may be one in which
 * threads spin to wait for each other, untold. Then ticks gain much more than they cost a program that only computes. */
static bool are_long(const struct policy *policy)
{
	double begun_ns = policy->needs.arrived ? policy->needs.begun_ns : 0;

	return (policy->needs.told ? policy->needs.mean_ns : begun_ns) >= TICKS_MOST_NS;
}

/* Threads that sleep or yield give way by themselves: a ticker would only disturb them. So it would
 * workers between whom subdomains move, as they wait for nobody. Where threads starve, a ticker shows
 * whether they could run. */
static void set_ticks(struct policy *policy)
{
	const struct policy_chooser *chooser = &policy->chooser;
	bool spins = policy->params.period_auto && chooser->spins && !chooser->subdomains &&
		     !are_long(policy);

	for (size_t j = 0; j < policy->m; j++)
		policy->cpu[j].tick = policy_swaps(policy) &&
				      ((spins && policy->cpu[j].threads > 1) ||
					      policy->cpu[j].taken || policy->cpu[j].silent_ns > 0);
}

void policy_measure_point(struct policy *policy, uint64_t cost_ns)
{
	if (cost_ns == 0)
		return;
	if (policy->points < POINT_SMOOTHING)
		policy->points++;
	policy->point_ns += ((double)cost_ns - policy->point_ns) / policy->points;
}

void policy_set_period(struct policy *policy, uint64_t now_ns)
{
	struct policy_decision *decision = &policy->decision;
	double random = (double)policy_random(&policy->random) / INT32_MAX;

	set_ticks(policy);
	decision->period_ns = period_ns(policy, now_ns);
	decision->wait_ns = (uint64_t)((double)decision->period_ns *
				       (1 + policy->params.jitter * (2 * random - 1)));
}
