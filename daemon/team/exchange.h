/* SPDX-License-Identifier: MIT */
/*
 * What the teams share: the number of compute threads of each domain, and the way to hand one over
 * (Section 2.4 of the Juggle paper: domains never differ by more than one thread).
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
	bool open; /* teams may hand threads over */
	struct policy_domain *domain; /* of each team */
};

/* Closed and without teams at first; domains > 0. Returns 0 or -ENOMEM. */
int exchange_init(struct exchange *exchange, size_t domains);
/* Does not free the teams. Accepts a zeroed one. */
void exchange_deinit(struct exchange *exchange);

/* Let teams hand threads over, or not. Open it only while all teams are there. This function and
 * those below are thread-safe. */
void exchange_open(struct exchange *exchange, bool open);

/* Choose the domain of a thread that computes, and count it there. */
size_t exchange_assign(struct exchange *exchange);

/* Before a team's step: copy the counts of all domains, and return whether threads may be handed
 * over. With `hold`, other teams wait until exchange_leave(). So no two teams hand a thread to the
 * same domain because of the same count. */
bool exchange_enter(struct exchange *exchange, bool hold, struct policy_domain *out);
/* After the step: add what changed from `before` to `after` to the counts. */
void exchange_leave(struct exchange *exchange, bool hold, const struct policy_domain *before,
	const struct policy_domain *after);

#endif
