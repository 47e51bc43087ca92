/* SPDX-License-Identifier: MIT */
/* What the kinds of simulated balancers and barriers are called on command lines and in results. */
#ifndef SIM_NAMES_H
#define SIM_NAMES_H

enum { NAMES_BALANCERS = 4, NAMES_BARRIERS = 3 };

extern const char *const names_balancer[NAMES_BALANCERS]; /* by enum threads_balancer */
extern const char *const names_barrier[NAMES_BARRIERS]; /* by enum threads_barrier */

#endif
