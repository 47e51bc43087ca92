/* SPDX-License-Identifier: MIT */
/* The teams of all domains, started and ended together. For one thread alone. */
#ifndef JUGGLE_TEAMS_H
#define JUGGLE_TEAMS_H

#include "daemon/team/team.h"

struct teams {
	struct team_context context;
	struct topology topology;
	struct exchange exchange;
	size_t count;
};

/* Start a team for each domain of these CPUs. context.exchange is set here. Returns 0, or a negative
 * errno after which teams_stop() is to be called all the same. */
int teams_start(struct teams *teams, const struct cpuset *usable);
/* Accepts what never started. Returns the threads that the teams had, for the caller to own. */
struct job_thread *teams_stop(struct teams *teams);

/* Hand threads over. Any team will do: it finds the right one when a thread begins to compute. */
void teams_add(struct teams *teams, struct job_thread *threads);
/* Take back those that have ended. */
struct job_thread *teams_take_ended(struct teams *teams);

#endif
