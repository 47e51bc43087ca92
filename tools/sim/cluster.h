/* SPDX-License-Identifier: MIT */
/*
 * A simulated cluster: subdomains on workers on ranks, in virtual time, with PLB within ranks and
 * DPLB between them (plb.h, dplb.h: the code that juggle, libprogress and jacobi run). Discrete
 * events; the same seed gives the same run. A rank is a node; with one rank this is PLB alone.
 *
 * A worker updates the subdomains that it holds in turn. An update takes its cost, by the speed of
 * the worker and its noise. With a field (field.h) each update is a real one, in the order of
 * virtual time, so that the time to solution is exact. Without a field only counts are kept.
 */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/jacobi/method.h"
#include "libprogress/policy/dplb.h"
#include "libprogress/policy/plb.h"

struct field;

struct cluster_params {
	uint32_t ranks, workers,
		sockets; /* workers per rank, and sockets (domains) that they are on */
	uint32_t each; /* per worker at first */
	/* Which subdomains are neighbours: cut as by jacobi --cut=1d, else as by --cut=2d. A field
	 * has a cut of its own. */
	bool strips;
	enum mode mode;
	uint32_t bound; /* MODE_SSYNC */
	/* Costs. An update of one subdomain takes update_ns on a worker of speed 1. */
	double update_ns;
	double jitter; /* random variation of each update's cost, a share */
	double foreign; /* relative extra cost of updates away from the subdomain's first socket */
	double move_ns; /* extra cost of a worker's first update of a subdomain, from another's cache */
	double edge_ns; /* for each neighbour that another worker of the rank updated last */
	/* speed[rank * workers + worker]; NULL: all 1. Not owned, copied. */
	const double *speed;
	uint64_t latency_ns; /* of a halo, a message or a view between ranks */
	uint64_t send_ns; /* time for which a moving subdomain is not updated */
	/* PLB on each rank. */
	bool plb;
	struct policy_plb_params plb_params;
	uint64_t plb_period_ns;
	double plb_point_ns; /* cost of a point for the worker whose turn it is, per subdomain */
	/* DPLB. */
	enum dplb dplb; /* DPLB_DEFAULT: none */
	struct policy_dplb_params dplb_params; /* without period and bounded */
	uint64_t dplb_period_ns;
	uint32_t reach; /* DPLB_NEIGHBOURS */
	uint32_t room; /* the most subdomains of a rank; 0: twice those at first */
	uint64_t look_ns; /* time between looks of a rank at others; 0: 2 ms, as in jacobi */
	uint64_t seed;
};

struct cluster_result {
	uint64_t now_ns;
	uint64_t updates;
	double rate; /* updates of all workers / workers / seconds: PLB, Section 3.1 */
	uint64_t spread; /* of updates over all subdomains, now */
	/* The staleness of the oldest halo, in iterations, and the mean over updates of their
	 * oldest halo. In MODE_ASYNC with several ranks and without a field, where ranks are run
	 * one after the other, it is a sample: of a sixteenth of the ranks at each look, and
	 * without latency. */
	uint64_t staleness;
	double staleness_mean;
	uint64_t plb_points, plb_moves, dplb_points, dplb_moves, dplb_refused;
	uint64_t messages; /* between ranks, for knowledge and moves, not for halos */
	uint64_t messages_rank_max; /* of the rank with the most */
	uint32_t subdomains_rank_min, subdomains_rank_max;
};

struct cluster;

/* field: NULL, or the cells, not owned, with a subdomain for each of this cluster. Returns 0,
 * -ENOMEM, or -EINVAL: a number is 0, a cost, speed or time is out of range, PLB or DPLB is asked
 * for in MODE_SYNC, a rank has less room than subdomains at first, or there are more subdomains
 * than numbers. */
int cluster_new(struct cluster **out, const struct cluster_params *params, struct field *field);
/* Accepts NULL. */
void cluster_free(struct cluster *cluster);
/* Run until that moment of virtual time, at most 2^62 ns, including what ends right then. The
 * result does not depend on the number of calls. */
void cluster_run(struct cluster *cluster, uint64_t until_ns);
uint64_t cluster_subdomains(const struct cluster *cluster);
/* The updates of each subdomain so far: for pictures of the braid. */
void cluster_updates(const struct cluster *cluster, uint64_t *updates);
void cluster_get(const struct cluster *cluster, struct cluster_result *result);

#endif
