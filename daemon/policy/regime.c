/* SPDX-License-Identifier: MIT */
/*
 * When not to balance. Programs with a barrier every millisecond gain nothing from migration, and
 * can lose by it. What can't be seen from outside, trials find out.
 */
#include <math.h>

#include "daemon/policy/regime.h"

#include "daemon/policy/dry.h"
#include "daemon/policy/period.h"
#include "daemon/policy/trials.h"

#define WAIT_SHARE 0.02 /* threads that wait this share of their time contend for CPUs */
#define NEVER_HZ 0.5 /* fewer sleeps per second and thread count as none */
#define SLEEP_WINDOWS 8
/* Threads that yield in waits, and sleep in a smaller share of their phases, sleep for other reasons. */
#define SLEEPS_SHARE 0.05
#define YIELD_MEMORY_NS UINT64_C(10000000000) /* threads that yielded still do */
#define CALM_WINDOW_NS UINT64_C(200000000) /* a window of threads that never sleep */
#define LONG_WINDOW_NS UINT64_C(1000000000) /* no window is longer ... */
#define WINDOW_SLEEPS 2 /* ... to hold that many sleeps of a thread, */
#define WINDOW_PHASES 4 /* or that many phases, where they are told */
#define NEED_WINDOWS 16 /* over which the need of phases is smoothed */
#define NEED_CHANGE 0.3 /* phases that need this share more or less are other ones */
/* Where threads pass a smaller share of the phases for which there is time, those that pass may be of any kind. */
#define STALLED 0.1
/* After so many such windows in a row, that is another part of the program, of longer phases. */
#define STALLS_MOST 4
/* In shorter phases a turn takes as long as the phase; pinned threads only wake up less well. */
#define SHORT_NS 2e6
#define SHORT_TOLD_NS 2.5e6 /* likewise, where phases are told */
/* Short slices gain something in phases that are shorter, and where at least so many threads wait for a CPU. They
 * stay while somewhat fewer do. */
#define SHORTENS_NS 3e5
#define SHORTENS_WAITING 0.5
#define SHORTENS_STILL 0.35
/* Windows between looks at short yields, at least and at most: long waits for a serial part of the program look alike. */
#define SHORT_GAP_LEAST 4
#define SHORT_GAP_MOST 16
/* Where perfect turns would gain no more than this, and threads sleep, the job begins aside. */
#define TURNS_LEAST 0.15
/* Likewise, beside other jobs, for all together. */
#define TURNS_BESIDE_LEAST 0.05
#define SHARE_MOST 1.2 /* so much of its part does a job get beside others that use theirs ... */
#define SHARE_STILL 1.4 /* ... and so much as long as that was so in the window before */
/* Threads that spin gain by turns beside other jobs, too, in phases shorter than the kernel's slices. Measured. */
#define SPINS_EVEN_NS 4.5e6
#define SPINS_STILL_NS 3.6e6 /* likewise, as long as that was so in the window before */
/* A job of more threads than CPUs uses so much of the CPUs' time while threads wait for one, if it has them for itself
 * ... */
#define UNDISTURBED 0.9
#define UNDISTURBED_STILL 0.8 /* ... and as long as that was so in the window before */
/* With no more threads than CPUs: CPUs on which turns gain that much are unequal, and stay so while they
 * gain half of it. */
#define UNEQUAL_LEAST 0.05
/* CPUs that seemed equal are looked at again after that long, and after twice as long each time. */
#define LEARN_NS UINT64_C(10000000000)
#define LEARN_MOST_NS UINT64_C(160000000000)

void policy_regime_init(struct policy_chooser *chooser, bool always)
{
	*chooser = (struct policy_chooser){
		.always = always,
		.regime = POLICY_ASIDE,
		.reason = POLICY_REASON_START,
	};
	policy_trials_forget(chooser);
	policy_packing_reset(&chooser->packing);
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
		return "phases too long for trials";
	case POLICY_REASON_TRIAL:
		return "a trial";
	case POLICY_REASON_SLOWER:
		return "trials: balancing does not keep the CPUs busier";
	case POLICY_REASON_FASTER:
		return "trials: balancing keeps the CPUs busier";
	case POLICY_REASON_OPTION:
		return "as the options want it";
	case POLICY_REASON_UNTRIED:
		return "until a trial decides";
	case POLICY_REASON_SHORT:
		return "phases too short to take turns in";
	case POLICY_REASON_UNEQUAL:
		return "CPUs of unequal speed";
	case POLICY_REASON_LEARN:
		return "finding out how fast the CPUs are";
	case POLICY_REASON_SUBDOMAINS:
		return "a CPU for each thread, and subdomains move instead";
	case POLICY_REASON_ONE_CPU:
		return "one CPU, so there is nothing to balance";
	case POLICY_REASON_STARVED:
		return "a thread got nothing of its CPU";
	case POLICY_REASON_FILLED:
		return "other jobs make the threads of all CPUs even";
	case POLICY_REASON_PACKED:
		return "phases so short that fewer CPUs are faster";
	case POLICY_REASON_BUSY:
		return "threads that leave no CPU idle";
	case POLICY_REASON_DYNAMIC:
		return "loops that hand out their work";
	}
	return "unknown";
}

bool policy_reason_by_trials(enum policy_reason reason)
{
	return reason == POLICY_REASON_UNTRIED || reason == POLICY_REASON_TRIAL ||
	       reason == POLICY_REASON_SLOWER || reason == POLICY_REASON_FASTER;
}

bool policy_regime_change(
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
	bool changed = policy_regime_change(chooser, regime, reason);

	policy_trials_forget(chooser);
	chooser->yields = chooser->spins = chooser->apart = false;
	chooser->window_sleep_rate = 0;
	policy_packing_reset(&chooser->packing);
	return changed;
}

/* Do threads gain by being on the right CPUs, because of the CPUs' speeds, or by turns on them? The
 * latter may be so on CPUs of equal speed, too, where some share a core. */
static bool unequal(const struct policy_chooser *chooser, uint32_t threads, uint32_t cpus)
{
	bool already = chooser->reason == POLICY_REASON_UNEQUAL;
	bool turns = chooser->turns_gain > (already ? UNEQUAL_LEAST / 2 : UNEQUAL_LEAST);

	if (threads >= cpus)
		return threads == cpus ? turns : chooser->speeds_differ;
	/* A program that still starts threads may ask for its mask to find out how many. */
	return threads > 1 && chooser->steady && (chooser->speeds_differ || turns);
}

/* The regime of threads that sleep, before trials. */
static enum policy_regime begins_with(
	const struct policy_chooser *chooser, const struct policy_window *window)
{
	return policy_trials_turns_gain(chooser, window->threads, window->cpus) > TURNS_LEAST
		       ? POLICY_BALANCE
		       : POLICY_ASIDE;
}

/* Threads that never sleep, in this window. */
static bool awake(struct policy_chooser *chooser, const struct policy_window *window)
{
	bool yields = window->since_yield_ns < YIELD_MEMORY_NS, changed;
	bool waits = yields && chooser->reason == POLICY_REASON_SHORT && chooser->short_wait > 1;

	if (waits) {
		chooser->short_wait--;
		return false;
	}
	if (yields && !chooser->always && !chooser->speeds_differ && window->short_yields &&
		chooser->regime == POLICY_BALANCE) {
		chooser->short_gap =
			chooser->short_gap == 0 ? SHORT_GAP_LEAST : chooser->short_gap * 2;
		if (chooser->short_gap > SHORT_GAP_MOST)
			chooser->short_gap = SHORT_GAP_MOST;
		chooser->short_wait = chooser->short_gap;
		changed = settle(chooser, POLICY_ASIDE, POLICY_REASON_SHORT);
	} else {
		if (chooser->regime == POLICY_BALANCE)
			chooser->short_gap = 0;
		changed = settle(chooser, POLICY_BALANCE,
			unequal(chooser, window->threads, window->cpus) ? POLICY_REASON_UNEQUAL
									: POLICY_REASON_NEVER_IDLE);
	}
	chooser->yields = yields;
	chooser->spins = !yields;
	return changed;
}

bool policy_regime_sleeps(const struct policy_chooser *chooser)
{
	return chooser->sleep_rate >= NEVER_HZ;
}

bool policy_regime_tries_packing(const struct policy_chooser *chooser)
{
	return chooser->reason == POLICY_REASON_PACKED && chooser->packing.trial;
}

uint64_t policy_regime_window_ns(const struct policy_chooser *chooser)
{
	bool first = chooser->sleep_windows == 0;
	bool look = chooser->regime == POLICY_BALANCE && chooser->short_gap > 0;

	if (policy_regime_tries_packing(chooser))
		return POLICY_PACKING_NS;
	if (chooser->told_ns > 0)
		return (uint64_t)fmin(
			fmax(WINDOW_PHASES * chooser->told_ns, POLICY_WINDOW_NS), LONG_WINDOW_NS);
	if (!policy_regime_sleeps(chooser))
		return first || look ? POLICY_WINDOW_NS : CALM_WINDOW_NS;
	double long_ns = WINDOW_SLEEPS * 1e9 / chooser->sleep_rate;
	return (uint64_t)fmin(fmax(long_ns, POLICY_WINDOW_NS), LONG_WINDOW_NS);
}

/* Is a job whose phases are told to be too short for turns best left to the kernel? */
static bool leaves_short(const struct policy_chooser *chooser)
{
	return !chooser->always && !chooser->speeds_differ && chooser->needs_gain <= 0;
}

/* Is a job left to the kernel because its threads fetch their work as they go, which makes up for what CPUs give them?
 * On CPUs of unequal speed they still have to be on the right ones; and beside other work turns may gain something. */
static bool leaves_dynamic(const struct policy_chooser *chooser)
{
	return chooser->dynamic && !chooser->disturbed && !chooser->always &&
	       !chooser->speeds_differ;
}

/* Likewise, after a window. */
static bool leaves_dynamic_now(struct policy_chooser *chooser, const struct policy_window *window)
{
	bool already = chooser->reason == POLICY_REASON_DYNAMIC;
	double elapsed_ns = (double)window->elapsed_ns, wait_ns = (double)window->wait_ns;

	if (window->threads <= window->cpus)
		return false;
	/* For so long all CPUs had a thread, if nobody else had any of their time. */
	double full_ns = fmin(wait_ns / (window->threads - window->cpus), elapsed_ns);
	double least = already ? UNDISTURBED_STILL : UNDISTURBED;
	chooser->disturbed = (double)window->run_ns < least * full_ns * window->cpus;
	return leaves_dynamic(chooser);
}

/* Do the threads of other jobs fill up the CPUs evenly, so that nobody gains by turns? Where threads' needs differ, they
 * gain by turns among themselves. */
static bool are_even_beside(const struct policy_chooser *chooser, uint32_t threads, uint32_t cpus)
{
	return !chooser->always && !chooser->speeds_differ && chooser->others > 0 &&
	       threads > cpus && chooser->turns_gain_beside < TURNS_BESIDE_LEAST &&
	       chooser->needs_gain < TURNS_BESIDE_LEAST;
}

bool policy_regime_count(struct policy_chooser *chooser, uint32_t threads, uint32_t cpus)
{
	bool uneven = unequal(chooser, threads, cpus);

	if (threads == 0 || (threads < cpus && !uneven && chooser->reason != POLICY_REASON_LEARN))
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_FEW);
	if (chooser->subdomains && threads == cpus)
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_SUBDOMAINS);
	if (chooser->reason == POLICY_REASON_SUBDOMAINS ||
		(chooser->reason == POLICY_REASON_UNEQUAL && !uneven))
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_START);
	if (uneven &&
		(chooser->reason == POLICY_REASON_START || chooser->reason == POLICY_REASON_FEW ||
			chooser->reason == POLICY_REASON_NO_CONTEST))
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_UNEQUAL);
	if (threads <= cpus ||
		(chooser->reason != POLICY_REASON_START && chooser->reason != POLICY_REASON_FEW))
		return false;
	if (chooser->told_short && leaves_short(chooser))
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_SHORT);
	if (leaves_dynamic(chooser))
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_DYNAMIC);
	/* There are more threads than CPUs now. Every millisecond of an uneven distribution is
	 * lost, so balance; a trial follows soon. */
	if (are_even_beside(chooser, threads, cpus))
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_START);
	if (chooser->regime == POLICY_ASIDE &&
		(chooser->always || policy_trials_turns_gain(chooser, threads, cpus) > TURNS_LEAST))
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_START);
	return false;
}

bool policy_regime_starved(struct policy_chooser *chooser)
{
	if (chooser->regime == POLICY_BALANCE || chooser->reason == POLICY_REASON_SLOWER)
		return false;
	chooser->trial = false;
	return policy_regime_change(chooser, POLICY_BALANCE, POLICY_REASON_STARVED);
}

bool policy_regime_shortens(
	const struct policy_chooser *chooser, uint32_t threads, uint32_t cpus, bool already)
{
	double waiting_least = already ? SHORTENS_STILL : SHORTENS_WAITING;

	return chooser->regime == POLICY_ASIDE && chooser->reason == POLICY_REASON_SHORT &&
	       chooser->yields && threads <= cpus && chooser->told_ns > 0 &&
	       chooser->told_ns < SHORTENS_NS && chooser->waiting >= waiting_least;
}

bool policy_regime_places_only(const struct policy_chooser *chooser)
{
	return chooser->reason == POLICY_REASON_SUBDOMAINS ||
	       chooser->reason == POLICY_REASON_PACKED;
}

enum policy_rest policy_regime_rest(const struct policy_chooser *chooser)
{
	if (chooser->reason == POLICY_REASON_FEW || chooser->reason == POLICY_REASON_NO_CONTEST)
		return POLICY_RESTS;

	bool sleeps = policy_regime_sleeps(chooser) && !chooser->yields;
	return chooser->reason == POLICY_REASON_SHORT && sleeps ? POLICY_RESTS_MORE : POLICY_TELLS;
}

/* No more threads than CPUs, and none of them waits for one; or a single thread, which has nobody to take
 * turns with. */
static bool is_calm(const struct policy_chooser *chooser, const struct policy_window *window)
{
	double waits = WAIT_SHARE * (double)window->elapsed_ns * window->threads;

	if (window->threads < window->cpus || (window->threads == 1 && !chooser->always))
		return true;
	return window->threads == window->cpus && !chooser->always && !window->taken &&
	       (double)window->wait_ns < waits;
}

/* Is it time to see how fast the CPUs are? */
static bool should_learn(struct policy_chooser *chooser, const struct policy_window *window)
{
	if (!chooser->learns || !chooser->steady || window->threads < 2 ||
		chooser->reason == POLICY_REASON_LEARN)
		return false;
	if (chooser->learn_wait_ns > window->elapsed_ns) {
		chooser->learn_wait_ns -= window->elapsed_ns;
		return false;
	}
	chooser->learn_gap_ns = chooser->learn_gap_ns == 0 ? LEARN_NS : 2 * chooser->learn_gap_ns;
	if (chooser->learn_gap_ns > LEARN_MOST_NS)
		chooser->learn_gap_ns = LEARN_MOST_NS;
	chooser->learn_wait_ns = chooser->learn_gap_ns;
	return true;
}

/* The regime of a job whose phases are told, before trials. */
static enum policy_regime told_begins_with(const struct policy_chooser *chooser,
	const struct policy_window *window, bool sleeps, bool spins)
{
	if (spins || chooser->speeds_differ)
		return POLICY_BALANCE;
	if (window->short_needs)
		return POLICY_ASIDE;
	return sleeps ? begins_with(chooser, window) : POLICY_BALANCE;
}

/* CPU time of a thread in a phase, as it was before; 0: unknown. */
static double known_need_ns(const struct policy_chooser *chooser)
{
	double own_ns = chooser->need_ns[chooser->regime];
	return own_ns > 0 ? own_ns : fmax(chooser->need_ns[0], chooser->need_ns[1]);
}

/* Does the window say nothing of phases, as threads hardly passed any, though theirs are short? Call it once a window. */
static bool is_stalled(struct policy_chooser *chooser, const struct policy_window *window)
{
	double need_ns = known_need_ns(chooser), many = POLICY_PHASES_MANY * window->threads;
	double most = need_ns > 0 ? (double)window->elapsed_ns * window->cpus / need_ns : 0;
	bool few = window->passed < many && most > many && window->passed < STALLED * most;

	chooser->stalls = few ? chooser->stalls + 1 : 0;
	return few && chooser->stalls <= STALLS_MOST;
}

/* Phases are told: those that were passed in the window, as a share of the CPUs' time. Where phases are too
 * different for that, useful CPU time is. In another part of the program, trials begin anew. */
static double told_busy(
	struct policy_chooser *chooser, const struct policy_window *window, bool stalled)
{
	double *need_ns = chooser->need_ns, now_ns = window->need_ns;
	double *own_ns = &need_ns[chooser->regime];

	if (!stalled) {
		if (chooser->regular != window->regular ||
			(*own_ns > 0 && fabs(now_ns - *own_ns) > NEED_CHANGE * *own_ns)) {
			policy_trials_anew(chooser);
			need_ns[0] = need_ns[1] = chooser->unit_ns = 0;
		}
		chooser->regular = window->regular;
		*own_ns = *own_ns > 0 ? *own_ns + (now_ns - *own_ns) / NEED_WINDOWS : now_ns;
		chooser->unit_ns = chooser->unit_ns > 0 ? chooser->unit_ns : now_ns;
	}
	double ns =
		chooser->regular ? window->passed * chooser->unit_ns : (double)window->useful_ns;
	return ns / ((double)window->elapsed_ns * window->cpus);
}

/* Do threads, whose phases are told, sleep to wait for each other? */
static bool sleeps_in_waits(
	const struct policy_chooser *chooser, const struct policy_window *window)
{
	double phases_hz = window->passed / window->threads / (double)window->elapsed_ns * 1e9;

	return policy_regime_sleeps(chooser) &&
	       !(window->yields && chooser->sleep_rate < SLEEPS_SHARE * phases_hz);
}

/* Do the others use their threads, so that this job gets its part of the time and not much more? Then what a trial shows
 * that it gains, the others lose. One window tells little against it, as the others may just wait for each other. */
static bool is_filled_up(struct policy_chooser *chooser, const struct policy_window *window)
{
	bool before = chooser->reason == POLICY_REASON_FILLED;
	double share = window->threads / (double)(window->threads + chooser->others);
	double all_ns = (double)window->elapsed_ns * window->cpus;
	bool more = (double)window->run_ns >= (before ? SHARE_STILL : SHARE_MOST) * share * all_ns;
	bool once = more && before && !chooser->more;

	chooser->more = more;
	return are_even_beside(chooser, window->threads, window->cpus) && (!more || once);
}

/* Likewise, where phases are told. */
static bool is_filled_up_told(struct policy_chooser *chooser, const struct policy_window *window,
	double need_ns, bool spins)
{
	double least_ns = chooser->reason == POLICY_REASON_FILLED ? SPINS_STILL_NS : SPINS_EVEN_NS;

	return (!spins || need_ns > least_ns) && is_filled_up(chooser, window);
}

/* Phases too short for turns, of threads that sleep in them. */
static bool by_packing(struct policy_chooser *chooser, const struct policy_window *window)
{
	struct policy_packing packing = chooser->packing;
	bool packed = chooser->reason == POLICY_REASON_PACKED;

	if (!packed && chooser->reason != POLICY_REASON_SHORT)
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_SHORT);
	packed = policy_packing_next(&packing, window, packed, policy_trials_budget_ns(chooser));
	chooser->trials_ns += packing.cost_ns;
	bool changed = packed ? settle(chooser, POLICY_BALANCE, POLICY_REASON_PACKED)
			      : settle(chooser, POLICY_ASIDE, POLICY_REASON_SHORT);
	chooser->packing = packing;
	return changed;
}

/* Where phases are told, they are the measure, whether threads sleep, yield or spin. */
static bool by_phases(struct policy_chooser *chooser, const struct policy_window *window)
{
	bool stalled = is_stalled(chooser, window);
	double need_ns = stalled ? known_need_ns(chooser) : window->need_ns;
	double wall_ns = policy_wall_ns(need_ns, window->threads, window->cpus);
	bool sleeps = sleeps_in_waits(chooser, window);
	bool yields = !sleeps && (window->yields || window->since_yield_ns < YIELD_MEMORY_NS);
	bool spins = !sleeps && !yields, changed;
	double short_ns = chooser->bells ? POLICY_BELL_LEAST_NS : SHORT_TOLD_NS;
	bool no_turns = need_ns < short_ns && leaves_short(chooser), is_short = no_turns && !spins;
	enum policy_regime first =
		is_short ? POLICY_ASIDE : told_begins_with(chooser, window, sleeps, spins);

	chooser->told_ns = wall_ns;
	chooser->apart = no_turns && window->threads <= window->cpus;
	if (chooser->always)
		changed = settle(chooser, POLICY_BALANCE, POLICY_REASON_OPTION);
	else if (window->threads <= window->cpus && chooser->speeds_differ &&
		 unequal(chooser, window->threads, window->cpus))
		changed = settle(chooser, POLICY_BALANCE, POLICY_REASON_UNEQUAL);
	else if (is_short && sleeps && window->threads > window->cpus)
		changed = by_packing(chooser, window);
	else if (is_short && (yields || window->threads > window->cpus))
		changed = settle(chooser, POLICY_ASIDE, POLICY_REASON_SHORT);
	else if (leaves_dynamic_now(chooser, window))
		changed = settle(chooser, POLICY_ASIDE, POLICY_REASON_DYNAMIC);
	else if (is_filled_up_told(chooser, window, need_ns, spins))
		changed = settle(chooser, POLICY_ASIDE, POLICY_REASON_FILLED);
	else if (wall_ns * WINDOW_PHASES > LONG_WINDOW_NS)
		changed = settle(chooser, first, POLICY_REASON_LONG);
	else
		changed = policy_trials_next(
			chooser, window, told_busy(chooser, window, stalled), first);
	chooser->yields = yields;
	chooser->spins = spins;
	return changed;
}

bool policy_regime_update(struct policy_chooser *chooser, const struct policy_window *window)
{
	double elapsed = (double)window->elapsed_ns;
	bool uneven = unequal(chooser, window->threads, window->cpus);

	if (window->elapsed_ns == 0)
		return false;
	chooser->elapsed_ns += window->elapsed_ns;
	chooser->waiting = (double)window->wait_ns / elapsed;
	if (window->threads == 0)
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_FEW);
	if (chooser->subdomains && window->threads == window->cpus)
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_SUBDOMAINS);
	if (!uneven && is_calm(chooser, window)) {
		if (should_learn(chooser, window))
			return settle(chooser, POLICY_BALANCE, POLICY_REASON_LEARN);
		return settle(chooser, POLICY_ASIDE,
			window->threads < window->cpus ? POLICY_REASON_FEW
						       : POLICY_REASON_NO_CONTEST);
	}
	double rate = window->sleeps / elapsed * 1e9;
	if (chooser->sleep_windows < SLEEP_WINDOWS)
		chooser->sleep_windows++;
	chooser->sleep_rate += (rate - chooser->sleep_rate) / chooser->sleep_windows;
	if (window->told)
		return by_phases(chooser, window);
	chooser->told_ns = 0;
	chooser->apart = false;
	if (leaves_dynamic_now(chooser, window))
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_DYNAMIC);
	if (!policy_regime_sleeps(chooser))
		return awake(chooser, window);
	chooser->yields = chooser->spins = false;
	if (chooser->always)
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_OPTION);
	if (window->phase_ns > 0 && window->phase_ns < SHORT_NS && !chooser->speeds_differ)
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_SHORT);
	if (uneven && chooser->speeds_differ)
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_UNEQUAL);
	if (is_filled_up(chooser, window))
		return settle(chooser, POLICY_ASIDE, POLICY_REASON_FILLED);
	if (chooser->sleep_rate * LONG_WINDOW_NS < WINDOW_SLEEPS * 1e9)
		return settle(chooser, begins_with(chooser, window), POLICY_REASON_LONG);

	if (!chooser->trial && chooser->window_sleep_rate > 0 &&
		(rate > 4 * chooser->window_sleep_rate || rate < chooser->window_sleep_rate / 4))
		policy_trials_anew(chooser);
	chooser->window_sleep_rate = rate;

	double busy = (double)window->run_ns / (elapsed * window->cpus);
	enum policy_regime first = begins_with(chooser, window);
	if (policy_trials_vain(chooser, window, busy, first))
		return settle(chooser, POLICY_BALANCE, POLICY_REASON_BUSY);
	return policy_trials_next(chooser, window, busy, first);
}
