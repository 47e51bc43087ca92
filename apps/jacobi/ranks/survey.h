/* SPDX-License-Identifier: MIT */
/*
 * What ranks know of all the others: a reduction that never stops.
 *
 * The ranks form a tree. From time to time each rank reads, by one-sided gets, the records of the
 * ranks below it, adds its own values, and shows the sum. It also reads from the rank above what
 * rank 0 made of the total. So each rank reads a handful of records however many ranks there are,
 * none waits for another, and knowledge is some milliseconds old for each level of the tree. DPLB,
 * Section 3.2, has a reduction, too; here rank 0 also uses it to decide when all should meet.
 *
 * Under the lock of ranks.h.
 */
#ifndef JACOBI_SURVEY_H
#define JACOBI_SURVEY_H

#include "apps/jacobi/estimate.h"
#include "apps/jacobi/ranks/site.h"
#include "libprogress/policy/dplb.h"
#include "libprogress/progress.h"

#define SURVEY_CHILDREN 4 /* of a rank in the tree */
#define SURVEY_PEERS_MAX (1 + SURVEY_CHILDREN + POLICY_DPLB_NEIGHBOURS_MAX)

struct survey_record {
	uint64_t seal;
	struct progress_rank own;
	/* Sums over the rank and all below it: */
	uint64_t meetings; /* how many all of them have had */
	uint64_t passes; /* how often, at least, each has seen all of its subdomains advance */
	uint64_t subdomains; /* those that they account for; one that moves may be counted twice */
	uint64_t arrivals; /* subdomains that came from another rank, in all */
	uint64_t wishes; /* reasons for which any of them wants to meet */
	double squared; /* norm of the residual; NAN when a part isn't known */
	struct progress_rank ends[2]; /* the least and the most advanced */
	/* From rank 0: */
	uint64_t called; /* meetings that it called for */
	struct progress_rank all_ends[2];
};

/* What a rank knows of itself. */
struct survey_own {
	struct progress_rank rank;
	uint32_t subdomains; /* as in the record */
	uint64_t arrivals;
	uint64_t wishes;
	double squared;
	bool advanced; /* all its subdomains have advanced since this was last true */
};

struct survey_peer {
	uint32_t rank;
	int ticket;
	struct survey_record buffer; /* the transport's, while the ticket is open */
	struct survey_record last; /* the newest that was whole; zeroed before the first */
};

struct survey {
	struct site *site;
	bool has_parent;
	uint32_t children, neighbours;
	struct survey_peer peers[SURVEY_PEERS_MAX]; /* parent, children, neighbours */
	struct survey_record record; /* as in the window */
	struct progress_rank own_before; /* in the record that was shown the time before */
	uint64_t meetings, passes;
	/* Rank 0's: */
	double threshold; /* of the norm of the residual; 0: none */
	struct estimate estimate;
	bool meet_on_arrivals;
	uint64_t arrivals_seen; /* at the last meeting */
	uint64_t small_since; /* pass at which the norm became small enough; UINT64_MAX: it isn't */
	uint64_t total; /* subdomains of all ranks */
};

/* reach: the neighbourhood whose records are read, too; 0: none. */
void survey_init(struct survey *survey, struct site *site, double threshold, bool meet_on_arrivals,
	uint32_t reach);

/* Take what was read, show this rank's record, and read again. Call it every few milliseconds. */
void survey_step(struct survey *survey, const struct survey_own *own, uint64_t now_ns);

/* Has rank 0 called a meeting that this rank has not had? */
bool survey_is_called(const struct survey *survey);

/* The meeting is over: show that. */
void survey_met(
	struct survey *survey, const struct survey_own *own, const struct estimate *estimate);

/* The ranks to compare at a balancing point: this one; and the least and the most advanced of all
 * (reach 0), or the neighbourhood. Other ranks' records are some milliseconds old, so this one's is,
 * too: it has advanced since. `out` has room for SURVEY_KNOWN_MAX. Returns how many. */
#define SURVEY_KNOWN_MAX (1 + POLICY_DPLB_NEIGHBOURS_MAX)
uint32_t survey_known(const struct survey *survey, struct progress_rank *out);

/* At the end; as halos_drain(). */
bool survey_drain(struct survey *survey);

#endif
