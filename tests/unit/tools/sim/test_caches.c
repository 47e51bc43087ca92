/* SPDX-License-Identifier: MIT */
/*
 * The policy on machines whose domain has two last-level caches, compared with itself where it is not
 * told of them: threads stay behind their caches, and as close together as without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef NDEBUG
#include "tests/unit/sanitized.h"
#include "tools/sim/threads.h"

#define MS UINT64_C(1000000)
#define RUN_NS (4000 * MS)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CPUS = 16, CACHES = 2 };

struct sum {
	double moves, across; /* of threads */
	double spread_ns, time_ns;
};

static void add_run(
	struct sum *sum, uint32_t n, uint64_t phase_ns, enum threads_barrier barrier, bool told)
{
	struct threads_cpu cpu[CPUS];
	struct threads_sim *sim;
	struct threads_result result;
	const struct threads_params params = {.threads = n,
		.domains = 1,
		.cpu = cpu,
		.cpus = CPUS,
		.phase_ns = phase_ns,
		.phases = RUN_NS / phase_ns,
		.barrier = barrier,
		.slice_ns = 4 * MS,
		.tick_ns = 4 * MS,
		.migration_ns = 45000,
		.pull_ns = 20 * MS,
		.stray_ns = 100 * MS,
		.balancer = THREADS_POLICY,
		.kind = &policy_kind_juggle,
		.untold = !told,
		.period_ns = POLICY_AUTO_PERIOD_NS,
		.period_auto = true,
		.jitter = 0.1,
		.margin_ns = MS / 2,
		.point_ns = 50000 + 2000 * n,
		.always = true,
		.seed = 1};

	for (int j = 0; j < CPUS; j++)
		cpu[j] = (struct threads_cpu){.speed = 1, .cache = j / (CPUS / CACHES)};
	assert_int_equal(threads_new(&sim, &params), 0);
	assert_true(threads_run(sim, 100 * RUN_NS));
	threads_get(sim, &result);
	threads_free(sim);
	sum->moves += (double)result.migrations;
	sum->across += (double)result.across;
	sum->spread_ns += result.lag_mean_ns;
	sum->time_ns += (double)result.time_ns;
}

/* In the mean over phases and barriers. */
static void compare(uint32_t n, struct sum *told, struct sum *untold)
{
	static const uint64_t phases[] = {20 * MS, 100 * MS, 1000 * MS};

	*told = *untold = (struct sum){0};
	for (size_t e = 0; e < COUNT(phases); e++)
		for (int barrier = THREADS_BLOCK; barrier <= THREADS_SPIN; barrier++) {
			add_run(told, n, phases[e], (enum threads_barrier)barrier, true);
			add_run(untold, n, phases[e], (enum threads_barrier)barrier, false);
		}
}

/* Where each cache has as many threads, hardly any has to leave it. One extra thread has to, and so do those
 * that it overtakes. */
static void test_inside(void **unused)
{
	static const struct {
		uint32_t n;
		double inside;
	} cases[] = {{CPUS + 2, 0.89}, {CPUS + CPUS / 2, 0.94}, {CPUS + 1, 0.53},
		{2 * CPUS + 1, 0.6}, {2 * CPUS - 1, 0.65}};
	(void)unused;

	for (size_t k = 0; k < COUNT(cases); k += SANITIZED ? 2 : 1) {
		struct sum told, untold;
		compare(cases[k].n, &told, &untold);
		double inside = 1 - told.across / told.moves;
		print_message("%u on %d: %.3f of the moves inside (%.3f), spread %.3f, time %.3f\n",
			cases[k].n, CPUS, inside, 1 - untold.across / untold.moves,
			told.spread_ns / untold.spread_ns, told.time_ns / untold.time_ns);
		assert_true(inside >= cases[k].inside);
		assert_true(told.spread_ns <= 1.2 * untold.spread_ns);
		assert_true(told.time_ns <= 1.01 * untold.time_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_inside)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
