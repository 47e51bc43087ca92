/* SPDX-License-Identifier: MIT */
/* Whether moving threads pays (beyond the paper). */
#ifndef JUGGLE_POLICY_REGIME_H
#define JUGGLE_POLICY_REGIME_H

#include <stdbool.h>
#include <stdint.h>

enum policy_regime {
	POLICY_ASIDE, /* the threads are left to the kernel, with the masks they had */
	POLICY_BALANCE, /* the balancer places and moves them */
};

/* Why the regime is what it is: for reports. */
enum policy_reason {
	POLICY_REASON_START, /* nothing known yet */
	POLICY_REASON_FEW, /* fewer compute threads than CPUs */
	POLICY_REASON_NO_CONTEST, /* a CPU for each, and nobody waits for one */
	POLICY_REASON_NEVER_IDLE, /* the threads do not block: no CPU time to lose */
	POLICY_REASON_LONG, /* they sleep, but seldom: the kernel shares out long phases well */
	POLICY_REASON_TRIAL, /* a trial of the other regime */
	POLICY_REASON_BUSY, /* they sleep, but no CPU is idle */
	POLICY_REASON_SLOWER, /* trials: balancing does not keep the CPUs busier */
	POLICY_REASON_FASTER, /* trials: balancing keeps the CPUs busier */
	POLICY_REASON_OPTION, /* the user wants it so */
	POLICY_REASON_SUBDOMAINS, /* work moves between the threads, a CPU each: they stay */
	POLICY_REASON_UNTRIED, /* they sleep; trials will tell */
};
enum { POLICY_REASONS = POLICY_REASON_UNTRIED + 1 };
/* In words. "unknown" for anything else. */
const char *policy_reason_text(enum policy_reason reason);

/* What the job did during one window. */
struct policy_window {
	uint64_t elapsed_ns;
	uint64_t run_ns; /* of all compute threads */
	uint64_t wait_ns; /* of all compute threads, for a CPU */
	uint64_t since_yield_ns; /* since threads last switched so often as only yielding does */
	double sleeps; /* times a compute thread went to sleep, mean over the threads */
	uint32_t threads; /* compute threads */
	uint32_t cpus;
};

/* What is known of one regime. */
struct policy_arm {
	double busy; /* share of the CPUs' time that the job used, smoothed */
	double variance; /* of one window's share, smoothed */
	double weight; /* windows that the two above stand for */
};

struct policy_chooser {
	bool always;
	/* Set by the caller: all compute threads are workers of programs whose subdomains are
	 * balanced (PLB). With a CPU for each they are placed, and not to be moved. */
	bool subdomains;
	struct policy_arm arm[2]; /* by enum policy_regime */
	enum policy_regime regime; /* now */
	enum policy_regime settled; /* between trials */
	enum policy_reason reason;
	uint32_t wait; /* windows until the next trial */
	uint32_t gap; /* the wait that the next decision begins with */
	uint32_t trial; /* windows left of the trial under way, 0: none */
	double sleep_rate; /* sleeps a second and thread, smoothed over ... */
	uint32_t sleep_windows; /* ... so many windows, at most */
	bool yields; /* no thread sleeps, and they yield at barriers ... */
	bool spins; /* ... or do not yield, so that they may spin there */
	double window_sleep_rate; /* of the window before, to notice a new part of the program */
};

/* With `always` the chooser balances whenever there is a thread for each CPU, and only
 * finds out whether they sleep. Threads are not to be moved for POLICY_REASON_SUBDOMAINS. */
void policy_regime_init(struct policy_chooser *chooser, bool always);

/* Take in how many compute threads there are, at any time, for what need not wait for a
 * window to end. Returns true when the regime changed. */
bool policy_regime_count(struct policy_chooser *chooser, uint32_t threads, uint32_t cpus);

/* Take in a window that ran under chooser->regime and choose the regime of the next.
 *
 * A job whose threads never sleep (barriers that spin or yield) leaves no CPU idle, and is
 * balanced. One whose threads sleep seldom has long phases behind barriers that block; these
 * the kernel balances by itself, and is left to it. For one whose threads block, the share of the
 * CPUs' time that the job uses is its speed, so short trials of both regimes decide; the gap between
 * trials grows while their outcome is clear. Windows should be 20 to 200 ms long and leave out the
 * first moments after a change. Returns true when the regime changed. */
bool policy_regime_update(struct policy_chooser *chooser, const struct policy_window *window);

#endif
