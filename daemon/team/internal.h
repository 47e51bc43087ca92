/* SPDX-License-Identifier: MIT */
/*
 * The inside of a team, shared by its files: team.c runs the balancer threads, lead.c is
 * what one of them does on behalf of all, with gain.c for what threads have gained and show.c
 * for what others get to see.
 *
 * Who may touch what: a balancing point has three parts. First every balancer samples the
 * threads of its own CPUs (it writes only their workers' slots). The last to arrive
 * then leads: it alone touches everything. When it has set `done`, every balancer
 * carries out the moves away from its own CPUs and sleeps. No part begins before the one
 * before it has ended for all, so that nothing but arrivals and `done` needs atomics.
 */
#ifndef JUGGLE_TEAM_INTERNAL_H
#define JUGGLE_TEAM_INTERNAL_H

#include <pthread.h>

#include "daemon/team/team.h"
#include "daemon/team/ticker.h"

struct balancer {
	struct team *team;
	uint32_t index; /* and, with one balancer a CPU, the index of its CPU */
	pthread_t thread;
	struct sampler *sampler;
	struct sampler_slot **slot; /* scratch, room for team->capacity */
	uint64_t cycle; /* the last balancing point it took part in */
	_Atomic uint32_t signal; /* futex: changes when there is something to do */
	_Atomic bool work; /* the leader has moves for it */
};

struct team {
	const struct team_context *context;
	size_t domain;
	struct policy_cpu *cpu;
	size_t m;
	struct balancer *balancer;
	uint32_t balancers; /* 1, or m */
	struct ticker *ticker; /* one for each CPU, or NULL */

	/* Arrivals and departures. */
	_Atomic uint32_t arrived;
	_Atomic uint64_t done; /* the last balancing point that was led */
	_Atomic uint64_t deadline_ns; /* of the one after it */
	_Atomic uint64_t cost_ns; /* CPU time of the balancers since the last */
	_Atomic bool stop;

	/* Lists that change hands with the scanner. */
	pthread_mutex_t lock;
	struct worker *incoming;
	struct worker *ended;
	_Atomic uint64_t period_ns;

	/* The leader's. worker[i] and thread[i] are one thread; the first `active` are
	 * compute threads, the rest idle ones without a CPU. */
	struct worker **worker;
	struct policy_thread *thread;
	struct policy_move *move;
	size_t n, active, capacity, moves;
	uint32_t quiet_points; /* balancing points since the last move */
	uint64_t switches, switches_from_ns; /* of the compute threads, and since when */
	uint64_t yielded_ns; /* when threads were last seen to yield */
	uint32_t *order; /* scratch of policy_juggle() */
	struct proc_watch *watch; /* team 0: for new pids; else NULL */
	bool expected; /* -n: so many compute threads were there once */
	uint64_t last_ns; /* of the last balancing point */
	uint64_t last_slow_ns; /* of the last look at idle threads */
	struct policy_chooser chooser;
	enum policy_regime regime;
	struct {
		bool open; /* else one begins at start_ns */
		uint64_t start_ns, run_ns, wait_ns;
		uint64_t number;
	} window;
	unsigned random;
	double update_run_ns, updates; /* of workers, over some periods: what an update takes */
	uint32_t shown_threads, shown_idle; /* what telemetry counts of this team */
};

/* One balancing point: everything that is done by one balancer for all. */
void lead(struct team *team, struct balancer *leader);
/* Give all threads back what they had, at the end. */
void lead_release_all(struct team *team);
/* Take in what the scanner has handed over, without looking at it: at the end. */
void lead_collect(struct team *team);

/* Does it move threads now, from balancing point to balancing point? */
bool lead_swaps(const struct team *team);

/* Add what the compute threads have gained to their progress. */
void gain_add(struct team *team, uint64_t now_ns);
/* Find out which of all threads are workers of libprogress. */
void gain_look_at_roles(struct team *team);

/* Tell telemetry and the trace of a balancing point. */
void show_point(struct team *team, uint64_t now_ns, uint64_t elapsed_ns);
/* A thread's flags, and the CPU that it has: -1 for none. */
void show_flags(const struct worker *worker, uint32_t flags);
void show_cpu(const struct worker *worker, int32_t os_cpu);

#endif
