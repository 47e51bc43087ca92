/* SPDX-License-Identifier: MIT */
#include "libprogress/point.h"

#include "libprogress/progress.h"

#include <errno.h>
#include <stdlib.h>

static enum policy_plb_mode mode_of(uint32_t balancing)
{
	switch (balancing) {
	case PROGRESS_BALANCE_JOINT:
		return POLICY_PLB_JOINT;
	case PROGRESS_BALANCE_HYBRID:
		return POLICY_PLB_HYBRID;
	default:
		return POLICY_PLB_SPLIT;
	}
}

int point_init(struct point *point, const struct segment_header *header)
{
	uint32_t workers = header->workers;

	*point = (struct point){
		.params = {.mode = mode_of(header->balancing),
			.pairs = header->pairs,
			.low = header->low,
			.high = header->high,
			.hybrid_every = header->hybrid_every,
			.dead_band = header->dead_band,
			.bound = header->bound},
		.state = {.random = header->created_ns ^ header->pid},
		.workers = workers,
		.subdomains = header->subdomains,
	};
	size_t moves = policy_plb_moves_max(
		&point->params, workers < POINT_DOMAINS_MAX ? workers : POINT_DOMAINS_MAX);
	point->worker = calloc(workers, sizeof *point->worker);
	point->subdomain = calloc(point->subdomains, sizeof *point->subdomain);
	point->move = calloc(moves, sizeof *point->move);
	point->scratch = calloc(2 * (size_t)point->params.pairs, sizeof *point->scratch);
	if (point->worker == NULL || point->subdomain == NULL || point->move == NULL ||
		point->scratch == NULL)
		return -ENOMEM;
	return 0;
}

void point_deinit(struct point *point)
{
	free(point->worker);
	free(point->subdomain);
	free(point->move);
	free(point->scratch);
	*point = (struct point){0};
}

/* Number the domains without gaps, as the policy needs. Absent workers stay without one. Returns
 * the number of domains. */
static uint32_t number_domains(struct point *point)
{
	uint32_t node[POINT_DOMAINS_MAX], domains = 0;

	for (uint32_t k = 0; k < point->workers; k++) {
		struct policy_worker *worker = &point->worker[k];
		uint32_t d = 0;
		if (worker->domain == POINT_ABSENT)
			continue;
		while (d < domains && node[d] != worker->domain)
			d++;
		if (d == POINT_DOMAINS_MAX)
			d--;
		else if (d == domains)
			node[domains++] = worker->domain;
		worker->domain = d;
	}
	return domains;
}

size_t point_run(struct point *point)
{
	for (uint32_t s = 0; s < point->subdomains; s++) {
		uint32_t *owner = &point->subdomain[s].worker;
		if (*owner >= point->workers || point->worker[*owner].domain == POINT_ABSENT)
			*owner = POLICY_PLB_NOBODY;
	}
	uint32_t domains = number_domains(point);
	return policy_plb(&point->params, &point->state, point->subdomain, point->subdomains,
		point->worker, point->workers, domains, point->scratch, point->move);
}
