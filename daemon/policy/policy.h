/* SPDX-License-Identifier: MIT */
/*
 * Decisions of the balancer: pure functions on plain structs.
 *
 * Nothing here does I/O, reads a clock, allocates or keeps state of its own: data and
 * times come in, decisions go out, so that the daemon, a simulator and a replayed trace
 * run the very same code. All times are nanoseconds. Every function is thread-safe on
 * distinct objects. Section and equation numbers are those of Hofmeyr et al. (2012),
 * "Juggle: addressing extrinsic load imbalances in SPMD applications".
 */
#ifndef JUGGLE_POLICY_H
#define JUGGLE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_NO_CPU (-1)

/* One CPU of a domain. Its index in the domain's array is what threads name. */
struct policy_cpu {
	int32_t os_cpu;
	/* Worked out by policy_juggle(): */
	uint32_t threads; /* placed here */
	double idle_ns; /* of a period */
	double speed; /* mean progress of its threads in a period, idle time discounted */
	double mean_progress; /* total progress, mean over its threads */
	uint32_t fast_slots; /* ahead threads here that a behind thread may replace */
	bool fast;
	double runnable; /* share of a period in which one of its threads could run */
	/* Kept from call to call, 0 at first: means over some periods, as shares of their length. */
	double ran, gained;
	uint32_t periods;
};

/* One compute thread of a domain. */
struct policy_thread {
	int32_t cpu; /* index of its CPU, or POLICY_NO_CPU */
	int64_t progress_ns; /* since the balancer met it: P in the paper */
	uint64_t gain_ns; /* progress in the last period: Delta P */
	uint64_t run_ns; /* time on a CPU in the last period; often the same */
	uint64_t wait_ns; /* time in the last period spent waiting for a CPU */
	uint64_t left_ns; /* of run_ns, what it ran before its last move, on ... */
	int32_t left_cpu; /* ... the CPU with this index */
	bool behind; /* worked out by policy_juggle() */
	bool moved; /* this balancing point moves it */
	/* Kept from call to call, 0 at first: the share of time in which it wanted to run. */
	double runnable;
	uint32_t periods;
};

struct policy_move {
	uint32_t thread; /* index of the thread */
	int32_t from, to; /* indices of CPUs */
};

/* ---- Placement (Section 2: "distributes them uniformly ... never more than one") ---- */

/* Put every thread without a CPU on the CPU with the fewest threads, the lowest index
 * first. Threads that have a CPU keep it. Writes a move (from POLICY_NO_CPU) for each.
 * moves has room for n. Returns how many moves there are. */
size_t policy_place(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m,
	struct policy_move *moves);

/* Threads ended: move as few as needed from the fullest CPUs to the emptiest, until no
 * two differ by more than one. Those that are furthest behind move first, because they
 * gain. moves has room for n. Returns how many moves there are. */
size_t policy_even_out(struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m,
	struct policy_move *moves);

/* Which domain a new thread goes to, so that domains hold threads in proportion to their CPUs and,
 * for domains of one size, never differ by more than one (Section 2.4). threads[d] and
 * cpus[d] count what domain d has. Returns the index of the domain; domains > 0. */
size_t policy_pick_domain(const uint32_t *threads, const uint32_t *cpus, size_t domains);

/* ---- One balancing point (Sections 2.1 to 2.3) ---- */

struct policy_juggle_params {
	int64_t margin_ns; /* xi: the error margin of the ahead/behind test */
	/* By how much (relative) a CPU has to be above the mean to be fast, and the fastest above the
	 * middle between it and the slowest for any to be. */
	double speed_margin;
	int64_t forget_periods; /* in each, this part of a lead or lag is forgotten; 0: nothing */
	uint32_t speed_periods; /* over which the speed of a CPU is smoothed; 0 or 1: the last */
};

/* With these the daemon runs, and so does whoever wants to know what it would do. The margin is the
 * user's choice. */
static inline struct policy_juggle_params policy_juggle_defaults(int64_t margin_ns)
{
	return (struct policy_juggle_params){.margin_ns = margin_ns,
		.speed_margin = 0.02,
		.forget_periods = 16,
		.speed_periods = 64};
}

/* Classify CPUs as fast or slow and threads as ahead or behind, and swap behind threads
 * on slow CPUs with ahead threads on fast ones (Fig. 3): slowest CPU first, fastest CPU
 * first, cyclically. Swaps only, so that the number of threads of every CPU stays.
 *
 * elapsed_ns is the length of the period that gain_ns, run_ns and wait_ns cover. order is scratch
 * for 2 * m indices; moves has room for n. Threads without a CPU are left alone. Updates threads[].cpu
 * to the new placement. Returns the number of moves (always even); O(n * swaps + m^2).
 *
 * Beyond the paper: where few of many CPUs are slow, the others are hardly faster than the mean and
 * their threads hardly ahead of it, so that margins give way. Leads and lags are forgotten by and by,
 * because a thread that once did serial work would otherwise count as ahead for the rest of the run,
 * whoever comes first to a barrier. What share of a CPU the job gets is smoothed over speed_periods,
 * because the kernel brings the times of running threads up to date only at its ticks, which can be
 * longer than a period. */
size_t policy_juggle(const struct policy_juggle_params *params, uint64_t elapsed_ns,
	struct policy_thread *threads, size_t n, struct policy_cpu *cpus, size_t m, uint32_t *order,
	struct policy_move *moves);

/* ---- Idle threads (Section 2: "regard a particular thread as idle") ---- */

/* Judge from CPU use alone whether a thread does work of its own. */
struct policy_idle {
	uint64_t window_run_ns;
	uint64_t window_ns;
	bool idle;
};

/* Take in what a thread ran during elapsed_ns. Over windows of 50 ms: under 1 % of a CPU
 * makes a thread idle, over 5 % makes it a compute thread again. Returns whether
 * the verdict changed. */
bool policy_idle_update(struct policy_idle *idle, uint64_t run_ns, uint64_t elapsed_ns);

/* ---- Whether moving threads pays (beyond the paper) ---- */

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
const char *policy_reason_text(enum policy_reason reason);

/* What the job did during one window. */
struct policy_window {
	uint64_t elapsed_ns;
	uint64_t run_ns; /* of all compute threads */
	uint64_t wait_ns; /* of all compute threads, for a CPU */
	uint64_t since_yield_ns; /* since threads last switched so often as only yielding does */
	double blocks; /* times a compute thread went to sleep, mean over the threads */
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
	 * balanced (plb.h). With a CPU for each they are placed, and not to be moved. */
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
	double block_rate; /* of the window before, to notice a new part of the program */
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
