/* SPDX-License-Identifier: MIT */
/*
 * Moving; see mover.h.
 */
#include "apps/jacobi/ranks/mover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct offer {
	uint32_t id;
	uint32_t slot; /* in the answer: the slot for it, or SITE_NOWHERE */
};

struct home_note {
	uint32_t id;
	uint32_t rank;
	uint32_t moves;
};

/* Followed by the cells of the four halos, and by what subdomain_pack() made. */
struct package {
	uint32_t id;
	uint32_t slot;
	uint32_t moves;
	uint32_t unused;
	double share;
	struct site_place place[GRID_SIDES];
	uint64_t iteration[GRID_SIDES];
};

static struct site *site_of(const struct mover *mover)
{
	return mover->halos->site;
}

_Noreturn static void fail(const struct mover *mover, const char *what)
{
	const struct site *site = site_of(mover);

	fprintf(stderr, "jacobi: rank %u: %s\n", (unsigned)site->rank, what);
	transport_abort(site->transport, 1);
}

int mover_init(struct mover *mover, struct halos *halos, uint32_t limit,
	const struct mover_calls *calls, void *arg)
{
	struct site *site = halos->site;
	uint32_t each = grid_rank_subdomains(site->grid);

	*mover = (struct mover){
		.halos = halos,
		.slots = calloc(site->slots, sizeof(*mover->slots)),
		.limit = limit < site->slots ? limit : site->slots,
		.residents = each,
		.calls = *calls,
		.arg = arg,
	};
	if (!mover->slots)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < site->slots; slot++)
		site->directory[slot] =
			slot < each ? (struct window_entry){site->rank * each + slot, site->rank}
				    : (struct window_entry){WINDOW_NOBODY, WINDOW_NOBODY};
	for (uint32_t i = 0; i < each; i++)
		site->homes[i] = (struct window_home){.rank = site->rank};
	return 0;
}

void mover_deinit(struct mover *mover)
{
	for (uint32_t slot = 0; mover->slots && slot < site_of(mover)->slots; slot++)
		free(mover->slots[slot].package.data);
	free(mover->slots);
	free(mover->leaving.package);
	*mover = (struct mover){0};
}

uint32_t mover_room(const struct mover *mover)
{
	uint32_t have = mover->residents + mover->reserved;

	return have < mover->limit ? mover->limit - have : 0;
}

static void send(struct mover *mover, uint32_t rank, uint32_t kind, const void *what, size_t bytes)
{
	void *copy = malloc(bytes);

	if (!copy)
		fail(mover, "out of memory");
	memcpy(copy, what, bytes);
	transport_send(site_of(mover)->transport, rank, kind, copy, bytes);
}

/* Bytes before what subdomain_pack() made. */
static size_t package_head(const struct site *site, uint32_t id)
{
	struct grid_block block = grid_block(site->grid, id);
	size_t cells = 0;

	for (enum grid_side side = 0; side < GRID_SIDES; side++)
		cells += grid_edge_cells(&block, side);
	return sizeof(struct package) + cells * sizeof(double);
}

/* ---- Giving ---- */

void mover_offer(struct mover *mover, uint32_t slot, uint32_t to)
{
	struct site *site = site_of(mover);

	if (mover->leaving.state != MOVER_IDLE || mover->refuses || slot >= site->slots ||
		!site_is_resident(site, slot) || to == site->rank || to >= site->ranks)
		return;
	const struct subdomain *sub = &site->subdomains[slot];
	size_t bytes = package_head(site, sub->id) + subdomain_packed_bytes(sub);
	/* Allocate it now, because an answer can't be taken back. */
	void *package = malloc(bytes);
	if (!package)
		return;

	mover->leaving.state = MOVER_OFFERED;
	mover->leaving.slot = slot;
	mover->leaving.to = (struct site_place){to, SITE_NOWHERE};
	mover->leaving.package = package;
	mover->leaving.bytes = bytes;
	send(mover, to, MESSAGE_OFFER, &(struct offer){sub->id, SITE_NOWHERE},
		sizeof(struct offer));
}

static void take_answer(struct mover *mover, const struct offer *answer)
{
	if (mover->leaving.state != MOVER_OFFERED)
		fail(mover, "an answer came without an offer");
	if (answer->slot < site_of(mover)->slots) {
		mover->leaving.to.slot = answer->slot;
		mover->leaving.state = MOVER_ACCEPTED;
		return;
	}
	free(mover->leaving.package);
	mover->leaving.package = NULL;
	mover->leaving.state = MOVER_IDLE;
}

bool mover_answers_for_one(const struct mover *mover)
{
	return mover->leaving.state == MOVER_DISCONNECTED || mover->leaving.state == MOVER_SENT;
}

/* Copy the halos now; the cells can wait. */
static void disconnect(struct mover *mover)
{
	struct site *site = site_of(mover);
	uint32_t slot = mover->leaving.slot;
	const struct subdomain *sub = &site->subdomains[slot];
	struct package *package = mover->leaving.package;
	struct halo_seed seeds[GRID_SIDES];
	double *cells = (double *)(package + 1);

	mover->leaving.share = mover->calls.leaves(mover->arg, slot);
	progress_remove(site->progress, slot);
	halos_disconnect(mover->halos, slot, mover->leaving.to, seeds);
	*package = (struct package){
		.id = sub->id,
		.slot = mover->leaving.to.slot,
		.moves = mover->slots[slot].moves,
		.share = mover->leaving.share,
	};
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		size_t count = grid_edge_cells(&sub->block, side);

		package->place[side] = seeds[side].place;
		package->iteration[side] = seeds[side].iteration;
		if (seeds[side].cells)
			memcpy(cells, seeds[side].cells, count * sizeof(*cells));
		else
			memset(cells, 0, count * sizeof(*cells));
		cells += count;
	}
	mover->residents--;
	mover->departures++;
	mover->leaving.state = MOVER_DISCONNECTED;
}

void mover_step(struct mover *mover)
{
	struct site *site = site_of(mover);
	uint32_t slot = mover->leaving.slot;
	struct subdomain *sub = &site->subdomains[slot];

	if (mover->leaving.state != MOVER_DISCONNECTED)
		return;
	subdomain_pack(sub, (char *)mover->leaving.package + package_head(site, sub->id));
	transport_send(site->transport, mover->leaving.to.rank, MESSAGE_SUBDOMAIN,
		mover->leaving.package, mover->leaving.bytes);
	mover->leaving.package = NULL;
	mover->leaving.state = MOVER_SENT;
	subdomain_deinit(sub);
	memset(sub, 0, sizeof(*sub));
	mover->slots[slot].freed = mover->departures;
}

/* ---- Taking ---- */

/* The slot that has been empty for the longest time, so that forwarding records live long. */
static uint32_t free_slot(const struct mover *mover)
{
	const struct site *site = site_of(mover);
	uint32_t best = SITE_NOWHERE;

	for (uint32_t slot = 0; slot < site->slots; slot++)
		if (!site->subdomains[slot].memory && !mover->slots[slot].reserved &&
			(best == SITE_NOWHERE ||
				mover->slots[slot].freed < mover->slots[best].freed))
			best = slot;
	return best;
}

static void take_offer(struct mover *mover, uint32_t from, const struct offer *offer)
{
	struct offer answer = {.id = offer->id, .slot = SITE_NOWHERE};

	if (!mover->refuses && mover_room(mover) > 0)
		answer.slot = free_slot(mover);
	if (answer.slot != SITE_NOWHERE) {
		mover->slots[answer.slot].reserved = true;
		mover->reserved++;
	}
	send(mover, from, MESSAGE_ANSWER, &answer, sizeof(answer));
}

/* Is the message the subdomain of an accepted offer, with ranks that exist? */
static bool was_expected(const struct mover *mover, const struct transport_message *message)
{
	const struct site *site = site_of(mover);
	const struct package *package = message->data;

	if (message->bytes < sizeof(*package) || package->slot >= site->slots ||
		!mover->slots[package->slot].reserved || mover->slots[package->slot].package.data ||
		package->id >= grid_subdomains(site->grid) ||
		message->bytes < package_head(site, package->id))
		return false;
	for (enum grid_side side = 0; side < GRID_SIDES; side++)
		if (package->place[side].rank >= site->ranks)
			return false;
	return true;
}

/* Unpack a subdomain, which then only has to be connected. */
static void take_subdomain(struct mover *mover, struct transport_message *message)
{
	struct site *site = site_of(mover);
	const struct package *package = message->data;

	if (!was_expected(mover, message))
		fail(mover, "an unexpected subdomain came");
	size_t head = package_head(site, package->id);
	int rc = subdomain_unpack(&site->subdomains[package->slot], site->grid, package->id,
		site->lockstep, (const char *)message->data + head, message->bytes - head);
	if (rc < 0)
		fail(mover, rc == -ENOMEM ? "out of memory" : "a subdomain came damaged");
	mover->slots[package->slot].package = *message;
	message->data = NULL;
}

static void note_home(struct mover *mover, const struct home_note *note)
{
	struct site *site = site_of(mover);
	struct window_home *home = &site->homes[note->id % grid_rank_subdomains(site->grid)];

	/* Notes from different ranks come in any order. */
	if (note->moves > home->moves)
		*home = (struct window_home){.rank = note->rank, .moves = note->moves};
}

static void connect(struct mover *mover, uint32_t slot)
{
	struct site *site = site_of(mover);
	struct mover_slot *here = &mover->slots[slot];
	const struct package *package = here->package.data;
	const struct subdomain *sub = &site->subdomains[slot];
	const double *cells = (const double *)(package + 1);
	uint32_t home = package->id / grid_rank_subdomains(site->grid);
	struct halo_seed seeds[GRID_SIDES];

	if (site_find(site, package->id) != SITE_NOWHERE)
		fail(mover, "a subdomain came that is here already");
	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		seeds[side] = (struct halo_seed){
			.place = package->place[side],
			.iteration = package->iteration[side],
			.cells = cells,
		};
		cells += grid_edge_cells(&sub->block, side);
	}
	/* It is back: delete the record of where it went. */
	for (uint32_t s = 0; s < site->slots; s++)
		if (site->directory[s].id == package->id)
			site->directory[s] = (struct window_entry){WINDOW_NOBODY, WINDOW_NOBODY};
	site->directory[slot] = (struct window_entry){package->id, site->rank};
	halos_connect(mover->halos, slot, seeds);

	here->moves = package->moves + 1;
	here->reserved = false;
	mover->reserved--;
	mover->residents++;
	mover->arrivals++;
	const struct home_note note = {package->id, site->rank, here->moves};
	if (home == site->rank)
		note_home(mover, &note);
	else
		send(mover, home, MESSAGE_HOME, &note, sizeof(note));
	send(mover, here->package.from, MESSAGE_ARRIVED, &note, sizeof(note));
	double share = package->share;
	free(here->package.data);
	here->package.data = NULL;
	if (progress_insert(site->progress, slot, PROGRESS_NOBODY, sub->iteration) < 0)
		fail(mover, "no worker took a subdomain that came");
	mover->calls.arrives(mover->arg, slot, share);
}

/* ---- Both ---- */

void mover_take(struct mover *mover, struct transport_message *message)
{
	const void *data = message->data;

	if (message->kind == MESSAGE_OFFER && message->bytes == sizeof(struct offer))
		take_offer(mover, message->from, data);
	else if (message->kind == MESSAGE_ANSWER && message->bytes == sizeof(struct offer))
		take_answer(mover, data);
	else if (message->kind == MESSAGE_HOME && message->bytes == sizeof(struct home_note))
		note_home(mover, data);
	else if (message->kind == MESSAGE_ARRIVED && mover->leaving.state == MOVER_SENT)
		mover->leaving.state = MOVER_IDLE;
	else if (message->kind == MESSAGE_SUBDOMAIN)
		take_subdomain(mover, message);
	else
		fail(mover, "an invalid message came");
	free(message->data);
}

bool mover_waits(const struct mover *mover)
{
	if (mover->leaving.state == MOVER_ACCEPTED)
		return true;
	for (uint32_t slot = 0; mover->reserved > 0 && slot < site_of(mover)->slots; slot++)
		if (mover->slots[slot].package.data)
			return true;
	return false;
}

void mover_rewire(struct mover *mover)
{
	if (mover->leaving.state == MOVER_ACCEPTED)
		disconnect(mover);
	for (uint32_t slot = 0; mover->reserved > 0 && slot < site_of(mover)->slots; slot++)
		if (mover->slots[slot].package.data)
			connect(mover, slot);
}

bool mover_is_done(const struct mover *mover)
{
	return mover->leaving.state == MOVER_IDLE && mover->reserved == 0;
}
