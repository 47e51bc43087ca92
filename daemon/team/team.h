/* SPDX-License-Identifier: MIT */
/*
 * A team balances one domain, in a thread of its own. Each interval it samples the job's threads
 * there, has the policy decide, carries the decision out, and publishes it (Section 2 and Fig. 2 of
 * the Juggle paper; juggle(7) says why a domain has one balancer instead of one on each CPU).
 */
#ifndef JUGGLE_TEAM_H
#define JUGGLE_TEAM_H

#include "daemon/job/ledger.h"
#include "daemon/job/thread.h"
#include "daemon/options.h"
#include "daemon/progress/published.h"
#include "daemon/progress/told.h"
#include "daemon/team/exchange.h"
#include "daemon/team/neighbours.h"
#include "daemon/team/stolen.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/topology/topology.h"
#include "daemon/trace/writer.h"

struct team;

/* What all teams share. It has to outlive them. */
struct team_context {
	const struct options *options;
	struct telemetry *telemetry;
	struct ledger *ledger;
	struct trace *trace; /* NULL: none */
	struct published *published;
	const struct told *told;
	const struct neighbours *neighbours;
	const struct stolen *stolen;
	enum sampler_kind sampler; /* never SAMPLER_AUTO */
	struct exchange *exchange;
	/* The CPUs that juggle may use; the job's cpusets may leave it fewer. */
	const struct cpuset *own;
	_Atomic bool *refused; /* set when these cpusets may have changed */
	int kick_fd; /* eventfd; written when the balancer's main thread has something to do */
};

/* Start the team of a domain, with CPUs cpu[0..count). Returns 0 or a negative errno. */
int team_new(struct team **out, const struct team_context *context, const struct topology_cpu *cpu,
	size_t count);

/* Ask the team to end after its interval, and return at once. Accepts NULL. */
void team_stop(struct team *team);
/* Wait until the team has ended, restore the masks of its threads, and free it. Returns the list of
 * its threads, ended ones included; the caller owns them. Accepts NULL. */
struct job_thread *team_free(struct team *team);

/* Give a list of threads to the team. Thread-safe. */
void team_add(struct team *team, struct job_thread *threads);
/* Take back those that have ended. Thread-safe. */
struct job_thread *team_take_ended(struct team *team);

#endif
