/* SPDX-License-Identifier: MIT */
/*
 * Drives and watches ranks; see world.h.
 */
#undef NDEBUG
#include "tests/unit/apps/jacobi/ranks/world.h"

#include "apps/jacobi/ranks/ranks.h"
#include "apps/jacobi/ranks/window.h"
#include "apps/jacobi/subdomain.h"
#include "daemon/base/clock.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HISTORY 1024 /* iterations */
#define MEETINGS 3
#define UPDATES_MAX 4000 /* of a rank */
#define LOOK_NS 2000000 /* between looks at other ranks: SURVEY_NS of ranks.c */
#define CHECKED 20 /* up to this many subdomains all are checked each time; else now and then */

/* What a subdomain showed on a side. */
struct shown {
	uint64_t iteration, hash;
};

/* What is known of a subdomain, wherever it is. */
struct fact {
	uint64_t iteration, lag_sum;
	uint64_t seen[GRID_SIDES]; /* the iteration of the halo that was last used */
	struct shown shown[GRID_SIDES][HISTORY]; /* by iteration, modulo */
	uint64_t visited; /* ranks, as bits */
};

struct node {
	struct progress *progress;
	struct ranks *ranks;
	struct subdomain *subdomains; /* slot by slot */
	uint32_t *last; /* who was there, slot by slot */
	uint64_t updates;
	unsigned wishes;
	uint64_t started_ns, updates_then, updates_in_time; /* see pump_and_check_rate() */
};

struct world {
	struct fake *fake;
	struct jacobi_options options;
	struct grid grid;
	struct window window;
	uint32_t ranks, each, total, slots;
	bool lockstep;
	uint64_t iterations; /* in lockstep */
	struct node *nodes;
	struct fact *facts;
	double *cells; /* of the whole grid, the newest of each */
	uint64_t *rank_updates; /* as rank 0 gathered them */
	struct subdomain *collected;
	struct world_outcome *outcome;
};

/* The argument of a rank's callbacks: the world, and which rank it is. */
struct view {
	struct world *world;
	uint32_t rank;
};

static void expect(const struct world *world, bool holds, const char *what)
{
	if (!holds)
		fake_fail(world->fake, what);
}

static void *zeroed(size_t count, size_t bytes)
{
	void *all = aligned_alloc(EDGE_LINE, (count * bytes + EDGE_LINE - 1) & -EDGE_LINE);

	assert(all);
	return memset(all, 0, count * bytes);
}

/* ---- What is known ---- */

static double *cell(const struct world *world, const struct grid_block *block, uint32_t row)
{
	return world->cells + (size_t)(block->row + row) * world->grid.columns + block->column;
}

static uint64_t hash_of(const double *cells, size_t n, size_t stride)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++) {
		uint64_t word;

		memcpy(&word, cells + i * stride, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x100000001b3);
		hash ^= hash >> 32;
	}
	return hash;
}

/* A hash of the cells that a subdomain shows on a side now, taken from the whole grid. */
static uint64_t side_hash(const struct world *world, uint32_t id, enum grid_side side)
{
	struct grid_block block = grid_block(&world->grid, id);
	const double *from = cell(world, &block, side == GRID_SOUTH ? block.rows - 1 : 0);

	if (side == GRID_EAST)
		from += block.columns - 1;
	return hash_of(from, grid_edge_cells(&block, side),
		side == GRID_NORTH || side == GRID_SOUTH ? 1 : world->grid.columns);
}

/* A subdomain was updated, or set up. */
static void note(struct world *world, const struct subdomain *sub)
{
	struct fact *fact = &world->facts[sub->id];

	for (uint32_t row = 0; row < sub->block.rows; row++)
		memcpy(cell(world, &sub->block, row), subdomain_row(sub, row),
			sub->block.columns * sizeof(double));
	fact->iteration = sub->iteration;
	fact->lag_sum = sub->lag_sum;
	for (enum grid_side side = 0; side < GRID_SIDES; side++)
		fact->shown[side][sub->iteration % HISTORY] =
			(struct shown){sub->iteration, side_hash(world, sub->id, side)};
}

/* Its cells and counts are those after its last update, wherever that was. */
static void check_cells(const struct world *world, const struct subdomain *sub)
{
	const struct fact *fact = &world->facts[sub->id];

	expect(world, sub->iteration == fact->iteration, "a subdomain has lost iterations");
	expect(world, sub->lag_sum == fact->lag_sum, "a subdomain has lost its count");
	for (uint32_t row = 0; row < sub->block.rows; row++)
		expect(world,
			memcmp(cell(world, &sub->block, row), subdomain_row(sub, row),
				sub->block.columns * sizeof(double)) == 0,
			"a subdomain has lost cells");
}

/* Its halos, as fetched, are what the neighbours had. */
static void check_halos(struct world *world, struct subdomain *sub, bool newest)
{
	struct fact *fact = &world->facts[sub->id];
	bool stale = false;

	for (enum grid_side side = 0; side < GRID_SIDES; side++) {
		uint32_t id = grid_neighbour(&world->grid, sub->id, side);

		if (id == GRID_OUTSIDE)
			continue;
		const struct edge_slot *halo =
			world->lockstep ? edge_of_iteration(sub->in[side], sub->iteration)
					: edge_latest(sub->in[side]);
		const struct shown *shown =
			&world->facts[id].shown[grid_opposite(side)][halo->iteration % HISTORY];
		expect(world, shown->iteration == halo->iteration,
			"a halo is of an iteration that the neighbour has not had");
		expect(world, halo->iteration >= fact->seen[side], "a halo is older than before");
		expect(world,
			hash_of(halo->cells, grid_edge_cells(&sub->block, side), 1) == shown->hash,
			"a halo is not what the neighbour had");
		if (world->lockstep)
			expect(world, halo->iteration == sub->iteration,
				"a halo is of another iteration");
		fact->seen[side] = halo->iteration;
		stale = stale || halo->iteration != world->facts[id].iteration;
	}
	if (newest)
		expect(world, !stale, "a halo is not the newest");
	world->outcome->stale += stale;
}

static const struct window_entry *directory(const struct world *world, uint32_t rank)
{
	return (const void *)((const char *)fake_window(world->fake, rank) +
			      world->window.directory);
}

static void count_message(const struct transport_message *message, void *arg)
{
	uint32_t *count = arg;

	/* A package begins with the subdomain's number. */
	if (message->kind == MESSAGE_SUBDOMAIN)
		count[*(const uint32_t *)message->data]++;
}

/* Each subdomain is in exactly one place: on a rank, in a slot that it leaves or comes to, or in a
 * message. */
static void check_places(const struct world *world)
{
	uint32_t *count = zeroed(world->total, sizeof(*count));
	uint32_t most =
		world->options.plb.high > world->each ? world->options.plb.high : world->each;
	uint32_t least =
		world->options.plb.low < world->each ? world->options.plb.low : world->each;

	for (uint32_t rank = 0; rank < world->ranks; rank++) {
		const struct window_entry *entry = directory(world, rank);
		uint32_t residents = 0;

		for (uint32_t slot = 0; slot < world->slots; slot++) {
			const struct subdomain *sub = &world->nodes[rank].subdomains[slot];
			bool resident = entry[slot].owner == rank;

			expect(world, !resident || (sub->memory && sub->id == entry[slot].id),
				"a directory lists what is not there");
			residents += resident;
			if (sub->memory)
				count[sub->id]++;
		}
		expect(world, residents <= most, "a rank has more than it has room for");
		expect(world, residents >= least, "a rank has given what it should keep");
	}
	fake_messages(world->fake, count_message, count);
	for (uint32_t id = 0; id < world->total; id++)
		expect(world, count[id] == 1, "a subdomain is not at one place");
	free(count);
}

/* The residual of the whole grid, computed by one loop. */
static double residual(const struct world *world, double *next)
{
	uint32_t rows = world->grid.rows, columns = world->grid.columns;
	double sum = 0;

	for (uint32_t row = 0; row < rows; row++)
		for (uint32_t i = 0; i < columns; i++) {
			const double *here = world->cells + (size_t)row * columns + i;
			double above = row > 0 ? here[-(ptrdiff_t)columns]
					       : subdomain_source(&world->grid, i);
			double below = row + 1 < rows ? here[columns] : 0;
			double left = i > 0 ? here[-1] : 0, right = i + 1 < columns ? here[1] : 0;
			double value = 0.25 * ((above + below) + (left + right));

			sum += (value - *here) * (value - *here);
			if (next)
				next[(size_t)row * columns + i] = value;
		}
	return sum;
}

/* ---- A rank ---- */

static double share_of(uint32_t id)
{
	return id + 0.5;
}

static double squared(void *arg)
{
	(void)arg;
	return NAN;
}

static uint64_t waited_ns(void *arg)
{
	(void)arg;
	return 0;
}

static double leaves(void *arg, uint32_t slot)
{
	const struct view *view = arg;
	struct node *node = &view->world->nodes[view->rank];

	node->last[slot] = node->subdomains[slot].id;
	return share_of(node->subdomains[slot].id);
}

static void arrives(void *arg, uint32_t slot, double share)
{
	const struct view *view = arg;
	struct world *world = view->world;
	struct node *node = &world->nodes[view->rank];
	uint32_t id = node->subdomains[slot].id;

	expect(world, share == share_of(id), "a subdomain has lost its share");
	expect(world, progress_holder(node->progress, slot) == 0, "nobody holds what came");
	world->outcome->reused += node->last[slot] != WINDOW_NOBODY && node->last[slot] != id;
	world->outcome->returned += world->facts[id].visited >> view->rank & 1;
	world->facts[id].visited |= UINT64_C(1) << view->rank;
}

static void step(struct world *world, uint32_t rank, uint32_t slot)
{
	struct node *node = &world->nodes[rank];
	struct subdomain *sub = &node->subdomains[slot];

	expect(world, directory(world, rank)[slot].owner == rank, "a worker holds what is gone");
	if (subdomain_fetch(sub) > world->options.bound)
		return;
	check_cells(world, sub);
	check_halos(world, sub, false);
	subdomain_step(sub);
	expect(world, sub->lag_max <= world->options.bound, "a halo was older than the bound");
	note(world, sub);
	progress_update(node->progress, 0, slot, sub->iteration, 0);
	node->updates++;
}

static void check_counts(const struct world *world, const struct node *node, uint32_t rank)
{
	const struct ranks_counts counts = ranks_counts(node->ranks);
	uint32_t residents = 0;

	for (uint32_t slot = 0; slot < world->slots; slot++)
		residents += directory(world, rank)[slot].owner == rank;
	expect(world, counts.subdomains == residents, "a rank has miscounted its subdomains");
	expect(world, counts.subdomains + counts.departures == world->each + counts.arrivals,
		"a rank has miscounted moves");
}

/* All ranks stand still: all values are as new as can be, and the residual is that of the whole
 * grid. Returns the wishes. */
static unsigned meet(struct world *world, uint32_t rank)
{
	struct node *node = &world->nodes[rank];
	unsigned wishes = ranks_settle(node->ranks);
	double sums[] = {0, 0}, whole = residual(world, NULL);

	for (uint32_t slot = 0; slot < world->slots; slot++) {
		struct subdomain *sub = &node->subdomains[slot];

		if (!sub->memory)
			continue;
		expect(world, directory(world, rank)[slot].owner == rank,
			"something is still on its way");
		subdomain_fetch(sub);
		check_cells(world, sub);
		check_halos(world, sub, true);
		sums[0] += subdomain_residual(sub);
		sums[1]++;
	}
	check_places(world);
	check_counts(world, node, rank);
	expect(world, (wishes & node->wishes) == node->wishes, "a wish was lost");
	node->wishes = 0;
	ranks_sum(node->ranks, sums, 2);
	expect(world, sums[1] == world->total, "not all were there");
	expect(world, fabs(sums[0] - whole) <= 1e-12 * whole, "the residual is wrong");
	if (rank == 0)
		world->outcome->meetings++;
	return wishes;
}

/* Of turns that are not put off, the first comes with the first balancing point, and one that begins
 * a period later, and a look, comes after the second: from then on the rank knows its rate. */
static unsigned pump_and_check_rate(struct world *world, struct node *node)
{
	uint64_t period_ns = world->options.dplb_period_ns, now_ns = clock_monotonic_ns();
	unsigned why = ranks_pump(node->ranks, true);
	struct progress_rank own;

	if (node->started_ns == 0) {
		node->started_ns = clock_monotonic_ns();
		node->updates_then = node->updates;
	}
	if (now_ns < node->started_ns + period_ns)
		node->updates_in_time = node->updates;
	progress_rank_read(node->progress, &own);
	if (world->options.dplb.kind != DPLB_NONE && period_ns > 0 && own.subdomains > 0 &&
		node->updates_in_time > node->updates_then &&
		now_ns > node->started_ns + period_ns + LOOK_NS) {
		expect(world, own.rate > 0, "the rate is not known after a period");
		world->outcome->rates++;
	}
	return why;
}

static void run_async(struct world *world, uint32_t rank)
{
	struct node *node = &world->nodes[rank];
	uint32_t meetings = 0;

	for (;;) {
		const uint32_t *held;
		uint32_t n = progress_begin(node->progress, 0, &held);
		unsigned why = 0;

		for (uint32_t i = 0; i < n && !why; i++) {
			step(world, rank, held[i]);
			why = ranks_pump(node->ranks, fake_any(world->fake, 1));
			if (fake_any(world->fake, world->total) < CHECKED)
				check_places(world);
		}
		if (!why)
			why = pump_and_check_rate(world, node);
		if (node->wishes == 0 &&
			(fake_any(world->fake, 250) == 0 || node->updates > UPDATES_MAX)) {
			node->wishes = 1U << fake_any(world->fake, 7);
			ranks_wish(node->ranks, node->wishes);
		}
		if (why & RANKS_REWIRE)
			ranks_rewire(node->ranks);
		if (why & RANKS_MEET) {
			unsigned wishes = meet(world, rank);

			expect(world, wishes != 0 || world->options.check,
				"a meeting that nobody wished for");
			meetings += wishes != 0;
			if (meetings == MEETINGS)
				return;
			ranks_resume(node->ranks, &(struct estimate){0});
		}
	}
}

static void run_sync(struct world *world, uint32_t rank)
{
	struct node *node = &world->nodes[rank];
	const uint32_t *held;

	for (uint64_t iteration = 1; iteration <= world->iterations; iteration++) {
		progress_begin(node->progress, 0, &held);
		for (uint32_t slot = 0; slot < world->each; slot++) {
			step(world, rank, slot);
			ranks_pump(node->ranks, fake_any(world->fake, 1));
		}
		ranks_exchange(node->ranks, iteration);
		if (iteration % 7 == 0) {
			meet(world, rank);
			ranks_resume(node->ranks, &(struct estimate){0});
		}
	}
	meet(world, rank);
}

static void rank_main(struct transport *t, void *arg)
{
	struct world *world = arg;
	struct view view = {world, transport_rank(t)};
	struct node *node = &world->nodes[view.rank];
	const struct ranks_setup setup = {
		.transport = t,
		.options = &world->options,
		.grid = &world->grid,
		.workers = 1,
		.slots = world->slots,
		.subdomains = node->subdomains,
		.progress = node->progress,
		.waited_ns = waited_ns,
		.squared = squared,
		.calls = {.leaves = leaves, .arrives = arrives},
		.arg = &view,
	};

	assert(progress_register(node->progress, 0) == 0);
	assert(ranks_create(&setup, &node->ranks) == 0);
	if (world->lockstep)
		run_sync(world, view.rank);
	else
		run_async(world, view.rank);
	progress_leave(node->progress, 0);
	world->outcome->updates += node->updates;
	world->outcome->arrivals += ranks_counts(node->ranks).arrivals;
	ranks_gather(node->ranks, &node->updates, sizeof(node->updates),
		view.rank == 0 ? world->rank_updates : NULL);
	assert(ranks_collect(node->ranks, view.rank == 0 ? world->collected : NULL) == 0);
	ranks_destroy(node->ranks);
}

/* ---- The beginning and the end ---- */

static void set_up_node(struct world *world, uint32_t rank)
{
	struct node *node = &world->nodes[rank];
	uint32_t *owner = zeroed(world->slots, sizeof(*owner));
	const struct progress_options how = {
		.workers = 1,
		.subdomains = world->slots,
		.owner = owner,
		.balancing = PROGRESS_BALANCE_NONE,
		.low = world->options.plb.low,
		.high = world->options.plb.high,
		.rank = (int32_t)rank,
	};
	char name[64];

	node->subdomains = zeroed(world->slots, sizeof(*node->subdomains));
	node->last = zeroed(world->slots, sizeof(*node->last));
	for (uint32_t slot = 0; slot < world->slots; slot++) {
		uint32_t id = rank * world->each + slot;

		node->last[slot] = WINDOW_NOBODY;
		owner[slot] = slot < world->each ? 0 : PROGRESS_NOBODY;
		if (slot >= world->each)
			continue;
		assert(subdomain_init(&node->subdomains[slot], &world->grid, id, world->lockstep) ==
			0);
		note(world, &node->subdomains[slot]);
		world->facts[id].visited = UINT64_C(1) << rank;
	}
	assert(progress_create(&how, &node->progress) == 0);
	snprintf(name, sizeof(name), "/progress.%u.%d", (unsigned)geteuid(), (int)getpid());
	shm_unlink(name);
	free(owner);
}

/* Choose options, grid and network at random. */
static void choose(struct world *world, uint64_t seed)
{
	struct fake_options network = {.seed = seed};
	struct fake *chance = fake_new(&(struct fake_options){.ranks = 1, .seed = ~seed});
	/* Now and then there are more between ranks than one step looks at. */
	bool many = fake_any(chance, 30) == 0;
	uint32_t split = many ? 70 : 1 + fake_any(chance, 5);

	network.ranks = 1 + fake_any(chance, 5);
	network.delay = fake_any(chance, 1) ? fake_any(chance, 2) : fake_any(chance, 20);
	network.torn = fake_any(chance, 3) > 0;
	network.server = (enum fake_server)fake_any(chance, 2);
	network.busy = fake_any(chance, 3) == 0;
	world->options = (struct jacobi_options){
		.rows = (many ? split : 6) + fake_any(chance, 6),
		.columns = network.ranks * (6 + fake_any(chance, 4)) + fake_any(chance, 3),
		.subdomains = split,
		.mode = world->lockstep       ? MODE_SYNC
			: fake_any(chance, 1) ? MODE_ASYNC
					      : MODE_SSYNC,
		.plb.low = 1 + fake_any(chance, 1),
		.plb.high = split + fake_any(chance, 4),
		.dplb.kind = (enum dplb[]){DPLB_RANDOM, DPLB_RANDOM, DPLB_GLOBAL,
			DPLB_NEIGHBOURS}[fake_any(chance, 3)],
		.dplb.reach = 1 + fake_any(chance, 2),
		.dplb_period_ns = fake_any(chance, 1) ? 0 : 10000000,
		.dplb_threshold = PROGRESS_THRESHOLD_NONE,
		.seed = seed,
		.check = fake_any(chance, 5) == 0,
	};
	world->options.bound = world->options.mode == MODE_SSYNC ? fake_any(chance, 4) : UINT64_MAX;
	if (world->lockstep)
		world->options.dplb.kind = DPLB_NONE;
	world->iterations = 1 + fake_any(chance, 40);
	assert(grid_init(&world->grid, world->options.rows, world->options.columns,
		       !many && fake_any(chance, 2) ? GRID_CUT_2D : GRID_CUT_1D, network.ranks, 1,
		       split) == 0);
	fake_free(chance);
	world->fake = fake_new(&network);
	world->ranks = network.ranks;
}

static void set_up(struct world *world, uint64_t seed)
{
	choose(world, seed);
	world->each = grid_rank_subdomains(&world->grid);
	world->total = grid_subdomains(&world->grid);
	world->slots = ranks_slots(&world->options, &world->grid, 1);
	window_init(&world->window, &world->grid, world->slots);
	world->nodes = zeroed(world->ranks, sizeof(*world->nodes));
	world->facts = zeroed(world->total, sizeof(*world->facts));
	world->cells =
		zeroed((size_t)world->grid.rows * world->grid.columns, sizeof(*world->cells));
	world->rank_updates = zeroed(world->ranks, sizeof(*world->rank_updates));
	world->collected = zeroed(world->total, sizeof(*world->collected));
	for (uint32_t rank = 0; rank < world->ranks; rank++)
		set_up_node(world, rank);
}

/* Rank 0 collected what the ranks had. */
static void check_collected(const struct world *world)
{
	for (uint32_t rank = 0; rank < world->ranks; rank++)
		expect(world, world->rank_updates[rank] == world->nodes[rank].updates,
			"what was gathered is wrong");
	for (uint32_t id = 0; id < world->total; id++) {
		expect(world, world->collected[id].id == id, "what was collected is wrong");
		check_cells(world, &world->collected[id]);
	}
}

static void tear_down(struct world *world)
{
	fake_free(world->fake);
	for (uint32_t id = 0; id < world->total; id++)
		subdomain_deinit(&world->collected[id]);
	for (uint32_t rank = 0; rank < world->ranks; rank++) {
		struct node *node = &world->nodes[rank];

		for (uint32_t slot = 0; slot < world->slots; slot++)
			subdomain_deinit(&node->subdomains[slot]);
		progress_close(node->progress);
		free(node->subdomains);
		free(node->last);
	}
	free(world->nodes);
	free(world->facts);
	free(world->cells);
	free(world->rank_updates);
	free(world->collected);
}

void world_run(uint64_t seed, struct world_outcome *outcome)
{
	struct world world = {.outcome = outcome};

	set_up(&world, seed);
	fake_run(world.fake, rank_main, &world);
	check_collected(&world);
	tear_down(&world);
}

/* That many iterations in one loop over the grid. */
static double *solve_whole(struct world *world)
{
	size_t n = (size_t)world->grid.rows * world->grid.columns;
	double *begin = world->cells, *now = zeroed(n, sizeof(*now)),
	       *next = zeroed(n, sizeof(*next));

	memcpy(now, begin, n * sizeof(*now));
	for (uint64_t k = 0; k < world->iterations; k++) {
		double *last = now;

		world->cells = now;
		residual(world, next);
		now = next;
		next = last;
	}
	world->cells = begin;
	free(next);
	return now;
}

void world_run_sync(uint64_t seed)
{
	struct world_outcome outcome = {0};
	struct world world = {.outcome = &outcome, .lockstep = true};

	set_up(&world, seed);
	double *whole = solve_whole(&world);
	fake_run(world.fake, rank_main, &world);
	expect(&world,
		memcmp(whole, world.cells,
			(size_t)world.grid.rows * world.grid.columns * sizeof(*whole)) == 0,
		"the solution is not that of one loop");
	check_collected(&world);
	free(whole);
	tear_down(&world);
}
