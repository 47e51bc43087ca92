/* SPDX-License-Identifier: MIT */
/* The names of simulated balancers and barriers, on command lines and in results. */
#ifndef SIM_NAMES_H
#define SIM_NAMES_H

#include "tools/sim/threads.h"

/* Balancers by number: these first, then the other policies of juggle. static is pinned here, and
 * observe reactive. */
enum { NAMES_PINNED, NAMES_REACTIVE, NAMES_IDEAL, NAMES_POLICIES };
enum { NAMES_BALANCERS_MAX = 16, NAMES_BARRIERS = 3 };

/* Fill in the names. Returns how many there are. */
size_t names_balancers(const char *out[NAMES_BALANCERS_MAX]);
/* The name of a balancer, by a valid number. */
const char *names_balancer(size_t which);
/* Set the parameters to simulate that balancer. */
void names_set_balancer(struct threads_params *params, size_t which);
/* The policy of juggle with that number; NULL: it is none. */
const struct policy_kind *names_kind(size_t which);
/* The number of a policy of juggle, even of one that does not move threads. */
size_t names_of_kind(const struct policy_kind *kind);

extern const char *const names_barrier[NAMES_BARRIERS]; /* by enum threads_barrier */

#endif
