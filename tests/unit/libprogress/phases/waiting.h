/* SPDX-License-Identifier: MIT */
/* A thread that waits, by clocks that the test sets, and instead of the rest of the library. */
#ifndef TEST_WAITING_H
#define TEST_WAITING_H

#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct {
	uint64_t now_ns, cpu_ns;
	uint64_t hz; /* of ticks; 0: a tick is a nanosecond */
	unsigned cpu_reads;
	bool preempted; /* since preempt_watch() */
	bool odd; /* in the other one of two places */
} world;

/* Instead of those of the machine. */
#define LIBPHASES_CLOCKS_H

static uint64_t clock_ns(clockid_t clock)
{
	if (clock == CLOCK_MONOTONIC)
		return world.now_ns;
	world.cpu_reads++;
	return world.cpu_ns;
}

static uint64_t ticks_now(void)
{
	return world.hz > 0 ? world.now_ns * (world.hz / 100000000) / 10 : world.now_ns;
}

#include "libprogress/phases/untold.c"
#include "libprogress/phases/wait.c"

static struct phases_table table;
#define row (table.row[3])

void preempt_watch(void)
{
	world.preempted = false;
}

bool preempt_never(void)
{
	return !world.preempted;
}

struct phases_row *table_take_row(uint32_t tid)
{
	memset(&table, 0, sizeof table);
	row.tid = tid;
	return &row;
}

struct phases_table *table_get(void)
{
	return &table;
}

void bell_ring(struct phases_table *at, const struct phases_row *by)
{
	(void)at;
	(void)by;
}

uint32_t site_index(struct site *site)
{
	(void)site;
	return 1 + world.odd;
}

void site_add(uint32_t index, uint32_t waits, uint64_t waited_ns)
{
	table.site[index].waits += waits;
	table.site[index].waited_ns += waited_ns;
}

/* Time passes, of which the thread has its CPU for a part. */
static void pass(uint64_t elapsed_ns, uint64_t cpu_ns)
{
	world.now_ns += elapsed_ns;
	world.cpu_ns += cpu_ns;
	world.preempted |= cpu_ns < elapsed_ns;
}

static void arrive(void)
{
	assert_true(wait_arrive(WAIT_CALL, NULL, NULL));
	assert_int_equal(row.turns % 4, 2);
}

static void depart(void)
{
	wait_depart(WAIT_CALL);
	assert_int_equal(row.turns % 4, 0);
	assert_int_equal(row.turn_cpu_ns, world.cpu_ns);
	assert_true(row.before_ns <= row.useful_ns && row.useful_ns <= row.turn_cpu_ns);
}

/* A phase of that much work in that time, then so long a wait in which the thread spins. Returns what was taken for
 * useful, in ms. */
static double phase(uint64_t work_ms, uint64_t elapsed_ms, uint64_t wait_ms)
{
	uint64_t before_ns = row.useful_ns;

	pass(elapsed_ms * MS, work_ms * MS);
	arrive();
	pass(wait_ms * MS, wait_ms * MS);
	depart();
	return (double)(row.useful_ns - before_ns) / 1e6;
}

static void set_up(uint64_t hz)
{
	wait_forget_all();
	memset(&world, 0, sizeof world);
	world.hz = hz;
	pass(MS, MS);
	arrive();
	pass(MS, MS);
	depart();
}

static int begin(void **state)
{
	(void)state;
	set_up(0);
	return 0;
}

/* It has worked for 10 ms in each of its phases, and spun. */
static int begin_spinning(void **state)
{
	begin(state);
	for (int i = 0; i < 20; i++)
		assert_true(phase(10, 10, 5) == 10);
	assert_true(me.spins && me.need_ns == 10 * MS);
	return 0;
}

#endif
