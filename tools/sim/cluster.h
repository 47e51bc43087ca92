/* SPDX-License-Identifier: MIT */
/*
 * Subdomains on workers on ranks, in virtual time: PLB within ranks and DPLB between them (plb.h,
 * dplb.h: the code that juggle, libprogress and jacobi run). Discrete events; the same seed gives the
 * same run. A rank is a node; with one rank this is PLB alone.
 *
 * A worker updates the subdomains that it holds in turn; an update takes its cost, by the speed
 * of the worker and its noise. With a field (field.h) each update is the real one, in the order of
 * virtual time, so that the time to solution is exact; without one only counts are kept.
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
	uint32_t ranks, workers, sockets; /* workers of each rank, on so many sockets (domains) */
	uint32_t each; /* subdomains of each worker at first */
	/* Which subdomains are neighbours: cut as by jacobi --cut=1d, else as by --cut=2d. A field has a
	 * cut of its own. */
	bool strips;
	enum mode mode;
	uint32_t bound; /* MODE_SSYNC */
	/* Costs. An update of one subdomain takes update_ns on a worker of speed 1. */
	double update_ns;
	double jitter; /* random variation of each update's cost, a share */
	double foreign; /* an update costs so much more where the subdomain is not at home: its first socket */
	/* speed[rank * workers + worker]; NULL: all 1. Not owned, copied. */
	const double *speed;
	uint64_t latency_ns; /* of a halo, a message or a view between ranks */
	uint64_t send_ns; /* for which a subdomain between ranks is not updated */
	/* PLB on each rank. */
	bool plb;
	struct policy_plb_params plb_params;
	uint64_t plb_period_ns;
	double plb_point_ns; /* what a point costs the worker whose turn it is, for each subdomain */
	/* DPLB. */
	enum dplb dplb; /* DPLB_DEFAULT: none */
	struct policy_dplb_params dplb_params; /* threshold in updates; 0: worked out, see dplb.h */
	uint64_t dplb_period_ns;
	uint32_t reach; /* DPLB_NEIGHBOURS */
	uint32_t room; /* subdomains that a rank takes at most; 0: twice those at first */
	uint64_t look_ns; /* between the looks of a rank at others; 0: 2 ms, as jacobi has it */
	uint64_t seed;
};

struct cluster_result {
	uint64_t now_ns;
	uint64_t updates;
	double rate; /* updates of all workers / workers / seconds: PLB, Section 3.1 */
	uint64_t spread; /* of updates over all subdomains, now */
	/* The most stale halo encountered, in iterations, and the mean over updates of the oldest
	 * halo. It is a sample for several ranks in MODE_ASYNC without a field, where ranks are run
	 * one after the other: of a sixteenth of the ranks at each look, and without latency. */
	uint64_t staleness;
	double staleness_mean;
	uint64_t plb_points, plb_moves, dplb_points, dplb_moves, dplb_refused;
	uint64_t messages; /* between ranks for knowledge and moves, not for halos */
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
/* Go on until that moment of virtual time, 2^62 ns at most; what ends right then is done, too. It
 * makes no difference into how many calls a run is cut. */
void cluster_run(struct cluster *cluster, uint64_t until_ns);
uint64_t cluster_subdomains(const struct cluster *cluster);
/* Updates of each subdomain so far, into an array for all: for pictures of the braid. */
void cluster_updates(const struct cluster *cluster, uint64_t *updates);
void cluster_get(const struct cluster *cluster, struct cluster_result *result);

#endif
