/* SPDX-License-Identifier: MIT */
/*
 * Reading and showing halos; see halo.h.
 */
#include "apps/jacobi/ranks/halo.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_TICKET (-1)
#define NOTHING UINT64_MAX /* no iteration; 0 is the next */
#define LINKS_AT_ONCE 128 /* checked in one step: some ten microseconds */

static_assert(LINKS_AT_ONCE < TRANSPORT_GETS_MAX, "else the last links never get a turn");

/* What to read next. */
enum stage {
	STAGE_HALO, /* the halo, at the known place */
	STAGE_DIRECTORY, /* the directory: the rank is known, the slot isn't */
	STAGE_HOME, /* the home record: the rank isn't known either */
};

struct halo_link {
	struct edge edge; /* the neighbour's cells, for the subdomain */
	bool active; /* the neighbour is elsewhere */
	bool obsolete; /* the get in flight is for a previous neighbour */
	enum stage stage;
	uint32_t neighbour; /* its id */
	size_t cells; /* of a halo from it */
	struct site_place place;
	int ticket;
	uint64_t shown; /* iteration of this side in the window, or NOTHING */
	uint64_t received; /* iteration in the edge, or NOTHING */
	uint64_t asked, answered; /* rounds */
	void *buffer; /* for the get of a halo or of a home record */
	void *directory; /* for the get of a directory, which is rare; NULL while there is none */
};

static uint32_t side_of(uint32_t link)
{
	return link % GRID_SIDES;
}

static size_t max_cells(const struct site *site, enum grid_side side)
{
	return (site->window.halo_bytes[side] - sizeof(struct window_halo)) / sizeof(double);
}

static struct window_halo *window_slot(
	const struct site *site, uint32_t slot, enum grid_side side, unsigned which)
{
	return (void *)(site->memory + window_halo_at(&site->window, slot, side, which));
}

int halos_init(struct halos *halos, struct site *site)
{
	size_t count = (size_t)site->slots * GRID_SIDES, bytes = 0;

	*halos = (struct halos){.site = site};
	for (enum grid_side side = 0; side < GRID_SIDES; side++)
		bytes += edge_bytes(max_cells(site, side)) +
			 site->window.halo_bytes[grid_opposite(side)];
	halos->links = edge_allocate(count, sizeof(*halos->links));
	halos->active = calloc(count, sizeof(*halos->active));
	halos->memory = edge_allocate(site->slots, bytes);
	if (!halos->links || !halos->active || !halos->memory)
		return -ENOMEM;

	char *at = halos->memory;
	for (size_t i = 0; i < count; i++) {
		struct halo_link *link = &halos->links[i];
		enum grid_side side = side_of((uint32_t)i);

		link->ticket = NO_TICKET;
		edge_init(&link->edge, max_cells(site, side), at);
		at += edge_bytes(max_cells(site, side));
		link->buffer = at;
		at += site->window.halo_bytes[grid_opposite(side)];
		/* A zeroed halo would be taken for a torn one of the first subdomain, for ever. */
		for (unsigned which = 0; which < 2; which++)
			window_slot(site, (uint32_t)i / GRID_SIDES, side, which)->id =
				WINDOW_NOBODY;
	}
	return 0;
}

void halos_deinit(struct halos *halos)
{
	free(halos->links);
	free(halos->active);
	free(halos->memory);
	*halos = (struct halos){0};
}

static struct halo_link *link_at(const struct halos *halos, uint32_t slot, enum grid_side side)
{
	return &halos->links[slot * GRID_SIDES + side];
}

/* ---- What this rank shows ---- */

/* Show the newest cells of a side, unless they were shown already. */
static void show(struct halos *halos, uint32_t slot, enum grid_side side)
{
	struct site *site = halos->site;
	struct subdomain *sub = &site->subdomains[slot];
	struct halo_link *link = link_at(halos, slot, side);
	const struct edge_slot *from = site->lockstep
					       ? edge_of_iteration(&sub->out[side], sub->iteration)
					       : edge_latest(&sub->out[side]);

	if (from->iteration == link->shown)
		return;
	struct window_halo *halo =
		window_slot(site, slot, side, site->lockstep ? (unsigned)from->iteration & 1 : 0);
	size_t bytes = grid_edge_cells(&sub->block, side) * sizeof(double);

	memcpy(halo + 1, from->cells, bytes);
	halo->iteration = from->iteration;
	halo->id = sub->id;
	halo->owner = site->rank;
	halo->seal = window_seal(halo, sizeof(*halo) + bytes);
	link->shown = from->iteration;
}

/* Leave a record of where a subdomain went. */
static void forward(struct halos *halos, uint32_t slot, uint32_t to)
{
	struct site *site = halos->site;
	const struct subdomain *sub = &site->subdomains[slot];

	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		struct window_halo *halo = window_slot(site, slot, side, 0);
		size_t bytes = grid_edge_cells(&sub->block, side) * sizeof(double);

		halo->id = sub->id;
		halo->owner = to;
		halo->seal = window_seal(halo, sizeof(*halo) + bytes);
	}
	site->directory[slot].owner = to;
}

/* ---- What it reads ---- */

/* Fill the edge from which the subdomain takes its halo. */
static void deliver(
	struct halos *halos, struct halo_link *link, uint64_t iteration, const double *cells)
{
	if (halos->site->lockstep)
		edge_put_lockstep(&link->edge, iteration, cells, link->cells);
	else
		edge_put(&link->edge, iteration, cells, link->cells);
	link->received = iteration;
}

/* A read of a halo is complete, whatever it contains. */
static void take_halo(struct halos *halos, struct halo_link *link)
{
	const struct window_halo *halo = link->buffer;
	uint64_t next = link->received + 1;

	/* If the slot was used for another subdomain since, the length may differ. */
	if (!window_is_sealed(halo, sizeof(*halo) + link->cells * sizeof(double))) {
		if (halo->id != link->neighbour)
			link->stage = STAGE_DIRECTORY;
		return;
	}
	if (halo->id != link->neighbour) {
		link->stage = STAGE_DIRECTORY;
	} else if (halo->owner != link->place.rank) {
		if (halo->owner < halos->site->ranks)
			link->place.rank = halo->owner;
		link->stage = STAGE_DIRECTORY;
	} else {
		link->answered = link->asked;
		/* In lockstep, a halo that is not the next one was seen before. */
		if (halos->site->lockstep ? halo->iteration == next : halo->iteration >= next)
			deliver(halos, link, halo->iteration, (const double *)(halo + 1));
	}
}

static void take_directory(struct halos *halos, struct halo_link *link)
{
	const struct window_entry *entry = link->directory;
	uint32_t forwarded = SITE_NOWHERE;

	for (uint32_t slot = 0; slot < halos->site->slots; slot++) {
		if (entry[slot].id != link->neighbour || entry[slot].owner >= halos->site->ranks)
			continue;
		if (entry[slot].owner == link->place.rank) {
			link->place.slot = slot;
			link->stage = STAGE_HALO;
			return;
		}
		forwarded = entry[slot].owner;
	}
	if (forwarded != SITE_NOWHERE)
		link->place.rank = forwarded;
	else
		link->stage = STAGE_HOME;
}

static void take_home(struct halos *halos, struct halo_link *link)
{
	const struct window_home *home = link->buffer;

	if (home->rank < halos->site->ranks) {
		link->place.rank = home->rank;
		link->stage = STAGE_DIRECTORY;
	}
}

static void collect(struct halos *halos, uint32_t i)
{
	struct halo_link *link = &halos->links[i];

	if (link->ticket == NO_TICKET || !transport_done(halos->site->transport, link->ticket))
		return;
	link->ticket = NO_TICKET;
	if (link->obsolete)
		link->obsolete = false;
	else if (link->stage == STAGE_HALO)
		take_halo(halos, link);
	else if (link->stage == STAGE_DIRECTORY)
		take_directory(halos, link);
	else
		take_home(halos, link);
	free(link->directory);
	link->directory = NULL;
}

static void ask(struct halos *halos, uint32_t i)
{
	const struct site *site = halos->site;
	const struct window *window = &site->window;
	struct halo_link *link = &halos->links[i];
	enum grid_side side = grid_opposite(side_of(i));
	uint32_t rank = link->place.rank;
	void *to = link->buffer;
	size_t at, bytes;

	if (link->ticket != NO_TICKET)
		return;
	if (link->stage == STAGE_HALO) {
		unsigned which = site->lockstep ? (unsigned)(link->received + 1) & 1 : 0;

		at = window_halo_at(window, link->place.slot, side, which);
		bytes = sizeof(struct window_halo) + link->cells * sizeof(double);
	} else if (link->stage == STAGE_DIRECTORY) {
		at = window->directory;
		bytes = window->slots * sizeof(struct window_entry);
		to = link->directory = malloc(bytes);
		if (!to)
			return; /* the next step tries again */
	} else {
		uint32_t first = grid_rank_subdomains(site->grid);

		rank = link->neighbour / first;
		at = window->homes + link->neighbour % first * sizeof(struct window_home);
		bytes = sizeof(struct window_home);
	}
	link->asked = halos->round;
	link->ticket = transport_get(site->transport, rank, at, bytes, to);
	if (link->ticket < 0) {
		link->ticket = NO_TICKET;
		free(link->directory);
		link->directory = NULL;
	}
}

void halos_step(struct halos *halos)
{
	uint32_t count = halos->active_count < LINKS_AT_ONCE ? halos->active_count : LINKS_AT_ONCE;
	uint32_t begin = halos->cursor < halos->active_count ? halos->cursor : 0;

	for (uint32_t k = 0; k < count; k++) {
		uint32_t i = halos->active[(begin + k) % halos->active_count];

		show(halos, i / GRID_SIDES, side_of(i));
		/* Don't read what can only be what is here already. */
		ask(halos, i);
	}
	transport_poll(halos->site->transport);
	for (uint32_t k = 0; k < count; k++)
		collect(halos, halos->active[(begin + k) % halos->active_count]);
	halos->cursor = begin + count;
}

void halos_show(struct halos *halos)
{
	for (uint32_t k = 0; k < halos->active_count; k++)
		show(halos, halos->active[k] / GRID_SIDES, side_of(halos->active[k]));
}

void halos_refresh(struct halos *halos)
{
	halos->round++;
}

bool halos_are_fresh(const struct halos *halos)
{
	for (uint32_t k = 0; k < halos->active_count; k++)
		if (halos->links[halos->active[k]].answered != halos->round)
			return false;
	return true;
}

bool halos_have(const struct halos *halos, uint64_t iteration)
{
	for (uint32_t k = 0; k < halos->active_count; k++)
		if (halos->links[halos->active[k]].received + 1 <= iteration)
			return false;
	return true;
}

bool halos_drain(struct halos *halos)
{
	bool idle = true;

	for (uint32_t i = 0; i < halos->site->slots * GRID_SIDES; i++) {
		collect(halos, i);
		idle = idle && halos->links[i].ticket == NO_TICKET;
	}
	return idle;
}

/* ---- Connecting ---- */

/* Drop the gets of links that are no longer active: the number of gets at once is limited. */
static void list_active(struct halos *halos)
{
	uint32_t count = halos->site->slots * GRID_SIDES;

	halos->active_count = 0;
	for (uint32_t i = 0; i < count; i++)
		if (halos->links[i].active)
			halos->active[halos->active_count++] = i;
		else
			collect(halos, i);
}

static void activate(struct halos *halos, uint32_t slot, enum grid_side side, uint32_t neighbour,
	struct site_place place, uint64_t iteration, const double *cells)
{
	struct halo_link *link = link_at(halos, slot, side);

	link->active = true;
	link->obsolete = link->ticket != NO_TICKET;
	link->neighbour = neighbour;
	link->cells = grid_edge_cells(&halos->site->subdomains[slot].block, side);
	link->place = place;
	link->stage = place.slot < halos->site->slots ? STAGE_HALO : STAGE_DIRECTORY;
	link->shown = NOTHING;
	link->answered = 0;
	link->received = NOTHING;
	if (cells)
		deliver(halos, link, iteration, cells);
	subdomain_connect(&halos->site->subdomains[slot], side, &link->edge);
	show(halos, slot, side);
}

static void deactivate(struct halos *halos, uint32_t slot, enum grid_side side)
{
	struct halo_link *link = link_at(halos, slot, side);

	link->active = false;
	link->obsolete = link->ticket != NO_TICKET;
}

/* Connect two subdomains of this rank. */
static void join(struct halos *halos, uint32_t slot, enum grid_side side, uint32_t other)
{
	struct subdomain *all = halos->site->subdomains;
	enum grid_side opposite = grid_opposite(side);

	deactivate(halos, slot, side);
	deactivate(halos, other, opposite);
	subdomain_connect(&all[slot], side, &all[other].out[opposite]);
	subdomain_connect(&all[other], opposite, &all[slot].out[side]);
}

void halos_connect(struct halos *halos, uint32_t slot, const struct halo_seed seeds[GRID_SIDES])
{
	const struct site *site = halos->site;

	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		uint32_t id = grid_neighbour(site->grid, site->subdomains[slot].id, side);
		uint32_t here = id == GRID_OUTSIDE ? SITE_NOWHERE : site_find(site, id);

		if (id == GRID_OUTSIDE)
			continue;
		if (here != SITE_NOWHERE)
			join(halos, slot, side, here);
		else
			activate(halos, slot, side, id, seeds[side].place, seeds[side].iteration,
				seeds[side].cells);
	}
	list_active(halos);
}

/* The newest cells that a subdomain can see on a side. */
static const struct edge_slot *seen(const struct site *site, uint32_t slot, enum grid_side side)
{
	struct subdomain *sub = &site->subdomains[slot];

	return site->lockstep ? edge_of_iteration(sub->in[side], sub->iteration)
			      : edge_latest(sub->in[side]);
}

int32_t halos_saved(const struct halos *halos, uint32_t slot, uint32_t to)
{
	int32_t saved = 0;

	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		const struct halo_link *link = &halos->links[slot * GRID_SIDES + side];

		if (!halos->site->subdomains[slot].inner[side])
			continue;
		if (!link->active)
			saved--;
		else if (link->place.rank == to)
			saved++;
	}
	return saved;
}

void halos_disconnect(struct halos *halos, uint32_t slot, struct site_place to,
	struct halo_seed seeds[GRID_SIDES])
{
	const struct site *site = halos->site;

	forward(halos, slot, to.rank);
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		struct halo_link *link = link_at(halos, slot, side);
		enum grid_side opposite = grid_opposite(side);
		uint32_t id = grid_neighbour(site->grid, site->subdomains[slot].id, side);

		seeds[side] = (struct halo_seed){0};
		if (id == GRID_OUTSIDE)
			continue;
		const struct edge_slot *mine = seen(site, slot, side);
		seeds[side] = (struct halo_seed){
			.place = link->place, .iteration = mine->iteration, .cells = mine->cells};
		if (link->active) {
			deactivate(halos, slot, side);
			continue;
		}
		uint32_t here = site_find(site, id);
		const struct edge_slot *his = seen(site, here, opposite);
		seeds[side].place = (struct site_place){site->rank, here};
		activate(halos, here, opposite, site->subdomains[slot].id, to, his->iteration,
			his->cells);
	}
	list_active(halos);
}

void halos_connect_all(struct halos *halos)
{
	const struct site *site = halos->site;
	uint32_t each = grid_rank_subdomains(site->grid);
	struct halo_seed seeds[GRID_SIDES];

	for (uint32_t slot = 0; slot < each; slot++) {
		for (enum grid_side side = 0; side < GRID_SIDES; side++) {
			uint32_t id = grid_neighbour(site->grid, site->subdomains[slot].id, side);

			seeds[side] = (struct halo_seed){.place = {id / each, id % each}};
		}
		halos_connect(halos, slot, seeds);
	}
}
