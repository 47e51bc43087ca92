/* SPDX-License-Identifier: MIT */
/*
 * A simulated machine from inside. Time is in ns since the start, as doubles, so that threads that
 * share a CPU infinitely finely get exact parts of it.
 *
 * threads.c has what happens when, threads_cpu.c how a CPU is shared, threads_balancer.c where the kernel
 * and the ideal algorithm run threads, threads_policy.c where the daemon's policies do. A CPU and its threads are as they were when something last happened to it
 * (cpu->now); cpu_advance() brings them up to date.
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
	uint32_t next; /* on the same CPU, or NOBODY */
	bool waiting; /* at the barrier */
	bool confined; /* by a policy; else the kernel may move it */
	double left; /* work in this phase */
	double debt; /* CPU time that moves still cost */
	double done; /* work since the start */
	double run, wait; /* CPU time, and time without one though runnable */
	double wait_shown; /* the latter as the kernel shows it: from when it last got a CPU */
	double turn; /* CPU time as fair sharing counts it ("virtual") */
	double switches; /* times it was put on a CPU */
	uint64_t sleeps; /* times it went to sleep */
	uint64_t migrations;
	double left_run; /* run, when it was last moved */
};

struct sim_cpu {
	double speed;
	uint32_t domain, place; /* its index in its pool */
	const struct threads_load *load;
	size_t loads, load_at; /* the next one */
	double free; /* share that other work leaves */
	double stolen_until; /* a balancing point is taking place */
	bool tick; /* a policy wants threads there to take turns more often */
	uint32_t first; /* thread, or NOBODY */
	uint32_t computing; /* threads not at the barrier */
	double now, next; /* up to date until; when something happens by itself */
	uint32_t running; /* who has the CPU alone, or NOBODY */
	double since, slice_end; /* of running */
	double turn; /* the least of its threads that take part */
	double used; /* time that did work */
};

/* CPUs that are balanced among each other, and the threads there. */
struct sim_pool {
	uint32_t *thread, *cpu; /* indices into those of the machine */
	uint32_t n, m;
	double point; /* the next balancing point */
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
	bool ended, unsettled; /* reactive: somebody blocked or woke */
	struct jitter period_jitter, work_jitter;
	uint64_t points, migrations;
	double lag, lag_sum;
};

/* ---- threads_cpu.c ---- */

/* Nothing happens there before that moment. */
void cpu_advance(struct threads_sim *sim, uint32_t cpu, double to);
/* Its time has come: cpu->next. Returns how many threads have reached the barrier. */
uint32_t cpu_event(struct threads_sim *sim, uint32_t cpu);
/* Threads came, went, woke or blocked, and it is up to date: who runs, and until when. */
void cpu_refresh(struct threads_sim *sim, uint32_t cpu);
/* Both up to date; to be refreshed after all moves. */
void cpu_add(struct threads_sim *sim, uint32_t cpu, uint32_t thread);
void cpu_move(struct threads_sim *sim, uint32_t thread, uint32_t to);
/* What the kernel shows of a thread whose CPU is up to date. */
double cpu_shown_run(const struct threads_sim *sim, uint32_t thread);
double cpu_shown_wait(const struct threads_sim *sim, uint32_t thread);

/* ---- threads_balancer.c ---- */

/* Make the pools, and place all threads as the kernel does at first. Returns 0 or -ENOMEM. */
int balancer_init(struct threads_sim *sim);
/* Accepts what balancer_init() has left. */
void balancer_deinit(struct threads_sim *sim);
/* Threads blocked or woke, all CPUs are up to date: the kernel spreads those that it may move. */
void balancer_react(struct threads_sim *sim);
/* The first thing that happens: policies see the threads, and points are set. */
void balancer_begin(struct threads_sim *sim);
/* The balancing points for which it is time, all CPUs are up to date. Sets the next ones. */
void balancer_points(struct threads_sim *sim);

/* ---- threads_policy.c ---- */

/* Returns 0 or -ENOMEM. */
int pool_policy_init(struct threads_sim *sim, struct sim_pool *pool);
void pool_policy_deinit(struct sim_pool *pool);
/* One step of the pool's policy. Returns how long it is to the next one. */
double pool_policy_step(struct threads_sim *sim, struct sim_pool *pool);

#endif
