/* SPDX-License-Identifier: MIT */
/* The sequence of actions of the workers of a simulated cluster. */
#include "tools/sim/cluster_internal.h"

#include "tools/sim/field.h"

#include <stdlib.h>

static double vary(struct cluster_rank *rank, double cost_ns, double jitter)
{
	return jitter > 0 ? cost_ns * (1 + jitter * (2 * erand48(rank->random) - 1)) : cost_ns;
}

/* How many of a subdomain's neighbours are in the cache of another worker of its rank. */
static unsigned edges_elsewhere(const struct cluster *cluster, uint32_t subdomain, uint32_t w)
{
	const uint32_t *neighbours = &cluster->neighbours[(size_t)subdomain * SIDES];
	unsigned edges = 0;

	for (unsigned side = 0; side < SIDES; side++) {
		if (neighbours[side] == NOBODY ||
			rank_of(cluster, neighbours[side]) != rank_of(cluster, subdomain))
			continue;
		uint32_t warm = cluster->slots[cluster->where[neighbours[side]]].warm;
		edges += warm != w && warm != NOBODY;
	}
	return edges;
}

static uint64_t cost_of(struct cluster *cluster, uint32_t rank, struct cluster_worker *worker,
	uint32_t w, uint32_t slot)
{
	const struct cluster_params *params = &cluster->params;
	struct slot *at = &cluster->slots[(size_t)rank * cluster->room + slot];
	double cost_ns = vary(&cluster->ranks[rank], worker->cost_ns, params->jitter);

	if (params->foreign > 0 && at->home != worker->socket)
		cost_ns *= 1 + params->foreign;
	if (at->warm != w)
		cost_ns += params->move_ns;
	if (params->edge_ns > 0)
		cost_ns += params->edge_ns * edges_elsewhere(cluster, at->id, w);
	at->warm = w;
	return whole_ns(cost_ns, &worker->fraction_ns);
}

static bool may_update(struct cluster *cluster, uint32_t subdomain)
{
	if (!cluster->watches)
		return true;
	uint64_t lag = halo_lag(cluster, subdomain);

	/* Most of those that wait ask several times before they may: nothing is copied for that. */
	if (cluster->params.mode == MODE_SSYNC && lag > cluster->params.bound)
		return false;
	if (cluster->field)
		field_fetch(cluster->field, subdomain);
	halo_note_lag(cluster, lag);
	return true;
}

static void begin_pass(struct cluster *cluster, uint32_t rank, struct cluster_worker *worker)
{
	const struct slot *slots = &cluster->slots[(size_t)rank * cluster->room];
	const struct policy_subdomain *progress = &cluster->progress[(size_t)rank * cluster->room];

	/* Without balancing nothing rests: there is no lead over the largest number. */
	worker->next = worker->first;
	worker->rounds++;
	worker->least = UINT64_MAX;
	for (uint32_t s = worker->first; s != NOBODY && cluster->params.plb; s = slots[s].next)
		if (progress[s].updates < worker->least)
			worker->least = progress[s].updates;
}

static bool rests(const struct cluster *cluster, uint32_t rank, const struct cluster_worker *worker,
	uint32_t slot)
{
	uint64_t updates = cluster->progress[(size_t)rank * cluster->room + slot].updates;

	return policy_plb_rests(
		&cluster->params.plb_params, updates, worker->least, worker->rounds);
}

/* A worker makes pass after pass over its working set, as in jacobi. It skips subdomains that sit this
 * pass out, and those that would need newer halos, and balances between passes. Returns when the update
 * that it begins now will end; NEVER when there is none. */
static uint64_t go_on(struct cluster *cluster, uint32_t rank, uint32_t w, uint64_t now_ns)
{
	struct cluster_worker *worker =
		&cluster->workers[(size_t)rank * cluster->params.workers + w];
	struct slot *slots = &cluster->slots[(size_t)rank * cluster->room];

	for (;;) {
		if (worker->next == NOBODY) {
			if (cluster->params.plb && now_ns >= cluster->ranks[rank].plb_due_ns)
				now_ns += ownership_balance(cluster, rank, now_ns);
			if (worker->dirty) {
				ownership_take_over(cluster, rank, w, now_ns);
				worker->idle = false;
			}
			begin_pass(cluster, rank, worker);
			if (worker->next == NOBODY || worker->idle) {
				worker->next = NOBODY;
				worker->idle = false;
				worker->parked = true;
				return NEVER;
			}
			worker->idle = true;
		}
		uint32_t slot = worker->next;
		worker->next = slots[slot].next;
		if (rests(cluster, rank, worker, slot) || !may_update(cluster, slots[slot].id))
			continue;
		worker->idle = false;
		worker->current = slot;
		uint64_t cost_ns = cost_of(cluster, rank, worker, w, slot);
		worker->busy_ns += cost_ns;
		return now_ns + cost_ns;
	}
}

static void complete(
	struct cluster *cluster, uint32_t rank, struct cluster_worker *worker, uint64_t now_ns)
{
	if (worker->current != NOBODY) {
		size_t slot = (size_t)rank * cluster->room + worker->current;

		cluster->progress[slot].updates++;
		cluster->plb_workers[worker - cluster->workers].updates++;
		if (cluster->shows)
			halo_show(cluster, cluster->slots[slot].id, now_ns);
	} else if (worker->flying != NOBODY) {
		/* The subdomain was counted when it left. */
		if (cluster->shows)
			halo_show(cluster, worker->flying, now_ns);
	}
	worker->current = worker->flying = NOBODY;
}

void events_run(struct cluster *cluster, struct shard *shard, uint64_t until_ns)
{
	for (;;) {
		const struct match *first = &shard->tree[1];
		uint64_t now_ns = first->time_ns;
		uint64_t delivery_ns = cluster->delivery_count > 0
					       ? cluster->deliveries[cluster->delivery_first].at_ns
					       : NEVER;

		if (delivery_ns <= now_ns && delivery_ns <= shard->arrival_ns) {
			if (delivery_ns >= until_ns)
				return;
			halo_deliver(cluster);
		} else if (shard->arrival_ns < now_ns) {
			/* Updates that end at the same moment come first: one may be of the
			 * subdomain that arrives. */
			if (shard->arrival_ns >= until_ns)
				return;
			exchange_arrive(cluster, shard, shard->arrival_ns);
		} else {
			if (now_ns >= until_ns)
				return;
			uint32_t w = first->worker, rank = w / cluster->params.workers;
			complete(cluster, rank, &cluster->workers[w], now_ns);
			order_set(cluster, shard, w,
				go_on(cluster, rank, w % cluster->params.workers, now_ns));
		}
	}
}

/* ---- Lockstep ---- */

/* How long the next iteration takes: as long as for the slowest worker. */
static uint64_t iteration_ns(struct cluster *cluster)
{
	const struct cluster_params *params = &cluster->params;
	double longest = 0;

	for (uint32_t r = 0; r < params->ranks; r++)
		for (uint32_t w = 0; w < params->workers; w++) {
			const struct cluster_worker *worker =
				&cluster->workers[(size_t)r * params->workers + w];
			double sum = 0;

			for (uint32_t i = 0; i < params->each; i++)
				sum += vary(&cluster->ranks[r], worker->cost_ns, params->jitter);
			longest = sum > longest ? sum : longest;
		}
	return whole_ns(longest, &cluster->sync_fraction_ns) +
	       (params->ranks > 1 ? params->latency_ns : 0);
}

void events_run_lockstep(struct cluster *cluster, uint64_t until_ns)
{
	if (cluster->sync_ns == 0)
		cluster->sync_ns = iteration_ns(cluster);
	while (cluster->sync_ns <= until_ns) {
		for (uint32_t s = 0; cluster->field && s < cluster->n; s++) {
			field_fetch(cluster->field, s);
			field_step(cluster->field, s);
		}
		cluster->sync_iterations++;
		cluster->sync_ns += iteration_ns(cluster);
	}
}
