/* SPDX-License-Identifier: MIT */
/* What subdomains of a simulated cluster see of their neighbours. */
#include "tools/sim/cluster_internal.h"

#include "tools/sim/field.h"

void halo_note_lag(struct cluster *cluster, uint64_t lag)
{
	if (lag > cluster->staleness)
		cluster->staleness = lag;
	cluster->staleness_sum += (double)lag;
	cluster->fetches++;
}

uint64_t halo_lag(const struct cluster *cluster, uint32_t subdomain)
{
	if (cluster->field)
		return field_lag(cluster->field, subdomain);
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

static void wake_holder(struct cluster *cluster, uint32_t subdomain, uint64_t now_ns)
{
	uint32_t holder = cluster->slots[cluster->where[subdomain]].holder;

	if (holder != NOBODY)
		order_wake(cluster, rank_of(cluster, subdomain), holder, now_ns);
}

/* A halo that is already under way will bring the newest values when it arrives. */
static void send_halo(struct cluster *cluster, uint32_t to, unsigned side, uint64_t at_ns)
{
	size_t i = (size_t)to * SIDES + side, size = (size_t)cluster->n * SIDES;

	if (cluster->under_way[i])
		return;
	cluster->under_way[i] = true;
	cluster->deliveries[(cluster->delivery_first + cluster->delivery_count++) % size] =
		(struct delivery){.at_ns = at_ns, .subdomain = to, .side = side};
}

void halo_deliver(struct cluster *cluster)
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

/* Show an update to the neighbours; those on other ranks see it later. */
void halo_show(struct cluster *cluster, uint32_t subdomain, uint64_t now_ns)
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
		else if (cluster->params.mode == MODE_SSYNC)
			wake_holder(cluster, to, now_ns);
	}
}

void halo_moved(struct cluster *cluster, uint32_t subdomain, uint64_t now_ns)
{
	uint32_t rank = rank_of(cluster, subdomain);

	for (unsigned side = 0; cluster->seen && side < SIDES; side++) {
		size_t i = (size_t)subdomain * SIDES + side;
		uint32_t to = cluster->neighbours[i];

		if (to == NOBODY)
			continue;
		size_t back = (size_t)to * SIDES + (side ^ 1);
		bool within = rank_of(cluster, to) == rank;
		/* The subdomain brings its halos; the neighbour keeps those it had. */
		cluster->seen[i] = updates_of(cluster, to);
		cluster->seen[back] = updates_of(cluster, subdomain);
		if (cluster->field) {
			field_place(cluster->field, subdomain, side, within);
			field_place(cluster->field, to, side ^ 1, within);
		}
		wake_holder(cluster, to, now_ns);
	}
}
