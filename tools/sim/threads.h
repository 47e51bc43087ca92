/* SPDX-License-Identifier: MIT */
/*
 * Threads on CPUs, in virtual time: a machine on which balancers are tried. Discrete events; the
 * same seed gives the same run. Policies are the daemon's own (daemon/policy), with all their
 * decisions, regimes, trials and periods included.
 *
 * This models the CPUs, too. A CPU shares its time fairly, in slices or infinitely fine. It has its
 * own speed, and other work may take a part of it. A move costs the thread that is moved. The
 * kernel spreads the threads that a policy leaves to it again whenever threads block or wake
 * (Section 4); or, as real ones do, when threads wake, later when they block, and now and then.
 */
#ifndef SIM_THREADS_H
#define SIM_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/kind.h"

enum threads_balancer {
	THREADS_REACTIVE, /* the kernel's: spreads threads when some block or wake (Section 4) */
	THREADS_IDEAL, /* Fig. 4, which knows everything */
	THREADS_POLICY, /* a policy of the daemon, which knows what it can sample */
};

enum threads_barrier {
	THREADS_BLOCK, /* a thread that waits sleeps */
	THREADS_YIELD, /* a thread that waits yields to others on the CPU, if any, or else runs */
	THREADS_SPIN, /* a thread that waits uses its share of the CPU */
};

/* From this moment on, other work takes this share of a CPU. */
struct threads_load {
	uint64_t from_ns;
	double share; /* 0 to 1 */
};

struct threads_cpu {
	double speed; /* work done per ns: usually 1, > 0 */
	uint32_t domain; /* below params.domains; each domain has a CPU */
	int32_t cache; /* CPUs with the same number share one */
	const struct threads_load *load; /* by time; none before the first. Not owned. */
	size_t loads;
};

struct threads_params {
	uint32_t threads, domains;
	const struct threads_cpu *cpu; /* not owned, only read */
	size_t cpus;
	/* The program: each thread does phase_ns of work (ns on a CPU of speed 1) between
	 * barriers. */
	uint64_t phase_ns, phases;
	double imbalance; /* random variation of each thread's work in each phase, a share */
	double heavier; /* the first thread always has this share more work */
	enum threads_barrier barrier;
	/* The kernel. */
	uint64_t slice_ns; /* 0: infinitely fine */
	uint64_t tick_ns; /* the largest age of samples of running threads; 0: exact */
	uint64_t migration_ns; /* CPU time that a thread loses when it is moved */
	uint64_t cache_ns; /* and this much more when it is moved to another cache */
	uint64_t pull_ns; /* it spreads threads at most that long after some block; 0: at once */
	/* Mean time until it moves a thread to a CPU that has fewer, be it only by one. 0: never. */
	uint64_t stray_ns;
	/* Work takes this share longer in another domain than the thread's first. */
	double remote;
	/* The balancer. */
	enum threads_balancer balancer;
	const struct policy_kind *kind; /* which policy */
	uint64_t period_ns; /* not 0 for ideal and policies */
	double jitter; /* random variation of each period, a share */
	/* CPU time of a balancing point, on the first CPU of each domain (joint: of all). Less than
	 * the shortest period. */
	uint64_t point_ns;
	bool joint; /* one pool instead of domains */
	/* For policies: */
	bool by_work; /* the policy sees the work done, as by counting instructions (perf) */
	bool told; /* the policy sees where threads wait for others, as by libphases */
	bool untold; /* the policy does not know the speeds and caches of the CPUs */
	bool period_auto; /* the policy chooses its period; period_ns is the shortest */
	bool always; /* as juggle --always */
	bool tickless; /* without tickers */
	bool idle_auto; /* as --idle auto: threads that sleep for long are idle; false: none is */
	int64_t margin_ns; /* as juggle --margin */
	uint64_t seed;
};

struct threads_result {
	uint64_t time_ns; /* when the last thread has completed the last phase */
	uint64_t points, migrations;
	uint64_t across; /* migrations from one cache to another */
	uint64_t regime_changes;
	double balanced; /* share of the time in which a policy had placed the threads */
	double busy; /* share of the CPUs' time spent on the program's work, without waiting */
	double lag_ns,
		lag_mean_ns; /* largest and mean difference in progress at balancing points */
};

/* About how many elementary steps a run takes. A machine does some 10^8 of them per second, within a
 * factor of three. */
double threads_steps(const struct threads_params *params);
#define THREADS_STEPS_A_SECOND 1e8
#define THREADS_STEPS_MAX 3e11 /* about an hour: commands refuse more */

struct threads_sim;

/* Returns 0, -EINVAL (no threads or CPUs; a domain out of range or empty; a speed, phase or period
 * of 0; a share out of range; points that take all of a period; no policy) or -ENOMEM. Functions
 * are thread-safe on distinct objects. */
int threads_new(struct threads_sim **out, const struct threads_params *params);
/* Accepts NULL. */
void threads_free(struct threads_sim *sim);
/* Run until that moment, or the end. Returns whether it has ended. It may never end: when other
 * work has a CPU for good, or moves cost more than they gain. */
bool threads_run(struct threads_sim *sim, uint64_t until_ns);
/* How much of the work is done, from 0 to 1: for a progress line. */
double threads_done(const struct threads_sim *sim);
void threads_get(const struct threads_sim *sim, struct threads_result *result);

/* One thread, now. Returns false when there is no such thread. */
struct threads_view {
	int32_t cpu; /* index */
	double progress_ns; /* work done since the start */
	uint64_t migrations;
	bool waiting; /* at the barrier */
};
bool threads_look(const struct threads_sim *sim, uint32_t thread, struct threads_view *view);

#endif
