/* SPDX-License-Identifier: MIT */
/*
 * The layer between ranks as a whole. Ranks in one process solve small grids over a simulated
 * network that does everything a network may do, while subdomains move all the time.
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

/* The seeds to run: to try others, name the first. */
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
	/* The situations under test have occurred. */
	assert_true(sum.updates > 100 * RUNS);
	assert_true(sum.arrivals > 10 * RUNS);
	assert_true(sum.meetings >= RUNS);
	assert_true(sum.reused > RUNS);
	assert_true(sum.returned > RUNS);
	assert_true(sum.stale > RUNS);
	assert_true(sum.rates > RUNS);
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
