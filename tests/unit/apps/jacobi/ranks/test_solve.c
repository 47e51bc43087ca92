/* SPDX-License-Identifier: MIT */
/*
 * The solver on several ranks with several workers each, all in one process and running at once. It
 * is meant for sanitizers, which find races between workers of a rank. Results are checked as far
 * as they do not depend on the order of events.
 */
#undef NDEBUG
#include "apps/jacobi/solve.h"

#include "apps/jacobi/ranks/ranks.h"
#include "tests/unit/apps/jacobi/ranks/transport_fake.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/libprogress/segment_of.h"

enum { RANKS = 3, WORKERS = 2, SPLIT = 3, SEEDS = 3 };

struct job {
	struct jacobi_options options;
	struct grid grid;
	uint32_t slots;
	struct progress *progress[RANKS];
	struct solve_outcome outcome; /* of rank 0 */
};

static void run_rank(struct transport *t, void *arg)
{
	struct job *job = arg;
	uint32_t rank = transport_rank(t);
	struct solve_outcome outcome;
	struct monitor monitor = {0};
	struct subdomain *subdomains = edge_allocate(job->slots, sizeof(*subdomains));
	const struct solve_task task = {
		.options = &job->options,
		.grid = &job->grid,
		.transport = t,
		.workers = WORKERS,
		.slots = job->slots,
		.subdomains = subdomains,
		.progress = job->progress[rank],
		.monitor = &monitor,
	};

	if (!subdomains)
		abort();
	if (solve(&task, &outcome) != 0)
		abort();
	if (rank == 0) {
		job->outcome = outcome;
		/* Lent by the caller. */
		for (uint32_t id = 0; id < grid_subdomains(&job->grid); id++)
			if (outcome.subdomains && !outcome.subdomains[id].memory)
				for (uint32_t slot = 0; slot < job->slots; slot++)
					if (subdomains[slot].memory && subdomains[slot].id == id) {
						job->outcome.subdomains[id] = subdomains[slot];
						subdomains[slot].memory = NULL;
					}
	} else {
		solve_outcome_deinit(&outcome, &job->grid);
	}
	for (uint32_t slot = 0; slot < job->slots; slot++)
		subdomain_deinit(&subdomains[slot]);
	free(subdomains);
}

static void publish(struct job *job, uint32_t rank)
{
	uint32_t each = grid_rank_subdomains(&job->grid), owner[64];
	char path[PATH_BYTES];

	assert_true(job->slots <= 64);
	for (uint32_t slot = 0; slot < job->slots; slot++)
		owner[slot] = slot < each ? slot / SPLIT : PROGRESS_NOBODY;
	job->progress[rank] = create_with(&(struct progress_options){
		.workers = WORKERS,
		.subdomains = job->slots,
		.owner = owner,
		.balancing = job->options.balance.kind,
		.period_ns = 100000,
	});
	/* So that the next rank can create its own. */
	segment_path(path, getpid());
	unlink(path);
}

static void run(struct job *job, uint64_t seed)
{
	/* Only the owner reads memory: sanitizers would not see accesses from other processes. */
	struct fake *fake = fake_new(&(struct fake_options){.ranks = RANKS,
		.seed = seed,
		.delay = 2,
		.torn = true,
		.server = FAKE_OWNER,
		.parallel = true});

	assert_int_equal(
		grid_init(&job->grid, 14, 11 * RANKS, GRID_CUT_2D, RANKS, WORKERS, SPLIT), 0);
	job->slots = ranks_slots(&job->options, &job->grid, WORKERS);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		publish(job, rank);
	fake_run(fake, run_rank, job);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		progress_close(job->progress[rank]);
	fake_free(fake);
}

/* The residual of all cells as one grid, relative to that of the start. */
static double residual_of(const struct job *job)
{
	uint32_t rows = job->grid.rows, columns = job->grid.columns;
	size_t stride = columns + 2;
	double *cells = calloc((rows + 2) * stride, sizeof(*cells)), sums[2] = {0};

	assert_non_null(cells);
	for (uint32_t i = 0; i < columns; i++)
		cells[i + 1] = subdomain_source(&job->grid, i);
	for (int end = 0; end < 2; end++) {
		for (uint32_t id = 0; id < grid_subdomains(&job->grid); id++) {
			const struct subdomain *sub = &job->outcome.subdomains[id];

			for (uint32_t row = 0; row < sub->block.rows; row++)
				for (uint32_t i = 0; i < sub->block.columns; i++)
					cells[(sub->block.row + row + 1) * stride +
						sub->block.column + i + 1] =
						end ? subdomain_row(sub, row)[i] : 1;
		}
		for (uint32_t row = 1; row <= rows; row++)
			for (size_t k = row * stride + 1; k <= row * stride + columns; k++) {
				double change = 0.25 * ((cells[k - stride] + cells[k + stride]) +
							       (cells[k - 1] + cells[k + 1])) -
						cells[k];

				sums[end] += change * change;
			}
	}
	free(cells);
	return sqrt(sums[1] / sums[0]);
}

static void check(const struct job *job)
{
	const struct solve_outcome *outcome = &job->outcome;
	uint64_t updates = 0, arrivals = 0, departures = 0;
	uint32_t subdomains = 0;

	for (uint32_t rank = 0; rank < RANKS; rank++) {
		updates += outcome->ranks[rank].updates;
		arrivals += outcome->ranks[rank].arrivals;
		departures += outcome->ranks[rank].departures;
		subdomains += outcome->ranks[rank].subdomains;
	}
	assert_int_equal(subdomains, grid_subdomains(&job->grid));
	assert_int_equal(arrivals, departures);
	assert_int_equal(arrivals, outcome->rank_moves);
	assert_int_equal(updates, outcome->updates);
	for (uint32_t id = 0; id < subdomains; id++) {
		assert_int_equal(outcome->subdomains[id].id, id);
		updates -= outcome->subdomains[id].iteration;
	}
	assert_int_equal(updates, 0);
	assert_int_equal(outcome->bound_exceeded, 0);
	assert_true(outcome->ownership_checks > 0);
	double residual = residual_of(job);
	assert_true(fabs(outcome->residual - residual) <= 1e-9 * residual + 1e-15);
}

static void solve_in_all_modes(void **state)
{
	(void)state;
	NEED_SHM();
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		for (enum mode mode = MODE_SYNC; mode <= MODE_ASYNC; mode++) {
			struct job job = {
				.options = {
					.subdomains = SPLIT,
					.mode = mode,
					.bound = mode == MODE_SSYNC ? seed : UINT64_MAX,
					.balance.kind = mode == MODE_SYNC ? PROGRESS_BALANCE_NONE
									  : PROGRESS_BALANCE_JOINT,
					.self_hosted = mode != MODE_SYNC,
					.plb.low = 1,
					.plb.high = SPLIT + 2,
					.dplb.kind = mode == MODE_SYNC ? DPLB_NONE : DPLB_RANDOM,
					.dplb_period_ns = 0,
					.seed = seed,
					.check = seed % 2,
					.iterations = mode == MODE_SYNC ? 50 : 2000,
					.residual = seed == 3 ? 1e-2 : 0,
					.output = "wanted",
				}};

			run(&job, seed);
			check(&job);
			solve_outcome_deinit(&job.outcome, &job.grid);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(solve_in_all_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
