/* SPDX-License-Identifier: MIT */
/* The workers of a simulated cluster, and the order of what they do. */
#include "tools/sim/cluster_internal.h"

#include "tools/sim/field.h"

#include <stdlib.h>

/* ---- The order ---- */

static struct shard *shard_of(const struct cluster *cluster, uint32_t rank)
{
	return &cluster->shards[cluster->together ? 0 : rank];
}

/* The leaf of a worker in the tree of its shard. */
static uint32_t leaf_of(const struct cluster *cluster, const struct shard *shard, uint32_t worker)
{
	return shard->leaves + worker - shard->first_rank * cluster->params.workers;
}

/* Of equal moments the lower number is first, so that a run can be repeated. */
static void set_time(
	const struct cluster *cluster, struct shard *shard, uint32_t worker, uint64_t time_ns)
{
	struct match *tree = shard->tree;
	uint32_t node = leaf_of(cluster, shard, worker);

	tree[node].time_ns = time_ns;
	for (node /= 2; node > 0; node /= 2)
		tree[node] = tree[2 * node].time_ns <= tree[2 * node + 1].time_ns
				     ? tree[2 * node]
				     : tree[2 * node + 1];
}

uint64_t events_ends(const struct cluster *cluster, uint32_t rank, uint32_t worker)
{
	const struct shard *shard = shard_of(cluster, rank);

	return shard->tree[leaf_of(cluster, shard, rank * cluster->params.workers + worker)]
		.time_ns;
}

void events_wake(struct cluster *cluster, uint32_t rank, uint32_t worker, uint64_t now_ns)
{
	uint32_t w = rank * cluster->params.workers + worker;

	if (!cluster->workers[w].parked)
		return;
	cluster->workers[w].parked = false;
	set_time(cluster, shard_of(cluster, rank), w, now_ns);
}

static void plant(struct cluster *cluster, struct shard *shard)
{
	uint32_t first = shard->first_rank * cluster->params.workers;
	uint32_t count = shard->ranks * cluster->params.workers;

	for (uint32_t i = 0; i < shard->leaves; i++)
		shard->tree[shard->leaves + i] =
			(struct match){.time_ns = i < count ? 0 : NEVER, .worker = first + i};
	for (uint32_t node = shard->leaves - 1; node > 0; node--)
		shard->tree[node] =
			shard->tree[2 * node].time_ns <= shard->tree[2 * node + 1].time_ns
				? shard->tree[2 * node]
				: shard->tree[2 * node + 1];
}

void events_begin(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->shard_count; i++)
		plant(cluster, &cluster->shards[i]);
}

/* ---- Halos ---- */

static uint32_t rank_of(const struct cluster *cluster, uint32_t subdomain)
{
	return cluster->where[subdomain] / cluster->room;
}

void events_note_lag(struct cluster *cluster, uint64_t lag)
{
	if (lag > cluster->staleness)
		cluster->staleness = lag;
	cluster->staleness_sum += (double)lag;
	cluster->fetches++;
}

uint64_t events_lag(const struct cluster *cluster, uint32_t subdomain)
{
	const uint32_t *neighbours = &cluster->neighbours[(size_t)subdomain * SIDES];
	uint64_t own = updates_of(cluster, subdomain), lag = 0;
	uint32_t rank = cluster->seen ? rank_of(cluster, subdomain) : 0;

	for (unsigned side = 0; side < SIDES; side++) {
		if (neighbours[side] == NOBODY)
			continue;
		uint64_t other = cluster->seen && rank_of(cluster, neighbours[side]) != rank
					 ? cluster->seen[(size_t)subdomain * SIDES + side]
					 : updates_of(cluster, neighbours[side]);
		if (other < own && own - other > lag)
			lag = own - other;
	}
	return lag;
}

/* It takes the halos it is about to compute with. */
static uint64_t fetch(const struct cluster *cluster, uint32_t subdomain)
{
	return cluster->field ? field_fetch(cluster->field, subdomain)
			      : events_lag(cluster, subdomain);
}

static void wake_holder(struct cluster *cluster, uint32_t subdomain, uint64_t now_ns)
{
	uint32_t holder = cluster->slots[cluster->where[subdomain]].holder;

	if (holder != NOBODY)
		events_wake(cluster, rank_of(cluster, subdomain), holder, now_ns);
}

/* One that is under way already will bring what is newest when it comes. */
static void send_halo(struct cluster *cluster, uint32_t to, unsigned side, uint64_t at_ns)
{
	size_t i = (size_t)to * SIDES + side, size = (size_t)cluster->n * SIDES;

	if (cluster->under_way[i])
		return;
	cluster->under_way[i] = true;
	cluster->deliveries[(cluster->delivery_first + cluster->delivery_count++) % size] =
		(struct delivery){.at_ns = at_ns, .subdomain = to, .side = side};
}

static void deliver(struct cluster *cluster)
{
	struct delivery *delivery = &cluster->deliveries[cluster->delivery_first];
	size_t i = (size_t)delivery->subdomain * SIDES + delivery->side;

	cluster->delivery_first = (cluster->delivery_first + 1) % ((size_t)cluster->n * SIDES);
	cluster->delivery_count--;
	cluster->under_way[i] = false;
	cluster->seen[i] = updates_of(cluster, cluster->neighbours[i]);
	if (cluster->field)
		field_deliver(cluster->field, delivery->subdomain, delivery->side);
	wake_holder(cluster, delivery->subdomain, delivery->at_ns);
}

/* An update is complete: its neighbours can see it, those of other ranks later. */
static void show(struct cluster *cluster, uint32_t subdomain, uint64_t now_ns)
{
	uint32_t rank = rank_of(cluster, subdomain);

	if (cluster->field)
		field_step(cluster->field, subdomain);
	for (unsigned side = 0; side < SIDES; side++) {
		uint32_t to = cluster->neighbours[(size_t)subdomain * SIDES + side];

		if (to == NOBODY)
			continue;
		if (rank_of(cluster, to) != rank)
			send_halo(cluster, to, side ^ 1, now_ns + cluster->params.latency_ns);
		else if (cluster->params.mode == CLUSTER_SSYNC)
			wake_holder(cluster, to, now_ns);
	}
}

void events_moved(struct cluster *cluster, uint32_t subdomain, uint64_t now_ns)
{
	uint32_t rank = rank_of(cluster, subdomain);

	for (unsigned side = 0; cluster->seen && side < SIDES; side++) {
		size_t i = (size_t)subdomain * SIDES + side;
		uint32_t to = cluster->neighbours[i];

		if (to == NOBODY)
			continue;
		size_t back = (size_t)to * SIDES + (side ^ 1);
		bool within = rank_of(cluster, to) == rank;
		/* It brings its halos; the neighbour has those that it had. */
		cluster->seen[i] = updates_of(cluster, to);
		cluster->seen[back] = updates_of(cluster, subdomain);
		if (cluster->field) {
			field_place(cluster->field, subdomain, side, within);
			field_place(cluster->field, to, side ^ 1, within);
		}
		wake_holder(cluster, to, now_ns);
	}
}

/* ---- Workers ---- */

static double vary(struct rank *rank, double cost_ns, double jitter)
{
	return jitter > 0 ? cost_ns * (1 + jitter * (2 * erand48(rank->random) - 1)) : cost_ns;
}

static uint64_t cost_of(
	struct cluster *cluster, uint32_t rank, struct worker *worker, uint32_t w, uint32_t slot)
{
	const struct cluster_params *params = &cluster->params;
	double cost_ns = vary(&cluster->ranks[rank], worker->cost_ns, params->jitter);

	if (params->foreign > 0 &&
		cluster->slots[(size_t)rank * cluster->room + slot].home != socket_of(cluster, w))
		cost_ns *= 1 + params->foreign;
	return whole_ns(cost_ns, &worker->fraction_ns);
}

static bool may_update(struct cluster *cluster, uint32_t subdomain)
{
	if (!cluster->watches)
		return true;
	uint64_t lag = fetch(cluster, subdomain);
	if (cluster->params.mode == CLUSTER_SSYNC && lag > cluster->params.bound)
		return false;
	events_note_lag(cluster, lag);
	return true;
}

/* Like jacobi's workers: pass after pass over the working set, leaving out what would need newer
 * halos; between passes see to the balance. Returns when the update that it now is at ends, NEVER when
 * there is none. */
static uint64_t go_on(struct cluster *cluster, uint32_t rank, uint32_t w, uint64_t now_ns)
{
	struct worker *worker = &cluster->workers[(size_t)rank * cluster->params.workers + w];
	struct slot *slots = &cluster->slots[(size_t)rank * cluster->room];

	for (;;) {
		if (worker->next == NOBODY) {
			if (cluster->params.plb && now_ns >= cluster->ranks[rank].plb_due_ns)
				now_ns += ownership_balance(cluster, rank, now_ns);
			if (worker->dirty) {
				ownership_take_over(cluster, rank, w, now_ns);
				worker->idle = false;
			}
			worker->next = worker->first;
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
		if (!may_update(cluster, slots[slot].id))
			continue;
		worker->idle = false;
		worker->current = slot;
		return now_ns + cost_of(cluster, rank, worker, w, slot);
	}
}

static void complete(struct cluster *cluster, uint32_t rank, struct worker *worker, uint64_t now_ns)
{
	if (worker->current != NOBODY) {
		size_t slot = (size_t)rank * cluster->room + worker->current;

		cluster->progress[slot].updates++;
		if (cluster->shows)
			show(cluster, cluster->slots[slot].id, now_ns);
	} else if (worker->flying != NOBODY) {
		/* It was counted when it left. */
		if (cluster->shows)
			show(cluster, worker->flying, now_ns);
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
			deliver(cluster);
		} else if (shard->arrival_ns < now_ns) {
			/* Not before updates that end then: one may be of what arrives. */
			if (shard->arrival_ns >= until_ns)
				return;
			exchange_arrive(cluster, shard, shard->arrival_ns);
		} else {
			if (now_ns >= until_ns)
				return;
			uint32_t w = first->worker, rank = w / cluster->params.workers;
			complete(cluster, rank, &cluster->workers[w], now_ns);
			set_time(cluster, shard, w,
				go_on(cluster, rank, w % cluster->params.workers, now_ns));
		}
	}
}

/* ---- Lockstep ---- */

/* How long the next iteration takes: as long as it takes the slowest worker. */
static uint64_t iteration_ns(struct cluster *cluster)
{
	const struct cluster_params *params = &cluster->params;
	double longest = 0;

	for (uint32_t r = 0; r < params->ranks; r++)
		for (uint32_t w = 0; w < params->workers; w++) {
			const struct worker *worker =
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
