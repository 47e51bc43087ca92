/* SPDX-License-Identifier: MIT */
/*
 * What ranks show each other: windows with their seals, and the survey of all ranks.
 */
#undef NDEBUG
#include "apps/jacobi/ranks/ranks.h"
#include "apps/jacobi/ranks/survey.h"
#include "apps/jacobi/ranks/window.h"
#include "tests/unit/apps/jacobi/ranks/transport_fake.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"

/* ---- slots */

static void slots_for_what_may_come(void **state)
{
	struct jacobi_options options = {.dplb.kind = DPLB_NONE, .plb.high = 6};
	struct grid grid;

	(void)state;
	assert_int_equal(grid_init(&grid, 300, 300, GRID_CUT_1D, 5, 2, 4), 0);
	assert_int_equal(ranks_slots(&options, &grid, 2), 8);
	options.dplb.kind = DPLB_GLOBAL;
	assert_int_equal(ranks_slots(&options, &grid, 2), 13);
	/* It begins with more than it would take. */
	options.plb.high = 1;
	assert_int_equal(ranks_slots(&options, &grid, 2), 9);
	/* There are no more in total. */
	options.plb.high = 65536;
	assert_int_equal(ranks_slots(&options, &grid, 2), 40);
}

/* ---- windows */

/* Mark bytes that belong to one thing; they must not belong to another already. */
static void claim(uint8_t *bytes, size_t size, size_t at, size_t length)
{
	assert_true(at % sizeof(uint64_t) == 0);
	assert_true(at + length <= size);
	for (size_t i = at; i < at + length; i++) {
		assert_int_equal(bytes[i], 0);
		bytes[i] = 1;
	}
}

static void check_layout(const struct grid *grid, uint32_t slots)
{
	struct window window;

	window_init(&window, grid, slots);
	uint8_t *bytes = calloc(window.bytes, 1);
	assert_non_null(bytes);
	claim(bytes, window.bytes, 0, WINDOW_SURVEY_BYTES);
	claim(bytes, window.bytes, window.directory, slots * sizeof(struct window_entry));
	claim(bytes, window.bytes, window.homes,
		grid_rank_subdomains(grid) * sizeof(struct window_home));
	for (uint32_t slot = 0; slot < slots; slot++)
		for (enum grid_side side = 0; side < GRID_SIDES; side++)
			for (unsigned which = 0; which < 2; which++)
				claim(bytes, window.bytes,
					window_halo_at(&window, slot, side, which),
					window.halo_bytes[side]);
	/* Any subdomain may come to any slot. */
	for (uint32_t id = 0; id < grid_subdomains(grid); id++) {
		struct grid_block block = grid_block(grid, id);

		for (enum grid_side side = 0; side < GRID_SIDES; side++)
			assert_true(window.halo_bytes[side] >=
				    sizeof(struct window_halo) +
					    grid_edge_cells(&block, side) * sizeof(double));
	}
	free(bytes);
}

static void layout_does_not_overlap(void **state)
{
	struct grid grid;

	(void)state;
	for (uint32_t ranks = 1; ranks <= 4; ranks++)
		for (uint32_t split = 1; split <= 7; split += 2)
			for (uint32_t slots = split; slots <= split + 9; slots += 3) {
				assert_int_equal(grid_init(&grid, 23, 17 * ranks + 1, GRID_CUT_2D,
							 ranks, 1, split),
					0);
				check_layout(&grid, slots);
				assert_int_equal(grid_init(&grid, 23, 17 * ranks + 1, GRID_CUT_1D,
							 ranks, 1, split),
					0);
				check_layout(&grid, slots);
			}
}

enum { WORDS_MAX = 40 };

static void seal(uint64_t *record, size_t words)
{
	record[0] = window_seal(record, words * sizeof(*record));
}

static void seal_tells_a_changed_word(void **state)
{
	uint64_t record[WORDS_MAX], seed = 1;

	(void)state;
	for (size_t words = 1; words <= WORDS_MAX; words++)
		for (size_t changed = 0; changed < words; changed++)
			for (unsigned bit = 0; bit < 64; bit += 21) {
				for (size_t i = 0; i < words; i++)
					record[i] = random_word(&seed);
				seal(record, words);
				assert_true(window_is_sealed(record, sizeof(*record) * words));
				record[changed] ^= UINT64_C(1) << bit;
				assert_false(window_is_sealed(record, sizeof(*record) * words));
				record[changed] = random_word(&seed);
				assert_false(window_is_sealed(record, sizeof(*record) * words));
			}
}

/* Part of one halo and the rest of the next, with any cut. The cells are as in solutions: smooth,
 * with many equal ones. */
static void seal_tells_a_torn_halo(void **state)
{
	uint64_t before[WORDS_MAX], after[WORDS_MAX], torn[WORDS_MAX];

	(void)state;
	for (uint64_t iteration = 0; iteration < 10; iteration++)
		for (size_t words = 4; words <= WORDS_MAX; words += 3) {
			for (size_t i = 3; i < words; i++) {
				double cell = 1 / (1 + (double)(iteration + i)), next = cell / 2;

				memcpy(&before[i], &cell, sizeof(cell));
				memcpy(&after[i], &next, sizeof(next));
			}
			before[1] = iteration;
			after[1] = iteration + 1;
			before[2] = after[2] = 7;
			seal(before, words);
			seal(after, words);
			for (size_t cut = 1; cut < words; cut++) {
				memcpy(torn, before, cut * sizeof(*torn));
				memcpy(torn + cut, after + cut, (words - cut) * sizeof(*torn));
				assert_false(window_is_sealed(torn, words * sizeof(*torn)));
				memcpy(torn, after, cut * sizeof(*torn));
				memcpy(torn + cut, before + cut, (words - cut) * sizeof(*torn));
				assert_false(window_is_sealed(torn, words * sizeof(*torn)));
			}
		}
}

/* ---- the survey */

enum { RANKS_MAX = 40, ROUNDS = 150 };

/* All ranks, in one thread. */
struct group {
	struct fake *fake;
	struct grid grid;
	uint32_t ranks;
	struct site sites[RANKS_MAX];
	struct survey surveys[RANKS_MAX];
	struct survey_own own[RANKS_MAX];
	uint32_t stopped; /* one that does nothing, or WINDOW_NOBODY */
	uint64_t now_ns;
};

static void group_init(struct group *group, uint32_t ranks, uint64_t seed, double threshold)
{
	void *memory;

	memset(group, 0, sizeof(*group));
	group->ranks = ranks;
	group->stopped = WINDOW_NOBODY;
	group->fake = fake_new(&(struct fake_options){
		.ranks = ranks, .seed = seed, .delay = 3, .torn = true, .busy = true});
	assert_int_equal(grid_init(&group->grid, 4, 4 * ranks, GRID_CUT_2D, ranks, 1, 2), 0);
	for (uint32_t rank = 0; rank < ranks; rank++) {
		struct transport *t = fake_transport(group->fake, rank);

		assert_int_equal(transport_window(t, WINDOW_SURVEY_BYTES, &memory), 0);
		group->sites[rank] = (struct site){
			.transport = t,
			.grid = &group->grid,
			.rank = rank,
			.ranks = ranks,
			.memory = memory,
		};
		survey_init(&group->surveys[rank], &group->sites[rank], threshold, false, 0);
		group->own[rank] = (struct survey_own){
			.rank = {.average = 100 + (rank * 7) % 13,
				.rank = rank,
				.subdomains = 2,
				.room = 3},
			.arrivals = rank,
			.subdomains = 2,
			.squared = 1,
		};
	}
}

/* Each rank does something, in any order. */
static void group_go_on(struct group *group, unsigned rounds)
{
	for (uint64_t k = 0; k < (uint64_t)rounds * group->ranks; k++) {
		uint32_t rank = fake_any(group->fake, group->ranks - 1);

		if (rank == group->stopped)
			continue;
		transport_poll(fake_transport(group->fake, rank));
		group->now_ns += 1000;
		survey_step(&group->surveys[rank], &group->own[rank], group->now_ns);
	}
}

static void group_deinit(struct group *group)
{
	bool idle = false;

	group->stopped = WINDOW_NOBODY;
	while (!idle) {
		idle = true;
		for (uint32_t rank = 0; rank < group->ranks; rank++) {
			transport_poll(fake_transport(group->fake, rank));
			idle = survey_drain(&group->surveys[rank]) && idle;
		}
	}
	fake_free(group->fake);
}

static uint32_t called(const struct group *group)
{
	uint32_t n = 0;

	for (uint32_t rank = 0; rank < group->ranks; rank++)
		n += survey_is_called(&group->surveys[rank]);
	return n;
}

static void everybody_meets(struct group *group)
{
	for (uint32_t rank = 0; rank < group->ranks; rank++) {
		group->own[rank].wishes = 0;
		survey_met(&group->surveys[rank], &group->own[rank],
			&(struct estimate){.met_ns = group->now_ns});
	}
}

static void check_sums(const struct group *group)
{
	const struct survey_record *all = &group->surveys[0].record;
	struct progress_rank ends[2], known[SURVEY_KNOWN_MAX];
	uint64_t subdomains = 0, arrivals = 0;
	double squared = 0;

	ends[0] = ends[1] = group->own[0].rank;
	for (uint32_t rank = 0; rank < group->ranks; rank++) {
		const struct survey_own *own = &group->own[rank];

		subdomains += own->subdomains;
		arrivals += own->arrivals;
		squared += own->squared;
		progress_rank_reduce(ends, (struct progress_rank[2]){own->rank, own->rank});
	}
	assert_int_equal(all->subdomains, subdomains);
	assert_int_equal(all->arrivals, arrivals);
	assert_true(fabs(all->squared - squared) < 1e-9);
	for (uint32_t rank = 0; rank < group->ranks; rank++) {
		if (rank == group->stopped)
			continue;
		assert_int_equal(survey_known(&group->surveys[rank], known), 3);
		assert_int_equal(known[0].rank, rank);
		assert_true(known[0].average == group->own[rank].rank.average);
		/* The least last: if that is the rank itself, this record counts. */
		assert_memory_equal(&known[1], &ends[1], sizeof(*known));
		assert_memory_equal(&known[2], &ends[0], sizeof(*known));
	}
}

static void all_know_of_all(void **state)
{
	struct group group;

	(void)state;
	for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks += 1 + ranks / 4) {
		group_init(&group, ranks, ranks, 0);
		group_go_on(&group, ROUNDS);
		check_sums(&group);
		/* Changes spread, too. */
		group.own[ranks - 1].rank.average = 1;
		group.own[ranks / 2].subdomains = 9;
		group_go_on(&group, ROUNDS);
		check_sums(&group);
		assert_int_equal(called(&group), 0);
		group_deinit(&group);
	}
}

static void any_rank_can_call(void **state)
{
	struct group group;

	(void)state;
	for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks += 7) {
		group_init(&group, ranks, ranks, 0);
		for (uint32_t rank = 0; rank < ranks; rank += 2) {
			group_go_on(&group, ROUNDS / 4);
			assert_int_equal(called(&group), 0);
			group.own[rank].wishes = 4;
			group_go_on(&group, ROUNDS);
			assert_int_equal(called(&group), ranks);
			/* Only once: the wish dates from before the meeting. */
			everybody_meets(&group);
			group_go_on(&group, ROUNDS);
			assert_int_equal(called(&group), 0);
		}
		group_deinit(&group);
	}
}

static void advance_all_but(struct group *group, uint32_t one)
{
	for (uint32_t rank = 0; rank < group->ranks; rank++)
		group->own[rank].advanced = rank != one;
}

static void small_norm_calls_when_all_advanced(void **state)
{
	struct group group;

	(void)state;
	for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks += 9) {
		uint32_t one = ranks / 2;

		/* The norm is that of `ranks`. */
		group_init(&group, ranks, ranks, sqrt(ranks) * 1.001);
		advance_all_but(&group, one);
		group_go_on(&group, ROUNDS);
		assert_int_equal(called(&group), 0);
		advance_all_but(&group, WINDOW_NOBODY);
		group.own[one].squared = 1.1;
		group_go_on(&group, ROUNDS);
		assert_int_equal(called(&group), 0);
		group.own[one].squared = NAN;
		group_go_on(&group, ROUNDS);
		assert_int_equal(called(&group), 0);
		/* A subdomain that nobody reports on may have a large residual. */
		group.own[one].squared = 1;
		group.own[one].subdomains = 1;
		group_go_on(&group, ROUNDS);
		assert_int_equal(called(&group), 0);
		/* From here on it is small, but there has been no news since. */
		advance_all_but(&group, one);
		group.own[one].subdomains = 2;
		group_go_on(&group, ROUNDS);
		assert_int_equal(called(&group), 0);
		advance_all_but(&group, WINDOW_NOBODY);
		group_go_on(&group, ROUNDS);
		assert_int_equal(called(&group), ranks);
		group_deinit(&group);
	}
}

static void one_that_stops_holds_up_nobody(void **state)
{
	struct group group;

	(void)state;
	for (uint32_t ranks = 3; ranks <= RANKS_MAX; ranks += 1 + ranks / 4) {
		group_init(&group, ranks, ranks, 0);
		group_go_on(&group, ROUNDS);
		group.stopped = ranks - 1; /* one with nobody below */
		group.own[1].rank.average = 1;
		group.own[ranks - 2].subdomains = 7;
		group_go_on(&group, ROUNDS);
		check_sums(&group);
		group.own[ranks - 2].wishes = 1;
		group_go_on(&group, ROUNDS);
		assert_int_equal(called(&group), ranks - 1);
		group.stopped = WINDOW_NOBODY;
		group_go_on(&group, ROUNDS);
		assert_int_equal(called(&group), ranks);
		group_deinit(&group);
	}
}

static void torn_records_are_left_out(void **state)
{
	struct group group;
	unsigned published = 0;

	(void)state;
	group_init(&group, 6, 1, 0);
	for (unsigned k = 0; k < ROUNDS; k++) {
		for (uint32_t rank = 0; rank < group.ranks; rank++)
			group.own[rank].rank.average = k;
		group_go_on(&group, 1);
		for (uint32_t rank = 0; rank < group.ranks; rank++) {
			const struct survey_record *last = &group.surveys[rank].peers[0].last;

			assert_true(last->seal == 0 || window_is_sealed(last, sizeof(*last)));
			published += last->seal != 0;
		}
	}
	assert_true(published > ROUNDS);
	group_deinit(&group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_for_what_may_come),
		cmocka_unit_test(layout_does_not_overlap),
		cmocka_unit_test(seal_tells_a_changed_word),
		cmocka_unit_test(seal_tells_a_torn_halo),
		cmocka_unit_test(all_know_of_all),
		cmocka_unit_test(any_rank_can_call),
		cmocka_unit_test(small_norm_calls_when_all_advanced),
		cmocka_unit_test(one_that_stops_holds_up_nobody),
		cmocka_unit_test(torn_records_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
