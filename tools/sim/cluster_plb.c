/* SPDX-License-Identifier: MIT */
/*
 * Who updates what on a rank. The balancer's decisions take effect in two steps, like hand-overs in
 * libprogress: the holder leaves a subdomain to its owner at the start of its next pass, and the
 * owner takes it at the start of its own.
 */
#include "tools/sim/cluster_internal.h"

static struct cluster_worker *workers_of(struct cluster *cluster, uint32_t rank)
{
	return &cluster->workers[(size_t)rank * cluster->params.workers];
}

static struct policy_worker *plb_workers_of(struct cluster *cluster, uint32_t rank)
{
	return &cluster->plb_workers[(size_t)rank * cluster->params.workers];
}

static struct slot *slots_of(struct cluster *cluster, uint32_t rank)
{
	return &cluster->slots[(size_t)rank * cluster->room];
}

static struct policy_subdomain *progress_of(struct cluster *cluster, uint32_t rank)
{
	return &cluster->progress[(size_t)rank * cluster->room];
}

static void touch(struct cluster *cluster, uint32_t rank, uint32_t worker, uint64_t now_ns)
{
	workers_of(cluster, rank)[worker].dirty = true;
	order_wake(cluster, rank, worker, now_ns);
}

uint64_t ownership_balance(struct cluster *cluster, uint32_t rank, uint64_t now_ns)
{
	const struct cluster_params *params = &cluster->params;
	struct cluster_rank *state = &cluster->ranks[rank];
	struct policy_worker *workers = plb_workers_of(cluster, rank);
	double fraction_ns = 0;

	for (uint32_t w = 0; w < params->workers; w++)
		workers[w].domain = workers_of(cluster, rank)[w].socket;
	size_t moves = policy_plb(&params->plb_params, &state->plb, progress_of(cluster, rank),
		state->slots, workers, params->workers, params->sockets, cluster->plb_scratch,
		cluster->plb_moves);
	for (size_t i = 0; i < moves; i++)
		touch(cluster, rank, cluster->plb_moves[i].from, now_ns);
	cluster->plb_points++;
	cluster->plb_moved += moves;
	state->plb_due_ns = now_ns + params->plb_period_ns;
	return whole_ns(params->plb_point_ns * state->residents, &fraction_ns);
}

/* In the order of the slots, in which libprogress lists them: neighbours come one after the other. */
static void link_to(struct slot *slots, uint32_t *link, uint32_t slot)
{
	while (*link != NOBODY && *link < slot)
		link = &slots[*link].next;
	slots[slot].next = *link;
	*link = slot;
}

void ownership_take_over(struct cluster *cluster, uint32_t rank, uint32_t worker, uint64_t now_ns)
{
	const struct policy_subdomain *progress = progress_of(cluster, rank);
	struct cluster_worker *workers = workers_of(cluster, rank), *self = &workers[worker];
	struct slot *slots = slots_of(cluster, rank);
	uint32_t *link = &self->first;

	self->dirty = false;
	while (self->incoming != NOBODY) {
		uint32_t s = self->incoming;

		self->incoming = slots[s].next;
		link_to(slots, &self->first, s);
	}
	while (*link != NOBODY) {
		uint32_t s = *link, owner = progress[s].worker;

		if (owner == worker) {
			link = &slots[s].next;
			continue;
		}
		*link = slots[s].next;
		slots[s].next = workers[owner].incoming;
		slots[s].holder = owner;
		workers[owner].incoming = s;
		touch(cluster, rank, owner, now_ns);
	}
}

void ownership_add(struct cluster *cluster, uint32_t rank, uint32_t slot, uint64_t now_ns)
{
	struct slot *slots = slots_of(cluster, rank);
	struct policy_worker *holders = plb_workers_of(cluster, rank);
	uint32_t workers = cluster->params.workers, best = slot % workers;

	for (uint32_t w = 0; w < workers; w++)
		holders[w].subdomains = 0;
	for (uint32_t s = 0; s < cluster->ranks[rank].slots; s++)
		if (slots[s].holder < workers)
			holders[slots[s].holder].subdomains++;
	/* As libprogress chooses: the worker that holds the fewest, whatever it owns. Ties go by
	 * the number of the slot. */
	for (uint32_t i = 0; i < workers; i++) {
		uint32_t w = (slot + i) % workers;
		if (holders[w].subdomains < holders[best].subdomains)
			best = w;
	}
	struct cluster_worker *worker = &workers_of(cluster, rank)[best];
	progress_of(cluster, rank)[slot].worker = best;
	slots[slot].holder = best;
	slots[slot].home = socket_of(cluster, best);
	slots[slot].warm = NOBODY;
	slots[slot].next = worker->incoming;
	worker->incoming = slot;
	touch(cluster, rank, best, now_ns);
}

static bool unlink_from(struct slot *slots, uint32_t *link, uint32_t slot)
{
	while (*link != NOBODY && *link != slot)
		link = &slots[*link].next;
	if (*link == NOBODY)
		return false;
	*link = slots[slot].next;
	return true;
}

bool ownership_remove(
	struct cluster *cluster, uint32_t rank, uint32_t slot, uint64_t now_ns, uint64_t *free_ns)
{
	struct slot *slots = slots_of(cluster, rank);
	struct cluster_worker *holder = &workers_of(cluster, rank)[slots[slot].holder];
	bool busy = holder->current == slot;

	if (holder->next == slot)
		holder->next = slots[slot].next;
	if (!unlink_from(slots, &holder->first, slot))
		unlink_from(slots, &holder->incoming, slot);
	if (busy) {
		holder->current = NOBODY;
		holder->flying = slots[slot].id;
		*free_ns = order_ends(cluster, rank, slots[slot].holder);
	}
	slots[slot].id = slots[slot].next = slots[slot].holder = NOBODY;
	slots[slot].moment_ns = now_ns;
	progress_of(cluster, rank)[slot].worker = POLICY_PLB_NOBODY;
	return busy;
}
