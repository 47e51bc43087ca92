/* SPDX-License-Identifier: MIT */
/*
 * The decisions of the balancer: an observation goes in, a decision comes out.
 *
 * A struct policy decides for the threads and CPUs of one domain. In each interval the caller
 * samples what the last decision asked for, passes the samples to policy_step(), and carries out
 * the decision that it returns. policy_step() does no I/O, reads no clock, allocates nothing, and
 * keeps all its state in the struct. So the daemon, the simulator and the replay of a trace run the
 * same code, and equal observations give equal decisions.
 *
 * All times are nanoseconds, by a monotonic clock of the caller. CPUs go by their index in the
 * domain, threads by their row: the caller numbers its threads from 0, adds new ones at the end,
 * and calls policy_remove() when one goes.
 *
 * Functions are thread-safe on distinct objects. Section and equation numbers are those of Hofmeyr
 * et al. (2012), "Juggle: addressing extrinsic load imbalances in SPMD applications".
 */
#ifndef JUGGLE_POLICY_H
#define JUGGLE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/idle.h"
#include "daemon/policy/period.h"
#include "daemon/policy/phases.h"
#include "daemon/policy/regime.h"

#define POLICY_NO_CPU (-1)
#define POLICY_NO_ROW (-1)
/* period_ns where the period is auto. */
#define POLICY_AUTO_PERIOD_NS UINT64_C(2000000)

/* A thread that has not run for that long, longer than a tick, stands still. */
#define POLICY_STILL_NS UINT64_C(8000000)

/* ---- Parameters ---- */

struct policy_kind; /* a row of the table of policies: see kind.h */

struct policy_params {
	const struct policy_kind *kind;
	uint64_t period_ns; /* lambda; with period_auto, the shortest */
	bool period_auto;
	double jitter; /* random variation of each period, as a share of it: 0 to 0.9 */
	int64_t margin_ns; /* xi: the error margin of the ahead/behind test */
	bool always; /* balance whenever there are enough threads, without trials */
	uint32_t expected; /* compute threads, of all domains, before the first placement; 0: any */
	bool by_work; /* policy_sight.work counts something else than ns, such as instructions */
	bool bells; /* the caller notices when CPUs run dry: see dry.h */
	bool slices; /* the kernel gives single threads short time slices, if the caller asks for that */
	bool tickers; /* the caller has a ticker for each CPU, and fills in policy_observation.ticked */
	uint32_t domain; /* this domain: its index in policy_observation.domain */
	uint32_t domains; /* the length of that array, at least 1 */
	uint64_t start_ns; /* when the job began */
	uint64_t begin_ns; /* when balancing of this domain begins */
	uint64_t seed; /* of the jitter */
};

/* ---- Observations ---- */

/* What a decision can ask to be sampled of a thread, and what an observation contains of it. */
enum policy_news {
	POLICY_TIMES = 1, /* run_ns, wait_ns, slices, work */
	POLICY_SLEEPS = 2, /* sleeps */
	POLICY_UPDATES = 4, /* updates; only workers of libprogress have them */
	POLICY_END = 8, /* the thread has ended; observed, never asked for */
	POLICY_STATE = 16, /* runnable */
	POLICY_PHASES = 32, /* arrivals, useful_ns, done_ns, waits; only where runtimes tell them */
};

/* What the user's options say of a thread. */
enum policy_rule {
	POLICY_RULE_NONE, /* nothing: its CPU use decides */
	POLICY_RULE_IDLE,
	POLICY_RULE_COMPUTE,
};

/* What libprogress publishes about a thread. */
enum policy_role {
	POLICY_ROLE_UNKNOWN, /* nothing */
	POLICY_ROLE_OTHER, /* its process has workers, and it isn't one */
	POLICY_ROLE_WORKER,
	POLICY_ROLE_BALANCED, /* a worker, and subdomains move between the workers */
};

/* One thread, in its row. Totals may count from any moment: only their growth matters. */
struct policy_sight {
	int32_t tid; /* for traces; decisions don't depend on it */
	uint8_t news; /* enum policy_news: which of the totals are new */
	uint8_t rule; /* enum policy_rule */
	uint8_t role; /* enum policy_role */
	bool assigned; /* another domain handed it over: it computes here at once */
	int32_t cpu; /* index of the CPU that it is confined to, or POLICY_NO_CPU */
	uint64_t run_ns; /* time on a CPU */
	uint64_t wait_ns; /* time runnable without a CPU */
	uint64_t slices; /* times it was put on a CPU */
	uint64_t work; /* as run_ns; with by_work, in other units */
	uint64_t moved_run_ns; /* run_ns at its last move; 0 until that was sampled */
	uint64_t sleeps; /* times it went to sleep */
	uint64_t updates; /* that it made of subdomains */
	bool runnable; /* it runs or waits for a CPU, now */
	uint64_t arrivals; /* phases that it has ended by waiting for others */
	uint64_t useful_ns; /* time on a CPU outside waits */
	uint64_t done_ns; /* the part of it in the phase under way */
	bool waits; /* now */
	bool yields; /* while it waits */
	bool dynamic; /* work is handed out as threads ask for it: what it needs in a phase is what it gets */
};

/* A domain's compute threads (those handed over to it included) and CPUs. */
struct policy_domain {
	uint32_t threads, cpus;
};

struct policy_observation {
	uint64_t now_ns; /* not before the last one */
	uint64_t cost_ns; /* CPU time that the last interval and its decision took; 0: unknown */
	const struct policy_sight *thread; /* by row */
	size_t threads; /* at most what policy_reserve() made room for */
	const struct policy_domain *domain; /* all of them, this one included */
	/* By CPU: threads of other jobs with older balancers, confined to it or left to the kernel. NULL: none. */
	const uint32_t *neighbours;
	/* Threads of all other jobs with balancers, for all these CPUs, wherever they are now. */
	uint32_t others;
	/* By CPU: thousandths of its time that the hypervisor took lately. NULL: none. */
	const uint32_t *stolen;
	/* By CPU: has its ticker run since the interval before? NULL where there are no tickers. */
	const uint32_t *ticked;
	bool rung; /* a CPU ran dry, so that the interval is shorter than decided: see dry.h */
	bool may_hand_over; /* false: new threads stay in this domain */
};

/* ---- Decisions ---- */

/* A thread gets another CPU. From POLICY_NO_CPU: confine it. To POLICY_NO_CPU: restore its mask.
 * Each thread occurs at most once, in the order of rows. */
struct policy_move {
	uint32_t thread; /* row */
	int32_t from, to;
};

/* A thread begins to compute, and belongs in another domain: hand it over and remove its row. */
struct policy_handover {
	uint32_t thread; /* row */
	uint32_t domain;
};

struct policy_decision {
	uint64_t elapsed_ns; /* since the interval before */
	enum policy_regime regime;
	enum policy_reason reason;
	bool changed; /* the regime differs from the one before */
	bool neighbours_changed; /* so does the number of older jobs' threads on some CPU */
	bool others_changed; /* so does the number of all other jobs' threads */
	bool stolen_changed; /* so does what the hypervisor takes of some CPU */
	const struct policy_move *move;
	size_t moves;
	const struct policy_handover *handover;
	size_t handovers;
	uint64_t period_ns; /* until the next interval, without jitter */
	uint64_t wait_ns; /* the same with jitter */
	enum policy_pace pace; /* why this period */
	double phase_ns, point_ns; /* what it follows from, if it does; 0: unknown */
	bool members; /* this was a member interval: new threads, rules and roles were sampled */
	bool members_next; /* the next one will be a member interval */
	bool short_slices; /* compute threads have short time slices from now on, else their own ones ... */
	bool slices_changed; /* ... which differs from the decision before */
	enum policy_rest rest; /* which of their waits threads need not tell */
	bool bell; /* the next interval ends as soon as a CPU runs dry: see dry.h */
	uint32_t computing, idle; /* threads of this domain, now */
	const struct policy_domain *domain; /* the observation's, brought up to date */
	/* See also policy.thread[].look, and policy.cpu[].tick and turn_ns. */
};

/* ---- State ---- */

/* CPU time of a thread in a phase, by CPU. */
enum { POLICY_PARTS = 4 };
struct policy_parts {
	struct {
		int32_t cpu;
		double ns; /* 0: an unused part */
	} part[POLICY_PARTS];
	double elsewhere_ns; /* on further CPUs */
};

/* One CPU of the domain. */
struct policy_cpu {
	int32_t os_cpu;
	uint32_t threads; /* confined to it */
	int32_t first; /* the row of one of them, or POLICY_NO_ROW; see policy_count() */
	uint32_t neighbours; /* of other jobs, which this one makes way for */
	/* What is known of its speed beforehand: */
	double rated; /* of the fastest CPU: 1 */
	int32_t core; /* the index of the first CPU of its core */
	int32_t cache; /* likewise; 0 where caches don't matter */
	uint32_t core_used; /* of such a first CPU: how many CPUs of the core have threads */
	/* Of the first CPU of a cache: how many CPUs share it, and how many threads these have. */
	uint32_t cache_cpus, cache_threads;
	double stolen; /* share of its time that the hypervisor takes */
	double potential; /* what it gave a thread alone when it was last used, or might by now */
	/* Decided: it needs a ticker. Threads that spin there take turns more often then; and it shows
	 * that the CPU has not been taken. */
	bool tick;
	/* Decided: its threads take turns then, and again after each such gap; 0: they need not, and once. */
	uint64_t turn_ns, turn_gap_ns;
	bool taken; /* nothing of ours can run there: it has no threads */
	bool spare; /* threads are packed on other CPUs: it has none */
	uint64_t
		silent_ns; /* since when a thread starves and the ticker does not run; 0: neither */
	uint64_t until_ns, retry_ns; /* when it is tried again, and how long later the next time */
	bool tried; /* this is such a time */
	uint64_t patience_ns; /* silent for that long, it counts as taken */
	bool heard; /* its ticker was waited for, and has run */
	uint64_t ran_ns; /* when one of its threads last ran there, or it had none */
	bool stands; /* one of them waits, and has not run in the interval */
	uint32_t states; /* how many of them need to be sampled for their state */
	/* At the last balancing point (Section 2): */
	double speed; /* mean progress of its threads in the period, idle time discounted */
	double mean_progress; /* total progress, mean over its threads */
	uint32_t fast_slots; /* ahead threads that behind threads may replace */
	bool fast;
	double runnable; /* share of the period in which one of its threads could run */
	/* Means over the last periods, as shares of a period: */
	double ran, gained;
	uint32_t periods;
	/* Where phases are told (ends.c): what remains to its threads until the barrier, how many of them work
	 * for that, how many only use the CPU, and for how many others' work counts; and when it runs dry. */
	double remains_ns, others, dry_ns;
	uint32_t working, waiting;
	double had; /* share of it that threads have had lately: dry.c */
	/* Its speed, as phases show it, and how many of them. */
	double learnt, lessons;
};

/* One thread, in its row. */
struct policy_thread {
	bool computes; /* false: it is idle, and left alone */
	bool computed; /* once, it did */
	bool assigned; /* handed over to this domain: counted, and about to compute */
	bool ended;
	uint8_t rule, role; /* as last seen */
	bool fresh; /* the row is new */
	bool renewed; /* the row is new, or its rule or role changed */
	uint8_t look; /* decided: enum policy_news to sample before the next step */
	int32_t cpu; /* the CPU it is confined to, or POLICY_NO_CPU */
	int32_t cpu_before; /* the same before this step */
	int32_t next; /* the row of another thread on its CPU, or POLICY_NO_ROW; see policy_count() */
	/* Of the interval that ended: */
	uint64_t run_ns, wait_ns, slices, work;
	uint64_t sampled_ns; /* since the sample before, perhaps intervals ago; 0: none */
	uint64_t gain_ns; /* progress: Delta P of the paper; often the same as run_ns */
	uint64_t left_ns; /* the part of run_ns before its last move */
	int32_t left_cpu; /* the CPU where that was */
	int64_t updates; /* that it made of subdomains; -1: unknown */
	/* At balancing points: */
	int64_t progress_ns; /* total progress since it joined the others: P of the paper */
	bool behind;
	bool came; /* placed at the last step, from where the kernel had it */
	bool moved; /* this balancing point moves it */
	bool loose; /* its CPU was taken: left to the kernel meanwhile, or from the next interval on */
	double runnable; /* share of the last periods in which it ran or waited for a CPU */
	uint32_t periods;
	/* Totals of its last sample: */
	bool seen; /* there was one ... */
	uint64_t seen_ns; /* ... at this time */
	uint64_t ran_ns; /* when it was last seen to have run, or met */
	uint64_t starved_ns; /* waits counted in advance of the kernel */
	bool ready; /* it was seen to be ready to run, and had not run since the sample before */
	bool asleep; /* it was seen to sleep, and slept since the last sample */
	bool stands; /* it waited since the last sample, and has not run on its CPU */
	bool starves; /* it waited since the last sample, and has not run for POLICY_STILL_NS */
	uint64_t total_run_ns, total_wait_ns, total_slices, total_work;
	bool counted; /* total_updates is valid */
	uint64_t total_updates;
	/* Where runtimes tell phases: */
	bool tells; /* they do ... */
	bool told; /* ... and that can be trusted */
	bool waits; /* for others, now ... */
	bool yields; /* ... and yields meanwhile */
	bool dynamic; /* see struct policy_sight */
	double position; /* phases that it has passed, with the part of the one under way */
	double passed; /* of these, in the interval that ended */
	uint64_t arrivals, useful_ns; /* of the interval that ended */
	uint64_t total_arrivals, total_useful;
	/* Progress in a phase, and by how much that varies, smoothed; that many phases are behind these two, up
	 * to a limit; and progress in the one under way. */
	double need_ns, need_off_ns, phases, done_ns;
	double wanted; /* share of the time in which it ran or waited for a CPU, lately: dry.c */
	uint64_t filled_ns; /* when it last went to a CPU that had run dry */
	double hidden_ns; /* what it may have done that the kernel has not counted yet */
	struct policy_parts now,
		before; /* the phase under way; the last one, zeroed if not known */
	uint64_t sleeps_window; /* the number of a window ... */
	uint64_t total_sleeps; /* ... and the total at its beginning */
	struct policy_idle idle;
};

struct policy {
	struct policy_params params;
	struct policy_cpu *cpu;
	size_t m;
	struct policy_thread *thread; /* by row */
	size_t n, capacity;
	struct policy_decision decision;
	struct policy_domain *domain; /* params.domains elements */
	struct policy_move *move; /* capacity elements */
	struct policy_handover *handover; /* capacity elements */
	uint32_t *order; /* scratch: 2 * m elements */
	uint32_t others; /* threads of other jobs with balancers */
	size_t idle_look; /* the row after that of the idle thread that is sampled last */
	uint64_t random;
	uint64_t last_ns; /* time of the interval before */
	uint64_t rung_ns; /* when a CPU last ran dry */
	uint64_t members_ns; /* time of the last member interval */
	bool complete; /* once, all expected threads were there */
	enum policy_regime regime;
	enum policy_reason reason; /* of the last decision ... */
	uint64_t reason_ns; /* ... and since when */
	struct policy_chooser chooser;
	struct {
		uint32_t threads, others; /* for so many */
		bool known;
	} turns; /* for which chooser.turns_gain was computed */
	bool speeds_given; /* by policy_describe(), and they differ */
	uint64_t joined_ns; /* when a thread last began to compute that never had before */
	struct {
		bool open; /* else one may open at start_ns */
		bool due; /* it opens or closes in the next interval */
		bool told; /* phases were told when it opened */
		uint64_t start_ns, run_ns, wait_ns, useful_ns;
		double passed; /* phases, by all threads */
		uint64_t number;
	} window; /* whose outcome goes to the chooser */
	uint64_t taken_ns; /* when a CPU was last found to be taken; 0: never */
	uint64_t starved_ns; /* when a thread was last found to starve aside; 0: never */
	struct policy_phases phases;
	struct {
		bool told; /* those of all compute threads are */
		bool sure; /* and each has passed several */
		bool regular; /* and are alike from phase to phase */
		bool differ; /* but not from thread to thread */
		bool yields; /* most of those threads yield in waits */
		/* Share of the last time in which work was handed out to all threads, and of how much time that is known, up
		 * to a limit; and whether it is nearly always: then needs foretell nothing. */
		double dynamic_share, watched_ns;
		bool dynamic;
		bool brief; /* equal, and so short that only what waiting threads take matters */
		double mean_ns, most_ns; /* CPU time of a thread in a phase */
		/* All compute threads tell, but how long phases are is not known: the CPU time of a thread in the one
		 * under way, until now; else 0. */
		double begun_ns;
		bool arrived; /* all have told that they arrived somewhere */
	} needs;
	double point_ns; /* the mean cost of a balancing point: CPU time, as observed */
	uint32_t points; /* behind that mean */
	struct {
		uint64_t number; /* of the phase under way */
		double next_ns; /* when the next one begins */
		double late_ns; /* how much later phases begin than computed, smoothed */
	} beat; /* see dry.c */
	uint32_t quiet_points; /* since the last move */
	/* CPU time and number of updates, in the last intervals in which some ended; and the CPU time of one, 0:
	 * unknown. */
	double update_run_ns, update_count, update_ns;
	bool by_updates; /* progress goes by their number, else by CPU time */
};

/* os_cpu are the OS numbers of the domain's CPUs; count > 0. Copies params. Returns 0 or
 * -ENOMEM. */
int policy_init(struct policy *policy, const struct policy_params *params, const int32_t *os_cpu,
	size_t count);
/* Accepts a zeroed one. */
void policy_deinit(struct policy *policy);
/* Make room for that many rows. Returns 0, or -ENOMEM with everything as it was. */
int policy_reserve(struct policy *policy, size_t threads);

/* What is known of a CPU beforehand. CPUs with equal numbers share a core, or a last-level cache. */
struct policy_traits {
	uint32_t speed; /* in thousandths of the fastest one's, above 0 */
	int32_t core, cache;
};

/* By CPU. Without this call all CPUs count as equal, each a core, and all behind one cache. Call it
 * before the first step. */
void policy_describe(struct policy *policy, const struct policy_traits *traits);

/* Decide. The first interval has to be a member interval. The decision, and all that it points to,
 * is valid until the next call for this policy. O(threads + CPUs log CPUs), for each swap the threads of
 * two CPUs (with several caches, of all), and CPUs for each thread that is placed. */
const struct policy_decision *policy_step(
	struct policy *policy, const struct policy_observation *observation);

/* Forget a row. The last row moves into its place. */
void policy_remove(struct policy *policy, size_t row);

/* Does the policy, in its present regime, swap threads from interval to interval? */
bool policy_swaps(const struct policy *policy);

#endif
