/* SPDX-License-Identifier: MIT */
/*
 * The layer between ranks; see ranks.h.
 */
#include "apps/jacobi/ranks/ranks.h"

#include "apps/jacobi/ranks/survey.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUMP_NS UINT64_C(50000) /* between turns of any workers, at least */
#define PUMP_PART 4 /* all turns take at most the fourth part of the workers' time */
#define PUMP_COST_MAX_NS UINT64_C(50000) /* longer ones were interrupted */
#define PUMP_SMOOTHING 8
#define SURVEY_NS UINT64_C(2000000)
#define MESSAGES_AT_ONCE 16
#define WISHES 8 /* bits */
#define SUMS_MAX 64 /* of one ranks_sum() */

struct ranks {
	struct ranks_setup setup;
	struct site site;
	struct halos halos;
	struct mover mover;
	struct survey survey;
	uint64_t *passed; /* slot by slot: the iteration at the last pass */
	uint64_t begin_ns, survey_due_ns, balance_due_ns;
	uint64_t checks, hash; /* of the numbers of all subdomains */
	alignas(EDGE_LINE) pthread_mutex_t lock; /* of all above */
	uint64_t pump_cost_ns; /* on average */
	_Atomic uint64_t pump_due_ns;
	_Atomic unsigned wishes;
};

uint32_t ranks_slots(
	const struct jacobi_options *options, const struct grid *grid, uint32_t workers)
{
	uint64_t each = grid_rank_subdomains(grid), most = (uint64_t)workers * options->plb.high;

	/* One more is on its way out while another comes in. */
	most = (most > each ? most : each) + 1;
	if (most > grid_subdomains(grid))
		most = grid_subdomains(grid);
	return options->dplb.kind == DPLB_NONE  ? (uint32_t)each
	       : most > PROGRESS_SUBDOMAINS_MAX ? PROGRESS_SUBDOMAINS_MAX
						: (uint32_t)most;
}

/* ---- What there is to do, under the lock ---- */

static void receive(struct ranks *ranks)
{
	struct transport_message message;

	for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
		if (!transport_receive(ranks->site.transport, &message))
			return;
		mover_take(&ranks->mover, &message);
	}
}

static void sum_up_progress(struct ranks *ranks, struct survey_own *own)
{
	const struct site *site = &ranks->site;
	bool advanced = true;

	for (uint32_t slot = 0; advanced && slot < site->slots; slot++)
		advanced = !site_is_resident(site, slot) ||
			   progress_iteration(site->progress, slot) > ranks->passed[slot];
	for (uint32_t slot = 0; advanced && slot < site->slots; slot++)
		ranks->passed[slot] = progress_iteration(site->progress, slot);
	*own = (struct survey_own){
		.arrivals = ranks->mover.arrivals,
		.wishes = atomic_load(&ranks->wishes),
		.subdomains = ranks->mover.residents,
		.squared = ranks->setup.squared(ranks->setup.arg),
		.advanced = advanced,
	};
	progress_rank_read(site->progress, &own->rank);
	own->rank.room = mover_room(&ranks->mover);
	if (mover_answers_for_one(&ranks->mover)) {
		own->subdomains++;
		own->squared += ranks->mover.leaving.share * ranks->mover.leaving.share;
	}
}

/* For the library: so few halos pass between ranks. */
static int32_t saved(void *arg, uint32_t slot, uint32_t to)
{
	const struct ranks *ranks = arg;

	return halos_saved(&ranks->halos, slot, to);
}

static int set_up_balancing(struct ranks *ranks)
{
	const struct jacobi_options *options = ranks->setup.options;
	const struct progress_rank_options how = {
		.period_ns = options->dplb_period_ns,
		.threshold = options->dplb_threshold,
		.all_behind = options->dplb.kind == DPLB_NEIGHBOURS,
		.random_ranks = options->dplb.kind == DPLB_RANDOM ? ranks->site.ranks : 0,
		.seed = options->seed * ranks->site.ranks + ranks->site.rank + 1,
		.halos_saved = saved,
		.arg = ranks,
	};

	return progress_rank_setup(ranks->site.progress, &how);
}

/* DPLB, Section 3.1, for this rank. */
static void balance(struct ranks *ranks, uint64_t now_ns)
{
	struct progress_rank known[SURVEY_KNOWN_MAX];
	struct progress_rank_move move;
	uint64_t time_ns = now_ns - ranks->begin_ns;
	uint64_t waited_ns = ranks->setup.waited_ns(ranks->setup.arg) / ranks->setup.workers;
	uint32_t n = survey_known(&ranks->survey, known);

	if (progress_rank_balance(ranks->site.progress,
		    time_ns > waited_ns ? time_ns - waited_ns : 0, known, n, &move))
		mover_offer(&ranks->mover, move.subdomain, move.to);
}

static void pump(struct ranks *ranks, uint64_t now_ns)
{
	bool balances = ranks->setup.options->dplb.kind != DPLB_NONE;
	struct survey_own own;

	if (ranks->site.lockstep) {
		transport_poll(ranks->site.transport);
		return;
	}
	halos_step(&ranks->halos);
	receive(ranks);
	mover_step(&ranks->mover);
	if (now_ns < ranks->survey_due_ns)
		return;
	ranks->survey_due_ns = now_ns + SURVEY_NS;
	sum_up_progress(ranks, &own);
	survey_step(&ranks->survey, &own, now_ns);
	if (balances && now_ns >= ranks->balance_due_ns) {
		ranks->balance_due_ns = now_ns + ranks->setup.options->dplb_period_ns;
		balance(ranks, now_ns);
	}
}

/* Some networks answer within a tenth of a microsecond. Others take ten for a poll, and several
 * polls for an answer; there, fresh halos are worth the time. When turns took at most a
 * thirty-second of the time instead of a quarter, solutions over TCP took 1.3 to 1.8 times as
 * long. */
static void set_pace(struct ranks *ranks, uint64_t begin_ns)
{
	uint64_t now_ns = clock_monotonic_ns(), cost_ns = now_ns - begin_ns;

	if (cost_ns > PUMP_COST_MAX_NS)
		cost_ns = PUMP_COST_MAX_NS;
	ranks->pump_cost_ns =
		(ranks->pump_cost_ns * (PUMP_SMOOTHING - 1) + cost_ns) / PUMP_SMOOTHING;
	uint64_t pause_ns = ranks->pump_cost_ns * PUMP_PART / ranks->setup.workers;
	atomic_store_explicit(&ranks->pump_due_ns,
		now_ns + (pause_ns > PUMP_NS ? pause_ns : PUMP_NS), memory_order_relaxed);
}

unsigned ranks_pump(struct ranks *ranks, bool idle)
{
	uint64_t now_ns = clock_monotonic_ns();
	unsigned why = 0;

	if ((!idle && now_ns < atomic_load_explicit(&ranks->pump_due_ns, memory_order_relaxed)) ||
		pthread_mutex_trylock(&ranks->lock) != 0)
		return 0;
	pump(ranks, now_ns);
	set_pace(ranks, now_ns);
	if (mover_waits(&ranks->mover))
		why |= RANKS_REWIRE;
	if (survey_is_called(&ranks->survey))
		why |= RANKS_MEET;
	pthread_mutex_unlock(&ranks->lock);
	return why;
}

void ranks_rewire(struct ranks *ranks)
{
	pthread_mutex_lock(&ranks->lock);
	mover_rewire(&ranks->mover);
	pthread_mutex_unlock(&ranks->lock);
}

void ranks_wish(struct ranks *ranks, unsigned why)
{
	atomic_fetch_or(&ranks->wishes, why);
}

static double leaves(void *arg, uint32_t slot)
{
	const struct ranks *ranks = arg;

	return ranks->setup.calls.leaves(ranks->setup.arg, slot);
}

static void arrives(void *arg, uint32_t slot, double share)
{
	struct ranks *ranks = arg;

	ranks->passed[slot] = progress_iteration(ranks->site.progress, slot);
	ranks->setup.calls.arrives(ranks->setup.arg, slot, share);
}

/* ---- Together with the others ---- */

static uint64_t mix(uint64_t id)
{
	id = (id + 1) * UINT64_C(0x9e3779b97f4a7c15);
	id = (id ^ id >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return id ^ id >> 29;
}

/* While waiting for others: they need this rank, too. */
static void serve(struct ranks *ranks)
{
	halos_step(&ranks->halos);
	receive(ranks);
	mover_rewire(&ranks->mover);
	mover_step(&ranks->mover);
	sched_yield();
}

static void vote(struct ranks *ranks, enum transport_operation operation, void *values, size_t n)
{
	transport_vote(ranks->site.transport, operation, values, n);
	while (!transport_voted(ranks->site.transport, values))
		serve(ranks);
}

static void meet(struct ranks *ranks)
{
	uint64_t nothing = 0;

	vote(ranks, TRANSPORT_ADD, &nothing, 1);
}

/* After all that was on its way has arrived: is each subdomain on exactly one rank? There must be
 * as many as in the grid, and the sum of their hashes must be that of all. */
static unsigned count(struct ranks *ranks)
{
	const struct site *site = &ranks->site;
	uint64_t total = grid_subdomains(site->grid);
	unsigned mine = atomic_load(&ranks->wishes), all = 0;
	uint64_t values[2 + WISHES] = {0};

	for (uint32_t slot = 0; slot < site->slots; slot++)
		if (site_is_resident(site, slot)) {
			values[0]++;
			values[1] += mix(site->directory[slot].id);
		}
	for (unsigned bit = 0; bit < WISHES; bit++)
		values[2 + bit] = mine >> bit & 1;
	vote(ranks, TRANSPORT_ADD, values, 2 + WISHES);

	if (values[0] != total || values[1] != ranks->hash) {
		if (site->rank == 0)
			fprintf(stderr,
				"jacobi: not every subdomain is on exactly one rank: %llu of "
				"%llu\n",
				(unsigned long long)values[0], (unsigned long long)total);
		transport_abort(site->transport, 1);
	}
	ranks->checks++;
	for (unsigned bit = 0; bit < WISHES; bit++)
		all |= (unsigned)(values[2 + bit] > 0) << bit;
	return all;
}

/* Read all halos again, after all ranks have shown theirs. */
static void refresh(struct ranks *ranks)
{
	halos_show(&ranks->halos);
	meet(ranks);
	halos_refresh(&ranks->halos);
	while (!halos_are_fresh(&ranks->halos))
		serve(ranks);
}

static void exchange(struct ranks *ranks, uint64_t iteration)
{
	halos_show(&ranks->halos);
	while (!halos_have(&ranks->halos, iteration)) {
		halos_step(&ranks->halos);
		sched_yield();
	}
}

void ranks_exchange(struct ranks *ranks, uint64_t iteration)
{
	pthread_mutex_lock(&ranks->lock);
	exchange(ranks, iteration);
	pthread_mutex_unlock(&ranks->lock);
}

unsigned ranks_settle(struct ranks *ranks)
{
	pthread_mutex_lock(&ranks->lock);
	ranks->mover.refuses = true;
	do
		serve(ranks);
	while (!mover_is_done(&ranks->mover));
	unsigned wishes = count(ranks);
	if (!ranks->site.lockstep)
		refresh(ranks);
	pthread_mutex_unlock(&ranks->lock);
	return wishes;
}

void ranks_resume(struct ranks *ranks, const struct estimate *estimate)
{
	struct survey_own own;

	pthread_mutex_lock(&ranks->lock);
	atomic_store(&ranks->wishes, 0);
	ranks->mover.refuses = false;
	sum_up_progress(ranks, &own);
	survey_met(&ranks->survey, &own, estimate);
	pthread_mutex_unlock(&ranks->lock);
}

void ranks_sum(struct ranks *ranks, double *values, uint32_t n)
{
	uint64_t bits[SUMS_MAX] = {0};

	pthread_mutex_lock(&ranks->lock);
	vote(ranks, TRANSPORT_SUM, values, n);
	/* MPI may round differently on each rank: all take the values of rank 0, to the last
	 * bit. */
	if (ranks->site.rank == 0)
		memcpy(bits, values, n * sizeof(*values));
	vote(ranks, TRANSPORT_ADD, bits, n);
	memcpy(values, bits, n * sizeof(*values));
	pthread_mutex_unlock(&ranks->lock);
}

/* ---- The beginning and the end ---- */

static int open_window(struct ranks *ranks)
{
	struct site *site = &ranks->site;
	const struct jacobi_options *options = ranks->setup.options;
	const struct mover_calls calls = {.leaves = leaves, .arrives = arrives};
	void *memory;
	int rc;

	window_init(&site->window, site->grid, site->slots);
	rc = transport_window(site->transport, site->window.bytes, &memory);
	if (rc < 0)
		return rc;
	site->memory = memory;
	site->directory = (void *)(site->memory + site->window.directory);
	site->homes = (void *)(site->memory + site->window.homes);
	ranks->passed = calloc(site->slots, sizeof(*ranks->passed));
	if (!ranks->passed)
		return -ENOMEM;
	rc = halos_init(&ranks->halos, site);
	if (rc == 0)
		rc = mover_init(&ranks->mover, &ranks->halos, options->plb.high * site->workers,
			&calls, ranks);
	return rc == 0 ? set_up_balancing(ranks) : rc;
}

int ranks_create(const struct ranks_setup *setup, struct ranks **out)
{
	const struct jacobi_options *options = setup->options;
	struct ranks *ranks = edge_allocate(1, sizeof(*ranks));

	if (!ranks)
		return -ENOMEM;
	ranks->setup = *setup;
	ranks->site = (struct site){
		.transport = setup->transport,
		.grid = setup->grid,
		.subdomains = setup->subdomains,
		.progress = setup->progress,
		.rank = transport_rank(setup->transport),
		.ranks = transport_ranks(setup->transport),
		.workers = setup->workers,
		.slots = setup->slots,
		.lockstep = options->mode == MODE_SYNC,
	};
	pthread_mutex_init(&ranks->lock, NULL);
	int rc = open_window(ranks);
	if (rc < 0) {
		mover_deinit(&ranks->mover);
		halos_deinit(&ranks->halos);
		free(ranks->passed);
		free(ranks);
		return rc;
	}
	for (uint64_t id = 0; id < grid_subdomains(setup->grid); id++)
		ranks->hash += mix(id);
	ranks->begin_ns = clock_monotonic_ns();
	/* The first point is due at once: rates count from there. */
	ranks->balance_due_ns = ranks->begin_ns;
	survey_init(&ranks->survey, &ranks->site, options->residual, options->check,
		options->dplb.kind == DPLB_NEIGHBOURS ? options->dplb.reach : 0);
	halos_connect_all(&ranks->halos);
	meet(ranks);
	if (ranks->site.lockstep)
		exchange(ranks, 0);
	else
		refresh(ranks);
	meet(ranks);
	*out = ranks;
	return 0;
}

/* A barrier, during which no message is taken: messages that come after it belong to what
 * follows. */
static void line_up(struct ranks *ranks)
{
	uint64_t nothing = 0;

	transport_vote(ranks->site.transport, TRANSPORT_ADD, &nothing, 1);
	while (!transport_voted(ranks->site.transport, &nothing))
		transport_poll(ranks->site.transport);
}

/* Wait for the next message to be gathered. Act on others that come late. */
static void await(struct ranks *ranks, struct transport_message *message)
{
	for (;;) {
		transport_poll(ranks->site.transport);
		if (!transport_receive(ranks->site.transport, message))
			sched_yield();
		else if (message->kind == MESSAGE_GATHER)
			return;
		else
			mover_take(&ranks->mover, message);
	}
}

static void give(struct ranks *ranks, void *data, size_t bytes)
{
	transport_send(ranks->site.transport, 0, MESSAGE_GATHER, data, bytes);
}

static void *allocate(const struct ranks *ranks, size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory) {
		fprintf(stderr, "jacobi: rank %u: out of memory\n", (unsigned)ranks->site.rank);
		transport_abort(ranks->site.transport, 1);
	}
	return memory;
}

void ranks_gather(struct ranks *ranks, const void *one, size_t bytes, void *all)
{
	struct transport_message message;

	line_up(ranks);
	if (ranks->site.rank > 0) {
		give(ranks, memcpy(allocate(ranks, bytes), one, bytes), bytes);
		return;
	}
	memcpy(all, one, bytes);
	for (uint32_t left = ranks->site.ranks - 1; left > 0; left--) {
		await(ranks, &message);
		memcpy((char *)all + message.from * bytes, message.data, bytes);
		free(message.data);
	}
}

/* All the subdomains of this rank. */
static void give_all(struct ranks *ranks)
{
	const struct site *site = &ranks->site;

	for (uint32_t slot = 0; slot < site->slots; slot++) {
		const struct subdomain *sub = &site->subdomains[slot];

		if (!site_is_resident(site, slot))
			continue;
		size_t bytes = sizeof(uint64_t) + subdomain_packed_bytes(sub);
		uint64_t *data = allocate(ranks, bytes);
		*data = sub->id;
		subdomain_pack(sub, data + 1);
		give(ranks, data, bytes);
	}
}

static int take_all(struct ranks *ranks, struct subdomain *all)
{
	const struct site *site = &ranks->site;
	struct transport_message message;
	uint32_t total = grid_subdomains(site->grid), left = total;
	int rc = 0;

	for (uint32_t slot = 0; slot < site->slots; slot++)
		if (site_is_resident(site, slot)) {
			all[site->subdomains[slot].id] = site->subdomains[slot];
			all[site->subdomains[slot].id].memory = NULL;
			left--;
		}
	/* Go on without memory, too: the others must not wait. */
	for (; left > 0; left--) {
		await(ranks, &message);
		uint64_t id = message.bytes >= sizeof(id) ? *(const uint64_t *)message.data : total;
		if (rc == 0 && (id >= total || all[id].now))
			rc = -EBADMSG;
		if (rc == 0)
			rc = subdomain_unpack(&all[id], site->grid, (uint32_t)id, site->lockstep,
				(const char *)message.data + sizeof(id),
				message.bytes - sizeof(id));
		free(message.data);
	}
	return rc;
}

int ranks_collect(struct ranks *ranks, struct subdomain *all)
{
	line_up(ranks);
	if (ranks->site.rank == 0)
		return take_all(ranks, all);
	give_all(ranks);
	return 0;
}

struct ranks_counts ranks_counts(const struct ranks *ranks)
{
	return (struct ranks_counts){
		.subdomains = ranks->mover.residents,
		.arrivals = ranks->mover.arrivals,
		.departures = ranks->mover.departures,
		.checks = ranks->checks,
	};
}

void ranks_destroy(struct ranks *ranks)
{
	if (!ranks)
		return;
	for (;;) {
		bool halos = halos_drain(&ranks->halos), survey = survey_drain(&ranks->survey);

		if (halos && survey && transport_sent(ranks->site.transport))
			break;
		transport_poll(ranks->site.transport);
	}
	/* Once all are here, no rank reads from this one any more. */
	line_up(ranks);
	pthread_mutex_destroy(&ranks->lock);
	mover_deinit(&ranks->mover);
	halos_deinit(&ranks->halos);
	free(ranks->passed);
	free(ranks);
}
