/* SPDX-License-Identifier: MIT */
/*
 * A team balances one domain, in a thread of its own: it looks at the job's threads there, has the
 * policy decide, carries the decision out, and tells of it (Section 2 and Fig. 2 of the Juggle paper,
 * with one balancer for all CPUs of a domain: juggle(7) says why).
 */
#ifndef JUGGLE_TEAM_H
#define JUGGLE_TEAM_H

#include "daemon/job/thread.h"
#include "daemon/keeper/ledger.h"
#include "daemon/options.h"
#include "daemon/progress/published.h"
#include "daemon/team/exchange.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/topology/topology.h"
#include "daemon/trace/writer.h"

struct team;

/* What all teams share; outlives them. */
struct team_context {
	const struct options *options;
	struct telemetry *telemetry;
	struct ledger *ledger;
	struct trace *trace; /* NULL: none */
	struct published *published;
	enum sampler_kind sampler; /* never SAMPLER_AUTO */
	struct exchange *exchange;
	int kick_fd; /* eventfd: written when the balancer process has something to look at */
};

/* Start the team of a domain, with CPUs cpu[0..count). Returns 0 or a negative errno. */
int team_new(struct team **out, const struct team_context *context, const struct topology_cpu *cpu,
	size_t count);

/* Ask it to end after what it is at; returns at once. Accepts NULL. */
void team_stop(struct team *team);
/* Wait for its end, give every thread its mask back, and free the team. Returns the list of threads
 * that it had (those included that have ended), for the caller to own. Accepts NULL. */
struct job_thread *team_free(struct team *team);

/* Hand threads over (a list of them). Thread-safe. */
void team_add(struct team *team, struct job_thread *threads);
/* Take back those that have ended. Thread-safe. */
struct job_thread *team_take_ended(struct team *team);

#endif
