/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the layer between ranks share: this rank, its window and its subdomains.
 */
#ifndef JACOBI_SITE_H
#define JACOBI_SITE_H

#include "apps/jacobi/grid.h"
#include "apps/jacobi/ranks/transport.h"
#include "apps/jacobi/ranks/window.h"
#include "apps/jacobi/subdomain.h"
#include "libprogress/progress.h"

#include <stdbool.h>
#include <stdint.h>

#define SITE_NOWHERE UINT32_MAX

struct site {
	struct transport *transport;
	const struct grid *grid;
	struct subdomain *subdomains; /* one per slot; zeroed where empty */
	struct progress *progress; /* subdomains by slot */
	uint32_t rank, ranks;
	uint32_t workers, slots;
	bool lockstep;
	struct window window;
	char *memory; /* this rank's window */
	/* Within it: */
	struct window_entry *directory;
	struct window_home *homes;
};

/* Where a subdomain is, as far as is known. */
struct site_place {
	uint32_t rank;
	uint32_t slot; /* SITE_NOWHERE: not known */
};

/* Is a subdomain of this rank in that slot? */
static inline bool site_is_resident(const struct site *site, uint32_t slot)
{
	return site->directory[slot].owner == site->rank;
}

/* The slot of a subdomain of this rank, or SITE_NOWHERE. */
static inline uint32_t site_find(const struct site *site, uint32_t id)
{
	for (uint32_t slot = 0; slot < site->slots; slot++)
		if (site_is_resident(site, slot) && site->directory[slot].id == id)
			return slot;
	return SITE_NOWHERE;
}

#endif
