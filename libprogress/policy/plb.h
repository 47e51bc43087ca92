/* SPDX-License-Identifier: MIT */
/*
 * Progressive load balancing: which subdomains should change their worker. Pure, as policy.h has
 * it. Section numbers and Algorithm 1 are those of Zarins & Weiland (2017), "Progressive
 * load balancing of asynchronous algorithms".
 */
#ifndef JUGGLE_PLB_H
#define JUGGLE_PLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_PLB_NOBODY UINT32_MAX
#define POLICY_PLB_NOWHERE UINT32_MAX

/* The defaults of libprogress, of jacobi and of the simulator. The first three are the paper's,
 * Section 4.2. */
#define POLICY_PLB_DEFAULT_PAIRS 6
#define POLICY_PLB_DEFAULT_LOW 2
#define POLICY_PLB_DEFAULT_HIGH 6
#define POLICY_PLB_DEFAULT_HYBRID_EVERY 500
#define POLICY_PLB_DEFAULT_PERIOD_MS 1
#define POLICY_PLB_DEFAULT_PERIOD_NS (POLICY_PLB_DEFAULT_PERIOD_MS * UINT64_C(1000000))

enum policy_plb_mode {
	POLICY_PLB_JOINT, /* all workers are treated the same */
	POLICY_PLB_SPLIT, /* workers of each domain on their own */
	POLICY_PLB_HYBRID, /* split; every so many points one subdomain changes its domain */
};

/* Section 3.3's parameters. */
struct policy_plb_params {
	enum policy_plb_mode mode;
	uint32_t pairs; /* nPairs: of the most and least updated subdomains to consider */
	uint32_t low; /* lowThresh: a worker with so many gives none away */
	uint32_t high; /* highThresh: a worker with so many takes none */
	uint32_t hybrid_every; /* points between moves from domain to domain; not 0 */
};

/* Kept from call to call; zeroed at first. */
struct policy_plb_state {
	uint64_t points;
	uint64_t random; /* seeds the choices of the hybrid mode */
};

struct policy_subdomain {
	uint64_t updates;
	uint32_t worker; /* its owner; POLICY_PLB_NOBODY or out of range: is left alone */
};

struct policy_worker {
	/* Of the CPU it runs on, below domains; POLICY_PLB_NOWHERE is given nothing from elsewhere. */
	uint32_t domain;
	/* Worked out by policy_plb(): */
	uint32_t subdomains; /* that it owns, after the moves */
};

struct policy_plb_move {
	uint32_t subdomain, from, to;
};

/* Most moves that one call makes. */
static inline size_t policy_plb_moves_max(const struct policy_plb_params *params, uint32_t domains)
{
	return (size_t)params->pairs * (params->mode == POLICY_PLB_JOINT ? 1 : domains) + 1;
}

/* One balancing point, Algorithm 1 for all workers (joint) or for those of each domain.
 *
 * Of the i-th most and the i-th least updated subdomain, the owner of the former takes
 * from the owner of the latter its most updated subdomain, if the one has fewer than `high` and
 * the other more than `low`. No worker with more than `low` subdomains falls below it, nor one
 * with fewer than `high` exceeds it. A subdomain moves at most once.
 *
 * Beyond the paper: it stops at the middle of the list. With fewer subdomains than twice the pairs
 * the later pairs would undo the first, and the spread would grow without bound.
 *
 * scratch has room for 2 * pairs indices, moves for policy_plb_moves_max(). Updates
 * subdomains[].worker. Returns the number of moves; O(n * pairs * domains). */
size_t policy_plb(const struct policy_plb_params *params, struct policy_plb_state *state,
	struct policy_subdomain *subdomains, size_t n, struct policy_worker *workers, size_t w,
	uint32_t domains, uint32_t *scratch, struct policy_plb_move *moves);

#endif
