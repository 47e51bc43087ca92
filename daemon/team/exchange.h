/* SPDX-License-Identifier: MIT */
/*
 * What the teams share: the number of compute threads of each domain, and the way to hand one over
 * (Section 2.4 of the Juggle paper: domains never differ by more than one thread).
 *
 * One team at a time hands threads over, so that no two of them give one to the same domain because of the same count.
 * Outside member intervals, others do not wait for that team, which may itself have to wait for a CPU that was taken.
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
	pthread_mutex_t turn; /* of the team that may hand threads over */
	bool open; /* under it: one may */
	pthread_mutex_t lock; /* of what follows; held for a few instructions only */
	struct policy_domain *domain; /* of each team */
};

/* Closed and without teams at first; domains > 0. Returns 0 or -ENOMEM. */
int exchange_init(struct exchange *exchange, size_t domains);
/* Does not free the teams. Accepts a zeroed one. */
void exchange_deinit(struct exchange *exchange);

/* Let teams hand threads over, or not; waits for one that does. Open it only while all teams are there. This function
 * and those below are thread-safe. */
void exchange_open(struct exchange *exchange, bool open);

/* Choose the domain of a thread that computes, and count it there. */
size_t exchange_assign(struct exchange *exchange);

/* Before a team's step: copy the counts of all domains. Returns whether the team may hand threads over, until
 * exchange_leave(): if it wants to, after it has waited for others that do. */
bool exchange_enter(struct exchange *exchange, bool wants, struct policy_domain *out);
/* After the step: add what changed from `before` to `after` to the counts. may: as exchange_enter() returned it. */
void exchange_leave(struct exchange *exchange, bool may, const struct policy_domain *before,
	const struct policy_domain *after);

#endif
