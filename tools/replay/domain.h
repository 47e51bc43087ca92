/* SPDX-License-Identifier: MIT */
/*
 * One domain of a trace: a policy, and the observations for it, rebuilt from the records.
 */
#ifndef REPLAY_DOMAIN_H
#define REPLAY_DOMAIN_H

#include "daemon/policy/policy.h"
#include "daemon/trace/reader.h"

struct replay_domain {
	struct policy policy;
	struct policy_sight *sight; /* by row */
	struct policy_domain *load; /* of all domains */
	uint32_t *neighbours, *stolen, *ticked; /* by CPU */
	uint32_t beside; /* threads of other jobs */
	size_t rows, room;
	int32_t *row_of; /* rows, sorted by tid; as many as there are rows */
	bool sorted;
	const struct trace_file *trace;
	const struct trace_team *team;
	size_t *cpu; /* the index of each of its CPUs in trace->cpu */
};

/* Begin at a team record. Returns 0 or -ENOMEM; replay_domain_deinit() undoes both. */
int replay_domain_init(struct replay_domain *domain, const struct trace_file *trace,
	const struct trace_team *team, const struct policy_params *params);
/* Accepts a zeroed one. */
void replay_domain_deinit(struct replay_domain *domain);

/* Have the policy decide at a point of this domain. Ignores records of threads that the trace did
 * not introduce. Returns 0 or -ENOMEM. */
int replay_domain_step(struct replay_domain *domain, const struct trace_point *point);
/* To be called next: remove the threads that ended there, or went to another domain. */
void replay_domain_forget(struct replay_domain *domain, const struct trace_point *point);

/* Is the last decision the one that was recorded at this point? In turn: the regime and its reason;
 * moves and handovers; the period with its jitter, and the ticks. */
bool replay_domain_same_regime(const struct replay_domain *domain, const struct trace_point *point);
bool replay_domain_same_moves(const struct replay_domain *domain, const struct trace_point *point);
bool replay_domain_same_period(const struct replay_domain *domain, const struct trace_point *point);

/* The index in trace->cpu of a CPU of the domain. */
size_t replay_domain_cpu(const struct replay_domain *domain, size_t cpu);

#endif
