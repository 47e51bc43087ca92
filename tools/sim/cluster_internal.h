/* SPDX-License-Identifier: MIT */
/*
 * What the files of the simulated cluster share.
 *
 * Workers that can see each other's progress at any moment belong to one shard, which has its
 * events in one order of time. Where nobody looks across ranks between two exchanges (asynchronous,
 * without cells), each rank is a shard of its own. It runs from exchange to exchange while its data
 * is in the cache, with the same result.
 */
#ifndef SIM_CLUSTER_INTERNAL_H
#define SIM_CLUSTER_INTERNAL_H

#include "tools/sim/cluster.h"

#define NOBODY UINT32_MAX
#define NEVER UINT64_MAX
#define TIME_MAX_NS (UINT64_C(1) << 62) /* of a run, and of anything in it */

enum { SIDES = 4, TREE_CHILDREN = 4 /* of a rank, jacobi's */ };

/* A place for a subdomain on a rank. What PLB knows of it is in a separate array. */
struct slot {
	uint32_t id; /* NOBODY: empty */
	uint32_t next; /* in the list of its holder */
	uint32_t holder; /* worker of the rank that updates it; NOBODY: it is on its way here */
	uint32_t home; /* socket that its memory is on */
	uint32_t warm; /* worker in whose cache it is: the last that updated it; NOBODY: none */
	uint64_t moment_ns; /* when it arrives; empty: when it was left */
};

/* Lists of slots by the numbers that they have on the rank. */
struct cluster_worker {
	double cost_ns; /* of an update, without its noise */
	uint64_t busy_ns; /* with updates */
	double fraction_ns; /* rounding: the clock has whole ns */
	uint32_t first, incoming; /* its working set; subdomains that others left to it */
	uint32_t current, next; /* the subdomain being updated; the one after it */
	uint32_t socket;
	uint64_t rounds; /* passes over its working set */
	uint64_t least; /* updates, when this one began, of the least advanced in the set */
	uint32_t flying; /* a subdomain that moves to another rank when this update of it ends */
	bool parked; /* it has nothing to do until it is woken */
	bool dirty; /* it must look at `incoming`, and for subdomains that it no longer owns */
	bool idle; /* it has updated nothing in this pass */
};

/* A tree of matches between workers: node 1 is the earliest of all. */
struct match {
	uint64_t time_ns;
	uint32_t worker; /* of all */
};

struct shard {
	struct match *tree; /* of 2 * leaves; owned by the cluster */
	uint32_t leaves, first_rank, ranks;
	uint64_t arrival_ns; /* of the next subdomain that comes from another rank */
};

struct cluster_rank {
	uint32_t slots; /* in use, or empty again; slots above were never used, and are not set */
	uint32_t residents; /* including those on their way here */
	unsigned short random[3];
	struct policy_plb_state plb;
	uint64_t plb_due_ns;
	struct policy_dplb_state dplb;
	uint64_t dplb_due_ns;
	uint64_t gone_ns; /* when it learns that the subdomain it sent has arrived; one at a time */
	uint64_t messages;
};

/* A halo that comes from another rank. */
struct delivery {
	uint64_t at_ns;
	uint32_t subdomain;
	unsigned side;
};

struct cluster {
	struct cluster_params params;
	struct field *field; /* not owned; may be NULL */
	double *speed; /* of each worker; owned, as all that follows */
	uint32_t n; /* subdomains */
	uint32_t room;
	bool watches; /* each update sees how old its halos are */
	bool together; /* one shard of all ranks */
	bool shows; /* updates must be shown to others */

	struct cluster_rank *ranks;
	struct cluster_worker *workers; /* those of rank r from r * params.workers */
	struct slot *slots; /* those of rank r from r * room, here and below */
	struct policy_subdomain *progress;
	struct shard *shards;
	uint32_t shard_count;
	struct match *trees;
	uint32_t *where; /* slot of each subdomain, of all */
	uint32_t *rank; /* of each subdomain: that of its slot */
	uint32_t *neighbours; /* SIDES for each subdomain */

	struct delivery *deliveries; /* a ring of SIDES * n; NULL with one rank or shards */
	size_t delivery_first, delivery_count;
	bool *under_way; /* SIDES for each subdomain */
	uint64_t *seen; /* updates of the neighbour that were delivered, likewise */

	struct policy_plb_move *plb_moves;
	struct policy_worker *plb_workers; /* as workers */
	uint32_t *plb_scratch;

	/* The reports of ranks at the last exchanges, in turn. */
	struct policy_dplb_rank *reports; /* at this one and the one before: [2][ranks] */
	struct policy_dplb_rank *ends; /* the least and the most advanced of all: [ages][2] */
	uint32_t ages; /* exchanges that a report takes up and down the tree of ranks, plus one */
	uint64_t exchanges;
	uint64_t look_ns, exchange_ns; /* between exchanges; the next one */

	uint64_t now_ns;
	uint64_t sync_iterations, sync_ns; /* MODE_SYNC: completed; when the next one will be */
	double sync_fraction_ns; /* as that of a worker */
	uint64_t staleness, fetches;
	double staleness_sum;
	uint64_t plb_points, plb_moved, dplb_points, dplb_moved, dplb_refused;
};

static inline bool has_dplb(const struct cluster_params *params)
{
	return params->dplb > DPLB_NONE;
}

static inline uint32_t socket_of(const struct cluster *cluster, uint32_t worker)
{
	return (uint32_t)((uint64_t)worker * cluster->params.sockets / cluster->params.workers);
}

static inline uint32_t rank_of(const struct cluster *cluster, uint32_t subdomain)
{
	return cluster->rank[subdomain];
}

static inline uint64_t updates_of(const struct cluster *cluster, uint32_t subdomain)
{
	return cluster->progress[cluster->where[subdomain]].updates;
}

/* A cost in whole ns. The remainder goes to *fraction_ns for the next cost, so that the sum is
 * right. */
static inline uint64_t whole_ns(double cost_ns, double *fraction_ns)
{
	double sum_ns = cost_ns + *fraction_ns;

	if (!(sum_ns < (double)TIME_MAX_NS))
		return TIME_MAX_NS;
	uint64_t ns = (uint64_t)sum_ns;
	*fraction_ns = sum_ns - (double)ns;
	return ns;
}

/* Each of these files calls only those before it; cluster.c calls all. */

/* ---- cluster_order.c: the next event of each worker ---- */

static inline struct shard *order_shard(const struct cluster *cluster, uint32_t rank)
{
	return &cluster->shards[cluster->together ? 0 : rank];
}

/* The leaf of a worker in the tree of its shard. */
static inline uint32_t order_leaf(
	const struct cluster *cluster, const struct shard *shard, uint32_t worker)
{
	return shard->leaves + worker - shard->first_rank * cluster->params.workers;
}

/* Set the next moment of a worker of the shard, whose number is among all. Of equal moments the
 * lower number comes first, so that a run can be repeated. Inline, because each update calls it. */
static inline void order_set(
	const struct cluster *cluster, struct shard *shard, uint32_t worker, uint64_t time_ns)
{
	struct match *tree = shard->tree;
	uint32_t node = order_leaf(cluster, shard, worker);

	tree[node].time_ns = time_ns;
	for (; node > 1; node /= 2) {
		/* Nobody can foretell who wins, so no branch depends on it. */
		const struct match *other = &tree[node ^ 1];
		bool first = other->time_ns < time_ns || (other->time_ns == time_ns && (node & 1));

		time_ns = first ? other->time_ns : time_ns;
		worker = first ? other->worker : worker;
		tree[node / 2] = (struct match){.time_ns = time_ns, .worker = worker};
	}
}

/* Every worker begins, at time 0. */
void order_begin(struct cluster *cluster);
/* A parked worker has something to look at. */
void order_wake(struct cluster *cluster, uint32_t rank, uint32_t worker, uint64_t now_ns);
/* When the current update of a worker ends. */
uint64_t order_ends(const struct cluster *cluster, uint32_t rank, uint32_t worker);

/* ---- cluster_halos.c: what subdomains see of their neighbours ---- */

/* The number of updates that the oldest halo of a subdomain is behind. */
uint64_t halo_lag(const struct cluster *cluster, uint32_t subdomain);
void halo_note_lag(struct cluster *cluster, uint64_t lag);
/* An update is complete: its neighbours can see it, those of other ranks later. */
void halo_show(struct cluster *cluster, uint32_t subdomain, uint64_t now_ns);
/* The first halo that is under way between ranks arrives. */
void halo_deliver(struct cluster *cluster);
/* A subdomain moves to another rank: update what it and its neighbours see of each other. */
void halo_moved(struct cluster *cluster, uint32_t subdomain, uint64_t now_ns);

/* ---- cluster_plb.c: which worker of a rank updates what ---- */

/* A balancing point. Returns its cost in ns. */
uint64_t ownership_balance(struct cluster *cluster, uint32_t rank, uint64_t now_ns);
/* At the start of a pass: leave subdomains that the worker no longer owns to their owners, and take
 * what others left to it. */
void ownership_take_over(struct cluster *cluster, uint32_t rank, uint32_t worker, uint64_t now_ns);
/* Give a slot without a holder to the worker with the fewest. */
void ownership_add(struct cluster *cluster, uint32_t rank, uint32_t slot, uint64_t now_ns);
/* Take a slot out of all lists. Returns whether an update of it is going on, which ends at
 * *free_ns; otherwise *free_ns is now. */
bool ownership_remove(
	struct cluster *cluster, uint32_t rank, uint32_t slot, uint64_t now_ns, uint64_t *free_ns);

/* ---- cluster_dplb.c: what ranks know, and what they move ---- */

/* Report the rank's progress to the others. At any time before the exchange. */
void exchange_look(struct cluster *cluster, uint32_t rank);
/* All ranks have reported: run the balancing points that are due. */
void exchange_balance(struct cluster *cluster, uint64_t now_ns);
/* Take in the subdomains that have arrived, and set when the next one does. */
void exchange_arrive(struct cluster *cluster, struct shard *shard, uint64_t now_ns);

/* ---- cluster_events.c: what workers do ---- */

/* Run the shard until that moment. */
void events_run(struct cluster *cluster, struct shard *shard, uint64_t until_ns);
/* Run the iterations in lockstep that end until that moment. */
void events_run_lockstep(struct cluster *cluster, uint64_t until_ns);

#endif
