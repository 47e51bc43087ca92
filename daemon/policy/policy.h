/* SPDX-License-Identifier: MIT */
/*
 * The decisions of the balancer: an observation goes in, a decision comes out.
 *
 * A struct policy decides for the threads and CPUs of one domain. In each interval its caller looks at
 * the threads that the last decision asked for, hands what it saw to policy_step(), and carries out
 * what comes back. Nothing in policy_step() does I/O, reads a clock, allocates, or keeps anything outside
 * the struct. So the daemon, the simulator and a replayed trace run the very same code, and equal
 * observations give equal decisions everywhere.
 *
 * All times are nanoseconds; moments are those of the caller's clock, which has to be monotonic. CPUs
 * are named by their index in the domain, threads by their row: the caller numbers the threads that it
 * knows from 0, new ones at the end, and calls policy_remove() when one goes.
 *
 * Functions are thread-safe on distinct objects. Section and equation numbers are those of Hofmeyr et
 * al. (2012), "Juggle: addressing extrinsic load imbalances in SPMD applications".
 */
#ifndef JUGGLE_POLICY_H
#define JUGGLE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/idle.h"
#include "daemon/policy/regime.h"

#define POLICY_NO_CPU (-1)
#define POLICY_AUTO_PERIOD_NS                                                                      \
	UINT64_C(2000000) /* period_ns where the period is left to the policy */

/* ---- What is asked for ---- */

struct policy_kind; /* what -P names: see kind.h */

struct policy_params {
	const struct policy_kind *kind;
	uint64_t period_ns; /* lambda; with period_auto the shortest */
	bool period_auto;
	double jitter; /* random variation of each period, as a share of it: 0 to 0.9 */
	int64_t margin_ns; /* xi: the error margin of the ahead/behind test */
	bool always; /* balance whenever there are threads for it, without trials */
	uint32_t expected; /* compute threads, of all domains, before the first placement; 0: any */
	bool by_work; /* policy_sight.work does not count ns: instructions, say */
	uint32_t domain; /* whose CPUs these are: index into policy_observation.domain ... */
	uint32_t domains; /* ... which has so many: at least 1 */
	uint64_t start_ns; /* when the job began */
	uint64_t begin_ns; /* when balancing of this domain begins */
	uint64_t seed; /* of the jitter */
};

/* ---- What was seen ---- */

/* What a decision can ask to be looked at, and an observation can have seen, of a thread. */
enum policy_news {
	POLICY_TIMES = 1, /* run_ns, wait_ns, slices, work */
	POLICY_SLEEPS = 2, /* sleeps */
	POLICY_UPDATES = 4, /* updates: of workers of libprogress only */
	POLICY_END = 8, /* the thread has ended (only seen, never asked for) */
};

/* What the user wants a thread to be. */
enum policy_rule {
	POLICY_RULE_NONE, /* found out by watching it */
	POLICY_RULE_IDLE,
	POLICY_RULE_COMPUTE,
};

/* What a thread is by what its process publishes through libprogress. */
enum policy_role {
	POLICY_ROLE_UNKNOWN, /* its process publishes nothing */
	POLICY_ROLE_OTHER, /* its process has workers, and this is none */
	POLICY_ROLE_WORKER,
	POLICY_ROLE_BALANCED, /* a worker whose subdomains are moved to other workers */
};

/* One thread, in its row. Totals count from any moment: only their growth matters. */
struct policy_sight {
	int32_t tid; /* for traces: decisions don't depend on it */
	uint8_t news; /* enum policy_news: which of the totals are new */
	uint8_t rule; /* enum policy_rule */
	uint8_t role; /* enum policy_role */
	bool assigned; /* another domain handed it over: it computes here from the start */
	int32_t cpu; /* index of the CPU that it is confined to, or POLICY_NO_CPU */
	uint64_t run_ns; /* time on a CPU */
	uint64_t wait_ns; /* time runnable without a CPU */
	uint64_t slices; /* times it was put on a CPU */
	uint64_t work; /* as run_ns, or what by_work says */
	uint64_t moved_run_ns; /* run_ns at its last move, once that was seen; 0 before */
	uint64_t sleeps; /* times it went to sleep */
	uint64_t updates; /* of its subdomains, by it */
};

/* A domain's compute threads (those handed over to it included) and CPUs. */
struct policy_domain {
	uint32_t threads, cpus;
};

struct policy_observation {
	uint64_t now_ns; /* not before the last one */
	const struct policy_sight *thread; /* by row */
	size_t threads; /* at most what policy_reserve() made room for */
	const struct policy_domain *domain; /* all of them, this one included */
	bool may_hand_over; /* else new threads stay in this domain */
};

/* ---- What is decided ---- */

/* A thread whose CPU changes; each is there once at most, in the order of rows. From
 * POLICY_NO_CPU: confine it. To POLICY_NO_CPU: give it back the mask that it had. */
struct policy_move {
	uint32_t thread; /* row */
	int32_t from, to;
};

/* A thread that begins to compute, for another domain: hand it over, and remove its row. */
struct policy_handover {
	uint32_t thread; /* row */
	uint32_t domain;
};

struct policy_decision {
	uint64_t elapsed_ns; /* since the interval before */
	enum policy_regime regime;
	enum policy_reason reason;
	bool changed; /* the regime is another than before */
	const struct policy_move *move;
	size_t moves;
	const struct policy_handover *handover;
	size_t handovers;
	uint64_t period_ns; /* until the next interval, before jitter ... */
	uint64_t wait_ns; /* ... and with it */
	bool members; /* this interval looked at members: new threads, names, roles */
	bool members_next; /* the next one is to do so */
	uint32_t computing, idle; /* threads of this domain, now */
	const struct policy_domain *domain; /* the observation's, with what is decided now */
	/* See also policy.thread[].look and policy.cpu[].tick. */
};

/* ---- What is kept ---- */

/* One CPU of the domain. */
struct policy_cpu {
	int32_t os_cpu;
	uint32_t threads; /* confined to it */
	bool tick; /* decided: threads that spin should take turns there more often */
	/* Of the last balancing point (Section 2): */
	double speed; /* mean progress of its threads in the period, idle time discounted */
	double mean_progress; /* total progress, mean over its threads */
	uint32_t fast_slots; /* ahead threads there that a behind thread may replace */
	bool fast;
	double runnable; /* share of the period in which one of its threads could run */
	/* Means over some periods, as shares of their length: */
	double ran, gained;
	uint32_t periods;
};

/* One thread, in its row. */
struct policy_thread {
	bool computes; /* else it is idle, and left alone */
	bool assigned; /* handed over to this domain, which counts it, to compute here soon */
	bool ended;
	uint8_t rule, role; /* as last seen */
	bool fresh; /* the row is new */
	bool renewed; /* it is, or rule or role are other than before */
	uint8_t look; /* decided: enum policy_news to look at before the next step */
	int32_t cpu; /* that it is confined to, or POLICY_NO_CPU */
	int32_t cpu_before; /* the same, before this step */
	/* Of the interval that ended: */
	uint64_t run_ns, wait_ns, slices, work;
	uint64_t gain_ns; /* progress: Delta P of the paper; often the same as run_ns */
	uint64_t left_ns; /* of run_ns, what it ran before its last move, on ... */
	int32_t left_cpu; /* ... the CPU with this index */
	int64_t updates; /* of its subdomains; -1: not known */
	/* Of the balancing points: */
	int64_t progress_ns; /* since it joined the others: P of the paper */
	bool behind;
	bool moved; /* this balancing point moves it */
	double runnable; /* share of time in which it wanted to run, over some periods */
	uint32_t periods;
	/* Totals when it was last looked at: */
	bool seen;
	uint64_t seen_ns; /* when that was */
	uint64_t total_run_ns, total_wait_ns, total_slices, total_work;
	bool counted; /* the next is valid */
	uint64_t total_updates;
	uint64_t total_sleeps; /* when the window of this number began: */
	uint64_t sleeps_window;
	struct policy_idle idle;
};

struct policy {
	struct policy_params params;
	struct policy_cpu *cpu;
	size_t m;
	struct policy_thread *thread; /* by row */
	size_t n, capacity;
	struct policy_decision decision;
	struct policy_domain *domain; /* params.domains of them */
	struct policy_move *move; /* room for capacity */
	struct policy_handover *handover; /* the same */
	uint32_t *order; /* scratch, room for 2 * m */
	uint64_t random;
	uint64_t last_ns; /* the interval before */
	uint64_t members_ns; /* the last one that looked at members */
	bool complete; /* all expected threads were there once */
	enum policy_regime regime;
	struct policy_chooser chooser;
	struct {
		bool open; /* else one may begin at start_ns */
		bool due; /* it begins or ends in the next interval */
		uint64_t start_ns, run_ns, wait_ns;
		uint64_t number;
	} window; /* of what the chooser takes in */
	uint64_t switches, switches_from_ns; /* of compute threads, and since when */
	uint64_t yielded_ns; /* when threads were last seen to yield */
	uint32_t quiet_points; /* since the last move */
	double update_run_ns, update_count; /* what updates take: over some periods */
};

/* For CPUs with these OS numbers; count > 0. Keeps a copy of params. Returns 0 or -ENOMEM. */
int policy_init(struct policy *policy, const struct policy_params *params, const int32_t *os_cpu,
	size_t count);
/* Accepts a zeroed one. */
void policy_deinit(struct policy *policy);
/* Make room for so many rows. Returns 0, or -ENOMEM with everything as it was. */
int policy_reserve(struct policy *policy, size_t threads);

/* Decide. The first interval looks at members. What is returned, and what it points to, holds until the
 * next call for this object. O(threads * moves + CPUs^2). */
const struct policy_decision *policy_step(
	struct policy *policy, const struct policy_observation *observation);

/* Forget a row. The last row takes its number. */
void policy_remove(struct policy *policy, size_t row);

/* Would the present regime move threads from interval to interval? */
bool policy_swaps(const struct policy *policy);

#endif
