/* SPDX-License-Identifier: MIT */
/*
 * The reduction; see survey.h.
 */
#include "apps/jacobi/ranks/survey.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define NO_TICKET (-1)
#define NOT_SMALL UINT64_MAX
#define PASSES 2 /* while the norm has to stay small */

static_assert(sizeof(struct survey_record) <= WINDOW_SURVEY_BYTES, "layout");
static_assert(sizeof(struct survey_record) % sizeof(uint64_t) == 0, "sealed records are words");

static struct survey_peer *child(struct survey *survey, uint32_t i)
{
	return &survey->peers[(survey->has_parent ? 1 : 0) + i];
}

static uint32_t peer_count(const struct survey *survey)
{
	return (survey->has_parent ? 1 : 0) + survey->children + survey->neighbours;
}

void survey_init(struct survey *survey, struct site *site, double threshold, bool meet_on_arrivals,
	uint32_t reach)
{
	uint32_t neighbours[POLICY_DPLB_NEIGHBOURS_MAX], count = 0;
	uint64_t first_child = (uint64_t)site->rank * SURVEY_CHILDREN + 1;

	memset(survey, 0, sizeof(*survey));
	survey->site = site;
	survey->threshold = threshold;
	survey->meet_on_arrivals = meet_on_arrivals;
	survey->small_since = NOT_SMALL;
	survey->total = grid_subdomains(site->grid);
	survey->has_parent = site->rank > 0;
	if (survey->has_parent)
		survey->peers[count++].rank = (site->rank - 1) / SURVEY_CHILDREN;
	for (uint64_t r = first_child; r < first_child + SURVEY_CHILDREN && r < site->ranks; r++) {
		survey->peers[count++].rank = (uint32_t)r;
		survey->children++;
	}
	if (reach > 0)
		survey->neighbours = (uint32_t)policy_dplb_neighbours(
			site->rank, site->ranks, reach, neighbours);
	for (uint32_t i = 0; i < survey->neighbours; i++)
		survey->peers[count++].rank = neighbours[i];
	for (uint32_t i = 0; i < count; i++)
		survey->peers[i].ticket = NO_TICKET;
}

static void collect(struct survey *survey, struct survey_peer *peer)
{
	if (peer->ticket == NO_TICKET || !transport_done(survey->site->transport, peer->ticket))
		return;
	peer->ticket = NO_TICKET;
	if (window_is_sealed(&peer->buffer, sizeof(peer->buffer)))
		peer->last = peer->buffer;
}

bool survey_drain(struct survey *survey)
{
	bool idle = true;

	for (uint32_t i = 0; i < peer_count(survey); i++) {
		collect(survey, &survey->peers[i]);
		idle = idle && survey->peers[i].ticket == NO_TICKET;
	}
	return idle;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Sum up the rank and all below it. A child whose record was not read yet has had no meeting and
 * made no pass. */
static void add_up(struct survey *survey, const struct survey_own *own)
{
	struct survey_record *sum = &survey->record;

	survey->own_before = sum->own;
	sum->own = own->rank;
	sum->meetings = survey->meetings;
	sum->passes = survey->passes;
	sum->subdomains = own->subdomains;
	sum->arrivals = own->arrivals;
	sum->wishes = own->wishes;
	sum->squared = own->squared;
	sum->ends[0] = sum->ends[1] = own->rank;
	for (uint32_t i = 0; i < survey->children; i++) {
		const struct survey_record *part = &child(survey, i)->last;

		sum->meetings = smaller(sum->meetings, part->meetings);
		sum->passes = smaller(sum->passes, part->passes);
		sum->subdomains += part->subdomains;
		sum->arrivals += part->arrivals;
		sum->wishes |= part->wishes;
		sum->squared += part->squared;
		progress_rank_reduce(sum->ends, part->ends);
	}
}

/* Rank 0: has the norm been small while every subdomain advanced, and is none left out? */
static bool is_small(struct survey *survey, uint64_t now_ns)
{
	const struct survey_record *all = &survey->record;

	if (!(survey->threshold > 0 && all->subdomains >= survey->total &&
		    estimate_is_small(
			    &survey->estimate, sqrt(all->squared), survey->threshold, now_ns)))
		survey->small_since = NOT_SMALL;
	else if (survey->small_since == NOT_SMALL)
		survey->small_since = all->passes;
	return survey->small_since != NOT_SMALL && all->passes >= survey->small_since + PASSES;
}

/* Rank 0: one meeting at a time, based only on records since the last one. */
static void decide(struct survey *survey, uint64_t now_ns)
{
	struct survey_record *all = &survey->record;

	memcpy(all->all_ends, all->ends, sizeof(all->ends));
	if (all->called != survey->meetings || all->meetings != survey->meetings)
		return;
	bool small = is_small(survey, now_ns);
	bool arrived = survey->meet_on_arrivals && all->arrivals != survey->arrivals_seen;
	if (small || all->wishes != 0 || arrived)
		all->called++;
}

static void publish(struct survey *survey, const struct survey_own *own, uint64_t now_ns)
{
	struct survey_record *record = &survey->record;

	add_up(survey, own);
	if (survey->has_parent) {
		const struct survey_record *above = &survey->peers[0].last;

		if (above->called > record->called)
			record->called = above->called;
		memcpy(record->all_ends, above->all_ends, sizeof(above->all_ends));
	} else {
		decide(survey, now_ns);
	}
	record->seal = window_seal(record, sizeof(*record));
	memcpy(survey->site->memory, record, sizeof(*record));
}

static void ask(struct survey *survey, struct survey_peer *peer)
{
	if (peer->ticket == NO_TICKET)
		peer->ticket = transport_get(survey->site->transport, peer->rank, 0,
			sizeof(peer->buffer), &peer->buffer);
	if (peer->ticket < 0)
		peer->ticket = NO_TICKET;
}

/* A peer that does not answer for a while holds up nobody: its last record is used. */
void survey_step(struct survey *survey, const struct survey_own *own, uint64_t now_ns)
{
	for (uint32_t i = 0; i < peer_count(survey); i++)
		collect(survey, &survey->peers[i]);
	survey->passes += own->advanced;
	publish(survey, own, now_ns);
	for (uint32_t i = 0; i < peer_count(survey); i++)
		ask(survey, &survey->peers[i]);
}

bool survey_is_called(const struct survey *survey)
{
	return survey->record.called > survey->meetings;
}

void survey_met(
	struct survey *survey, const struct survey_own *own, const struct estimate *estimate)
{
	survey->meetings++;
	survey->estimate = *estimate;
	survey->small_since = NOT_SMALL;
	publish(survey, own, estimate->met_ns);
	survey->arrivals_seen = survey->record.arrivals;
}

uint32_t survey_known(const struct survey *survey, struct progress_rank *out)
{
	const struct survey_record *record = &survey->record;
	uint32_t first = peer_count(survey) - survey->neighbours, n = 0;

	out[n++] = survey->own_before;
	if (survey->neighbours == 0) {
		/* If it is the least advanced one, its record comes last, and counts. */
		out[n++] = record->all_ends[1];
		out[n++] = record->all_ends[0];
	}
	for (uint32_t i = 0; i < survey->neighbours; i++)
		out[n++] = survey->peers[first + i].last.own;
	return n;
}
