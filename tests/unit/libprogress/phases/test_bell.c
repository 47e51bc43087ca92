/* SPDX-License-Identifier: MIT */
/* When a thread that arrives calls juggle. */
#undef NDEBUG
#include "libprogress/phases/bell.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libprogress/phases/make.h"
#include "tests/unit/random.h"

enum { WORKS = 0, ARRIVES = 1, WAITS = 2, DEPARTS = 3 }; /* turns, modulo 4 */

static struct phases_table *table;

static int begin(void **state)
{
	int fd;
	(void)state;

	assert_int_equal(phases_make(&fd, &table), 0);
	close(fd);
	return 0;
}

static int end(void **state)
{
	(void)state;
	phases_unmap(table);
	return 0;
}

/* The threads of the CPUs, from row 0 on, in a row of letters: w works, - waits, and / begins another CPU. The
 * CPUs of which the number is in `crowded` have other work, too. */
static void hang(uint32_t bell, const char *threads, uint32_t crowded)
{
	uint32_t row = 0, cpu = 0, first = PHASES_RINGER_FIRST;

	for (const char *c = threads; *c != '\0'; c++) {
		if (*c == '/') {
			first = PHASES_RINGER_FIRST;
			cpu++;
			continue;
		}
		table->row[row].tid = 100 + row;
		table->row[row].turns = *c == 'w' ? 40 + WORKS : 40 + WAITS;
		table->bell_of[row] = (uint8_t)(bell + 1);
		table->bell[bell].ringer[row] =
			row | first | (crowded >> cpu & 1 ? PHASES_RINGER_CROWDED : 0);
		first = 0;
		row++;
	}
	table->bell[bell].ringers = row;
}

static bool rings(uint32_t bell, uint32_t row)
{
	uint32_t before = table->bell[bell].rings;

	errno = 33;
	bell_ring(table, &table->row[row]);
	assert_int_equal(errno, 33);
	assert_in_range(table->bell[bell].rings - before, 0, 1);
	return table->bell[bell].rings != before;
}

static void test_dry(void **state)
{
	(void)state;
	hang(3, "ww/-", 0);
	assert_true(rings(3, 2));
	hang(3, "-/ww", 0);
	assert_true(rings(3, 0));
	hang(3, "w/--/w/www/w", 0);
	assert_true(rings(3, 1) && rings(3, 2));
}

/* A call would change nothing. */
static void test_in_vain(void **state)
{
	(void)state;
	hang(0, "w/-", 0);
	assert_false(rings(0, 1)); /* nobody could come */
	hang(0, "ww/w-", 0);
	assert_false(rings(0, 3)); /* another thread works there */
	hang(0, "-w/w", 0);
	assert_false(rings(0, 0));
	hang(0, "--/-", 0);
	assert_false(rings(0, 2)); /* the last one */
	hang(0, "w-/-/w", 0);
	assert_false(rings(0, 2));
}

static void test_turns(void **state)
{
	(void)state;
	hang(0, "ww/-", 0);
	table->row[2].turns = 40 + ARRIVES; /* it has lost its CPU in the midst */
	assert_true(rings(0, 2));
	table->row[1].turns = 40 + DEPARTS;
	assert_true(rings(0, 2));
	table->row[1].turns = 40 + ARRIVES;
	assert_false(rings(0, 2));
}

static void test_crowded(void **state)
{
	(void)state;
	hang(0, "w/-", 1);
	assert_true(rings(0, 1));
	hang(0, "w/-", 2);
	assert_false(rings(0, 1));
	hang(0, "-/-", 3);
	assert_false(rings(0, 1));
}

static void test_not_asked(void **state)
{
	(void)state;
	hang(0, "ww/-", 0);
	table->bell_of[2] = 0;
	assert_false(rings(0, 2));
	table->bell_of[2] = 1;
	table->bell[0].ringers = 0;
	assert_false(rings(0, 2));
	hang(0, "ww/", 0); /* its row is not in the list */
	assert_false(rings(0, 2));
}

/* Threads whose rows have become free do not work. */
static void test_gone(void **state)
{
	(void)state;
	hang(0, "ww/-", 0);
	table->row[0].tid = 0;
	assert_false(rings(0, 2));
}

/* Whatever is in the table, nothing else is read or written. */
static void test_hostile(void **state)
{
	uint64_t seed = 1;
	(void)state;

	for (int i = 0; i < 2000; i++) {
		for (uint32_t b = 0; b < PHASES_BELLS; b++) {
			table->bell[b].ringers = (uint32_t)random_word(&seed);
			for (uint32_t k = 0; k < PHASES_RINGERS; k++)
				table->bell[b].ringer[k] = (uint32_t)random_word(&seed);
		}
		table->bell_of[7] = (uint8_t)random_word(&seed);
		bell_ring(table, &table->row[7]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_dry, begin, end),
		cmocka_unit_test_setup_teardown(test_in_vain, begin, end),
		cmocka_unit_test_setup_teardown(test_turns, begin, end),
		cmocka_unit_test_setup_teardown(test_crowded, begin, end),
		cmocka_unit_test_setup_teardown(test_not_asked, begin, end),
		cmocka_unit_test_setup_teardown(test_gone, begin, end),
		cmocka_unit_test_setup_teardown(test_hostile, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
