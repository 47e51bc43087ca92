/* SPDX-License-Identifier: MIT */
/*
 * A balancing point on counters that the caller has read. The program's own threads, which map the
 * segment, and juggle, which reads it through a descriptor, share this code.
 */
#ifndef PROGRESS_POINT_H
#define PROGRESS_POINT_H

#include "libprogress/policy/plb.h"
#include "libprogress/segment.h"

#define POINT_ABSENT POLICY_PLB_NOWHERE /* the node of a worker without a thread */
#define POINT_DOMAINS_MAX 64u /* further nodes are balanced with the last, as one */

struct point {
	struct policy_plb_params params;
	struct policy_plb_state state;
	uint32_t workers, subdomains;
	/* Filled in before each point: worker[].domain with the worker's NUMA node or POINT_ABSENT,
	 * worker[].updates, and subdomain[] by point_fill(). */
	struct policy_worker *worker;
	struct policy_subdomain *subdomain;
	/* What point_run() decided. */
	struct policy_plb_move *move;
	uint32_t *scratch;
};

/* Set up the points of a segment from its header, whose numbers must be in range. Returns 0 or
 * -ENOMEM; call point_deinit() in both cases. */
int point_init(struct point *point, const struct segment_header *header);
/* Accepts a zeroed point. */
void point_deinit(struct point *point);

/* Fill in a subdomain with what was read, in range or not. A subdomain without a holder is left
 * alone. Returns whether to flag its holder (again) to pass it on: two balancers that acted at
 * once, or one that acted while the place was emptied and filled, may have flagged the wrong
 * worker. */
static inline bool point_fill(
	struct point *point, uint32_t subdomain, uint64_t updates, uint32_t owner, uint32_t holder)
{
	bool here = holder < point->workers;

	point->subdomain[subdomain].updates = updates;
	point->subdomain[subdomain].worker = here ? owner : POLICY_PLB_NOBODY;
	return here && owner != holder && owner < point->workers;
}

/* Decide. Workers without a thread neither give nor take. Returns the number of moves. Allocates
 * nothing. */
size_t point_run(struct point *point);

#endif
