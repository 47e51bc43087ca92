/* SPDX-License-Identifier: MIT */
/* Waits that a thread does not tell: what it is taken to have done, and what teams agree on. */
#include "tests/unit/libprogress/phases/waiting.h"
#include "tests/unit/random.h"

/* Phases of 1 us, each followed by a wait. Returns how many of the waits were told. */
static unsigned fleeting_phases(unsigned n, uint64_t wait_ns)
{
	unsigned told = 0;

	for (unsigned i = 0; i < n; i++) {
		pass(1000, 1000);
		bool untold = untold_leave(true);
		told += !untold;
		if (!untold)
			arrive();
		pass(wait_ns, wait_ns);
		if (!untold)
			wait_depart(WAIT_CALL);
	}
	return told;
}

/* While it rests, a thread tells some of its waits, which stand for all. */
static void test_untold(void **state)
{
	enum { ROUNDS = 10000, PHASES = ROUNDS * (UNTOLD + 1) };
	(void)state;

	set_up(0);
	assert_int_equal(fleeting_phases(1000, 500), 1000);
	table.resting[3] = 1;
	assert_in_range(fleeting_phases(1000, 500), 1000 / (UNTOLD + 1), 1000 / UNTOLD);
	uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns, waited_ns = row.waited_ns;
	assert_int_equal(fleeting_phases(PHASES, 500), ROUNDS);
	assert_in_range(row.arrivals, arrivals + PHASES - UNTOLD, arrivals + PHASES + UNTOLD);
	assert_in_range(row.waited_ns - waited_ns, PHASES * 495, PHASES * 505);
	assert_int_equal(table.site[1].waited_ns, row.waited_ns);
	assert_in_range(table.site[1].waits, row.arrivals - 1000, row.arrivals);
	assert_in_range(row.useful_ns - useful_ns, PHASES * 990, PHASES * 1010);
}

/* From one wait to the next it tells all again, and no phase is lost. */
static void test_told_again(void **state)
{
	(void)state;
	set_up(0);
	table.resting[3] = 1;
	fleeting_phases(1000, 500);
	assert_true(untold_waits.left > 0);
	uint64_t arrivals = row.arrivals + untold_waits.phases;
	table.resting[3] = 0;
	assert_int_equal(fleeting_phases(100, 500), 100);
	assert_int_equal(row.arrivals, arrivals + 100);
}

/* All waits are told that are longer, and the next ones. */
static void test_not_fleeting(void **state)
{
	(void)state;
	set_up(0);
	table.resting[3] = 1;
	assert_int_equal(fleeting_phases(1000, FLEETING_TICKS), 1000);
	fleeting_phases(1000, 500);
	assert_true(untold_waits.left > 0);
	fleeting_phases(2 * UNTOLD, FLEETING_TICKS);
	assert_int_equal(fleeting_phases(FLEETING_LEAST - 1, 500), FLEETING_LEAST - 1);
	pass(MS, MS); /* more work than before */
	assert_int_equal(fleeting_phases(FLEETING_LEAST - 1, 500), FLEETING_LEAST - 1);
}

/* A long wait that was left untold does not make phases long. */
static void test_long_untold(void **state)
{
	(void)state;
	set_up(0);
	table.resting[3] = 1;
	fleeting_phases(1000, 500);
	pass(1000, 1000);
	assert_true(untold_leave(true));
	pass(50 * MS, 40 * MS);
	uint64_t arrivals = row.arrivals + untold_waits.phases;
	uint32_t left = untold_waits.left;
	assert_int_equal(fleeting_phases(100, 500), 100 - left);
	assert_int_equal(row.arrivals, arrivals + 100);
	assert_true(me.usual_ns < USUAL_NS);
}

/* Waits in which a thread sleeps, after phases of that work. Returns how many of them were told. */
static unsigned brief_phases(unsigned n, uint64_t work_ns, uint64_t wait_ns)
{
	unsigned told = 0;

	for (unsigned i = 0; i < n; i++) {
		pass(work_ns, work_ns);
		bool untold = untold_leave(true);
		told += !untold;
		if (!untold)
			arrive();
		pass(wait_ns, wait_ns / 4);
		if (!untold)
			wait_depart(WAIT_CALL);
	}
	return told;
}

/* A thread that rests more leaves waits untold for a while, however short they are. */
static void test_rests_more(void **state)
{
	static const uint64_t lengths_ns[] = {10000, 30000, 100000, 300000};
	(void)state;

	for (size_t k = 0; k < sizeof lengths_ns / sizeof *lengths_ns; k++) {
		uint64_t work_ns = lengths_ns[k], wait_ns = 2 * work_ns, ns = work_ns + wait_ns;
		unsigned run = RUN_WAITS + 1; /* and the one that ends the rest */
		unsigned each = run + (unsigned)(REST_TICKS / ns), n = 1000 * each;
		set_up(0);
		assert_int_equal(brief_phases(100, work_ns, wait_ns), 100);
		table.resting[3] = PHASES_RESTS;
		assert_int_equal(brief_phases(100, work_ns, wait_ns), 100);
		table.resting[3] = PHASES_RESTS_MORE;
		(void)brief_phases(10 * each, work_ns, wait_ns);
		uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns,
			 waited_ns = row.waited_ns;
		assert_in_range(brief_phases(n, work_ns, wait_ns), run * 850, run * 1150);
		assert_in_range(row.arrivals, arrivals + n - 2 * each, arrivals + n + 2 * each);
		assert_in_range(
			row.useful_ns - useful_ns, n * work_ns / 100 * 98, n * work_ns / 100 * 102);
		assert_in_range(
			row.waited_ns - waited_ns, n * wait_ns / 100 * 98, n * wait_ns / 100 * 102);
	}
}

static void begin_rest(void)
{
	table.resting[3] = PHASES_RESTS_MORE;
	while (untold_waits.left < 10)
		(void)brief_phases(1, 10000, 10000);
}

/* A rest ends where less of it is wanted, or when it has taken too long. Where phases are long there is none. */
static void test_rest_ends(void **state)
{
	(void)state;
	set_up(0);
	for (uint8_t resting = 0; resting < PHASES_RESTS_MORE; resting++) {
		begin_rest();
		table.resting[3] = resting;
		assert_int_equal(brief_phases(100, 10000, 10000), 100);
	}
	begin_rest();
	assert_int_equal(brief_phases(1, REST_MOST, 1000), 1);
	(void)brief_phases(100, 2 * MS, 2 * MS);
	uint64_t arrivals = row.arrivals;
	assert_int_equal(brief_phases(100, 2 * MS, 2 * MS), 100);
	assert_int_equal(row.arrivals, arrivals + 100);
	(void)brief_phases(10000, 10000, 10000);
	assert_in_range(row.arrivals, arrivals + 9000, arrivals + 10100);
	begin_rest();
	set_up(0);
	assert_int_equal(untold_waits.left, 0);
}

/* The last wait of a rest is a long one, or long work follows. */
static void test_long_rest(void **state)
{
	(void)state;
	for (int works = 0; works < 2; works++) {
		set_up(0);
		begin_rest();
		uint64_t useful_ns = row.useful_ns, waited_ns = row.waited_ns;
		pass(10000, 10000);
		assert_true(untold_leave(true));
		pass(1000 * MS, works ? 1000 * MS : 0);
		arrive();
		assert_in_range(works ? row.useful_ns - useful_ns : row.waited_ns - waited_ns,
			1000 * MS - REST_MOST, 1001 * MS);
		assert_in_range(works ? row.waited_ns - waited_ns : row.useful_ns - useful_ns, 0,
			REST_MOST);
	}
}

/* Rests that end at waits which end no phase. */
static void test_rest_and_forks(void **state)
{
	(void)state;
	set_up(0);
	table.resting[3] = PHASES_RESTS_MORE;
	uint64_t arrivals = row.arrivals;
	for (int i = 0; i < 100000; i++) {
		bool untold = untold_leave(false);
		if (!untold)
			wait_fork(NULL);
		pass(100, 100);
		wait_begin_region();
		(void)brief_phases(1, 50000, 50000);
		assert_true(me.usual_ns < USUAL_NS / 2);
	}
	assert_in_range(row.arrivals, arrivals + 99000, arrivals + 100000);
}

/* Two places, in which waits take 2 and 100 us. */
static void test_rest_and_places(void **state)
{
	(void)state;
	set_up(0);
	table.resting[3] = PHASES_RESTS_MORE;
	for (int i = 0; i < 100000; i++) {
		world.odd = i % 2;
		(void)brief_phases(1, 20000, world.odd ? 100000 : 2000);
	}
	assert_in_range(table.site[1].waits, 45000, 55000);
	assert_in_range(table.site[1].waited_ns, 50 * MS, 300 * MS);
	assert_in_range(table.site[2].waited_ns, 4600 * MS, 5400 * MS);
}

static void do_nothing(void)
{
}

static void barriers_within(void)
{
	(void)brief_phases(30, 5000, 15000);
}

static void regions_within(void)
{
	for (int i = 0; i < 3; i++) {
		assert_false(untold_hand_on());
		if (!untold_leave(false))
			wait_fork(NULL);
		wait_begin_region();
		(void)brief_phases(1, 5000, 15000);
	}
}

/* What a team of two is told, and answers. */
static struct {
	void (*within)(void); /* besides work */
	unsigned answer, told, handed_on, run; /* regions */
	bool rests; /* the other */
} team;

/* Regions of 20 us, each after a wait of 10 us, for the thread that begins them. */
static void begin_regions(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct untold_team told = {0};
		bool handed_on = untold_hand_on();
		if (!handed_on) {
			bool untold = untold_leave(false);
			if (!untold)
				wait_fork(NULL);
			told = untold_tell_team(untold);
			assert_true(!told.rests || (told.handed_on == 0 && untold_waits.left > 0));
			team.told++;
			team.handed_on += told.handed_on;
			team.rests = team.answer == UNTOLD_RESTS && told.rests;
		}
		assert_true(!handed_on || team.rests);
		team.run++;
		pass(10000, 5000);
		if (!handed_on)
			wait_begin_region();
		team.within();
		pass(20000, 20000);
		if (handed_on) {
			untold_end_handed_on();
			continue;
		}
		if (!untold_leave(true))
			assert_true(wait_arrive(WAIT_REGION, NULL, NULL));
		untold_hear_team(&told, told.rests ? team.answer : UNTOLD_RESTLESS);
		wait_depart(WAIT_REGION);
	}
}

static unsigned told_of(unsigned regions)
{
	unsigned before = team.told;

	begin_regions(regions);
	return team.told - before;
}

static void set_up_team(void (*within)(void))
{
	set_up(0);
	memset(&team, 0, sizeof team);
	team.within = within;
	team.answer = UNTOLD_RESTS;
	table.resting[3] = PHASES_RESTS_MORE;
}

/* A thread that rests hands regions on, and tells the others later how many they were. */
static void test_regions_handed_on(void **state)
{
	enum { REGIONS = 100000 };
	(void)state;

	set_up_team(do_nothing);
	for (uint8_t resting = 0; resting < PHASES_RESTS_MORE; resting++) {
		table.resting[3] = resting;
		assert_int_equal(told_of(100), 100);
	}
	table.resting[3] = PHASES_RESTS_MORE;
	uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns;
	assert_in_range(told_of(REGIONS), REGIONS / 1000, REGIONS / 10);
	assert_int_equal(team.told + team.handed_on + untold_waits.handed_on, team.run);
	assert_in_range(row.arrivals, arrivals + REGIONS - 3000, arrivals + REGIONS);
	assert_in_range(
		row.useful_ns - useful_ns, REGIONS * UINT64_C(19000), REGIONS * UINT64_C(21000));

	/* Nobody else has run them, or not all rest. */
	for (team.answer = 0; team.answer <= (UNTOLD_RESTS | UNTOLD_RESTLESS); team.answer++)
		if (team.answer != UNTOLD_RESTS) {
			begin_regions(2000); /* a rest may be under way */
			assert_int_equal(told_of(1000), 1000);
		}
}

/* Whatever happens between and within regions, they are handed on only while the others have been told to rest, which
 * begin_regions() checks; and these are told of regions time and again. */
static void test_rests_of_team(void **state)
{
	static void (*const within[])(void) = {do_nothing, barriers_within, regions_within};
	(void)state;

	for (size_t k = 0; k < sizeof within / sizeof *within; k++)
		for (unsigned between = 0; between < 20; between++) {
			set_up_team(within[k]);
			for (int i = 0; i < 200; i++) {
				begin_regions(50);
				for (unsigned wait = 0; wait < between; wait++) {
					pass(10000, 10000);
					arrive();
					pass(10000, 0);
					wait_depart(WAIT_CALL);
				}
			}
			assert_int_equal(
				team.told + team.handed_on + untold_waits.handed_on, team.run);
			assert_in_range(team.told, 100, 4000);
		}
}

/* As another thread of the team runs them. Returns whether it rests after that. */
static bool join_region(bool rests, uint32_t handed_on)
{
	struct untold_team told = {rests, handed_on};

	pass(10000, 0);
	wait_join_region(&told);
	team.within();
	pass(20000, 20000);
	bool untold = untold_leave(true);
	if (!untold)
		assert_true(wait_arrive(WAIT_REGION, NULL, NULL));
	assert_int_equal(row.turns % 4, untold ? 0 : 2);
	return untold;
}

/* It rests when it is told to, and counts what was handed on. */
static void test_rests_with_team(void **state)
{
	enum { RESTS = 1000, TOLD = 3, REST = 100, REGIONS = RESTS * (TOLD + 1 + REST) };
	(void)state;

	set_up_team(do_nothing);
	table.resting[3] = 0;
	assert_false(join_region(true, 0));
	assert_false(join_region(true, 0));
	table.resting[3] = PHASES_RESTS_MORE;
	for (int i = 0; i < 100; i++)
		assert_false(join_region(false, 0));
	uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns, waited_ns = row.waited_ns;
	for (int k = 0; k < RESTS; k++) {
		assert_true(join_region(true, 0));
		pass(REST * 30000, REST * 20000);
		assert_false(join_region(false, REST));
		assert_int_equal(row.arrivals, arrivals + (k + 1) * (TOLD + 1 + REST) - TOLD + 1);
		for (int i = 1; i < TOLD; i++)
			assert_false(join_region(false, 0));
	}
	assert_in_range(
		row.useful_ns - useful_ns, REGIONS * UINT64_C(19000), REGIONS * UINT64_C(21000));
	assert_in_range(
		row.waited_ns - waited_ns, REGIONS * UINT64_C(9000), REGIONS * UINT64_C(11000));

	/* The rest goes on, or ends before any was handed on. */
	assert_true(join_region(true, 0));
	assert_true(join_region(true, 0));
	assert_false(join_region(false, 0));
	/* What it has not measured since, it does not rest in. */
	assert_false(join_region(true, 0));
	assert_true(join_region(true, 0));
	/* It tells a wait of its own in between. */
	arrivals = row.arrivals + untold_waits.phases;
	pass(30000, 20000);
	arrive();
	pass(10000, 0);
	wait_depart(WAIT_CALL);
	assert_false(join_region(false, 3));
	assert_int_equal(row.arrivals, arrivals + 1 + 3 + 1);
}

/* Barriers in regions that are handed on are left untold, however many there are. In other regions there are enough for
 * a thread to begin to rest on its own account. */
static void test_barriers_of_team(void **state)
{
	uint64_t phases = 0;
	(void)state;

	set_up_team(barriers_within);
	uint64_t arrivals = row.arrivals;
	for (int i = 0; i < 1000; i++) {
		(void)join_region(false, 0);
		phases += 2 * 31;
		if (!join_region(true, 0)) {
			assert_true(join_region(true, 0));
			phases += 31;
		}
		assert_int_equal(brief_phases(1000, 1000, 1000), 0);
		(void)join_region(false, 10);
		phases += 1000 + 10 + 31;
	}
	assert_in_range(row.arrivals, arrivals + phases - 1000, arrivals + phases);
}

/* A rest ends in a region that is handed on: the wait at the end of the region is not taken for work of the next run. */
static void test_rest_ends_within(void **state)
{
	(void)state;
	set_up_team(do_nothing);
	for (int i = 0; i < 1000; i++) {
		for (int k = 0; k < 10000 && !untold_waits.team_rests; k++)
			begin_regions(1);
		assert_true(untold_hand_on());
		pass(10000, 0);
		arrive();
		pass(1000, 0);
		wait_depart(WAIT_CALL);
		pass(1000, 1000);
		uint64_t arrivals = row.arrivals;
		untold_end_handed_on();
		assert_true(untold_waits.until_ticks > 0 && !untold_leave(true));
		arrive();
		assert_int_equal(mine.run_waits, 0);
		assert_int_equal(row.arrivals, arrivals + 2);
		wait_depart(WAIT_CALL);
	}
}

/* Nobody else has run the first region after a rest: the next one tells them. */
static void test_alone_after_rest(void **state)
{
	(void)state;
	set_up_team(do_nothing);
	for (int k = 0; k < 10000 && untold_waits.handed_on < 3; k++)
		begin_regions(1);
	uint32_t handed_on = untold_waits.handed_on;
	assert_in_range(handed_on, 3, 1000);
	table.resting[3] = 0;
	struct untold_team told = untold_tell_team(false);
	assert_true(!told.rests && told.handed_on == handed_on);
	untold_hear_team(&told, 0);
	told = untold_tell_team(false);
	assert_int_equal(told.handed_on, handed_on);
	untold_hear_team(&told, UNTOLD_RESTLESS);
	assert_int_equal(untold_waits.handed_on, 0);
}

/* With few waits between rests, what they show is not forgotten. */
static void test_rests_after_little(void **state)
{
	(void)state;
	set_up_team(do_nothing);
	for (int i = 0; i < 10000; i++)
		(void)join_region(false, 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t waited_ns = row.waited_ns;
		if (!join_region(true, 0))
			assert_true(join_region(true, 0));
		pass(100 * 30000, 100 * 20000);
		(void)join_region(false, 100);
		assert_in_range(row.waited_ns - waited_ns, 100 * 8000, 110 * 12000);
	}
}

/* In one of 20 parts of a program phases are long, with 20 of them in each part. */
static void test_rest_and_work(void **state)
{
	enum { PARTS = 50000, PHASES = 20, WAIT_NS = 30000 };
	uint64_t seed = 1, worked_ns = 0;
	(void)state;

	set_up(0);
	table.resting[3] = PHASES_RESTS_MORE;
	(void)brief_phases(100000, 13000, WAIT_NS);
	uint64_t since_ns = world.now_ns, waited_ns = row.waited_ns;
	for (int i = 0; i < PARTS; i++) {
		uint64_t work_ns = random_int(&seed, 0, 19) == 0 ? 200000 : 3000;
		(void)brief_phases(PHASES, work_ns, WAIT_NS);
		worked_ns += PHASES * work_ns;
	}
	uint64_t shown_ns = world.now_ns - since_ns - (row.waited_ns - waited_ns);
	assert_in_range(shown_ns, worked_ns / 100 * 95, worked_ns / 100 * 105);
}

/* The beginnings of regions end no phases, and where phases are long, short ones don't count. */
static void test_untold_phases(void **state)
{
	(void)state;
	set_up(0);
	table.resting[3] = 1;
	fleeting_phases(1000, 500);
	uint64_t arrivals = row.arrivals + untold_waits.phases;
	while (untold_waits.left > 0)
		assert_true(untold_leave(false));
	assert_int_equal(fleeting_phases(1, 500), 1);
	assert_int_equal(row.arrivals, arrivals + 1);
	pass(MS, MS);
	phase(1, 1, 1);
	assert_int_equal(table.site[1].waits, row.arrivals);
	begin_spinning(state);
	table.resting[3] = 1;
	fleeting_phases(FLEETING_LEAST + 1, 500);
	arrivals = me.arrivals;
	assert_true(untold_waits.left > 0 && me.usual_ns >= USUAL_NS);
	fleeting_phases(100, 500);
	assert_in_range(me.arrivals, arrivals, arrivals + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_untold),
		cmocka_unit_test(test_told_again),
		cmocka_unit_test(test_not_fleeting),
		cmocka_unit_test(test_long_untold),
		cmocka_unit_test(test_rests_more),
		cmocka_unit_test(test_rest_ends),
		cmocka_unit_test(test_long_rest),
		cmocka_unit_test(test_rest_and_forks),
		cmocka_unit_test(test_rest_and_places),
		cmocka_unit_test(test_rest_and_work),
		cmocka_unit_test(test_regions_handed_on),
		cmocka_unit_test(test_rests_of_team),
		cmocka_unit_test(test_rests_with_team),
		cmocka_unit_test(test_barriers_of_team),
		cmocka_unit_test(test_rest_ends_within),
		cmocka_unit_test(test_alone_after_rest),
		cmocka_unit_test(test_rests_after_little),
		cmocka_unit_test(test_untold_phases),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
