/* SPDX-License-Identifier: MIT */
/*
 * What ranks know of each other, and what they move. As in jacobi, each rank looks at a few others
 * now and then, and reads what they had published by its previous look. Information on all ranks
 * goes up and down a tree, one step per look: the more ranks there are, the older it is.
 */
#include "tools/sim/cluster_internal.h"

static struct policy_dplb_rank *reports_of(const struct cluster *cluster, uint64_t exchange)
{
	return &cluster->reports[(exchange % 2) * cluster->params.ranks];
}

static struct policy_dplb_rank *ends(const struct cluster *cluster, uint64_t exchange)
{
	return &cluster->ends[(exchange % cluster->ages) * 2];
}

/* What the cluster and its mode make of the parameters. */
static struct policy_dplb_params policy_of(const struct cluster *cluster)
{
	struct policy_dplb_params policy = cluster->params.dplb_params;

	policy.period_ns = cluster->params.dplb_period_ns;
	policy.bounded = cluster->params.mode == MODE_SSYNC;
	return policy;
}

void exchange_look(struct cluster *cluster, uint32_t rank)
{
	const struct policy_subdomain *progress = &cluster->progress[(size_t)rank * cluster->room];
	const struct cluster_rank *self = &cluster->ranks[rank];
	const struct policy_dplb_params policy = policy_of(cluster);
	uint64_t updates = 0;
	uint32_t present = 0;

	for (uint32_t s = 0; s < self->slots; s++)
		if (progress[s].worker != POLICY_PLB_NOBODY) {
			updates += progress[s].updates;
			present++;
		}
	struct policy_dplb_rank report = {
		.average = present > 0 ? (double)updates / present : 0,
		.rank = rank,
		.subdomains = present,
		.room = cluster->room - self->residents,
	};
	policy_dplb_rate(&policy, &self->dplb, &report);
	reports_of(cluster, cluster->exchanges)[rank] = report;
}

static void reduce(struct cluster *cluster)
{
	const struct policy_dplb_rank *all = reports_of(cluster, cluster->exchanges);
	struct policy_dplb_rank *out = ends(cluster, cluster->exchanges);

	out[0] = out[1] = all[0];
	for (uint32_t r = 1; r < cluster->params.ranks; r++) {
		out[0] = policy_dplb_least(out[0], all[r]);
		out[1] = policy_dplb_most(out[1], all[r]);
	}
}

/* How many gets a rank does in a look. */
static uint32_t gets_of(const struct cluster *cluster, uint32_t rank)
{
	uint32_t list[POLICY_DPLB_NEIGHBOURS_MAX], ranks = cluster->params.ranks, gets = rank > 0;

	if (cluster->params.dplb == DPLB_NEIGHBOURS)
		return (uint32_t)policy_dplb_neighbours(rank, ranks, cluster->params.reach, list);
	for (uint64_t i = 1; i <= TREE_CHILDREN; i++)
		gets += (uint64_t)rank * TREE_CHILDREN + i < ranks;
	return gets;
}

static void count_messages(struct cluster *cluster)
{
	if (cluster->params.dplb == DPLB_GLOBAL || cluster->params.dplb == DPLB_NEIGHBOURS)
		for (uint32_t r = 0; r < cluster->params.ranks; r++)
			cluster->ranks[r].messages += gets_of(cluster, r);
}

/* ---- Moves ---- */

/* The slot that has been empty for the longest, as jacobi's mover chooses. There always is one. */
static uint32_t free_slot(struct cluster *cluster, uint32_t rank)
{
	const struct slot *slots = &cluster->slots[(size_t)rank * cluster->room];
	uint32_t count = cluster->ranks[rank].slots, best = NOBODY;

	if (count < cluster->room)
		return cluster->ranks[rank].slots++;
	for (uint32_t s = 0; s < count; s++)
		if (slots[s].id == NOBODY &&
			(best == NOBODY || slots[s].moment_ns < slots[best].moment_ns))
			best = s;
	return best;
}

static void transfer(
	struct cluster *cluster, uint32_t from, uint32_t slot, uint32_t to, uint64_t now_ns)
{
	size_t source = (size_t)from * cluster->room + slot;
	uint32_t id = cluster->slots[source].id;
	uint64_t updates = cluster->progress[source].updates;
	uint64_t free_ns = now_ns;
	bool busy = ownership_remove(cluster, from, slot, now_ns, &free_ns);
	uint32_t place = free_slot(cluster, to);
	size_t target = (size_t)to * cluster->room + place;
	struct shard *shard = &cluster->shards[cluster->together ? 0 : to];
	uint64_t ready_ns = free_ns + cluster->params.send_ns;

	/* The update that is under way ends before the subdomain arrives. */
	cluster->progress[target] = (struct policy_subdomain){
		.updates = updates + busy, .worker = POLICY_PLB_NOBODY, .home = POLICY_PLB_NOBODY};
	cluster->slots[target] = (struct slot){.id = id,
		.next = NOBODY,
		.holder = NOBODY,
		.home = NOBODY,
		.warm = NOBODY,
		.moment_ns = ready_ns};
	cluster->where[id] = (uint32_t)target;
	cluster->rank[id] = to;
	if (ready_ns < shard->arrival_ns)
		shard->arrival_ns = ready_ns;
	cluster->ranks[from].gone_ns = ready_ns + cluster->params.latency_ns;
	cluster->ranks[from].residents--;
	cluster->ranks[to].residents++;
	cluster->dplb_moved++;
	halo_moved(cluster, id, now_ns);
}

struct offer {
	const struct cluster *cluster;
	uint32_t from, to; /* ranks */
};

static bool is_empty(const struct offer *offer, uint32_t slot)
{
	const struct cluster *cluster = offer->cluster;

	return cluster->progress[(size_t)offer->from * cluster->room + slot].worker ==
	       POLICY_PLB_NOBODY;
}

/* Neighbours of the subdomain in that slot on the other rank, less those on its own; and how far it is. */
static struct policy_dplb_place look(const void *arg, uint32_t slot)
{
	const struct offer *offer = arg;
	const struct cluster *cluster = offer->cluster;
	size_t place = (size_t)offer->from * cluster->room + slot;
	uint32_t id = cluster->slots[place].id;
	int32_t saved = 0;

	if (is_empty(offer, slot))
		return (struct policy_dplb_place){.halos_saved = POLICY_DPLB_EMPTY};
	for (unsigned side = 0; side < SIDES; side++) {
		uint32_t neighbour = cluster->neighbours[(size_t)id * SIDES + side];
		if (neighbour == NOBODY)
			continue;
		uint32_t rank = rank_of(cluster, neighbour);
		saved += rank == offer->to ? 1 : rank == offer->from ? -1 : 0;
	}
	return (struct policy_dplb_place){
		.halos_saved = saved, .updates = cluster->progress[place].updates};
}

/* The slot of the subdomain to send, which jacobi chooses likewise. */
static uint32_t slot_to_send(
	const struct cluster *cluster, uint32_t from, const struct policy_dplb_move *move)
{
	const struct offer offer = {.cluster = cluster, .from = from, .to = move->to};
	uint32_t slot = 0, left = move->pick;

	while (is_empty(&offer, slot) || left-- > 0)
		slot++;
	return cluster->params.dplb == DPLB_RANDOM
		       ? slot
		       : policy_dplb_pick(slot, cluster->ranks[from].slots, look, &offer);
}

/* An offer, an answer and the subdomain, as in jacobi's mover; only one is on its way at a time. */
static void make_offer(struct cluster *cluster, uint32_t from, const struct policy_dplb_move *move,
	uint64_t now_ns)
{
	if (now_ns < cluster->ranks[from].gone_ns)
		return;
	cluster->ranks[from].messages++;
	cluster->ranks[move->to].messages++;
	if (cluster->ranks[move->to].residents >= cluster->room) {
		cluster->dplb_refused++;
		return;
	}
	cluster->ranks[from].messages++;
	transfer(cluster, from, slot_to_send(cluster, from, move), move->to, now_ns);
}

/* ---- Points ---- */

/* How fast the rank is, from what its workers did since the last point. */
static void learn(struct cluster *cluster, uint32_t rank)
{
	uint32_t workers = cluster->params.workers;
	uint64_t updates = 0, busy_ns = 0;

	for (size_t w = (size_t)rank * workers; w < ((size_t)rank + 1) * workers; w++) {
		updates += cluster->plb_workers[w].updates;
		busy_ns += cluster->workers[w].busy_ns;
	}
	policy_dplb_learn(&cluster->ranks[rank].dplb, updates, busy_ns / workers,
		cluster->params.dplb_period_ns);
}

/* Does the rank move something? What it knows of others is from the exchange before, so it compares
 * that with its own published values of the same exchange. */
static bool decide(struct cluster *cluster, uint32_t r, struct policy_dplb_move *move)
{
	const struct cluster_params *params = &cluster->params;
	const struct policy_dplb_rank *before = reports_of(cluster, cluster->exchanges + 1);
	struct policy_dplb_rank self = reports_of(cluster, cluster->exchanges)[r];
	struct policy_dplb_rank known[POLICY_DPLB_NEIGHBOURS_MAX];
	const struct policy_dplb_params policy = policy_of(cluster);
	struct cluster_rank *rank = &cluster->ranks[r];
	size_t n = 2;

	learn(cluster, r);
	policy_dplb_rate(&policy, &rank->dplb, &self);
	if (params->dplb == DPLB_RANDOM)
		return policy_dplb_random(&policy, &rank->dplb, &self, params->ranks, move);
	self.average = before[r].average;
	if (params->dplb == DPLB_GLOBAL) {
		const struct policy_dplb_rank *all = ends(cluster, cluster->exchanges + 1);

		known[0] = all[0];
		known[1] = all[1];
		if (all[0].rank == r)
			self.average = all[0].average;
	} else {
		uint32_t list[POLICY_DPLB_NEIGHBOURS_MAX];

		n = policy_dplb_neighbours(r, params->ranks, params->reach, list);
		for (size_t i = 0; i < n; i++)
			known[i] = before[list[i]];
	}
	return policy_dplb(&policy, &rank->dplb, &self, known, n, move);
}

void exchange_balance(struct cluster *cluster, uint64_t now_ns)
{
	bool known = cluster->exchanges + 1 >= cluster->ages;
	struct policy_dplb_move move;

	if (cluster->params.dplb == DPLB_GLOBAL)
		reduce(cluster);
	count_messages(cluster);
	for (uint32_t r = 0; r < cluster->params.ranks; r++) {
		struct cluster_rank *rank = &cluster->ranks[r];

		if (!has_dplb(&cluster->params) || now_ns < rank->dplb_due_ns)
			continue;
		rank->dplb_due_ns += cluster->params.dplb_period_ns;
		cluster->dplb_points++;
		if (known && decide(cluster, r, &move))
			make_offer(cluster, r, &move, now_ns);
	}
	cluster->exchanges++;
}

/* ---- Arrivals ---- */

void exchange_arrive(struct cluster *cluster, struct shard *shard, uint64_t now_ns)
{
	uint64_t next_ns = NEVER;

	for (uint32_t r = shard->first_rank; r < shard->first_rank + shard->ranks; r++) {
		const struct slot *slots = &cluster->slots[(size_t)r * cluster->room];

		for (uint32_t s = 0; s < cluster->ranks[r].slots; s++) {
			if (slots[s].id == NOBODY || slots[s].holder != NOBODY)
				continue;
			if (slots[s].moment_ns <= now_ns)
				ownership_add(cluster, r, s, now_ns);
			else if (slots[s].moment_ns < next_ns)
				next_ns = slots[s].moment_ns;
		}
	}
	shard->arrival_ns = next_ns;
}
