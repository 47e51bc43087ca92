/* SPDX-License-Identifier: MIT */
/* Simulated clusters: set-up, the loop over exchanges, and results; see cluster.h. */
#include "tools/sim/cluster_internal.h"

#include "apps/jacobi/grid.h"
#include "tools/sim/field.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS UINT64_C(2000000) /* jacobi's */
#define SUBDOMAINS_MAX (UINT32_MAX / 4)
#define PAIRS_MAX 65536
#define COST_MAX_NS 1e15
#define SAMPLED 16 /* one in this many ranks is sampled in each exchange */

/* ---- Set up ---- */

static bool is_share(double value)
{
	return value >= 0 && value <= 1;
}

static bool are_costs(const struct cluster_params *params)
{
	return params->update_ns >= 1 && params->update_ns <= COST_MAX_NS &&
	       is_share(params->jitter) && params->foreign >= 0 && params->foreign <= 1000 &&
	       params->move_ns >= 0 && params->move_ns <= COST_MAX_NS &&
	       params->edge_ns >= 0 && params->edge_ns <= COST_MAX_NS &&
	       params->latency_ns < TIME_MAX_NS && params->send_ns < TIME_MAX_NS &&
	       params->look_ns < TIME_MAX_NS && params->plb_point_ns >= 0 &&
	       params->plb_point_ns <= COST_MAX_NS;
}

static bool are_valid(const struct cluster_params *params)
{
	uint64_t workers = (uint64_t)params->ranks * params->workers;
	uint64_t subdomains = params->each > 0 && workers <= SUBDOMAINS_MAX / params->each
				      ? workers * params->each
				      : 0;
	const struct policy_plb_params *plb = &params->plb_params;

	if (subdomains == 0 || params->sockets == 0 || params->sockets > params->workers ||
		!are_costs(params))
		return false;
	for (size_t i = 0; params->speed && i < workers; i++)
		if (!(params->speed[i] > 0 && params->update_ns / params->speed[i] <= COST_MAX_NS))
			return false;
	if (params->plb && (params->plb_period_ns == 0 || params->plb_period_ns > TIME_MAX_NS ||
				   plb->pairs > PAIRS_MAX ||
				   (plb->mode == POLICY_PLB_HYBRID && plb->hybrid_every == 0)))
		return false;
	if (has_dplb(params) &&
		(params->dplb_period_ns == 0 || params->dplb_period_ns > TIME_MAX_NS))
		return false;
	/* In lockstep there is no moment within an iteration when a subdomain could move. */
	return params->mode != MODE_SYNC || (!params->plb && !has_dplb(params));
}

/* There are enough cells for any division, since only adjacency matters. Ranks are square, as in
 * the DPLB paper. */
static int cut(struct cluster *cluster)
{
	const struct cluster_params *params = &cluster->params;
	uint32_t side = GRID_SIDE_MAX / params->ranks;
	struct grid grid;

	if (side == 0)
		return -EINVAL;
	int rc = grid_init(&grid, side, side * params->ranks,
		params->strips ? GRID_CUT_1D : GRID_CUT_2D, params->ranks, params->workers,
		params->each);
	for (uint32_t s = 0; rc == 0 && s < cluster->n; s++)
		for (unsigned i = 0; i < SIDES; i++)
			cluster->neighbours[(size_t)s * SIDES + i] =
				grid_neighbour(&grid, s, (enum grid_side)i);
	return rc < 0 ? -EINVAL : 0;
}

static int connect(struct cluster *cluster)
{
	const struct cluster_params *params = &cluster->params;
	uint32_t each = params->workers * params->each;

	if (!cluster->field)
		return cut(cluster);
	if (field_subdomains(cluster->field) != cluster->n)
		return -EINVAL;
	for (uint32_t s = 0; s < cluster->n; s++) {
		uint32_t *neighbours = &cluster->neighbours[(size_t)s * SIDES];

		field_neighbours(cluster->field, s, neighbours);
		for (unsigned side = 0; side < SIDES; side++)
			if (neighbours[side] != NOBODY)
				field_place(cluster->field, s, side,
					params->mode == MODE_SYNC ||
						neighbours[side] / each == s / each);
	}
	return 0;
}

static uint32_t ages_of(uint32_t ranks)
{
	uint32_t depth = 0;

	for (uint64_t reached = 1, level = 1; reached < ranks; reached += level) {
		level *= TREE_CHILDREN;
		depth++;
	}
	return 2 * depth + 1;
}

static bool allocate_exchange(struct cluster *cluster)
{
	const struct cluster_params *params = &cluster->params;
	size_t halos = (size_t)cluster->n * SIDES;

	cluster->ages = params->dplb == DPLB_GLOBAL ? ages_of(params->ranks) : 2;
	cluster->reports = calloc((size_t)params->ranks * 2, sizeof(*cluster->reports));
	cluster->ends = calloc((size_t)cluster->ages * 2, sizeof(*cluster->ends));
	if (!cluster->reports || !cluster->ends)
		return false;
	if (!cluster->together || params->ranks == 1)
		return true;
	cluster->deliveries = calloc(halos, sizeof(*cluster->deliveries));
	cluster->under_way = calloc(halos, sizeof(*cluster->under_way));
	cluster->seen = calloc(halos, sizeof(*cluster->seen));
	return cluster->deliveries && cluster->under_way && cluster->seen;
}

static bool allocate(struct cluster *cluster)
{
	const struct cluster_params *params = &cluster->params;
	size_t workers = (size_t)params->ranks * params->workers;
	size_t slots = (size_t)params->ranks * cluster->room;
	size_t per_shard = workers / cluster->shard_count;
	uint32_t leaves = 1;

	while (leaves < per_shard)
		leaves *= 2;
	cluster->ranks = calloc(params->ranks, sizeof(*cluster->ranks));
	cluster->workers = calloc(workers, sizeof(*cluster->workers));
	cluster->slots = calloc(slots, sizeof(*cluster->slots));
	cluster->progress = calloc(slots, sizeof(*cluster->progress));
	cluster->shards = calloc(cluster->shard_count, sizeof(*cluster->shards));
	cluster->trees = calloc((size_t)cluster->shard_count * 2 * leaves, sizeof(*cluster->trees));
	cluster->where = calloc(cluster->n, sizeof(*cluster->where));
	cluster->rank = calloc(cluster->n, sizeof(*cluster->rank));
	cluster->neighbours = calloc((size_t)cluster->n * SIDES, sizeof(*cluster->neighbours));
	cluster->plb_moves = calloc(policy_plb_moves_max(&params->plb_params, params->sockets),
		sizeof(*cluster->plb_moves));
	cluster->plb_workers = calloc(workers, sizeof(*cluster->plb_workers));
	cluster->plb_scratch =
		calloc((size_t)params->plb_params.pairs * 2 + 1, sizeof(*cluster->plb_scratch));
	if (!cluster->ranks || !cluster->workers || !cluster->slots || !cluster->progress ||
		!cluster->shards || !cluster->trees || !cluster->where || !cluster->rank ||
		!cluster->neighbours || !cluster->plb_moves || !cluster->plb_workers ||
		!cluster->plb_scratch)
		return false;
	for (uint32_t i = 0; i < cluster->shard_count; i++)
		cluster->shards[i] = (struct shard){
			.tree = &cluster->trees[(size_t)i * 2 * leaves],
			.leaves = leaves,
			.first_rank = i,
			.ranks = params->ranks / cluster->shard_count,
			.arrival_ns = NEVER,
		};
	return allocate_exchange(cluster);
}

static uint64_t word(unsigned short seed[3])
{
	uint64_t high = (uint64_t)nrand48(seed);

	return high << 31 | (uint64_t)nrand48(seed);
}

/* Each rank has its own random numbers, so that the order in which ranks run does not matter. */
static void begin_rank(struct cluster *cluster, uint32_t r, unsigned short seed[3])
{
	struct cluster_rank *rank = &cluster->ranks[r];

	rank->plb.random = word(seed);
	rank->dplb.random = word(seed);
	for (size_t i = 0; i < 3; i++)
		rank->random[i] = (unsigned short)word(seed);
	rank->plb_due_ns = cluster->params.plb_period_ns;
	rank->dplb_due_ns =
		(uint64_t)(erand48(rank->random) * (double)cluster->params.dplb_period_ns);
	rank->slots = rank->residents = cluster->params.workers * cluster->params.each;
	/* The rest is spare room, possibly large: its memory is not touched before it is used. */
	for (uint32_t s = 0; s < rank->slots; s++) {
		size_t at = (size_t)r * cluster->room + s;
		uint32_t w = s / cluster->params.each;
		bool last = s % cluster->params.each + 1 == cluster->params.each;

		cluster->slots[at] = (struct slot){
			.id = r * rank->slots + s,
			.next = last ? NOBODY : s + 1,
			.holder = w,
			.home = socket_of(cluster, w),
			.warm = w,
		};
		cluster->progress[at].worker = w;
		cluster->where[r * rank->slots + s] = (uint32_t)at;
		cluster->rank[r * rank->slots + s] = r;
	}
}

static void begin(struct cluster *cluster)
{
	const struct cluster_params *params = &cluster->params;
	uint64_t mixed = (params->seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	unsigned short seed[3] = {(unsigned short)(mixed >> 48), (unsigned short)(mixed >> 32),
		(unsigned short)(mixed >> 16)};

	for (uint32_t r = 0; r < params->ranks; r++) {
		begin_rank(cluster, r, seed);
		for (uint32_t w = 0; w < params->workers; w++) {
			size_t i = (size_t)r * params->workers + w;

			cluster->workers[i] = (struct cluster_worker){
				.cost_ns =
					params->update_ns / (params->speed ? params->speed[i] : 1),
				.first = w * params->each,
				.socket = socket_of(cluster, w),
				.incoming = NOBODY,
				.current = NOBODY,
				.next = NOBODY,
				.flying = NOBODY,
			};
		}
	}
	order_begin(cluster);
}

int cluster_new(struct cluster **out, const struct cluster_params *params, struct field *field)
{
	if (!are_valid(params))
		return -EINVAL;
	uint32_t each = params->workers * params->each, n = params->ranks * each;
	uint64_t room = !has_dplb(params)  ? each
			: params->room > 0 ? params->room
					   : 2 * (uint64_t)each;
	bool together = params->ranks == 1 || field || params->mode != MODE_ASYNC;

	if (room < each)
		return -EINVAL;
	if (room > n)
		room = n;
	if (room * params->ranks >= NOBODY)
		return -EINVAL;
	struct cluster *cluster = calloc(1, sizeof(*cluster));
	if (!cluster)
		return -ENOMEM;
	*cluster = (struct cluster){
		.params = *params,
		.field = field,
		.n = n,
		.room = (uint32_t)room,
		.watches = together,
		.together = together,
		.shows = field || params->mode == MODE_SSYNC,
		.shard_count = together ? 1 : params->ranks,
		.look_ns = params->look_ns > 0 ? params->look_ns : LOOK_NS,
	};
	cluster->params.speed = NULL;
	/* A rank makes one look at a time. */
	if (cluster->look_ns < params->latency_ns)
		cluster->look_ns = params->latency_ns;
	cluster->exchange_ns = params->ranks > 1 ? cluster->look_ns : NEVER;
	int rc = allocate(cluster) ? connect(cluster) : -ENOMEM;
	if (rc < 0) {
		cluster_free(cluster);
		return rc;
	}
	cluster->params.speed = params->speed;
	begin(cluster);
	cluster->params.speed = NULL;
	*out = cluster;
	return 0;
}

void cluster_free(struct cluster *cluster)
{
	if (!cluster)
		return;
	free(cluster->ranks);
	free(cluster->workers);
	free(cluster->slots);
	free(cluster->progress);
	free(cluster->shards);
	free(cluster->trees);
	free(cluster->where);
	free(cluster->rank);
	free(cluster->neighbours);
	free(cluster->deliveries);
	free(cluster->under_way);
	free(cluster->seen);
	free(cluster->plb_moves);
	free(cluster->plb_workers);
	free(cluster->plb_scratch);
	free(cluster->reports);
	free(cluster->ends);
	free(cluster);
}

/* ---- Run ---- */

/* How old halos are, when updates are not watched: a sample of some ranks, at this moment. */
static void sample(struct cluster *cluster)
{
	for (uint32_t r = (uint32_t)(cluster->exchanges % SAMPLED); r < cluster->params.ranks;
		r += SAMPLED)
		for (uint32_t s = 0; s < cluster->ranks[r].slots; s++) {
			uint32_t id = cluster->slots[(size_t)r * cluster->room + s].id;

			if (id != NOBODY)
				halo_note_lag(cluster, halo_lag(cluster, id));
		}
}

/* Run rank after rank, each while it is in the cache. */
static void run_until(struct cluster *cluster, uint64_t until_ns, bool look)
{
	for (uint32_t i = 0; i < cluster->shard_count; i++) {
		struct shard *shard = &cluster->shards[i];

		events_run(cluster, shard, until_ns);
		for (uint32_t r = 0; look && r < shard->ranks; r++)
			exchange_look(cluster, shard->first_rank + r);
	}
}

void cluster_run(struct cluster *cluster, uint64_t until_ns)
{
	if (until_ns > TIME_MAX_NS)
		until_ns = TIME_MAX_NS;
	if (until_ns <= cluster->now_ns)
		return;
	cluster->now_ns = until_ns;
	if (cluster->params.mode == MODE_SYNC) {
		events_run_lockstep(cluster, until_ns);
		return;
	}
	while (cluster->exchange_ns <= until_ns) {
		uint64_t at_ns = cluster->exchange_ns;

		run_until(cluster, at_ns, true);
		if (!cluster->watches)
			sample(cluster);
		exchange_balance(cluster, at_ns);
		cluster->exchange_ns += cluster->look_ns;
	}
	/* Including what ends at that very moment. */
	run_until(cluster, until_ns + 1, false);
}

/* ---- Results ---- */

uint64_t cluster_subdomains(const struct cluster *cluster)
{
	return cluster->n;
}

static uint64_t done(const struct cluster *cluster, uint32_t subdomain)
{
	return cluster->params.mode == MODE_SYNC ? cluster->sync_iterations
						 : updates_of(cluster, subdomain);
}

void cluster_updates(const struct cluster *cluster, uint64_t *updates)
{
	for (uint32_t s = 0; s < cluster->n; s++)
		updates[s] = done(cluster, s);
}

void cluster_get(const struct cluster *cluster, struct cluster_result *result)
{
	uint64_t workers = (uint64_t)cluster->params.ranks * cluster->params.workers;
	uint64_t least = UINT64_MAX, most = 0;

	*result = (struct cluster_result){
		.now_ns = cluster->now_ns,
		.staleness = cluster->staleness,
		.staleness_mean = cluster->fetches > 0
					  ? cluster->staleness_sum / (double)cluster->fetches
					  : 0,
		.plb_points = cluster->plb_points,
		.plb_moves = cluster->plb_moved,
		.dplb_points = cluster->dplb_points,
		.dplb_moves = cluster->dplb_moved,
		.dplb_refused = cluster->dplb_refused,
		.subdomains_rank_min = UINT32_MAX,
	};
	for (uint32_t s = 0; s < cluster->n; s++) {
		uint64_t updates = done(cluster, s);

		result->updates += updates;
		least = updates < least ? updates : least;
		most = updates > most ? updates : most;
	}
	result->spread = most - least;
	if (cluster->now_ns > 0)
		result->rate = (double)result->updates / (double)workers /
			       ((double)cluster->now_ns * 1e-9);
	for (uint32_t r = 0; r < cluster->params.ranks; r++) {
		const struct cluster_rank *rank = &cluster->ranks[r];

		result->messages += rank->messages;
		if (rank->messages > result->messages_rank_max)
			result->messages_rank_max = rank->messages;
		if (rank->residents < result->subdomains_rank_min)
			result->subdomains_rank_min = rank->residents;
		if (rank->residents > result->subdomains_rank_max)
			result->subdomains_rank_max = rank->residents;
	}
}
