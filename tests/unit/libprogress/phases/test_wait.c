/* SPDX-License-Identifier: MIT */
/* What a thread notes of itself when it arrives and departs. */
#include "tests/unit/libprogress/phases/waiting.h"
#include "tests/unit/random.h"

static void test_always_ran(void **state)
{
	(void)state;
	unsigned reads = world.cpu_reads;
	uint64_t arrivals = row.arrivals, waited_ns = row.waited_ns;

	for (unsigned i = 0; i < 10; i++) {
		assert_true(phase(10, 10, 5) == 10);
		assert_int_equal(row.arrivals, arrivals + i + 1);
	}
	assert_int_equal(world.cpu_reads, reads + 10); /* at departures */
	assert_int_equal(row.waited_ns, waited_ns + 50 * MS);
}

static void sleep_after(uint64_t work_ns)
{
	pass(20 * MS, work_ns);
	arrive();
	pass(5 * MS, 0);
	depart();
}

/* Who sleeps in waits has the clock read at departures, as what it has used until then was used before the wait; and at
 * few arrivals, to see whether it sleeps. */
static void test_sleeps(void **state)
{
	(void)state;
	unsigned reads = world.cpu_reads, phases = 10 * (GUESSES_MOST + 1);
	uint64_t useful_ns = row.useful_ns;

	for (unsigned i = 0; i < phases; i++) {
		uint64_t work_ns = (8 + i % 4) * MS;
		sleep_after(work_ns);
		useful_ns += work_ns;
		assert_int_equal(row.useful_ns, useful_ns);
	}
	assert_in_range(world.cpu_reads - reads, phases + 10, phases + 11);
}

/* A wait in which it has its CPU for most of the time, but not for all. */
static void spin(void)
{
	pass(20 * MS, 10 * MS);
	arrive();
	pass(6 * MS, 5 * MS);
	depart();
}

/* That it spins from now on is seen after some phases, also if it is the last to arrive in every other one; and at once
 * if it has its CPU for a whole wait. */
static void test_begins_to_spin(void **state)
{
	for (int before = 0; before <= GUESSES_MOST; before++) {
		test_sleeps(state);
		for (int i = 0; i < before; i++)
			sleep_after(10 * MS);
		assert_false(me.spins);
		for (int i = 0; i < GUESSES_MOST; i++) {
			spin();
			phase(10, 20, 0);
		}
		assert_true(me.spins && phase(10, 20, 5) == 10);
	}
	test_sleeps(state);
	assert_true(!me.spins && phase(10, 20, 5) == 10 && me.spins);
}

/* A thread that begins to spin for a tenth of each wait, and then to sleep, soon has its clock read at arrivals. */
static void test_spins_and_sleeps(void **state)
{
	test_sleeps(state);
	for (int i = 0; i < 30; i++) {
		unsigned reads = world.cpu_reads;
		uint64_t useful_ns = row.useful_ns;
		pass(20 * MS, 10 * MS);
		arrive();
		pass(10 * MS, MS);
		depart();
		assert_true(i <= GUESSES_MOST || world.cpu_reads == reads + 2);
		assert_true(i <= GUESSES_MOST || row.useful_ns == useful_ns + 10 * MS);
	}
	assert_false(me.spins);
}

/* It loses its CPU between two waits: the second one ends no phase. */
static void test_sleeps_twice(void **state)
{
	test_sleeps(state);
	uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns;

	pass(3 * MS, MS / 50);
	arrive();
	assert_int_equal(row.arrivals, arrivals);
	assert_int_equal(row.useful_ns, useful_ns + MS / 50);
	depart();
}

/* A guess within what is possible stays, another one is corrected. */
static void test_guesses(void **state)
{
	(void)state;
	unsigned reads = world.cpu_reads;

	assert_true(phase(10, 20, 5) == 10);
	assert_true(phase(4, 20, 5) == 4); /* it has had its CPU for the whole wait */
	assert_true(phase(20, 21, 5) == 20);
	assert_int_equal(world.cpu_reads, reads + 3);
	spin();
	assert_int_equal(row.useful_ns, row.before_ns);
}

/* While it waits, readers see the guess. */
static void test_guess_shows(void **state)
{
	(void)state;
	uint64_t before_ns = row.useful_ns;

	pass(21 * MS, 20 * MS);
	arrive();
	assert_int_equal(row.useful_ns, before_ns + 10 * MS);
	assert_int_equal(row.before_ns, row.useful_ns);
	depart();
	assert_int_equal(row.useful_ns, before_ns + 20 * MS);
	assert_int_equal(row.before_ns, row.useful_ns);
}

/* Guesses that nothing confirms, as waits were preempted, too. */
static void test_guesses_end(void **state)
{
	(void)state;

	for (unsigned i = 0; i <= GUESSES_MOST; i++) {
		unsigned reads = world.cpu_reads;
		pass(20 * MS, 10 * MS);
		arrive();
		assert_int_equal(world.cpu_reads, reads + (i == GUESSES_MOST));
		pass(6 * MS, 5 * MS);
		depart();
	}
}

/* The departure from a wait was missed: what followed the guess counts, and nothing twice. */
static void test_missed_departure(void **state)
{
	(void)state;
	uint64_t before_ns = row.useful_ns, arrivals = row.arrivals;

	char frames[2] = {0};

	pass(20 * MS, 10 * MS);
	assert_true(wait_arrive(WAIT_CALL, NULL, &frames[0]));
	assert_false(wait_arrive(WAIT_CALL, NULL, &frames[0])); /* within it */
	pass(10 * MS, 10 * MS);
	assert_true(wait_arrive(WAIT_CALL, NULL, &frames[1])); /* after longjmp() */
	pass(5 * MS, 5 * MS);
	depart();
	assert_int_equal(row.arrivals, arrivals + 2);
	assert_true(row.useful_ns >= before_ns + 20 * MS && row.useful_ns <= before_ns + 25 * MS);
}

static void test_short_waits(void **state)
{
	(void)state;
	uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns;

	phase(10, 10, 1);
	for (int i = 0; i < 3; i++) {
		phase(1, 1, 1);
		assert_int_equal(
			row.arrivals, arrivals + 1 + (i > 0)); /* 2 ms are more than an eighth */
	}
	assert_int_equal(row.useful_ns, useful_ns + 13 * MS);
	assert_int_equal(row.useful_ns - row.before_ns, MS);
}

/* After one long phase, all are too short to be measured when they arrive. */
static void test_become_short(void **state)
{
	(void)state;
	uint64_t arrivals = row.arrivals;

	for (int i = 0; i < 2000; i++) {
		pass(MS / 20, MS / 20);
		arrive();
		pass(MS, MS);
		depart();
	}
	assert_in_range(row.arrivals, arrivals + 1500, arrivals + 2000);
}

/* Phases of that work, each followed by a wait with so much CPU time. */
static void phases_of(unsigned n, uint64_t work_ns, uint64_t wait_ns, uint64_t spun_ns)
{
	for (unsigned i = 0; i < n; i++) {
		pass(work_ns, work_ns);
		arrive();
		pass(wait_ns, spun_ns);
		wait_depart(WAIT_CALL);
	}
}

/* Many short phases are measured together, but each counts, however fast ticks are. */
static void test_short_phases(void **state)
{
	static const uint64_t hz[] = {800000000, 1300000000, 2000000000, 3500000000};
	enum { PHASES = 20000 };
	(void)state;

	for (size_t k = 0; k < sizeof hz / sizeof *hz; k++) {
		set_up(hz[k]);
		uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns;
		unsigned reads = world.cpu_reads;
		phases_of(PHASES, 40000, 5000, 5000);
		assert_int_equal(row.arrivals, arrivals + PHASES);
		assert_in_range(row.useful_ns - useful_ns, 790 * MS, 810 * MS);
		assert_in_range(world.cpu_reads - reads, 0, PHASES / 8);
	}
}

/* Phases that would be measured one by one are measured together while the thread may rest. Each of them counts. */
static void test_may_rest(void **state)
{
	enum { PHASES = 1000 };
	(void)state;

	for (uint8_t resting = 0; resting <= PHASES_RESTS_MORE; resting++) {
		set_up(2000000000);
		table.resting[3] = resting;
		uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns,
			 waited_ns = row.waited_ns;
		unsigned reads = world.cpu_reads;
		phases_of(PHASES, 120000, 120000, 0);
		assert_int_equal(row.arrivals, arrivals + PHASES);
		assert_in_range(row.useful_ns - useful_ns, 119 * MS, 121 * MS);
		assert_in_range(row.waited_ns - waited_ns, 119 * MS, 121 * MS);
		bool together = resting == PHASES_RESTS_MORE;
		assert_in_range(world.cpu_reads - reads, together ? 1 : PHASES,
			together ? PHASES / 2 : 2 * PHASES);
	}
}

/* Where some phases are long, short ones count only if they are measured one by one. */
static void test_may_rest_between_long_phases(void **state)
{
	enum { PHASES = 1000 };
	(void)state;

	for (uint8_t resting = 0; resting <= PHASES_RESTS_MORE; resting++) {
		set_up(2000000000);
		for (int i = 0; i < 5; i++) { /* until it is known what is usual */
			phases_of(1, 300000, 50000, 0);
			phases_of(1, 2 * MS, 50000, 0);
		}
		table.resting[3] = resting;
		uint64_t arrivals = row.arrivals;
		for (int i = 0; i < PHASES / 2; i++) {
			phases_of(1, 300000, 50000, 0);
			phases_of(1, 2 * MS, 50000, 0);
		}
		assert_int_equal(row.arrivals, arrivals + PHASES);
	}
}

/* What is done between short waits is part of the phase. */
static void test_done_between(void **state)
{
	(void)state;
	uint64_t arrivals = row.arrivals;

	phase(10, 10, 1);
	for (int i = 0; i < 9; i++) {
		pass(MS / 20, MS / 20);
		arrive();
		pass(MS, MS);
		depart();
	}
	assert_int_equal(row.arrivals, arrivals + 1);
	assert_int_equal((row.useful_ns - row.before_ns) / 1000, 450);
}

/* Sends end no phase, but are waits. */
static void test_send(void **state)
{
	(void)state;
	uint64_t arrivals = row.arrivals, useful_ns = row.useful_ns;

	pass(10 * MS, 10 * MS);
	assert_true(wait_arrive(WAIT_SEND, NULL, NULL));
	assert_int_equal(row.turns % 4, 2);
	pass(3 * MS, 3 * MS);
	wait_depart(WAIT_SEND);
	assert_int_equal(row.turns % 4, 0);
	assert_int_equal(row.arrivals, arrivals);
	assert_int_equal(row.useful_ns, useful_ns + 10 * MS);
	assert_int_equal(row.useful_ns - row.before_ns, 10 * MS);
}

/* The flag is set at once, and cleared when the next phase begins. */
static void test_dynamic(void **state)
{
	(void)state;

	for (int i = 0; i < 3; i++) {
		phase(10, 10, 5);
		assert_false(row.flags & PHASES_DYNAMIC);
		wait_dynamic();
		assert_true(row.flags & PHASES_DYNAMIC);
		pass(10 * MS, 10 * MS);
		arrive();
		assert_true(row.flags & PHASES_DYNAMIC);
		pass(5 * MS, 5 * MS);
		depart();
		assert_false(row.flags & PHASES_DYNAMIC);
	}

	/* Also if that was too little work for a phase. */
	uint64_t arrivals = row.arrivals;
	wait_dynamic();
	phase(1, 1, 5);
	assert_int_equal(row.arrivals, arrivals);
	assert_false(row.flags & PHASES_DYNAMIC);
	phase(10, 10, 5);
	assert_false(row.flags & PHASES_DYNAMIC);
}

/* Work that varies by a third, preempted or not: what is useful is never off by much. */

static void test_random(void **state)
{
	uint64_t seed = 1, work_ns = row.useful_ns;
	(void)state;

	for (int i = 0; i < 10000; i++) {
		uint64_t work_ms = (uint64_t)random_int(&seed, 8, 12);
		uint64_t lost_ms =
			random_int(&seed, 0, 1) == 0 ? 0 : (uint64_t)random_int(&seed, 1, 12);
		phase(work_ms, work_ms + lost_ms, (uint64_t)random_int(&seed, 0, 9));
		work_ns += work_ms * MS;
	}
	assert_in_range(row.useful_ns, work_ns / 100 * 97, work_ns / 100 * 103);
}

/* The first phase of a program may be its only one: it is under way from the beginning of the region. */
static void test_first_region(void **state)
{
	(void)state;
	wait_forget_all();
	memset(&world, 0, sizeof world);
	memset(&table, 0, sizeof table);
	pass(7 * MS, 7 * MS);
	wait_fork(NULL); /* the thread that begins it */
	assert_true(row.tid != 0); /* so that the table is there when others join */
	pass(MS, 0);
	wait_begin_region();
	assert_int_equal(row.arrivals, 0);
	assert_true(row.since_ns > 0 && row.turns % 4 == 0);
	assert_int_equal(row.before_ns, 7 * MS);
	pass(10 * MS, 10 * MS);
	arrive();
	assert_int_equal(row.arrivals, 1);
	assert_int_equal(row.useful_ns, 17 * MS);

	wait_forget_all();
	memset(&table, 0, sizeof table);
	wait_join_region(&(struct untold_team){0}); /* a thread that joins it */
	assert_true(row.tid != 0 && row.arrivals == 0);
	uint64_t before_ns = row.before_ns;
	pass(10 * MS, 10 * MS);
	arrive();
	assert_int_equal(row.useful_ns - before_ns, 10 * MS);
	assert_int_equal(row.arrivals, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_always_ran, begin_spinning),
		cmocka_unit_test_setup(test_sleeps, begin),
		cmocka_unit_test_setup(test_begins_to_spin, begin),
		cmocka_unit_test_setup(test_spins_and_sleeps, begin),
		cmocka_unit_test_setup(test_sleeps_twice, begin),
		cmocka_unit_test_setup(test_guesses, begin_spinning),
		cmocka_unit_test_setup(test_guess_shows, begin_spinning),
		cmocka_unit_test_setup(test_guesses_end, begin_spinning),
		cmocka_unit_test_setup(test_missed_departure, begin_spinning),
		cmocka_unit_test_setup(test_short_waits, begin_spinning),
		cmocka_unit_test_setup(test_become_short, begin_spinning),
		cmocka_unit_test(test_short_phases),
		cmocka_unit_test(test_may_rest),
		cmocka_unit_test(test_may_rest_between_long_phases),
		cmocka_unit_test_setup(test_done_between, begin_spinning),
		cmocka_unit_test_setup(test_send, begin_spinning),
		cmocka_unit_test_setup(test_dynamic, begin_spinning),
		cmocka_unit_test_setup(test_random, begin_spinning),
		cmocka_unit_test(test_first_region),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
