/* SPDX-License-Identifier: MIT */
/*
 * What the teams of all domains know of each other: how many compute threads each has, and how to
 * hand one over (Section 2.4 of the Juggle paper: never more than one thread difference between
 * domains).
 */
#ifndef JUGGLE_TEAM_EXCHANGE_H
#define JUGGLE_TEAM_EXCHANGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/policy/policy.h"

struct team;

struct exchange {
	struct team **team; /* constant while teams run */
	size_t domains;
	pthread_mutex_t lock; /* of what follows */
	bool open; /* threads may pass between the teams */
	struct policy_domain *domain; /* of each team */
};

/* For so many domains (at least 1); closed, without teams. Returns 0 or -ENOMEM. */
int exchange_init(struct exchange *exchange, size_t domains);
/* Accepts a zeroed one. The teams are not its own. */
void exchange_deinit(struct exchange *exchange);

/* May threads pass between the teams? Only while all of them are there. Thread-safe, as are the
 * following two. */
void exchange_open(struct exchange *exchange, bool open);

/* Before a team's step: copies what all domains have, with room for all, and returns whether threads may
 * be handed over. With hold the others wait until exchange_leave(), so that no two teams give a
 * thread to the same domain for the same reason. */
bool exchange_enter(struct exchange *exchange, bool hold, struct policy_domain *out);
/* After it: takes in by how much the counts have changed, from `before` to `after`. hold as before. */
void exchange_leave(struct exchange *exchange, bool hold, const struct policy_domain *before,
	const struct policy_domain *after);

#endif
