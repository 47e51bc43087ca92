/* SPDX-License-Identifier: MIT */
/* Whether balancing pays (beyond the paper). */
#ifndef JUGGLE_POLICY_REGIME_H
#define JUGGLE_POLICY_REGIME_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/policy/packing.h"

enum policy_regime {
	POLICY_ASIDE, /* the kernel places the threads, within their own masks */
	POLICY_BALANCE, /* the balancer places and moves them */
};

/* Which of their waits threads that tell their phases need not tell. */
enum policy_rest {
	POLICY_TELLS, /* none */
	POLICY_RESTS, /* most of very short ones */
	POLICY_RESTS_MORE, /* all within some milliseconds */
};

/* Why this regime was chosen, for reports. */
enum policy_reason {
	POLICY_REASON_START, /* nothing known yet */
	POLICY_REASON_FEW, /* fewer compute threads than CPUs */
	POLICY_REASON_NO_CONTEST, /* a CPU for each, and nobody waits for one */
	POLICY_REASON_NEVER_IDLE, /* the threads do not block: balancing can't idle a CPU */
	POLICY_REASON_LONG, /* they sleep, but so seldom that a trial would take too long */
	POLICY_REASON_TRIAL, /* a trial of the other regime */
	POLICY_REASON_SLOWER, /* trials: balancing does not keep the CPUs busier */
	POLICY_REASON_FASTER, /* trials: balancing keeps the CPUs busier */
	POLICY_REASON_OPTION, /* the user wants it so */
	POLICY_REASON_SUBDOMAINS, /* work moves between the threads, each on a CPU of its own */
	POLICY_REASON_UNTRIED, /* trials will decide, and none has yet, in this part of the program */
	POLICY_REASON_SHORT, /* they sleep or yield so often that there is no time for turns */
	POLICY_REASON_UNEQUAL, /* CPUs differ in speed */
	POLICY_REASON_LEARN, /* for one window, to see whether they do */
	POLICY_REASON_ONE_CPU, /* there is no other to move a thread to */
	POLICY_REASON_STARVED, /* the kernel left a thread on a CPU that others had taken */
	POLICY_REASON_FILLED, /* with the threads of others, all CPUs have as many */
	POLICY_REASON_PACKED, /* on fewer CPUs phases pass faster, as they need not be woken */
	POLICY_REASON_BUSY, /* the threads block, but use nearly all of the CPUs' time */
	POLICY_REASON_DYNAMIC, /* work is handed out to threads as they ask for it */
};
enum { POLICY_REASONS = POLICY_REASON_DYNAMIC + 1 };
/* The reason in words; "unknown" for any other value. */
const char *policy_reason_text(enum policy_reason reason);
/* Is it up to trials, before, while and after they are made? */
bool policy_reason_by_trials(enum policy_reason reason);

/* So many phases of each thread show what its phases need on average, however different they are. */
#define POLICY_PHASES_MANY 16

/* No window needs to be longer, except to hold several sleeps or phases of each thread. */
#define POLICY_WINDOW_NS UINT64_C(50000000)
#define POLICY_SETTLE_NS UINT64_C(10000000) /* from a change of regime to the next window */

/* What the job did during one window. */
struct policy_window {
	uint64_t elapsed_ns;
	uint64_t run_ns; /* of all compute threads */
	uint64_t wait_ns; /* of all compute threads, for a CPU */
	uint64_t since_yield_ns; /* time since the threads last yielded */
	double sleeps; /* how often a compute thread went to sleep (mean) */
	double phase_ns; /* the length of a phase, by sleeps up to now; 0: unknown */
	bool short_yields; /* by yields, phases are too short for turns to gain anything */
	uint32_t threads; /* compute threads */
	uint32_t cpus;
	bool taken; /* some CPU was taken by others, lately */
	/* Where the program's runtime tells phases: */
	bool told; /* it does */
	bool regular; /* they take as long from time to time, or there are many */
	bool yields; /* threads yield in waits */
	uint64_t useful_ns; /* the part of run_ns outside waits at barriers */
	double passed; /* phases, by all compute threads */
	double need_ns; /* CPU time of a thread in a phase, on average over the window if it has many */
	bool short_needs; /* that is too short for turns to gain anything */
};

/* What is known of one regime. */
struct policy_arm {
	double busy; /* share of the CPUs' time that the job used, smoothed */
	double variance; /* of one window's share, smoothed */
	double weight; /* number of windows behind these two */
};

struct policy_chooser {
	bool always;
	/* Set by the caller: all compute threads are workers between whom subdomains move (PLB).
	 * With a CPU for each, they are placed and then stay. */
	bool subdomains;
	/* Set by the caller, by what is known of the CPUs: do they differ in speed, and what do perfect
	 * turns gain over threads that keep to their CPUs? */
	bool speeds_differ;
	double turns_gain;
	/* Set by the caller: the threads of other jobs under juggle there, and what perfect turns would
	 * gain all of them together. */
	uint32_t others;
	double turns_gain_beside;
	bool more; /* beside them, the job had more than its part of the window before */
	bool bells; /* set by the caller: it is called when CPUs run dry, see dry.h */
	/* Set by the caller, where phases are told: what turns gain by the needs of threads; 0: these
	 * are equal. */
	double needs_gain;
	/* Set by the caller: phases are told, too short for turns, and threads don't spin in them. */
	bool told_short;
	/* Set by the caller: work is handed out to threads as they ask for it, so that they end together anyway. */
	bool dynamic;
	bool disturbed; /* others had much of the CPUs in the window before, in which it was so */
	/* Set by the caller: no thread has begun to compute lately that never had before; and while threads are placed,
	 * their work shows how fast the CPUs are. */
	bool steady, learns;
	uint64_t learn_wait_ns, learn_gap_ns; /* until that is looked at again, and the next time */
	struct policy_arm arm[2]; /* by enum policy_regime */
	enum policy_regime regime; /* now */
	enum policy_regime settled; /* between trials */
	enum policy_reason reason;
	uint32_t wait; /* windows until the next trial */
	uint32_t gap; /* the wait that the next decision begins with */
	bool trial; /* one is under way */
	uint64_t elapsed_ns; /* of all windows */
	double trial_ns; /* what the last trial was taken to cost when it began */
	double trials_ns; /* what trials have cost the job; that much for one that is not over, or showed nothing */
	double sleep_rate; /* sleeps per second and thread, smoothed ... */
	uint32_t sleep_windows; /* ... over this many windows */
	bool yields; /* no thread sleeps, and they yield */
	bool spins; /* no thread sleeps, and they don't yield: they may spin at barriers */
	/* Phases are told, too short for turns, and there is a CPU for each thread: balanced threads only keep to one
	 * each, as the kernel may have two spin on the same CPU beside a CPU that others use. */
	bool apart;
	uint32_t short_wait, short_gap; /* windows aside with short yields: left, and next time */
	double waiting; /* how many threads waited for a CPU in the window before: the mean over its time */
	double told_ns; /* the length of a phase that was told; 0: none was */
	double need_ns[2]; /* and its CPU time in the windows of each regime, smoothed */
	uint32_t stalls; /* windows in a row in which hardly any phase passed */
	bool regular; /* windows are measured by the phases passed ... */
	double unit_ns; /* ... as so much CPU time each, whatever the regime */
	double window_sleep_rate; /* of the window before, to notice a new part of the program */
	/* With POLICY_REASON_PACKED threads are packed, with POLICY_REASON_SHORT not. */
	struct policy_packing packing;
};

/* Set the regime and the reason for it. Returns true when the regime changed. */
bool policy_regime_change(
	struct policy_chooser *chooser, enum policy_regime regime, enum policy_reason reason);

/* With `always` the chooser balances whenever there is a thread for each CPU, and windows only tell
 * it whether threads sleep, yield or spin. */
void policy_regime_init(struct policy_chooser *chooser, bool always);

/* Choose by the number of compute threads alone, where that suffices. May be called at any time.
 * Returns true when the regime changed. */
bool policy_regime_count(struct policy_chooser *chooser, uint32_t threads, uint32_t cpus);

/* The kernel, which places the threads, has left one on a CPU that gives it nothing: balance. Where trials
 * have shown that balancing is worse, it stays so. Returns true when the regime changed. */
bool policy_regime_starved(struct policy_chooser *chooser);

/* Take in a window that ran under chooser->regime and choose the regime of the next.
 *
 * A job whose threads never sleep (its barriers spin or yield) uses all the time that it gets, and
 * is balanced. One whose phases are too short for turns is left to the kernel; as short phases
 * between yields can't be told from longer ones meanwhile, it is balanced for a window now and then.
 * For any other job the share of the CPUs' time that it uses is its speed, beside other jobs, too,
 * and trials of both regimes decide. Each lasts for one window. Their gap grows while the outcome is
 * clear, and they may cost the job 5 ms and 0.5 % of its time. Where CPUs differ in speed, a job of no more
 * threads than CPUs is balanced, as these shares say nothing of it; and phases too short for turns are
 * no reason to stand aside, as threads still have to be on the right CPUs. Nor are they, where they are told, for
 * threads that sleep on as many CPUs, beside others: trials begin aside. Where phases are so long that a trial
 * would take more than a second, there is none, and the job stays as it would have begun: balanced if turns gain
 * enough. One that gains by turns and uses nearly all of the CPUs' time is balanced, as trials could show nothing.
 *
 * Where phases are too short for turns, and threads that sleep in them use so little of the CPUs that fewer would do,
 * most time may be lost in waking CPUs: a trial of packing.cpus of them shows whether more is done there.
 *
 * Windows should leave out the first moments after a change. Returns true when the regime changed. */
bool policy_regime_update(struct policy_chooser *chooser, const struct policy_window *window);

/* Are threads best left to the kernel with short time slices? So they are where they yield in short phases, which are
 * told, beside others that hardly ever sleep: the kernel lets these run for what is left of the slice of a thread that
 * yields. Beside threads that often sleep that gains nothing, and costs those. Threads that have them `already` keep
 * them for a little longer. */
bool policy_regime_shortens(
	const struct policy_chooser *chooser, uint32_t threads, uint32_t cpus, bool already);

/* How much may the threads rest? Where each has a CPU of its own, nothing depends on what it needs, but it may spin in
 * waits, which may be long: those are told. Where threads sleep in phases too short for turns, all that matters is
 * whether phases stay short, which some waits show; and waits cost most there, as a thread that has slept finds little
 * of what it needs in caches. */
enum policy_rest policy_regime_rest(const struct policy_chooser *chooser);

/* Are threads packed for a window, to see whether that is faster? */
bool policy_regime_tries_packing(const struct policy_chooser *chooser);

/* Are threads placed, and then stay where they are? */
bool policy_regime_places_only(const struct policy_chooser *chooser);

/* How long the next window has to be. */
uint64_t policy_regime_window_ns(const struct policy_chooser *chooser);

/* Do the threads sleep, at barriers or for other reasons? */
bool policy_regime_sleeps(const struct policy_chooser *chooser);

#endif
