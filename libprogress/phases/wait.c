/* SPDX-License-Identifier: MIT */
/*
 * Arrivals and departures; see wait.h.
 *
 * Each turn is seen at once, but its times may be late: clocks are dear beside phases of microseconds. So
 * turns are timed in ticks, which cost nanoseconds, and the clocks are read and the times brought up to
 * date at a turn only if that was last done more than FULL_TICKS before; at one that soon follows another,
 * LONG_NS (else phases of 0.04 ms that yield, three threads on two CPUs, take 2 % longer), as while a thread
 * with short phases may rest (untold.h). What has passed since then is divided in proportion to the ticks.
 *
 * The clock of a thread's CPU time is a system call. It also has the kernel check whether the thread's slice
 * is over. At an arrival the thread may then be preempted just before the others could go on, and those
 * that spin do so for a slice more (phases of 3 ms, three threads on two CPUs: 1.6 times as long). Where all
 * sleep, it costs less (phases of 5 ms, four threads on two CPUs: 1 to 3 % longer). So arrivals avoid it:
 * - A thread that was not preempted since the last turn has had all of the time that has passed.
 * - If it was, its useful time is guessed from earlier phases, and put right at the departure. For a thread that
 *   spins in waits it is no more than the CPU time since the turn before, and no less than the part of that
 *   which can't have been spent in the wait; for one that sleeps in them it is all of that CPU time. The clock is
 *   read after several guesses that stay within the bounds, or that don't show how the thread waits, and where a
 *   thread spins for a part of each wait and then sleeps.
 *
 * Waits that are not told at all, and what is made of them, are in untold.h.
 */
#include "libprogress/phases/wait.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "libprogress/phases/bell.h"
#include "libprogress/phases/clocks.h"
#include "libprogress/phases/phases.h"
#include "libprogress/phases/preempt.h"
#include "libprogress/phases/site.h"
#include "libprogress/phases/table.h"
#include "libprogress/phases/ticks.h"
#include "libprogress/phases/untold.h"

#define SOON_TICKS (FULL_TICKS / 2)
#define RESYNC_TICKS (250 * FULL_TICKS) /* the clock of CPU time is read that often */

#define TELLING_NS 50000 /* waits that last as long show whether threads spin or yield in them */
#define YIELD_NS 100000 /* a thread that uses more CPU time from one yield to the next spins */
#define SLEEP_NS 20000 /* CPU time that a thread needs, at most, to fall asleep and to wake up */
/* Guesses are made for work up to that many times the usual. Only so many are made until a wait shows whether the
 * thread sleeps, or, if it spins, until its needs are known again. */
#define GUESS_MOST 4
#define GUESSES_MOST 8
/* An arrival ends a phase after one part in so many of the work that phases usually take, or after any work if that
 * is less than USUAL_NS: programs often wait several times in a row, for several others. */
#define PHASE_PARTS 8
#define USUAL_NS 1000000
#define LONG_NS (USUAL_NS / 2) /* what is measured together has to stay less than that */
#define PENDING 4 /* sites whose waits are not yet in the table */

/* What a thread knows of itself. Small, as it has to fit into what the C library keeps free for
 * libraries that are loaded late. */
struct thread {
	struct phases_row *row;
	uint64_t arrivals;
	uint64_t retry; /* the number of arrivals at which to try for a row again */
	uint64_t turn_ticks; /* at the last turn */
	uint64_t long_ticks; /* in LONG_NS */
	uint64_t last_ticks; /* from the turn before to that one */
	uint64_t full_ticks; /* when times were last brought up to date */
	uint64_t cpu_ticks; /* when the clock of CPU time was last read */
	uint64_t worked_ticks, waited_ticks; /* since times were brought up to date */
	uint64_t need_ns; /* useful time between turns, smoothed */
	uint64_t usual_ns; /* that of a phase, smoothed */
	uint64_t guess_ns, guess_most_ns; /* of useful time, at the arrival; 0: it is known */
	uint32_t guesses; /* see GUESSES_MOST */
	uint32_t yields; /* in waits since times were brought up to date */
	uint64_t excess_ticks; /* of worked_ticks: a rest took so much longer than it should */
	const void *frame; /* of the wait */
	uint32_t tid;
	uint32_t site; /* of the wait */
	enum wait_kind kind;
	bool spins, sleeps; /* in waits; neither: some of both */
	bool ended; /* by the last arrival: a phase */
	bool untold; /* some phases since before_ns, or a long wait */
	bool dynamic; /* work has been handed out since the last wait */
	struct {
		uint32_t site;
		uint32_t waits;
		uint64_t ticks;
	} pending[PENDING];
};

static _Thread_local __attribute__((tls_model("initial-exec"))) struct thread me;

static uint64_t get(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static void set(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

static uint32_t turns_of(const struct phases_row *row)
{
	return atomic_load_explicit(&row->turns, memory_order_relaxed);
}

/* What has passed since times were last brought up to date. */
struct span {
	uint64_t worked_ns, waited_ns;
	uint64_t excess_ns; /* of worked_ns: asleep, but for what it has run */
	uint64_t yields;
};

static struct span take_span(void)
{
	struct phases_row *row = me.row;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t elapsed_ns = now_ns - get(&row->since_ns);
	uint64_t ticks = me.worked_ticks + me.waited_ticks;
	uint64_t waited_ns = share(elapsed_ns, me.waited_ticks, ticks);
	uint64_t excess_ns = share(elapsed_ns, me.excess_ticks, ticks);

	set(&row->waited_ns, get(&row->waited_ns) + waited_ns);
	set(&row->since_ns, now_ns);
	for (int i = 0; i < PENDING; i++) {
		if (me.pending[i].waits || me.pending[i].ticks)
			site_add(me.pending[i].site, me.pending[i].waits,
				share(elapsed_ns, me.pending[i].ticks, ticks));
		me.pending[i].waits = 0;
		me.pending[i].ticks = 0;
	}
	me.long_ticks = (uint64_t)((double)ticks / (double)(elapsed_ns + 1) * LONG_NS);
	me.worked_ticks = me.waited_ticks = me.excess_ticks = 0;
	me.full_ticks = me.turn_ticks;
	uint64_t yields = me.yields;
	me.yields = 0;
	return (struct span){elapsed_ns - waited_ns, waited_ns, excess_ns, yields};
}

/* Begins to watch for preemptions. */
static uint64_t read_cpu_ns(void)
{
	me.cpu_ticks = me.turn_ticks;
	preempt_watch();
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void learn_need(uint64_t useful_ns)
{
	me.need_ns += ((int64_t)useful_ns - (int64_t)me.need_ns) / (me.need_ns > 0 ? 4 : 1);
}

/* A thread that sleeps in waits and has had less time than it needs may have waited twice in a row: no guess tells. */
static bool can_guess(const struct span *span)
{
	return me.need_ns > 0 && me.guess_ns == 0 && me.guesses < GUESSES_MOST &&
	       (me.spins || (me.sleeps && span->worked_ns >= me.need_ns)) && span->excess_ns == 0 &&
	       span->waited_ns < span->worked_ns / 16 && span->worked_ns < GUESS_MOST * me.need_ns;
}

/* Changes what was useful until the arrival. */
static void put_right(uint64_t useful_ns)
{
	if (me.ended)
		set(&me.row->before_ns, useful_ns);
	set(&me.row->useful_ns, useful_ns);
}

/* The departure was missed, as when an exception left the wait: the guess is part of what is measured now. */
static void drop_guess(struct span *span)
{
	put_right(get(&me.row->useful_ns) - me.guess_ns);
	set(&me.row->turn_cpu_ns, get(&me.row->turn_cpu_ns) - me.guess_ns);
	span->worked_ns += me.guess_most_ns;
	me.guess_ns = 0;
}

static bool has_short_phases(void)
{
	return me.usual_ns < USUAL_NS;
}

static bool is_due(void)
{
	uint64_t passed = me.turn_ticks - me.full_ticks;

	if (passed <= FULL_TICKS)
		return false;
	if (passed > me.long_ticks)
		return true;
	/* Longer phases don't all count unless they are measured one by one; see ends_phase(). */
	bool together = has_short_phases() && untold_may_rest();
	return me.last_ticks > SOON_TICKS && !together;
}

static void measure_arrival(void)
{
	if (!is_due())
		return;

	struct phases_row *row = me.row;
	bool always_ran = preempt_never() && me.guess_ns == 0;
	struct span span = take_span();
	bool guess = !always_ran && can_guess(&span);

	if (me.guess_ns > 0)
		drop_guess(&span);
	uint64_t before_ns = get(&row->turn_cpu_ns), cpu_ns;
	if (always_ran) {
		cpu_ns = before_ns + span.worked_ns + span.waited_ns;
	} else if (guess) {
		me.guess_ns = lesser(me.need_ns, span.worked_ns);
		me.guess_most_ns = span.worked_ns;
		cpu_ns = before_ns + me.guess_ns;
		preempt_watch();
	} else {
		cpu_ns = read_cpu_ns();
		me.guesses = me.spins ? 0 : me.guesses;
	}
	/* Of waiting and working, one took CPU time for certain. */
	uint64_t useful_ns = lesser(above(cpu_ns, before_ns), span.worked_ns);
	if (!guess)
		learn_need(useful_ns);
	set(&row->useful_ns, get(&row->useful_ns) + useful_ns);
	set(&row->waited_ns, get(&row->waited_ns) + above(span.excess_ns, useful_ns));
	set(&row->turn_cpu_ns, cpu_ns);
}

/* Is the thread taken to have slept in the wait, as it did before? */
static bool slept(bool always_ran)
{
	return !me.spins && !always_ran;
}

/* Puts the guess of the arrival right: of CPU time since before the arrival. Returns what was useful. */
static uint64_t correct_guess(uint64_t used_ns, uint64_t waited_ns, bool always_ran)
{
	uint64_t most_ns = lesser(me.guess_most_ns, used_ns);
	uint64_t least_ns =
		slept(always_ran) ? most_ns : lesser(above(used_ns, waited_ns), most_ns);
	uint64_t useful_ns = me.guess_ns;
	bool certain = always_ran && used_ns >= waited_ns;

	me.guesses++;
	if (certain || useful_ns < least_ns || useful_ns > most_ns) {
		useful_ns = certain || useful_ns < least_ns ? least_ns : most_ns;
		learn_need(useful_ns);
		me.guesses = me.spins ? 0 : me.guesses;
	}
	put_right(get(&me.row->useful_ns) + useful_ns - me.guess_ns);
	me.guess_ns = 0;
	return useful_ns;
}

/* Where a thread seems to spin no more, a wrong guess may be to blame. So the next arrival is to read the clock. */
static void learn_wait(uint64_t spun_ns, uint64_t waited_ns)
{
	bool spins = me.spins ? spun_ns > waited_ns / 64 : spun_ns > waited_ns / 8;

	if (!me.spins)
		me.guesses = 0;
	else if (!spins)
		me.guesses = GUESSES_MOST;
	me.spins = spins;
	me.sleeps = spun_ns <= waited_ns / 64 + SLEEP_NS;
}

static void show(uint16_t flag, bool set)
{
	bool shown = atomic_load_explicit(&me.row->flags, memory_order_relaxed) & flag;

	if (set && !shown)
		atomic_fetch_or(&me.row->flags, flag);
	else if (!set && shown)
		atomic_fetch_and(&me.row->flags, (uint16_t)~flag);
}

static void measure_departure(void)
{
	if (!is_due() && me.guess_ns == 0 && me.turn_ticks - me.cpu_ticks <= RESYNC_TICKS)
		return;

	struct phases_row *row = me.row;
	bool always_ran = preempt_never();
	bool shows_wait = me.guess_ns == 0 || !slept(always_ran);
	struct span span = take_span();
	uint64_t before_ns = get(&row->turn_cpu_ns) - me.guess_ns, cpu_ns = read_cpu_ns();
	/* Interrupts, and what a hypervisor steals, may have been taken for CPU time. */
	uint64_t used_ns = above(cpu_ns, before_ns), useful_ns;

	if (me.guess_ns > 0) {
		useful_ns = correct_guess(used_ns, span.waited_ns, always_ran);
	} else {
		uint64_t too_much_ns = lesser(above(before_ns, cpu_ns), get(&row->useful_ns));
		useful_ns = lesser(used_ns, span.worked_ns);
		put_right(get(&row->useful_ns) + useful_ns - too_much_ns);
	}
	set(&row->turn_cpu_ns, cpu_ns);
	if (span.waited_ns >= TELLING_NS) {
		uint64_t spun_ns = used_ns - useful_ns;
		if (shows_wait)
			learn_wait(spun_ns, span.waited_ns);
		/* It may spin in others: runtimes do so while there is a CPU for each thread. */
		show(PHASES_YIELDS, span.yields > 0 && span.yields * YIELD_NS >= spun_ns);
	}
}

/* Ticks since the last turn. */
static uint64_t turn(void)
{
	uint64_t now = ticks_now(), passed = now > me.turn_ticks ? now - me.turn_ticks : 0;
	me.turn_ticks = now;
	me.last_ticks = passed;
	return passed;
}

static bool take_row(void)
{
	if (me.arrivals < me.retry)
		return false;

	int saved = errno;
	me.tid = (uint32_t)gettid();
	me.row = table_take_row(me.tid);
	me.retry = me.arrivals * 2;
	if (me.row) {
		me.turn_ticks = me.full_ticks = ticks_now();
		uint64_t cpu_ns = read_cpu_ns();
		set(&me.row->turn_cpu_ns, cpu_ns);
		set(&me.row->useful_ns, cpu_ns);
		set(&me.row->before_ns, cpu_ns);
		set(&me.row->arrivals, me.arrivals);
		/* Last: until then readers know that nothing is there. */
		atomic_store_explicit(
			&me.row->since_ns, clock_ns(CLOCK_MONOTONIC), memory_order_release);
		me.worked_ticks = me.waited_ticks = me.excess_ticks = me.guess_ns = 0;
		me.untold = false;
		show(PHASES_DYNAMIC, me.dynamic);
		untold_reset(&table_get()->resting[me.row - table_get()->row]);
		memset(me.pending, 0, sizeof me.pending);
	}
	errno = saved;
	return me.row;
}

/* A wait that was left by longjmp() or an exception: its frame is gone. */
static bool stale(const void *frame)
{
	return frame && me.frame && (const char *)me.frame < (const char *)frame;
}

/* Juggle takes rows away from threads that it finds gone. */
static bool has_row(void)
{
	if (me.row && atomic_load_explicit(&me.row->tid, memory_order_relaxed) != me.tid) {
		me.row = NULL;
		me.guess_ns = 0;
	}
	return me.row;
}

/* Readers see that the row changes; see phases.h. */
static void begin_change(uint32_t turns)
{
	atomic_store_explicit(&me.row->turns, turns, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_change(uint32_t turns)
{
	atomic_store_explicit(&me.row->turns, turns + 1, memory_order_release);
}

/* Both, each counted by its length: short phases hardly make a long one shorter. A single long one among short
 * ones, for which the machine is to blame, hides none of them. */
static uint64_t smooth(uint64_t usual_ns, uint64_t done_ns)
{
	done_ns = lesser(done_ns, 2 * usual_ns + USUAL_NS / 2);
	return done_ns > usual_ns
		       ? usual_ns + share(done_ns - usual_ns, done_ns, done_ns + usual_ns)
		       : usual_ns - share(usual_ns - done_ns, done_ns, done_ns + usual_ns);
}

static bool ends_phase(void)
{
	uint64_t useful_ns = get(&me.row->useful_ns),
		 done_ns = above(useful_ns, get(&me.row->before_ns));

	if (me.usual_ns >= USUAL_NS && done_ns < me.usual_ns / PHASE_PARTS)
		return false;
	if (done_ns > 0) {
		if (!me.untold)
			me.usual_ns = smooth(me.usual_ns, done_ns);
		set(&me.row->before_ns, useful_ns);
		me.untold = false;
	}
	return true;
}

static void count_waits(uint32_t site, unsigned waits, uint64_t ticks)
{
	me.waited_ticks += ticks;
	/* Two of many sites may share a place: then the later one gets all. */
	me.pending[site % PENDING].site = site;
	me.pending[site % PENDING].waits += waits;
	me.pending[site % PENDING].ticks += ticks;
}

static void count_untold(const struct untold_past *past)
{
	me.untold = true;
	me.excess_ticks += past->excess_ticks;
	/* Of the waits, wait_fork() is none that counts, as in wait_begin_region(). */
	count_waits(me.site, past->phases, 0);
	count_waits(past->site, 0, past->waited_ticks);
}

static void begin_wait(struct site *site, bool may_end_phase)
{
	uint64_t passed = turn();
	uint32_t index = site_index(site);
	struct untold_past past = untold_take_past(index, passed);

	me.worked_ticks += passed - past.waited_ticks;
	if (past.waits > 0)
		count_untold(&past);
	me.site = index;
	uint32_t turns = ((turns_of(me.row) + 3) & ~3U) + 1;
	begin_change(turns);
	atomic_store_explicit(&me.row->site, (uint16_t)me.site, memory_order_relaxed);
	measure_arrival();
	me.ended = may_end_phase && ends_phase();
	me.arrivals += me.ended + (has_short_phases() ? past.phases : 0);
	if (me.ended)
		set(&me.row->arrivals, me.arrivals);
	me.dynamic = false;
	end_change(turns);
}

bool wait_arrive(enum wait_kind kind, struct site *site, const void *frame)
{
	if (me.kind != WAIT_NONE && !stale(frame))
		return false;
	me.kind = kind;
	me.frame = frame;
	bool taken = has_row();
	if (!taken && kind == WAIT_SEND)
		return true;
	if (!taken) {
		me.arrivals++;
		if (!take_row())
			return true;
	}
	begin_wait(site, taken && kind != WAIT_SEND);
	if (kind != WAIT_SEND)
		bell_ring(table_get(), me.row);
	return true;
}

static void end_wait(unsigned waits)
{
	uint64_t passed = turn();

	count_waits(me.site, waits, passed);
	uint32_t turns = turns_of(me.row) | 3;
	begin_change(turns);
	measure_departure();
	show(PHASES_DYNAMIC, me.dynamic);
	end_change(turns);
	untold_learn(me.turn_ticks, passed, has_short_phases());
}

void wait_depart(enum wait_kind kind)
{
	if (me.kind != kind)
		return;
	me.kind = WAIT_NONE;
	if (!has_row()) {
		/* When it arrived first, another thread was making the table. */
		me.retry = me.arrivals == 1 ? 0 : me.retry;
		if (me.arrivals != 1 || !take_row())
			return;
	}
	end_wait(1);
}

void wait_yield(void)
{
	if (me.kind != WAIT_NONE)
		me.yields++;
}

void wait_begin(void)
{
	if (me.tid == 0)
		take_row();
}

void wait_dynamic(void)
{
	me.dynamic = true;
	if (has_row())
		show(PHASES_DYNAMIC, true);
}

void wait_fork(struct site *site)
{
	if (me.kind != WAIT_NONE)
		return;
	wait_begin();
	if (!has_row())
		return;
	me.kind = WAIT_FORK;
	me.frame = NULL;
	begin_wait(site, false);
}

void wait_begin_region(void)
{
	if (me.kind != WAIT_FORK)
		return;
	me.kind = WAIT_NONE;
	if (has_row())
		end_wait(0);
}

void wait_join_region(const struct untold_team *team)
{
	if (team->handed_on > 0 && me.kind == WAIT_NONE && has_row())
		untold_add(team->handed_on);
	wait_begin();
	wait_depart(WAIT_REGION);
	untold_follow(team, me.kind == WAIT_NONE && has_row() && has_short_phases());
}

uint32_t wait_forget_row(void)
{
	uint32_t tid = me.row ? me.tid : 0;
	untold_reset(NULL);
	me.row = NULL;
	me.retry = 0;
	return tid;
}

void wait_forget_all(void)
{
	memset(&me, 0, sizeof me);
	untold_reset(NULL);
}
