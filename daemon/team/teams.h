/* SPDX-License-Identifier: MIT */
/* The teams of all domains, started and ended together. Not thread-safe. */
#ifndef JUGGLE_TEAMS_H
#define JUGGLE_TEAMS_H

#include "daemon/team/team.h"

struct teams {
	struct team_context context;
	struct topology topology;
	struct exchange exchange;
	size_t count;
	struct cpuset own; /* of -c, online and in our cpuset; the job's cpusets may have fewer */
	_Atomic bool refused; /* set when these cpusets may have changed */
};

/* Start a team for each domain of these CPUs. Sets context.exchange. Returns 0 or a negative errno;
 * teams_stop() is needed after either. */
int teams_start(struct teams *teams, const struct cpuset *usable);
/* Returns the list of the teams' threads; the caller owns them. Accepts what was never started. */
struct job_thread *teams_stop(struct teams *teams);

/* Publish what the hypervisor takes of the CPUs. */
void teams_show_stolen(const struct teams *teams);

/* Give a list of threads to the teams: those that computed in teams that have ended, evenly; all
 * others to the first team, which hands each over to the right one when it begins to compute. */
void teams_add(struct teams *teams, struct job_thread *threads);
/* Take back those that have ended. */
struct job_thread *teams_take_ended(struct teams *teams);

#endif
