/* SPDX-License-Identifier: MIT */
/*
 * The inside of a team, shared by its files, each of which is a stage of an interval: look.c sees,
 * daemon/policy decides, carry.c acts, tell.c tells. team.c runs them one after the other.
 */
#ifndef JUGGLE_TEAM_INTERNAL_H
#define JUGGLE_TEAM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/proc/proc.h"
#include "daemon/team/team.h"
#include "daemon/team/ticker.h"

struct team {
	/* Constant. */
	const struct team_context *context;
	pthread_t runner; /* the thread that balances */
	struct sampler *sampler;
	struct ticker *ticker; /* one for each CPU, or NULL */
	struct proc_watch *watch; /* of the first team: for new threads; else NULL */

	/* Others write these. */
	_Atomic uint32_t stop; /* futex: 1 asks it to end */
	pthread_mutex_t lock; /* of what follows */
	struct job_thread *incoming;
	struct job_thread *ended;

	/* The rest is for the team's thread alone (and team_free(), after it). Row i of the policy is
	 * thread[i], seen as sight[i]. */
	struct policy policy;
	struct job_thread **thread;
	struct policy_sight *sight;
	size_t n, capacity;
	struct sampler_slot **slot; /* scratch, room for capacity */
	struct policy_domain *domain; /* what all domains had before the step */
	uint64_t deadline_ns; /* of the next interval */
	uint64_t cost_ns; /* CPU time of the last */
	uint32_t shown_computing, shown_idle; /* what telemetry counts of this team */
};

/* Take in new threads that the team was handed, if the policy wants to know of them. */
void team_collect(struct team *team);

/* Look at all that the last decision asked for: fills in the sights. Returns when that was. */
uint64_t team_look(struct team *team);

/* Give the threads to other teams that the decision says. */
void team_hand_over(struct team *team, const struct policy_decision *decision);
/* Carry out its moves, and set the tickers. */
void team_carry_out(struct team *team, const struct policy_decision *decision);
/* Give all threads back what they had, at the end. */
void team_release_all(struct team *team);

/* Show the decision, and write the interval into the trace. */
void team_tell(struct team *team, const struct policy_observation *observation,
	const struct policy_decision *decision);

#endif
