/* SPDX-License-Identifier: MIT */
/* The order in which the workers of a simulated cluster act: a tournament tree for each shard. */
#include "tools/sim/cluster_internal.h"

uint64_t order_ends(const struct cluster *cluster, uint32_t rank, uint32_t worker)
{
	const struct shard *shard = order_shard(cluster, rank);

	return shard->tree[order_leaf(cluster, shard, rank * cluster->params.workers + worker)]
		.time_ns;
}

void order_wake(struct cluster *cluster, uint32_t rank, uint32_t worker, uint64_t now_ns)
{
	uint32_t w = rank * cluster->params.workers + worker;

	if (!cluster->workers[w].parked)
		return;
	cluster->workers[w].parked = false;
	order_set(cluster, order_shard(cluster, rank), w, now_ns);
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

void order_begin(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->shard_count; i++)
		plant(cluster, &cluster->shards[i]);
}
