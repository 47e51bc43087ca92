/* SPDX-License-Identifier: MIT */
/*
 * The layer between ranks as a whole: ranks of one process solve small grids over a network that does
 * all that networks may do, and subdomains move all the time.
 */
#undef NDEBUG
#include "tests/unit/apps/jacobi/ranks/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/libprogress/segment_of.h"

#define RUNS 150
#define SYNC_RUNS 50

/* Which seeds: to look for others, name the first. */
static uint64_t first_seed(void)
{
	const char *text = getenv("TEST_SEED");

	return text ? strtoull(text, NULL, 10) : 1;
}

static void moves_lose_nothing(void **state)
{
	struct world_outcome sum = {0};

	(void)state;
	NEED_SHM();
	for (uint64_t seed = first_seed(), left = RUNS; left > 0; seed++, left--)
		world_run(seed, &sum);
	/* What is to be tested has happened. */
	assert_true(sum.updates > 100 * RUNS);
	assert_true(sum.arrivals > 10 * RUNS);
	assert_true(sum.meetings >= RUNS);
	assert_true(sum.reused > RUNS);
	assert_true(sum.returned > RUNS);
	assert_true(sum.stale > RUNS);
}

static void lockstep_is_exact(void **state)
{
	(void)state;
	NEED_SHM();
	for (uint64_t seed = first_seed(), left = SYNC_RUNS; left > 0; seed++, left--)
		world_run_sync(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_lose_nothing),
		cmocka_unit_test(lockstep_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
