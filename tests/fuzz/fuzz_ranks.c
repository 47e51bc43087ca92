/* SPDX-License-Identifier: MIT */
/*
 * A rank of jacobi among ranks that show and send anything: halos, directories, and records of where
 * subdomains are; offers, answers, and subdomains. What makes no sense may end the job, but a rank
 * reads only from ranks and windows that exist.
 */
#undef NDEBUG
#include "apps/jacobi/ranks/mover.h"
#include "apps/jacobi/ranks/survey.h"
#include "libprogress/instance.h"
#include "tests/fuzz/input.h"

#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>

enum { RANKS = 3, EACH = 4, SLOTS = 7, SENT = 8 };

/* The network, which the input plays. */
struct transport {
	struct input *input;
	struct window *window;
	bool open[TRANSPORT_GETS_MAX];
	struct transport_message sent[SENT]; /* the last of each place; data are owned */
	size_t sends;
	struct transport_message taken; /* what the rank reads now */
	jmp_buf ended;
};

struct rank {
	struct transport transport;
	struct grid grid;
	struct site site;
	struct halos halos;
	struct mover mover;
	struct survey survey;
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Why jobs end goes nowhere. The fuzzer and the sanitizers write to the descriptor. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	stderr = fopen("/dev/null", "w");
	assert(stderr != NULL);
	return 0;
}

/* ---- The network ---- */

void transport_abort(struct transport *t, int status)
{
	(void)status;
	longjmp(t->ended, 1);
}

/* A halo that is whole, about any subdomain. */
static void make_halo(struct input *input, struct window_halo *halo, size_t bytes)
{
	memset(halo, 0, bytes);
	halo->id = input_byte(input) % 16;
	halo->owner = input_byte(input) % 4;
	halo->iteration = input_byte(input);
	halo->seal = window_seal(halo, bytes);
}

/* A record that is whole. */
static void make_record(struct input *input, struct survey_record *record)
{
	memset(record, 0, sizeof(*record));
	input_copy(input, record, sizeof(*record) / 2);
	record->seal = window_seal(record, sizeof(*record));
}

/* Directories and home records; or a torn halo. The numbers may just not exist. */
static void make_numbers(struct input *input, uint32_t *number, size_t n)
{
	for (size_t i = 0; i < n; i++)
		number[i] = input_byte(input) % 16;
}

int transport_get(struct transport *t, uint32_t rank, size_t offset, size_t bytes, void *to)
{
	int ticket = 0;

	assert(rank < RANKS && offset + bytes <= t->window->bytes && bytes > 0);
	while (ticket < TRANSPORT_GETS_MAX && t->open[ticket])
		ticket++;
	if (ticket == TRANSPORT_GETS_MAX)
		return -EAGAIN;
	t->open[ticket] = true;
	if (offset == 0)
		make_record(t->input, to);
	else if (offset >= t->window->halos && input_byte(t->input) % 8 != 0)
		make_halo(t->input, to, bytes);
	else
		make_numbers(t->input, to, bytes / sizeof(uint32_t));
	return ticket;
}

bool transport_done(struct transport *t, int ticket)
{
	assert(ticket >= 0 && ticket < TRANSPORT_GETS_MAX && t->open[ticket]);
	t->open[ticket] = false;
	return true;
}

void transport_send(struct transport *t, uint32_t rank, uint32_t kind, void *data, size_t bytes)
{
	struct transport_message *to = &t->sent[t->sends++ % SENT];

	free(to->data);
	*to = (struct transport_message){.kind = kind, .bytes = bytes, .data = data};
	if (rank >= RANKS) /* an MPI library ends the job */
		longjmp(t->ended, 1);
}

void transport_poll(struct transport *t)
{
	(void)t;
}

/* ---- The rank ---- */

static double leaves(void *arg, uint32_t slot)
{
	(void)arg, (void)slot;
	return 0;
}

static void arrives(void *arg, uint32_t slot, double share)
{
	(void)arg, (void)slot, (void)share;
}

/* As progress_create() leaves it. It is kept from input to input, because it takes long to create. */
static struct progress *open_progress(void)
{
	static struct progress *p;
	static void *segment;
	uint32_t owner[SLOTS];

	if (p == NULL) {
		for (uint32_t slot = 0; slot < SLOTS; slot++)
			owner[slot] = slot < EACH ? 0 : PROGRESS_NOBODY;
		const struct progress_options options = {
			.workers = 1, .subdomains = SLOTS, .owner = owner};
		assert(progress_create(&options, &p) == 0);
		shm_unlink(p->name); /* a finding would leave it behind */
		segment = malloc(p->size_bytes);
		assert(segment != NULL);
		memcpy(segment, p->header, p->size_bytes);
	}
	memcpy(p->header, segment, p->size_bytes);
	p->local[0].iterating = false;
	p->local[0].count = 0;
	return p;
}

static void open_rank(struct rank *r, uint32_t rank, bool lockstep, uint32_t reach)
{
	const struct mover_calls calls = {.leaves = leaves, .arrives = arrives};
	struct site *site = &r->site;

	assert(grid_init(&r->grid, 2 * EACH, 2 * RANKS, GRID_CUT_1D, RANKS, 1, EACH) == 0);
	*site = (struct site){.transport = &r->transport,
		.grid = &r->grid,
		.subdomains = edge_allocate(SLOTS, sizeof(struct subdomain)),
		.rank = rank,
		.ranks = RANKS,
		.workers = 1,
		.slots = SLOTS,
		.lockstep = lockstep};
	site->progress = open_progress();
	assert(progress_register(site->progress, 0) == 0 && site->subdomains != NULL);
	for (uint32_t slot = 0; slot < EACH; slot++)
		assert(subdomain_init(&site->subdomains[slot], &r->grid, rank * EACH + slot,
			       lockstep) == 0);
	window_init(&site->window, &r->grid, SLOTS);
	site->memory = edge_allocate(1, site->window.bytes);
	assert(site->memory != NULL);
	site->directory = (void *)(site->memory + site->window.directory);
	site->homes = (void *)(site->memory + site->window.homes);
	r->transport.window = &site->window;
	assert(halos_init(&r->halos, site) == 0);
	assert(mover_init(&r->mover, &r->halos, SLOTS - 1, &calls, NULL) == 0);
	halos_connect_all(&r->halos);
	survey_init(&r->survey, site, 0.1, true, reach);
}

static void close_rank(struct rank *r)
{
	for (size_t i = 0; i < SENT; i++)
		free(r->transport.sent[i].data);
	free(r->transport.taken.data);
	mover_deinit(&r->mover);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		subdomain_deinit(&r->site.subdomains[slot]);
	halos_deinit(&r->halos);
	free(r->site.subdomains);
	free(r->site.memory);
}

/* A message of the input's, or one that the rank has sent, changed a little. */
static void take(struct rank *r, struct input *input)
{
	struct transport *t = &r->transport;
	uint8_t how = input_byte(input);
	const struct transport_message *old = &t->sent[how / 8 % SENT];

	t->taken = (struct transport_message){.from = how % 2 * 2, .kind = how / 2 % 5, .bytes = 8};
	if (how >= 128 && old->data != NULL)
		t->taken.kind = old->kind, t->taken.bytes = old->bytes;
	t->taken.data = calloc(1, t->taken.bytes);
	assert(t->taken.data != NULL);
	if (how >= 128 && old->data != NULL)
		memcpy(t->taken.data, old->data, t->taken.bytes);
	for (uint8_t changes = input_byte(input) % 4; changes > 0; changes--) {
		uint8_t at = input_byte(input);
		((uint8_t *)t->taken.data)[at % t->taken.bytes] = input_byte(input);
	}
	mover_take(&r->mover, &t->taken);
	t->taken.data = NULL;
}

static void survey(struct rank *r, uint8_t what)
{
	const struct survey_own own = {.rank = {.rank = r->site.rank, .subdomains = EACH},
		.subdomains = RANKS * EACH,
		.wishes = what % 2,
		.advanced = true};
	const struct estimate estimate = {.met_ns = 1};
	struct progress_rank known[SURVEY_KNOWN_MAX];

	survey_step(&r->survey, &own, 2);
	if (survey_is_called(&r->survey))
		survey_met(&r->survey, &own, &estimate);
	assert(survey_known(&r->survey, known) <= SURVEY_KNOWN_MAX);
}

static void act(struct rank *r, struct input *input)
{
	uint8_t what = input_byte(input);

	switch (what % 8) {
	case 0:
		mover_offer(&r->mover, what / 8 % 4, what / 32 % 4);
		break;
	case 1:
		survey(r, what / 8);
		break;
	case 2:
		for (uint32_t slot = 0; slot < SLOTS; slot++)
			if (site_is_resident(&r->site, slot) &&
				r->site.subdomains[slot].memory != NULL) {
				subdomain_fetch(&r->site.subdomains[slot]);
				subdomain_step(&r->site.subdomains[slot]);
			}
		break;
	case 3:
		mover_rewire(&r->mover);
		mover_step(&r->mover);
		break;
	case 4:
	case 5:
		halos_step(&r->halos);
		break;
	default:
		take(r, input);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	struct rank *r = calloc(1, sizeof *r);

	assert(r != NULL);
	r->transport.input = &input;
	uint8_t how = input_byte(&input);
	open_rank(r, how % 2, how / 2 % 4 == 0, how / 8 % 3);
	if (setjmp(r->transport.ended) == 0)
		while (input.left > 0)
			act(r, &input);
	close_rank(r);
	free(r);
	return 0;
}
