/* SPDX-License-Identifier: MIT */
/* Algorithm 1 of PLB by hand, its bounds on random input, and whole runs in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#undef NDEBUG
#include "libprogress/policy/plb.h"
#include "tests/unit/random.h"
#include "tests/unit/sanitized.h"

enum { SUBDOMAINS_MAX = 256, WORKERS_MAX = 64, DOMAINS_MAX = 4, PAIRS_MAX = 16 };
/* Of whole runs, whose time grows with them. */
enum { RUN_WORKERS_MAX = SANITIZED ? 4 : 24 };

struct state {
	struct policy_plb_params params;
	struct policy_plb_state state;
	struct policy_subdomain subdomain[SUBDOMAINS_MAX];
	struct policy_worker worker[WORKERS_MAX];
	size_t n, w;
	uint32_t domains;
	uint32_t scratch[2 * PAIRS_MAX];
	struct policy_plb_move move[2 * PAIRS_MAX * DOMAINS_MAX + 1];
	int period; /* in steps of a run */
	size_t moves; /* of all balancing points */
	uint64_t
		waits_at; /* workers leave alone what is ahead of a neighbour by this; 0: nothing */
	bool rests; /* workers ask what sits out */
	uint64_t round[WORKERS_MAX], least[WORKERS_MAX];
	int lost_every; /* steps from one time in which the last worker has no CPU to the next; 0: never */
	int lost_for;
};

static const struct policy_plb_params paper = {
	.mode = POLICY_PLB_JOINT, .pairs = 6, .low = 2, .high = 6, .hybrid_every = 500};

/* `each` subdomains for each of w workers, in blocks. */
static struct state begin(size_t w, size_t each)
{
	struct state s = {.params = paper, .n = w * each, .w = w, .domains = 1, .period = 10};

	for (size_t i = 0; i < s.n; i++)
		s.subdomain[i].worker = (uint32_t)(i / each);
	return s;
}

static size_t balance(struct state *s)
{
	size_t moves = policy_plb(&s->params, &s->state, s->subdomain, s->n, s->worker, s->w,
		s->domains, s->scratch, s->move);

	s->moves += moves;
	return moves;
}

static void assert_move(
	const struct state *s, size_t k, uint32_t subdomain, uint32_t from, uint32_t to)
{
	assert_int_equal(s->move[k].subdomain, subdomain);
	assert_int_equal(s->move[k].from, from);
	assert_int_equal(s->move[k].to, to);
	assert_int_equal(s->subdomain[subdomain].worker, to);
}

/* Worker 0 is fast, worker 1 slow. The owner of the most updated subdomain takes one from the owner
 * of the least updated: its most updated, 6, not 4, which is to be sped up. */
static void test_one_pair(void **unused)
{
	struct state s = begin(2, 4);
	const uint64_t updates[] = {90, 91, 99, 92, 10, 11, 13, 12};
	(void)unused;

	for (size_t i = 0; i < s.n; i++)
		s.subdomain[i].updates = updates[i];
	s.params.pairs = 1;
	assert_int_equal(balance(&s), 1);
	assert_move(&s, 0, 6, 1, 0);
	assert_int_equal(s.worker[0].subdomains, 5);
	assert_int_equal(s.worker[1].subdomains, 3);
}

/* With six pairs the thresholds stop it: worker 0 may have 6, and worker 1 keeps 2. */
static void test_thresholds(void **unused)
{
	struct state s = begin(2, 4);
	const uint64_t updates[] = {90, 91, 99, 92, 10, 11, 13, 12};
	(void)unused;

	for (size_t i = 0; i < s.n; i++)
		s.subdomain[i].updates = updates[i];
	assert_int_equal(balance(&s), 2);
	assert_move(&s, 0, 6, 1, 0);
	assert_move(&s, 1, 7, 1, 0);
	assert_int_equal(balance(&s), 0);
	s.n = 0;
	assert_int_equal(balance(&s), 0);
}

/* The least updated subdomain itself is not sent, even where it is the only one, or the most
 * updated. */
static void test_bottom_stays(void **unused)
{
	struct state s = begin(2, 1);
	(void)unused;

	s.params.low = 0;
	s.subdomain[0].updates = 10;
	assert_int_equal(balance(&s), 0);
}

/* Nothing moves between domains in split mode, though the difference is there. */
static void test_split(void **unused)
{
	struct state s = begin(4, 4);
	(void)unused;

	s.domains = 2;
	for (uint32_t k = 0; k < 4; k++)
		s.worker[k].domain = k / 2;
	for (size_t i = 0; i < s.n; i++)
		s.subdomain[i].updates = i < 8 ? 1000 + i : i;
	struct state joint = s;
	s.params.mode = POLICY_PLB_SPLIT;
	size_t count = balance(&s);
	assert_true(count > 0);
	for (size_t k = 0; k < count; k++)
		assert_int_equal(s.move[k].from / 2, s.move[k].to / 2);
	count = balance(&joint);
	assert_true(count > 0);
	for (size_t k = 0; k < count; k++)
		assert_true(joint.move[k].from >= 2 && joint.move[k].to < 2);
}

/* Every third point one subdomain goes from the domain behind to the domain ahead. */
static void test_hybrid(void **unused)
{
	struct state s = begin(4, 4);
	(void)unused;

	s.domains = 2;
	for (uint32_t k = 0; k < 4; k++)
		s.worker[k].domain = k / 2;
	for (size_t i = 0; i < s.n; i++)
		s.subdomain[i].updates = i < 8 ? 1000 : 0;
	s.params.mode = POLICY_PLB_HYBRID;
	s.params.hybrid_every = 3;
	s.params.high = 4; /* nobody may take anything within a domain */
	for (int point = 1; point <= 6; point++)
		assert_int_equal(balance(&s), 0); /* nor from another */
	s.params.high = 6;
	s.params.pairs = 0;
	for (int point = 1; point <= 9; point++) {
		assert_int_equal(balance(&s), point % 3 == 0);
		if (point % 3 == 0)
			assert_true(s.move[0].from >= 2 && s.move[0].to < 2);
	}
	assert_int_equal(s.worker[0].subdomains + s.worker[1].subdomains, 11);
}

/* Owners that are not workers are left alone, and do no harm. */
static void test_strangers(void **unused)
{
	struct state s = begin(2, 4);
	(void)unused;

	s.subdomain[0] = (struct policy_subdomain){.updates = 1 << 20, .worker = POLICY_PLB_NOBODY};
	s.subdomain[7] = (struct policy_subdomain){.updates = 0, .worker = 2};
	for (size_t i = 1; i < 7; i++)
		s.subdomain[i].updates = 100 - i;
	size_t count = balance(&s);
	for (size_t k = 0; k < count; k++)
		assert_true(s.move[k].subdomain >= 1 && s.move[k].subdomain <= 6);
	assert_int_equal(s.worker[0].subdomains + s.worker[1].subdomains, 6);
}

/* Whatever the input is: nothing is lost, the thresholds hold, and moves are true. */
static void test_random(void **unused)
{
	uint64_t seed = 7;
	(void)unused;

	for (int round = 0; round < 3000; round++) {
		struct state s = {.params = {.mode = (enum policy_plb_mode)random_int(&seed, 0, 2),
					  .pairs = (uint32_t)random_int(&seed, 0, PAIRS_MAX),
					  .low = (uint32_t)random_int(&seed, 0, 4),
					  .high = (uint32_t)random_int(&seed, 1, 8),
					  .hybrid_every = (uint32_t)random_int(&seed, 1, 3),
					  .dead_band = (uint32_t)random_int(&seed, 0, 2),
					  .bound = (uint32_t)random_int(&seed, 0, 20)}};
		s.n = (size_t)random_int(&seed, 0, SUBDOMAINS_MAX);
		s.w = (size_t)random_int(&seed, 1, WORKERS_MAX);
		s.domains = (uint32_t)random_int(&seed, 1, DOMAINS_MAX);
		for (size_t k = 0; k < s.w; k++)
			s.worker[k] = (struct policy_worker){
				.domain = (uint32_t)random_int(&seed, 0, s.domains - 1),
				.updates = random_word(&seed) >> random_int(&seed, 0, 63),
				.speed = (double)random_int(&seed, 0, 1000)};
		for (size_t i = 0; i < s.n; i++)
			s.subdomain[i] = (struct policy_subdomain){
				.updates = random_word(&seed) >> random_int(&seed, 0, 63),
				.worker = (uint32_t)random_int(&seed, 0, (int64_t)s.w),
				.home = (uint32_t)random_int(&seed, 0, (int64_t)s.w)};
		s.state.points = (uint64_t)random_int(&seed, 0, 20);
		struct state before = s;
		uint32_t had[WORKERS_MAX + 1] = {0}, has[WORKERS_MAX + 1] = {0};
		size_t count = balance(&s);
		assert_true(count <= policy_plb_moves_max(&s.params, s.domains));
		for (size_t k = 0; k < count; k++) {
			struct policy_plb_move move = s.move[k];
			assert_true(move.from != move.to && move.from < s.w && move.to < s.w);
			assert_int_equal(before.subdomain[move.subdomain].worker, move.from);
			before.subdomain[move.subdomain].worker = move.to;
		}
		for (size_t i = 0; i < s.n; i++) {
			assert_int_equal(s.subdomain[i].worker, before.subdomain[i].worker);
			assert_int_equal(s.subdomain[i].updates, before.subdomain[i].updates);
			has[s.subdomain[i].worker]++;
		}
		for (size_t i = 0; i < s.n; i++)
			had[before.subdomain[i].worker]++;
		for (size_t k = 0; k < count; k++) {
			had[s.move[k].from]++;
			had[s.move[k].to]--;
		}
		for (size_t k = 0; k < s.w; k++) {
			assert_int_equal(s.worker[k].subdomains, has[k]);
			if (has[k] < had[k])
				assert_true(has[k] >= s.params.low);
			if (has[k] > had[k])
				assert_true(has[k] <= s.params.high);
		}
	}
}

/* ---- Runs in virtual time ---- */

static uint64_t spread(const struct state *s)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t updates = s->subdomain[i].updates;
		least = updates < least ? updates : least;
		most = updates > most ? updates : most;
	}
	return most - least;
}

/* Would its worker wait for the neighbours, whose numbers are next to its own? */
static bool waits(const struct state *s, size_t i)
{
	uint64_t updates = s->subdomain[i].updates;

	return s->waits_at > 0 &&
	       ((i > 0 && updates >= s->subdomain[i - 1].updates + s->waits_at) ||
		       (i + 1 < s->n && updates >= s->subdomain[i + 1].updates + s->waits_at));
}

/* A worker begins anew with its first subdomain. */
static void begin_round(struct state *s, size_t k)
{
	s->round[k]++;
	s->least[k] = UINT64_MAX;
	for (size_t i = 0; i < s->n; i++)
		if (s->subdomain[i].worker == k && s->subdomain[i].updates < s->least[k])
			s->least[k] = s->subdomain[i].updates;
}

static bool rests(const struct state *s, size_t k, size_t i)
{
	return s->rests &&
	       policy_plb_rests(&s->params, s->subdomain[i].updates, s->least[k], s->round[k]);
}

static bool has_cpu(const struct state *s, size_t k, int step)
{
	return k + 1 < s->w || s->lost_every == 0 || step % s->lost_every >= s->lost_for;
}

/* Workers update their subdomains in turn, each at its own rate, which jitters; the last is slower.
 * A step is the time of one update; there is a balancing point in each period. Returns the largest spread
 * in the second half, sampled now and then. */
static uint64_t run_slow(struct state *s, int steps, bool balanced, double speed, double jitter)
{
	double credit[WORKERS_MAX] = {0};
	size_t next[WORKERS_MAX] = {0};
	uint64_t worst = 0, seed = 11;

	for (int step = 0; step < steps; step++) {
		for (size_t k = 0; k < s->w; k++) {
			double now = 1 + jitter * (double)random_int(&seed, -1000, 1000) / 1000;
			credit[k] += k == s->w - 1 ? speed * now : now;
			if (credit[k] < 1)
				continue;
			credit[k] -= 1;
			for (size_t tried = 0; tried < 2 * s->n && has_cpu(s, k, step); tried++) {
				size_t i = next[k];
				if (i == 0)
					begin_round(s, k);
				/* A division here would be most of a run. */
				next[k] = i + 1 < s->n ? i + 1 : 0;
				if (s->subdomain[i].worker != k || rests(s, k, i) || waits(s, i))
					continue;
				s->subdomain[i].updates++;
				s->worker[k].updates++;
				break;
			}
		}
		if (balanced && (step + 1) % s->period == 0)
			(void)balance(s);
		if (step >= steps / 2 && step % 64 == 0 && spread(s) > worst)
			worst = spread(s);
	}
	return worst;
}

static uint64_t run(struct state *s, int steps, bool balanced)
{
	return run_slow(s, steps, balanced, 0.81, 0);
}

/* Section 5.1: the spread stays where it was after four times as many iterations; without balancing
 * it grows with them. */
static void assert_bounded(uint32_t dead_band)
{
	const size_t workers[] = {2, 4, 12, 24};

	for (size_t i = 0; i < 4 && workers[i] <= RUN_WORKERS_MAX; i++) {
		struct state s = begin(workers[i], 4);
		s.params.dead_band = dead_band;
		struct state same = s, alone = s, longer = s;
		uint64_t bounded = run(&s, 20000, true);
		uint64_t later = run(&same, 80000, true);
		uint64_t grown = run(&alone, 20000, false);
		uint64_t grown_later = run(&longer, 80000, false);
		printf("%zu workers: spread %llu, then %llu; unbalanced %llu, then %llu\n",
			workers[i], (unsigned long long)bounded, (unsigned long long)later,
			(unsigned long long)grown, (unsigned long long)grown_later);
		assert_true(later < 2 * bounded);
		assert_true(bounded < grown / 4);
		assert_true(grown_later > 3 * grown);
	}
}

static void test_spread_is_bounded(void **unused)
{
	(void)unused;
	assert_bounded(0);
}

static void test_spread_is_bounded_by_dead_band(void **unused)
{
	(void)unused;
	assert_bounded(2);
	assert_bounded(POLICY_PLB_DEFAULT_DEAD_BAND);
}

/* ---- The dead band ---- */

/* Two workers at speeds that were seen at points before. */
static struct state begin_at(double fast, double slow)
{
	struct state s = begin(2, 4);

	s.params.dead_band = 2;
	assert_int_equal(balance(&s), 0);
	s.worker[0].speed = fast;
	s.worker[1].speed = slow;
	return s;
}

static void lead(struct state *s, uint64_t updates)
{
	for (size_t i = 0; i < s->n; i++)
		s->subdomain[i].updates = 1000 + (s->subdomain[i].worker == 0 ? updates : 0);
}

/* The next point, where the workers have gone on at their speeds. */
static size_t balance_on(struct state *s)
{
	for (size_t k = 0; k < s->w; k++)
		s->worker[k].updates += (uint64_t)s->worker[k].speed;
	return balance(s);
}

/* At 40 and 20 updates a point, two periods are 15 updates of a subdomain. */
static void test_dead_band(void **unused)
{
	struct state s = begin_at(40, 20);
	(void)unused;

	lead(&s, 15);
	assert_int_equal(balance_on(&s), 0);
	lead(&s, 16);
	/* With 5 and 3 the gap would still grow: 8 to 6.7 a point. */
	assert_int_equal(balance_on(&s), 2);
	assert_int_equal(s.worker[0].subdomains, 6);
}

/* Half of the bound, where the dead band is wider; no more than the dead band. */
static void test_bound(void **unused)
{
	struct state s = begin_at(40, 20);
	(void)unused;

	s.params.bound = 20;
	lead(&s, 10);
	assert_int_equal(balance_on(&s), 0);
	lead(&s, 11);
	assert_int_equal(balance_on(&s), 2);
	s = begin_at(40, 20);
	s.params.bound = 100;
	lead(&s, 15);
	assert_int_equal(balance_on(&s), 0);
	lead(&s, 16);
	assert_int_equal(balance_on(&s), 2);
	s = begin_at(40, 20);
	s.params.bound = 1;
	lead(&s, 1);
	assert_int_equal(balance_on(&s), 2);
}

/* The first point knows no speeds, whatever the gaps are. */
static void test_first_point(void **unused)
{
	struct state s = begin(2, 4);
	(void)unused;

	s.params.dead_band = 2;
	lead(&s, 1000);
	assert_int_equal(balance(&s), 0);
}

/* Others have balanced for an hour. What workers did then is not their speed: by that, the dead band
 * would be wider than any gap, and for long. */
static void test_first_point_after_others(void **unused)
{
	const uint64_t hour = 3600 * 1000;
	struct state s = begin_at(40, 20);
	(void)unused;

	s.worker[0].updates += 40 * hour;
	s.worker[1].updates += 20 * hour;
	for (size_t i = 0; i < s.n; i++)
		s.subdomain[i].updates += 5 * hour;
	s.state.away = true;
	assert_int_equal(balance(&s), 0);
	assert_false(s.state.away);
	assert_float_equal(s.worker[0].speed, 40, 1e-9);
	assert_float_equal(s.worker[1].speed, 20, 1e-9);
	lead(&s, 16);
	assert_int_equal(balance_on(&s), 2);
}

/* While the gap closes, nothing moves; when it is closed, what moved goes home. */
static void test_gap_closes(void **unused)
{
	struct state s = begin_at(40, 40);
	(void)unused;

	lead(&s, 50);
	assert_int_equal(balance_on(&s), 1);
	uint32_t moved = s.move[0].subdomain;
	for (uint64_t gap = 45; gap > 0; gap -= 5) {
		lead(&s, gap);
		assert_int_equal(balance_on(&s), 0);
	}
	lead(&s, 0);
	assert_int_equal(balance_on(&s), 1);
	assert_move(&s, 0, moved, 0, 1);
}

/* Nothing goes home to a worker that is so slow that the gap would open again. */
static void test_stays_away(void **unused)
{
	struct state s = begin_at(60, 20);
	(void)unused;

	lead(&s, 50);
	assert_int_equal(balance_on(&s), 2);
	lead(&s, 0);
	assert_int_equal(balance_on(&s), 0);
}

/* Of those that could move, the one whose home it is, unless it is far behind the others. */
static void test_home_first(void **unused)
{
	struct state s = begin_at(40, 40);
	(void)unused;

	lead(&s, 50);
	s.subdomain[5].home = 0;
	s.subdomain[6].updates += 10;
	assert_int_equal(balance_on(&s), 1);
	assert_move(&s, 0, 5, 1, 0);
}

/* Of a block of subdomains, one goes that leaves no more neighbours to different workers: to the worker
 * before, the first, and to the one after, the last. Where workers wait, or by the paper's algorithm, the
 * most updated goes. */
static void test_neighbours_stay_together(void **unused)
{
	(void)unused;

	for (uint32_t to = 0; to < 3; to += 2) {
		struct state s = begin(3, 4);
		s.params.dead_band = 4;
		s.params.pairs = 1;
		for (size_t k = 0; k < 3; k++)
			s.worker[k].updates = 400;
		(void)balance(&s); /* from then on, speeds are known */
		for (size_t i = 0; i < s.n; i++)
			s.subdomain[i].updates = i / 4 == 1 ? 10 : i / 4 == to ? 1500 : 1400;
		s.subdomain[5].updates = 9; /* stays, as the least updated */
		s.subdomain[6].updates = 12;
		for (size_t k = 0; k < 3; k++)
			s.worker[k].updates += k == 1 ? 200 : 400;
		struct state waiting = s, by_paper = s;
		waiting.params.bound = 100;
		by_paper.params.dead_band = 0;
		assert_int_equal(balance(&s), 1);
		assert_move(&s, 0, to == 0 ? 4 : 7, 1, to);
		assert_int_equal(balance(&waiting), 1);
		assert_move(&waiting, 0, 6, 1, to);
		assert_int_equal(balance(&by_paper), 1);
		assert_move(&by_paper, 0, 6, 1, to);
	}
}

static int borders(const struct state *s)
{
	int count = 0;

	for (size_t i = 1; i < s->n; i++)
		count += s->subdomain[i].worker != s->subdomain[i - 1].worker;
	return count;
}

/* Of equally updated ones, too, also where workers wait: whoever takes some, blocks stay blocks. */
static void test_ties_make_no_border(void **unused)
{
	(void)unused;

	for (uint32_t to = 0; to < 2; to++) {
		struct state s = begin(2, 6);
		s.params.dead_band = 4;
		s.params.high = 9;
		s.params.pairs = 1;
		s.params.bound = 16;
		(void)balance(&s);
		s.worker[to].speed = 60;
		s.worker[1 - to].speed = 20;
		for (size_t i = 0; i < s.n; i++)
			s.subdomain[i].updates = s.subdomain[i].worker == to ? 1100 : 1000;
		/* The least updated one, which stays, is at the other end. */
		s.subdomain[to == 0 ? s.n - 1 : 0].updates = 999;
		for (uint32_t has = 7; has <= 9; has++) {
			assert_int_equal(balance_on(&s), 1);
			assert_int_equal(s.worker[to].subdomains, has);
			assert_int_equal(borders(&s), 1);
		}
	}
}

/* Those that go home go in the order in which they lie, in either direction, though not all at once. */
static void test_home_in_order(void **unused)
{
	(void)unused;

	for (uint32_t home = 0; home < 2; home++) {
		struct state s = begin(2, 6);
		s.params.dead_band = 4;
		s.params.high = 9;
		(void)balance(&s);
		for (size_t i = 3; i < 9; i++)
			s.subdomain[i].worker = 1 - home;
		s.params.pairs = 1;
		s.worker[0].speed = s.worker[1].speed = 60;
		for (uint32_t left = 2; left <= 2; left--) {
			assert_int_equal(balance_on(&s), 1);
			assert_int_equal(s.move[0].to, home);
			assert_int_equal(s.worker[1 - home].subdomains, 6 + left);
			assert_int_equal(borders(&s), 1);
		}
		assert_int_equal(balance_on(&s), 0);
	}
}

/* Workers that are equal but for jitter: next to nothing moves, and the spread is bounded. Where one
 * is slow, much less moves than by the paper's algorithm. */
static void test_needless_moves(void **unused)
{
	const int steps = 40000;
	(void)unused;

	for (size_t w = 2; w <= RUN_WORKERS_MAX; w += 11) {
		struct state paper_state = begin(w, 4), s = paper_state;
		s.params.dead_band = POLICY_PLB_DEFAULT_DEAD_BAND;
		struct state slow = s, paper_slow = paper_state;
		uint64_t bound = run_slow(&s, steps, true, 1, 0.2);
		(void)run_slow(&paper_state, steps, true, 1, 0.2);
		(void)run_slow(&slow, steps, true, 0.6, 0.2);
		(void)run_slow(&paper_slow, steps, true, 0.6, 0.2);
		printf("%zu workers: %zu moves, paper %zu; one slow: %zu, paper %zu\n", w, s.moves,
			paper_state.moves, slow.moves, paper_slow.moves);
		assert_true(s.moves <= steps / 10 / 100);
		assert_true(bound <= 40);
		assert_true(slow.moves < paper_slow.moves / 2);
	}
}

/* ---- Leads within a worker ---- */

static void test_rests(void **unused)
{
	struct policy_plb_params params = paper;
	(void)unused;

	assert_false(policy_plb_rests(&params, 1000, 0, 1)); /* the paper's */
	params.dead_band = 1;
	assert_true(policy_plb_rests(&params, 105, 100, 1));
	assert_false(policy_plb_rests(&params, 104, 100, 1));
	assert_false(policy_plb_rests(&params, 105, 100, 2));
	assert_true(policy_plb_rests(&params, 105, 100, 3));
	assert_false(policy_plb_rests(&params, 100, 100, 1));
	/* Begun anew while the worker was at its round: no lead, though the difference is large. */
	assert_false(policy_plb_rests(&params, 3, 100, 1));
	assert_false(policy_plb_rests(&params, 100, UINT64_MAX, 1));
	params.bound = 1000;
	assert_false(policy_plb_rests(&params, 1000, 0, 1));
}

static uint64_t widest_lead(const struct state *s)
{
	uint64_t widest = 0;

	for (size_t k = 0; k < s->w; k++) {
		uint64_t least = UINT64_MAX, most = 0;
		for (size_t i = 0; i < s->n; i++) {
			uint64_t updates = s->subdomain[i].updates;
			if (s->subdomain[i].worker != k)
				continue;
			least = updates < least ? updates : least;
			most = updates > most ? updates : most;
		}
		if (most > least && most - least > widest)
			widest = most - least;
	}
	return widest;
}

/* Whatever leads a worker's subdomains begin with: in twice as many rounds they are closed, and nobody did
 * less for that. */
static void test_leads_close(void **unused)
{
	uint64_t seed = 3;
	(void)unused;

	for (int round = 0; round < 50; round++) {
		struct state s =
			begin((size_t)random_int(&seed, 1, 8), (size_t)random_int(&seed, 1, 6));
		s.params.dead_band = POLICY_PLB_DEFAULT_DEAD_BAND;
		for (size_t i = 0; i < s.n; i++)
			s.subdomain[i].updates = (uint64_t)random_int(&seed, 0, 100);
		struct state as_before = s;
		s.rests = true;
		(void)run_slow(&s, 200 * 6, false, 1, 0);
		(void)run_slow(&as_before, 200 * 6, false, 1, 0);
		assert_true(widest_lead(&s) <= 6);
		for (size_t k = 0; k < s.w; k++)
			assert_int_equal(s.worker[k].updates, as_before.worker[k].updates);
	}
}

/* One worker loses its CPU again and again. When leads within workers close there, fewer moves bound the
 * spread no worse. */
static void test_rests_save_moves(void **unused)
{
	(void)unused;

	for (size_t w = 2; w <= RUN_WORKERS_MAX; w += 11) {
		struct state s = begin(w, 4);
		s.params.dead_band = POLICY_PLB_DEFAULT_DEAD_BAND;
		s.period = 160;
		s.lost_every = 4000;
		s.lost_for = 800;
		struct state resting = s;
		resting.rests = true;
		uint64_t bound = run_slow(&s, 150000, true, 1, 0.2);
		uint64_t resting_bound = run_slow(&resting, 150000, true, 1, 0.2);
		printf("%zu workers: %zu moves, spread %llu; with rests %zu moves, spread %llu\n",
			w, s.moves, (unsigned long long)bound, resting.moves,
			(unsigned long long)resting_bound);
		assert_true(resting.moves < s.moves * 3 / 4);
		assert_true(resting_bound <= bound);
	}
}

/* Points that are more frequent than updates: what moves now shows much later. */
static void test_short_periods(void **unused)
{
	(void)unused;

	for (size_t w = 2; w <= RUN_WORKERS_MAX; w += 11) {
		struct state s = begin(w, 4);
		s.params.dead_band = POLICY_PLB_DEFAULT_DEAD_BAND;
		s.period = 1;
		uint64_t bound = run_slow(&s, 40000, true, 1, 0.2);
		printf("%zu workers: %zu moves in 10000 iterations, spread %llu\n", w, s.moves,
			(unsigned long long)bound);
		assert_true(s.moves <= 5 * w);
		assert_true(bound <= 8);
	}
}

static uint64_t made(const struct state *s)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < s->w; k++)
		sum += s->worker[k].updates;
	return sum;
}

/* Workers that wait for each other within the dead band: who is told the bound balances none the
 * less, and moves next to nothing where workers are equal. */
static void test_workers_that_wait(void **unused)
{
	const int steps = 40000;
	(void)unused;

	for (size_t w = 2; w <= RUN_WORKERS_MAX; w += 11) {
		struct state alone = begin(w, 4);
		alone.params.dead_band = 100;
		alone.waits_at = 16;
		struct state untold = alone, told = alone;
		told.params.bound = 16;
		struct state even = told;
		double could = (double)steps * ((double)w - 0.4);
		(void)run_slow(&alone, steps, false, 0.6, 0.2);
		(void)run_slow(&untold, steps, true, 0.6, 0.2);
		(void)run_slow(&told, steps, true, 0.6, 0.2);
		(void)run_slow(&even, steps, true, 1, 0.2);
		printf("%zu workers: %.3f of what they could; untold %.3f, told %.3f, %zu moves; "
		       "equal ones %zu moves\n",
			w, (double)made(&alone) / could, (double)made(&untold) / could,
			(double)made(&told) / could, told.moves, even.moves);
		assert_true((double)made(&told) > 0.97 * could);
		assert_true((double)made(&untold) < 0.95 * could);
		assert_true(even.moves <= steps / 10 / 50);
	}
}

/* Split domains drift apart (Section 5.1); hybrid holds them together. */
static void test_hybrid_holds_domains_together(void **unused)
{
	struct state split = begin(8, 4);
	(void)unused;

	split.domains = 2;
	for (uint32_t k = 0; k < 8; k++)
		split.worker[k].domain = k / 4;
	split.params.mode = POLICY_PLB_SPLIT;
	struct state hybrid = split, hybrid_longer = split, split_longer = split;
	hybrid.params.mode = hybrid_longer.params.mode = POLICY_PLB_HYBRID;
	hybrid.params.hybrid_every = hybrid_longer.params.hybrid_every = 50;
	assert_true(run(&split_longer, 80000, true) > 3 * run(&split, 20000, true));
	assert_true(run(&hybrid_longer, 80000, true) < 2 * run(&hybrid, 20000, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_pair),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_bottom_stays),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_spread_is_bounded),
		cmocka_unit_test(test_spread_is_bounded_by_dead_band),
		cmocka_unit_test(test_dead_band),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_first_point),
		cmocka_unit_test(test_first_point_after_others),
		cmocka_unit_test(test_gap_closes),
		cmocka_unit_test(test_stays_away),
		cmocka_unit_test(test_home_first),
		cmocka_unit_test(test_neighbours_stay_together),
		cmocka_unit_test(test_ties_make_no_border),
		cmocka_unit_test(test_home_in_order),
		cmocka_unit_test(test_needless_moves),
		cmocka_unit_test(test_rests),
		cmocka_unit_test(test_leads_close),
		cmocka_unit_test(test_rests_save_moves),
		cmocka_unit_test(test_short_periods),
		cmocka_unit_test(test_workers_that_wait),
		cmocka_unit_test(test_hybrid_holds_domains_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
