/* SPDX-License-Identifier: MIT */
/*
 * The inside of a simulated machine. Times are ns since the start, as doubles, so that threads that
 * share a CPU infinitely finely get exact parts of it.
 *
 * threads.c has the order of events, threads_cpu.c the sharing of a CPU, threads_balancer.c the
 * kernel and the ideal algorithm, and threads_policy.c the daemon's policies. The state of a CPU
 * and its threads is that of its last event (cpu->now); cpu_advance() brings it up to date.
 */
#ifndef SIM_THREADS_INTERNAL_H
#define SIM_THREADS_INTERNAL_H

#include "daemon/policy/policy.h"
#include "tools/sim/deal.h"
#include "tools/sim/jitter.h"
#include "tools/sim/threads.h"

#define NOBODY UINT32_MAX

struct sim_thread {
	uint32_t cpu, pool, home; /* home: domain */
	uint32_t next; /* the next one on the same CPU, or NOBODY */
	bool waiting; /* at the barrier */
	bool confined; /* by a policy; otherwise the kernel may move it */
	double left; /* work in this phase */
	double debt; /* CPU time that moves still cost */
	double done; /* work since the start */
	double run, wait; /* CPU time, and time without one though runnable */
	double useful, begun; /* CPU time outside the barrier; the same when the phase began */
	uint64_t arrivals;
	double wait_shown; /* wait as the kernel shows it: updated when it gets a CPU */
	double turn; /* CPU time as fair sharing counts it ("virtual") */
	double switches; /* times it was put on a CPU */
	uint64_t sleeps; /* times it went to sleep */
	uint64_t migrations;
	double left_run; /* run at its last move */
};

struct sim_cpu {
	double speed;
	uint32_t domain, place; /* place: its index in its pool */
	int32_t cache;
	const struct threads_load *load;
	size_t loads, load_at; /* the next one */
	double free; /* share that other work leaves */
	double stolen_until; /* the end of a balancing point there */
	double turn_at, turn_gap; /* a policy wants the next one to run then; INFINITY: never */
	bool tick; /* a policy wants threads there to take turns more often */
	uint32_t first; /* thread, or NOBODY */
	uint32_t computing; /* threads not at the barrier */
	double now, next; /* up to date until `now`; something happens by itself at `next` */
	uint32_t running; /* the thread that has the CPU alone, or NOBODY */
	double since, slice_end; /* of running */
	double turn; /* the least of the threads that take part */
	double used; /* time spent on work */
};

/* CPUs that are balanced among each other, and their threads. */
struct sim_pool {
	uint32_t *thread, *cpu; /* indices into those of the machine */
	uint32_t n, m;
	double point; /* the next balancing point */
	uint32_t rung; /* the CPU that ran dry, for which it has come early, or NOBODY */
	struct deal deal; /* for ideal */
	double *progress;
	/* For policies. */
	struct policy policy;
	struct policy_sight *sight; /* of each of its threads */
	double balanced; /* time under POLICY_BALANCE */
	uint64_t regime_changes;
};

struct threads_sim {
	struct threads_params params;
	double phase, epsilon;
	struct sim_thread *thread;
	struct sim_cpu *cpu;
	struct sim_pool *pool;
	uint32_t n, m, pools;
	double now;
	double ideal_point; /* the next, of all pools */
	uint64_t phases; /* completed */
	uint32_t computing;
	bool ended, unsettled; /* reactive: a thread blocked or woke */
	double pull, stray; /* when the kernel acts next; INFINITY: not */
	struct jitter period_jitter, work_jitter, kernel_jitter;
	uint64_t points, migrations, across;
	double lag, lag_sum;
};

/* ---- threads_cpu.c ---- */

/* Bring a CPU up to date. Nothing may happen there before `to`. */
void cpu_advance(struct threads_sim *sim, uint32_t cpu, double to);
/* Run the event at cpu->next. Returns how many threads have reached the barrier. */
uint32_t cpu_event(struct threads_sim *sim, uint32_t cpu);
/* Choose who runs, and until when, after threads came, went, woke or blocked. The CPU must be up to
 * date. */
void cpu_refresh(struct threads_sim *sim, uint32_t cpu);
/* CPUs must be up to date, and be refreshed after all moves. */
void cpu_add(struct threads_sim *sim, uint32_t cpu, uint32_t thread);
void cpu_move(struct threads_sim *sim, uint32_t thread, uint32_t to);
/* Not asleep. */
bool cpu_runnable(const struct threads_sim *sim, uint32_t thread);
/* What the kernel shows of a thread whose CPU is up to date. */
double cpu_shown_run(const struct threads_sim *sim, uint32_t thread);
double cpu_shown_wait(const struct threads_sim *sim, uint32_t thread);

/* ---- threads_balancer.c ---- */

/* Make the pools, and place all threads as the kernel does at first. Returns 0 or -ENOMEM. */
int balancer_init(struct threads_sim *sim);
/* Accepts what balancer_init() left, also after an error. */
void balancer_deinit(struct threads_sim *sim);
/* Threads blocked or woke: the kernel spreads those that it may move. All CPUs must be up to
 * date. */
void balancer_react(struct threads_sim *sim);
/* The kernel moves a thread in each pool where one CPU has more than another. All CPUs must be up
 * to date. */
void balancer_stray(struct threads_sim *sim);
/* The first event: policies see the threads, and points are set. */
void balancer_begin(struct threads_sim *sim);
/* Run the balancing points that are due, and set the next ones. All CPUs must be up to date. */
void balancer_points(struct threads_sim *sim);

/* The last thread at work on a CPU has arrived: the pool's policy may be called for that. */
void balancer_dry(struct threads_sim *sim, uint32_t cpu);

/* ---- threads_policy.c ---- */

/* Returns 0 or -ENOMEM. */
int pool_policy_init(struct threads_sim *sim, struct sim_pool *pool);
void pool_policy_deinit(struct sim_pool *pool);
/* One step of the pool's policy. Returns the time to the next one. */
double pool_policy_step(struct threads_sim *sim, struct sim_pool *pool);

#endif
