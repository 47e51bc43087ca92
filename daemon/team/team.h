/* SPDX-License-Identifier: MIT */
/*
 * A team balances one domain: its CPUs, the threads placed on them, and the balancer
 * threads that do it (Section 2 and Fig. 2 of the Juggle paper).
 */
#ifndef JUGGLE_TEAM_H
#define JUGGLE_TEAM_H

#include <pthread.h>

#include "daemon/job/worker.h"
#include "daemon/keeper/ledger.h"
#include "daemon/options.h"
#include "daemon/progress/published.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/topology/topology.h"
#include "daemon/trace/writer.h"

struct team;

/* Where a thread that begins to compute finds the domain with room for it (Section 2.4:
 * never more than one thread difference between domains). */
struct team_exchange {
	pthread_mutex_t lock; /* of what follows */
	bool open; /* else threads stay in the team that they are in */
	struct team **team;
	uint32_t *threads; /* compute threads of each team */
	uint32_t *cpus; /* CPUs of each team */
	size_t teams;
};

/* What all teams share; outlives them. */
struct team_context {
	const struct options *options;
	struct telemetry *telemetry;
	struct ledger *ledger;
	struct trace *trace; /* NULL: none */
	struct published *published;
	enum sampler_kind sampler; /* never SAMPLER_AUTO */
	struct team_exchange *exchange;
	int kick_fd; /* eventfd: written when the scanner has something to do */
};

/* Start the balancers of a domain: CPUs cpu[0..count). Returns 0 or a negative errno. */
int team_new(struct team **out, const struct team_context *context, const struct topology_cpu *cpu,
	size_t count);

/* Ask the balancers to end after what they are at; returns at once. Accepts NULL. */
void team_stop(struct team *team);
/* Wait for the balancers, give every thread its mask back, and free the team. Returns
 * the list of workers that it had (the ended ones included), for the caller to own. Accepts NULL. */
struct worker *team_free(struct team *team);

/* Hand a new worker (or a list of them) over. Thread-safe. */
void team_add(struct team *team, struct worker *workers);
/* Take back the workers whose threads have ended. Thread-safe. */
struct worker *team_take_ended(struct team *team);

/* Length of its present period, in ns. Thread-safe. */
uint64_t team_period_ns(const struct team *team);

#endif
