/* SPDX-License-Identifier: MIT */
/*
 * Halos and moves between ranks, one situation per test. The test moves subdomains as it wants, and
 * the links of those that stay have to find them again.
 */
#undef NDEBUG
#include "apps/jacobi/ranks/mover.h"
#include "tests/unit/apps/jacobi/ranks/transport_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/libprogress/segment_of.h"

enum { RANKS_MAX = 5, SLOTS_MAX = 18, ROUNDS = 300, SEEDS = 8 };

/* All ranks, in one thread. The subdomains of a rank lie one below the other. */
struct group {
	struct fake *fake;
	struct grid grid;
	uint32_t ranks, each, slots;
	struct site sites[RANKS_MAX];
	struct halos halos[RANKS_MAX];
	struct mover movers[RANKS_MAX];
	bool deaf[RANKS_MAX]; /* takes no messages */
	bool asleep[RANKS_MAX]; /* does nothing */
};

static double leaves(void *arg, uint32_t slot)
{
	(void)arg;
	return slot;
}

static void arrives(void *arg, uint32_t slot, double share)
{
	(void)arg, (void)slot, (void)share;
}

static void open_rank(struct group *group, uint32_t rank)
{
	const struct mover_calls calls = {.leaves = leaves, .arrives = arrives};
	struct site *site = &group->sites[rank];
	uint32_t owner[SLOTS_MAX];
	char path[PATH_BYTES];
	void *memory;

	assert_in_range(group->slots, 1, SLOTS_MAX);
	for (uint32_t slot = 0; slot < group->slots; slot++)
		owner[slot] = slot < group->each ? 0 : PROGRESS_NOBODY;
	*site = (struct site){
		.transport = fake_transport(group->fake, rank),
		.grid = &group->grid,
		.subdomains = edge_allocate(group->slots, sizeof(struct subdomain)),
		.progress = create_with(&(struct progress_options){
			.workers = 1, .subdomains = group->slots, .owner = owner}),
		.rank = rank,
		.ranks = group->ranks,
		.workers = 1,
		.slots = group->slots,
	};
	/* So that the next rank can create its own. */
	segment_path(path, getpid());
	unlink(path);
	assert_int_equal(progress_register(site->progress, 0), 0);
	assert_non_null(site->subdomains);
	for (uint32_t slot = 0; slot < group->each; slot++)
		assert_int_equal(subdomain_init(&site->subdomains[slot], &group->grid,
					 rank * group->each + slot, false),
			0);
	window_init(&site->window, &group->grid, group->slots);
	assert_int_equal(transport_window(site->transport, site->window.bytes, &memory), 0);
	site->memory = memory;
	site->directory = (void *)(site->memory + site->window.directory);
	site->homes = (void *)(site->memory + site->window.homes);
	assert_int_equal(halos_init(&group->halos[rank], site), 0);
	assert_int_equal(mover_init(&group->movers[rank], &group->halos[rank], group->slots - 1,
				 &calls, NULL),
		0);
}

static void group_init(struct group *group, uint32_t ranks, uint32_t each, uint32_t slots,
	const struct fake_options *network)
{
	struct fake_options options = *network;

	memset(group, 0, sizeof(*group));
	options.ranks = ranks;
	group->ranks = ranks;
	group->each = each;
	group->slots = slots;
	group->fake = fake_new(&options);
	assert_int_equal(
		grid_init(&group->grid, 4 * each, 3 * ranks, GRID_CUT_1D, ranks, 1, each), 0);
	for (uint32_t rank = 0; rank < ranks; rank++)
		open_rank(group, rank);
	for (uint32_t rank = 0; rank < ranks; rank++)
		halos_connect_all(&group->halos[rank]);
}

static void rank_goes_on(struct group *group, uint32_t rank)
{
	struct transport_message message;

	if (group->asleep[rank])
		return;
	halos_step(&group->halos[rank]);
	if (!group->deaf[rank] && transport_receive(group->sites[rank].transport, &message))
		mover_take(&group->movers[rank], &message);
	mover_rewire(&group->movers[rank]);
	mover_step(&group->movers[rank]);
}

/* Each rank does something, in any order. */
static void group_goes_on(struct group *group)
{
	for (unsigned k = 0; k < ROUNDS * group->ranks; k++)
		rank_goes_on(group, fake_any(group->fake, group->ranks - 1));
}

static uint32_t rank_of(const struct group *group, uint32_t id)
{
	uint32_t found = SITE_NOWHERE;

	for (uint32_t rank = 0; rank < group->ranks; rank++)
		if (site_find(&group->sites[rank], id) != SITE_NOWHERE) {
			assert_int_equal(found, SITE_NOWHERE);
			found = rank;
		}
	return found;
}

static struct subdomain *sub_of(const struct group *group, uint32_t id)
{
	const struct site *site = &group->sites[rank_of(group, id)];

	return &site->subdomains[site_find(site, id)];
}

static void offer(struct group *group, uint32_t id, uint32_t to)
{
	uint32_t from = rank_of(group, id);

	mover_offer(&group->movers[from], site_find(&group->sites[from], id), to);
}

static void move(struct group *group, uint32_t id, uint32_t to)
{
	offer(group, id, to);
	group_goes_on(group);
	assert_int_equal(rank_of(group, id), to);
}

/* Update all subdomains, then check that they see what their neighbours have. */
static void check_links(struct group *group)
{
	for (uint32_t id = 0; id < grid_subdomains(&group->grid); id++) {
		subdomain_fetch(sub_of(group, id));
		for (uint32_t k = 0; k <= id % 3; k++)
			subdomain_step(sub_of(group, id));
	}
	for (uint32_t rank = 0; rank < group->ranks; rank++) {
		halos_show(&group->halos[rank]);
		halos_refresh(&group->halos[rank]);
	}
	group_goes_on(group);
	for (uint32_t rank = 0; rank < group->ranks; rank++)
		assert_true(halos_are_fresh(&group->halos[rank]));
	for (uint32_t id = 0; id < grid_subdomains(&group->grid); id++)
		for (enum grid_side side = 0; side < GRID_SIDES; side++) {
			uint32_t n = grid_neighbour(&group->grid, id, side);

			if (n == GRID_OUTSIDE)
				continue;
			struct subdomain *sub = sub_of(group, id), *other = sub_of(group, n);
			const struct edge_slot *halo = edge_latest(sub->in[side]);

			assert_int_equal(halo->iteration, other->iteration);
			if (side == GRID_NORTH || side == GRID_SOUTH)
				assert_memory_equal(halo->cells,
					subdomain_row(other,
						side == GRID_NORTH ? other->block.rows - 1 : 0),
					other->block.columns * sizeof(double));
			else
				for (uint32_t row = 0; row < other->block.rows; row++)
					assert_true(halo->cells[row] ==
						    subdomain_row(other,
							    row)[side == GRID_WEST
									 ? other->block.columns - 1
									 : 0]);
		}
}

static void group_deinit(struct group *group)
{
	bool idle = false;

	while (!idle) {
		idle = true;
		for (uint32_t rank = 0; rank < group->ranks; rank++) {
			transport_poll(group->sites[rank].transport);
			idle = halos_drain(&group->halos[rank]) && idle;
		}
	}
	for (uint32_t rank = 0; rank < group->ranks; rank++) {
		struct site *site = &group->sites[rank];

		mover_deinit(&group->movers[rank]);
		halos_deinit(&group->halos[rank]);
		for (uint32_t slot = 0; slot < group->slots; slot++)
			subdomain_deinit(&site->subdomains[slot]);
		free(site->subdomains);
		progress_close(site->progress);
	}
	fake_free(group->fake);
}

static struct fake_options network(uint64_t seed)
{
	return (struct fake_options){
		.seed = seed,
		.delay = (uint32_t)(seed % 4),
		.torn = true,
		.busy = seed % 2,
		.server = (enum fake_server)(seed % 3),
	};
}

/* A halo names an owner that is no rank. Nobody reads there, and the next halo helps. */
static void owner_that_is_no_rank(void **state)
{
	const struct fake_options options = network(1);
	struct group group;

	(void)state;
	NEED_SHM();
	group_init(&group, 2, 2, 4, &options);
	check_links(&group);
	const struct site *site = &group.sites[0];
	struct window_halo *halo =
		(void *)(site->memory + window_halo_at(&site->window, 0, GRID_EAST, 0));
	size_t cells = grid_edge_cells(&site->subdomains[0].block, GRID_EAST);
	halo->owner = 77;
	halo->seal = window_seal(halo, sizeof(*halo) + cells * sizeof(double));
	group.asleep[0] = true;
	group_goes_on(&group);
	group.asleep[0] = false;
	check_links(&group);
	group_deinit(&group);
}

static void moved_on_and_home(void **state)
{
	struct group group;

	(void)state;
	NEED_SHM();
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct fake_options options = network(seed);

		group_init(&group, 4, 2, 6, &options);
		check_links(&group);
		for (uint32_t to = 1; to <= 4; to++) {
			move(&group, 1, to % 4);
			check_links(&group);
		}
		/* Several moves without a look in between, and more than once around. */
		for (uint32_t to = 1; to <= 7; to++)
			move(&group, 1, to % 4);
		check_links(&group);
		group_deinit(&group);
	}
}

static void swapped_at_once(void **state)
{
	struct group group;

	(void)state;
	NEED_SHM();
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct fake_options options = network(seed);

		/* 0 and 2 are neighbours, as are 2 and 4. */
		group_init(&group, 3, 2, 5, &options);
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t a = rank_of(&group, 0), b = rank_of(&group, 2);

			offer(&group, 0, b);
			offer(&group, 2, a);
			group_goes_on(&group);
			assert_int_equal(rank_of(&group, 0), b);
			assert_int_equal(rank_of(&group, 2), a);
			if (k % 2)
				check_links(&group);
		}
		/* Each takes the place of the next. */
		offer(&group, 0, rank_of(&group, 2));
		offer(&group, 2, rank_of(&group, 4));
		offer(&group, 4, rank_of(&group, 0));
		group_goes_on(&group);
		check_links(&group);
		group_deinit(&group);
	}
}

/* The rank where it was at first does not know of its move, so only records of where it went
 * help. */
static void found_by_forwarding(void **state)
{
	struct group group;

	(void)state;
	NEED_SHM();
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct fake_options options = network(seed);

		group_init(&group, 5, 1, 4, &options);
		move(&group, 1, 0);
		check_links(&group);
		group.deaf[1] = true;
		move(&group, 1, 2);
		check_links(&group);
		/* A neighbour that looks now has to follow twice, the second time by a
		 * directory. */
		group.asleep[0] = true;
		move(&group, 1, 3);
		move(&group, 1, 4);
		assert_int_equal(group.sites[1].homes[0].rank, 0);
		group.asleep[0] = false;
		check_links(&group);
		group.deaf[1] = false;
		group_goes_on(&group);
		assert_int_equal(group.sites[1].homes[0].rank, 4);
		group_deinit(&group);
	}
}

/* The records of where it went are gone, since another subdomain came to its slot: only the rank
 * where it was at first knows. */
static void found_by_home(void **state)
{
	struct group group;

	(void)state;
	NEED_SHM();
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct fake_options options = network(seed);

		group_init(&group, 5, 1, 3, &options);
		check_links(&group);
		/* Its neighbours do not look. */
		group.asleep[0] = group.asleep[2] = true;
		move(&group, 1, 4);
		for (uint32_t k = 0; k < 3; k++) {
			move(&group, 3, 1);
			if (k == 2)
				break;
			/* The record is kept while there are other slots. */
			assert_int_equal(group.sites[1].directory[0].id, 1);
			assert_int_equal(group.sites[1].directory[0].owner, 4);
			move(&group, 3, 3);
		}
		for (uint32_t slot = 0; slot < group.slots; slot++)
			assert_int_not_equal(group.sites[1].directory[slot].id, 1);
		assert_int_equal(group.sites[1].homes[0].rank, 4);
		group.asleep[0] = group.asleep[2] = false;
		check_links(&group);
		group_deinit(&group);
	}
}

/* A neighbour that looks for subdomain 0 in a slot whose halos were never shown finds that it is
 * not there. */
static void nothing_is_not_the_first(void **state)
{
	struct group group;

	(void)state;
	NEED_SHM();
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct fake_options options = network(seed);
		struct halo_seed seeds[GRID_SIDES] = {0};

		group_init(&group, 2, 1, 3, &options);
		seeds[GRID_WEST].place = (struct site_place){0, 2};
		halos_connect(&group.halos[1], 0, seeds);
		check_links(&group);
		group_deinit(&group);
	}
}

/* How many gets of a rank are under way, or done but not yet asked for? */
static uint32_t open_gets(struct transport *t)
{
	static int tickets[TRANSPORT_GETS_MAX];
	uint64_t word;
	uint32_t more = 0;

	while ((tickets[more] = transport_get(t, 0, 0, sizeof(word), &word)) >= 0)
		if (++more == TRANSPORT_GETS_MAX)
			break;
	for (uint32_t k = 0; k < more; k++)
		while (!transport_done(t, tickets[k]))
			transport_poll(t);
	return TRANSPORT_GETS_MAX - more;
}

/* The number of gets is limited: those of links that no longer exist must not use them up. */
static void gets_come_back(void **state)
{
	struct group group;

	(void)state;
	NEED_SHM();
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct fake_options options = {
			.seed = seed, .delay = 20, .server = FAKE_READER};

		group_init(&group, 2, 8, SLOTS_MAX, &options);
		/* From top to bottom: subdomains of the other rank become neighbours here. */
		for (uint32_t id = 8; id < 16; id++)
			move(&group, id, 0);
		move(&group, 0, 1);
		/* Except those that the last move cut. */
		assert_in_range(open_gets(group.sites[0].transport), 0,
			group.halos[0].active_count + GRID_SIDES);
		check_links(&group);
		group_deinit(&group);
	}
}

static void full_ones_refuse(void **state)
{
	struct group group;

	(void)state;
	NEED_SHM();
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct fake_options options = network(seed);

		group_init(&group, 3, 2, 4, &options);
		assert_int_equal(mover_room(&group.movers[1]), 1);
		/* Accept one of two that arrive at the same time. */
		offer(&group, 0, 1);
		offer(&group, 4, 1);
		group_goes_on(&group);
		assert_int_equal(mover_room(&group.movers[1]), 0);
		assert_true((rank_of(&group, 0) == 1) != (rank_of(&group, 4) == 1));
		assert_true(mover_is_done(&group.movers[0]));
		assert_true(mover_is_done(&group.movers[2]));
		check_links(&group);
		/* And one for a rank that is to take no more, whether it has room or not. */
		group.movers[0].refuses = true;
		offer(&group, 5, 0);
		group_goes_on(&group);
		assert_int_equal(rank_of(&group, 5), 2);
		offer(&group, 1, 2);
		group_goes_on(&group);
		assert_int_equal(rank_of(&group, 1), 0);
		check_links(&group);
		group_deinit(&group);
	}
}

/* A rank sends a subdomain that another has already. Ends the process if that is noticed. */
static void send_what_is_there(void)
{
	const struct fake_options options = network(3);
	struct group group;

	group_init(&group, 2, 2, 4, &options);
	offer(&group, 0, 1);
	group.sites[1].directory[1].id = 0;
	group_goes_on(&group);
}

static void one_that_is_here_ends_the_job(void **state)
{
	int status;

	(void)state;
	NEED_SHM();
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		send_what_is_there();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_that_is_no_rank),
		cmocka_unit_test(moved_on_and_home),
		cmocka_unit_test(swapped_at_once),
		cmocka_unit_test(found_by_forwarding),
		cmocka_unit_test(found_by_home),
		cmocka_unit_test(nothing_is_not_the_first),
		cmocka_unit_test(gets_come_back),
		cmocka_unit_test(full_ones_refuse),
		cmocka_unit_test(one_that_is_here_ends_the_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
