/* SPDX-License-Identifier: MIT */
/*
 * One domain of a trace: the policy that decides there, and the observations that it gets, put
 * together again from what was recorded.
 */
#ifndef REPLAY_DOMAIN_H
#define REPLAY_DOMAIN_H

#include "daemon/policy/policy.h"
#include "daemon/trace/reader.h"

struct replay_domain {
	struct policy policy;
	struct policy_sight *sight; /* by row */
	struct policy_domain *load; /* of all domains */
	size_t rows, room;
	int32_t *row_of; /* rows, sorted by tid; as many as there are rows */
	bool sorted;
	const struct trace_file *trace;
	const struct trace_team *team;
	size_t *cpu; /* of each CPU, its index in trace->cpu */
};

/* From a team record on. Returns 0 or -ENOMEM; undone by replay_domain_deinit() in any case. */
int replay_domain_init(struct replay_domain *domain, const struct trace_file *trace,
	const struct trace_team *team, const struct policy_params *params);
/* Accepts a zeroed one. */
void replay_domain_deinit(struct replay_domain *domain);

/* Have the policy decide on what was seen at a point of this domain. Returns 0 or -ENOMEM. What the trace
 * says of threads that it did not introduce is left out. */
int replay_domain_step(struct replay_domain *domain, const struct trace_point *point);
/* After that: threads that ended there, or went to another domain, are gone. */
void replay_domain_forget(struct replay_domain *domain, const struct trace_point *point);

/* Is the last decision what was recorded at this point? Of the regime and its reason; of threads that
 * get another CPU, or none, or another domain; of the period with its jitter, and of ticks. */
bool replay_domain_same_regime(const struct replay_domain *domain, const struct trace_point *point);
bool replay_domain_same_moves(const struct replay_domain *domain, const struct trace_point *point);
bool replay_domain_same_period(const struct replay_domain *domain, const struct trace_point *point);

/* The index in trace->cpu of the domain's CPU with that index. */
size_t replay_domain_cpu(const struct replay_domain *domain, size_t cpu);

#endif
