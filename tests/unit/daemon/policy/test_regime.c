// SPDX-License-Identifier: MIT
/*
 * Whether balancing pays: a verdict reached over time. Jobs are made up of what the chooser sees of
 * them.
 */
#undef NDEBUG
#include "daemon/policy/regime.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"

#define WINDOW_NS UINT64_C(50000000)
#define MS UINT64_C(1000000)

/* From -1 to 1. */
static double random_share(uint64_t *seed)
{
	return (double)(random_word(seed) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* A job whose threads block: how busy it keeps the CPUs under each regime. */
struct job {
	double busy[2]; /* by enum policy_regime */
	double noise; /* largest deviation of a window, as a share of the CPUs' time */
	double block_hz; /* sleeps per second and thread */
};

struct run {
	struct policy_chooser chooser;
	uint64_t seed;
	int windows, windows_in[2];
	int trials, trial_at[1000]; /* windows before each trial */
};

static struct run start(uint64_t seed)
{
	struct run run = {.seed = seed};

	policy_regime_init(&run.chooser, false);
	return run;
}

/* What is known beforehand of so many threads on equal CPUs. */
static void know(struct policy_chooser *chooser, uint32_t threads, uint32_t cpus)
{
	double each = (double)threads / cpus;

	chooser->turns_gain = threads > cpus ? ceil(each) / each - 1 : 0;
}

static bool count(struct policy_chooser *chooser, uint32_t threads, uint32_t cpus)
{
	know(chooser, threads, cpus);
	return policy_regime_count(chooser, threads, cpus);
}

static bool step(struct run *run, const struct job *job)
{
	(void)count(&run->chooser, 6, 4); /* as a team does before each window */
	enum policy_regime before = run->chooser.regime;
	enum policy_reason reason = run->chooser.reason;
	double busy = job->busy[before] + job->noise * random_share(&run->seed);
	uint64_t window_ns = policy_regime_window_ns(&run->chooser);
	struct policy_window window = {.elapsed_ns = window_ns,
		.run_ns = (uint64_t)(busy * 4 * (double)window_ns),
		.wait_ns = window_ns,
		.sleeps = job->block_hz * (double)window_ns * 1e-9,
		.threads = 6,
		.cpus = 4};

	run->windows_in[before]++;
	run->windows++;
	bool changed = policy_regime_update(&run->chooser, &window);
	assert_true(changed == (before != run->chooser.regime));
	if (run->chooser.reason == POLICY_REASON_TRIAL && reason != POLICY_REASON_TRIAL)
		run->trial_at[run->trials++ % 1000] = run->windows;
	return changed;
}

static void steps(struct run *run, const struct job *job, int windows)
{
	for (int i = 0; i < windows; i++)
		(void)step(run, job);
}

static const struct job blocking = {.busy = {0.70, 0.90}, .noise = 0.01, .block_hz = 50};
static const struct job harmed = {.busy = {0.90, 0.80}, .noise = 0.01, .block_hz = 50};

static enum policy_rest rest_of(enum policy_reason reason)
{
	if (reason == POLICY_REASON_SHORT)
		return POLICY_RESTS_MORE;
	return reason == POLICY_REASON_FEW || reason == POLICY_REASON_NO_CONTEST ? POLICY_RESTS
										 : POLICY_TELLS;
}

/* Cases that need no trial, even in the middle of trials. */
static void test_no_trial_needed(void **state)
{
	static const struct {
		struct policy_window window;
		enum policy_regime regime;
		enum policy_reason reason;
	} examples[] = {
		{{.elapsed_ns = WINDOW_NS,
			 .run_ns = 2 * WINDOW_NS,
			 .sleeps = 5,
			 .threads = 2,
			 .cpus = 4},
			POLICY_ASIDE, POLICY_REASON_FEW},
		{{.elapsed_ns = WINDOW_NS, .threads = 0, .cpus = 4}, POLICY_ASIDE,
			POLICY_REASON_FEW},
		{{.elapsed_ns = WINDOW_NS, .run_ns = 3 * WINDOW_NS, .threads = 3, .cpus = 4},
			POLICY_ASIDE, POLICY_REASON_FEW},
		{{.elapsed_ns = WINDOW_NS,
			 .run_ns = 4 * WINDOW_NS,
			 .wait_ns = WINDOW_NS / 20,
			 .threads = 4,
			 .cpus = 4},
			POLICY_ASIDE, POLICY_REASON_NO_CONTEST},
		{{.elapsed_ns = WINDOW_NS,
			 .run_ns = 3 * WINDOW_NS,
			 .wait_ns = WINDOW_NS / 2,
			 .threads = 4,
			 .cpus = 4},
			POLICY_BALANCE, POLICY_REASON_NEVER_IDLE},
		{{.elapsed_ns = WINDOW_NS,
			 .run_ns = 4 * WINDOW_NS,
			 .wait_ns = 2 * WINDOW_NS,
			 .sleeps = 0.01,
			 .threads = 6,
			 .cpus = 4},
			POLICY_BALANCE, POLICY_REASON_NEVER_IDLE},
		{{.elapsed_ns = WINDOW_NS,
			 .run_ns = 4 * WINDOW_NS,
			 .wait_ns = 2 * WINDOW_NS,
			 .sleeps = 0.06,
			 .threads = 6,
			 .cpus = 4},
			POLICY_BALANCE, POLICY_REASON_LONG},
		{{.elapsed_ns = WINDOW_NS,
			 .run_ns = 4 * WINDOW_NS,
			 .wait_ns = 2 * WINDOW_NS,
			 .sleeps = 40,
			 .phase_ns = 1e6,
			 .threads = 6,
			 .cpus = 4},
			POLICY_ASIDE, POLICY_REASON_SHORT},
		{{.elapsed_ns = WINDOW_NS,
			 .run_ns = WINDOW_NS,
			 .wait_ns = WINDOW_NS,
			 .threads = 2,
			 .cpus = 1},
			POLICY_BALANCE, POLICY_REASON_NEVER_IDLE},
	};
	(void)state;

	for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++)
		for (int before = 0; before < 20; before++) {
			struct run run = start(before);
			steps(&run, before % 2 ? &blocking : &harmed, before);
			/* It takes several windows to tell how often threads sleep. */
			know(&run.chooser, examples[i].window.threads, examples[i].window.cpus);
			bool slow = examples[i].reason == POLICY_REASON_NEVER_IDLE ||
				    examples[i].reason == POLICY_REASON_LONG;
			for (int k = 0; k < (slow && before > 0 ? 60 : 0); k++)
				policy_regime_update(&run.chooser, &examples[i].window);
			enum policy_regime regime = run.chooser.regime;
			bool changed = policy_regime_update(&run.chooser, &examples[i].window);
			assert_int_equal(run.chooser.regime, examples[i].regime);
			assert_int_equal(run.chooser.reason, examples[i].reason);
			assert_true(changed == (regime != examples[i].regime));
			assert_int_equal(
				policy_regime_rest(&run.chooser), rest_of(examples[i].reason));
			assert_false(policy_regime_update(&run.chooser, &examples[i].window));
		}
}

/* Threads seen to yield do so at barriers, which may be seconds apart; others may spin. */
static void test_spins(void **state)
{
	struct run run = start(1);
	struct policy_window window = {.elapsed_ns = WINDOW_NS,
		.run_ns = 4 * WINDOW_NS,
		.wait_ns = 2 * WINDOW_NS,
		.threads = 6,
		.cpus = 4};
	(void)state;

	window.since_yield_ns = UINT64_MAX;
	policy_regime_update(&run.chooser, &window);
	assert_true(run.chooser.spins && !run.chooser.yields);
	window.since_yield_ns = 2000 * (uint64_t)1000000;
	policy_regime_update(&run.chooser, &window);
	assert_true(run.chooser.yields && !run.chooser.spins);
	window.sleeps = 5;
	policy_regime_update(&run.chooser, &window);
	assert_false(run.chooser.spins || run.chooser.yields);
}

/* Workers whose subdomains move, with a CPU each: they are placed whatever else runs there. */
static void test_subdomains(void **state)
{
	struct policy_window contested = {.elapsed_ns = WINDOW_NS,
		.run_ns = 3 * WINDOW_NS,
		.wait_ns = WINDOW_NS,
		.sleeps = 5,
		.threads = 4,
		.cpus = 4};
	(void)state;

	for (int always = 0; always <= 1; always++) {
		struct policy_chooser chooser;
		policy_regime_init(&chooser, always);
		chooser.subdomains = true;
		assert_false(count(&chooser, 3, 4));
		assert_int_equal(chooser.reason, POLICY_REASON_FEW);
		assert_true(count(&chooser, 4, 4));
		assert_int_equal(chooser.regime, POLICY_BALANCE);
		assert_int_equal(chooser.reason, POLICY_REASON_SUBDOMAINS);
		for (int i = 0; i < 1000; i++)
			assert_false(policy_regime_update(&chooser, &contested));
		assert_int_equal(chooser.reason, POLICY_REASON_SUBDOMAINS);
		assert_int_equal(chooser.always, always);
		/* With more of them than CPUs they share again, and are moved. */
		assert_false(count(&chooser, 5, 4));
		assert_int_equal(chooser.regime, POLICY_BALANCE);
		assert_int_equal(chooser.reason, POLICY_REASON_START);
		/* Other threads among them count as usual. */
		assert_false(count(&chooser, 4, 4));
		assert_int_equal(chooser.reason, POLICY_REASON_SUBDOMAINS);
		chooser.subdomains = false;
		assert_false(count(&chooser, 4, 4));
		assert_int_not_equal(chooser.reason, POLICY_REASON_SUBDOMAINS);
		assert_true(count(&chooser, 3, 4));
		assert_int_equal(chooser.regime, POLICY_ASIDE);
	}
}

static void test_reason_texts(void **state)
{
	(void)state;
	for (int a = POLICY_REASON_START; a <= POLICY_REASONS - 1; a++)
		for (int b = POLICY_REASON_START; b <= POLICY_REASONS; b++)
			assert_true((a == b) ==
				    (strcmp(policy_reason_text(a), policy_reason_text(b)) == 0));
	assert_string_equal(policy_reason_text((enum policy_reason)POLICY_REASONS), "unknown");
}

/* The share of windows that a job spends in its worse regime. */
static double share_worse(struct job job, enum policy_regime better, int windows)
{
	int worse = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct run run = start(seed);
		steps(&run, &job, windows);
		assert_int_equal(run.chooser.settled, better);
		worse += run.windows_in[!better];
	}
	return (double)worse / (20 * windows);
}

static void test_settles(void **state)
{
	static const struct {
		double aside, balance, noise;
		enum policy_regime better;
	} jobs[] = {
		{0.70, 0.90, 0.01, POLICY_BALANCE},
		{0.70, 0.90, 0.05, POLICY_BALANCE},
		{0.85, 0.90, 0.02, POLICY_BALANCE},
		{0.90, 0.85, 0.02, POLICY_ASIDE},
		{0.90, 0.70, 0.05, POLICY_ASIDE},
		{0.30, 0.20, 0.02, POLICY_ASIDE},
		/* No difference: the balancer that does nothing costs nothing. */
		{0.90, 0.90, 0.001, POLICY_ASIDE},
	};
	(void)state;

	for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
		struct job job = {.busy = {jobs[i].aside, jobs[i].balance},
			.noise = jobs[i].noise,
			.block_hz = 50};
		double early = share_worse(job, jobs[i].better, 100);
		double late = share_worse(job, jobs[i].better, 2000);
		print_message("%.2f against %.2f, noise %.3f: worse for %.3f of 100 windows, "
			      "%.3f of 2000\n",
			jobs[i].balance, jobs[i].aside, jobs[i].noise, early, late);
		assert_true(early < 0.25);
		assert_true(late < 0.06);
	}
}

/* Threads that sleep, but leave no CPU idle, may spin as well: they are balanced like those that never sleep, with hardly
 * a trial, and in spite of what one shows; unless balancing leaves CPUs idle that the kernel does not. */
static void test_leaves_none_idle(void **state)
{
	static const struct {
		double aside, balance, noise;
		bool tried_before;
		enum policy_reason reason;
	} jobs[] = {
		{0.98, 0.965, 0.01, false, POLICY_REASON_BUSY},
		{0.98, 0.965, 0.01, true, POLICY_REASON_BUSY},
		{0.98, 0.955, 0.03, false, POLICY_REASON_BUSY},
		{0.98, 0.955, 0.03, true, POLICY_REASON_BUSY},
		{0.99, 0.96, 0.005, true, POLICY_REASON_BUSY},
		{0.97, 0.99, 0.005, true, POLICY_REASON_FASTER},
		{0.98, 0.90, 0.01, true, POLICY_REASON_SLOWER},
		{0.94, 0.91, 0.01, true, POLICY_REASON_SLOWER},
	};
	(void)state;

	for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
		struct job job = {.busy = {jobs[i].aside, jobs[i].balance},
			.noise = jobs[i].noise,
			.block_hz = 50};
		struct run run = start(i);
		if (jobs[i].tried_before) {
			steps(&run, &harmed, 20);
			assert_int_equal(run.chooser.settled, POLICY_ASIDE);
			job.block_hz = 500; /* another part of the program */
			steps(&run, &job, 200);
		}
		int trials = run.trials;
		steps(&run, &job, 1000);
		while (run.chooser.trial)
			(void)step(&run, &job);
		if (run.chooser.reason != jobs[i].reason)
			fail_msg("%.2f, %.3f: %s", job.busy[0], job.busy[1],
				policy_reason_text(run.chooser.reason));
		if (jobs[i].reason == POLICY_REASON_BUSY && run.trials > trials)
			fail_msg("%.2f, %.3f: %d trials", job.busy[0], job.busy[1],
				run.trials - trials);
	}
}

/* It is not so where turns gain little, nor with a CPU for each thread, nor where phases are told. */
static void test_idle_little(void **state)
{
	static const struct {
		uint32_t threads;
		bool told;
		enum policy_reason reason;
	} cases[] = {{3, false, POLICY_REASON_BUSY}, {7, false, POLICY_REASON_TRIAL},
		{2, false, POLICY_REASON_TRIAL}, {3, true, POLICY_REASON_TRIAL}};
	(void)state;

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		struct policy_window window = {.elapsed_ns = WINDOW_NS,
			.run_ns = 197 * WINDOW_NS / 100,
			.wait_ns = WINDOW_NS,
			.since_yield_ns = UINT64_MAX,
			.sleeps = 5,
			.threads = cases[k].threads,
			.cpus = 2,
			.told = cases[k].told,
			.regular = true,
			.useful_ns = 197 * WINDOW_NS / 100,
			.passed = 20,
			.need_ns = 5e6};
		struct policy_chooser chooser;
		policy_regime_init(&chooser, false);
		for (int i = 0; i < 50 && !chooser.trial; i++) {
			count(&chooser, cases[k].threads, 2);
			policy_regime_update(&chooser, &window);
		}
		assert_int_equal(chooser.reason, cases[k].reason);
	}
}

/* Phases that are told show which is better, however busy the threads are. */
static void test_told_idle_little(void **state)
{
	struct policy_chooser chooser;
	(void)state;

	policy_regime_init(&chooser, false);
	for (int i = 0; i < 400 || chooser.trial; i++) {
		double busy = chooser.regime == POLICY_BALANCE ? 0.955 : 0.985;
		uint64_t run_ns = (uint64_t)(busy * 2 * (double)WINDOW_NS);
		struct policy_window window = {.elapsed_ns = WINDOW_NS,
			.run_ns = run_ns,
			.wait_ns = WINDOW_NS,
			.since_yield_ns = UINT64_MAX,
			.sleeps = 5,
			.threads = 3,
			.cpus = 2,
			.told = true,
			.regular = true,
			.useful_ns = run_ns,
			.passed = busy * 20,
			.need_ns = 5e6};
		count(&chooser, 3, 2);
		policy_regime_update(&chooser, &window);
	}
	assert_int_equal(chooser.reason, POLICY_REASON_SLOWER);
}

/* What trials cost: 5 ms at first, then a share of the time. */
static void test_trials_are_cheap(void **state)
{
	static const struct job jobs[] = {
		{.busy = {0.70, 0.90}, .noise = 0.01, .block_hz = 50},
		{.busy = {0.90, 0.70}, .noise = 0.01, .block_hz = 50},
		{.busy = {0.90, 0.89}, .noise = 0.02, .block_hz = 500},
		/* Windows are longer where phases are. */
		{.busy = {0.70, 0.90}, .noise = 0.01, .block_hz = 5},
	};
	(void)state;

	for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++)
		for (int windows = 10; windows <= 3000; windows *= 300) {
			struct run run = start(11);
			double lost_ns = 0, elapsed_ns = 0;
			for (int i = 0; i < windows; i++) {
				bool trial = run.chooser.trial;
				enum policy_regime regime = run.chooser.regime;
				double window_ns = (double)policy_regime_window_ns(&run.chooser);
				(void)step(&run, &jobs[j]);
				elapsed_ns += window_ns;
				lost_ns += trial * window_ns *
					   fmax(0, jobs[j].busy[!regime] - jobs[j].busy[regime]);
			}
			print_message("%.2f against %.2f: %.1f ms of %.1f s\n",
				jobs[j].busy[POLICY_BALANCE], jobs[j].busy[POLICY_ASIDE],
				lost_ns / 1e6, elapsed_ns / 1e9);
			/* The first trial can't know what it will cost. */
			assert_true(lost_ns < 10.5e6 + 0.006 * elapsed_ns);
		}
}

/* A window is long enough to hold phases, but no longer than a second. */
static void test_windows(void **state)
{
	struct policy_window window = {.elapsed_ns = WINDOW_NS,
		.run_ns = 3 * WINDOW_NS,
		.wait_ns = WINDOW_NS,
		.threads = 6,
		.cpus = 4};
	struct policy_chooser chooser;
	(void)state;

	policy_regime_init(&chooser, false);
	assert_int_equal(policy_regime_window_ns(&chooser), WINDOW_NS);
	policy_regime_update(&chooser, &window);
	assert_int_equal(policy_regime_window_ns(&chooser), 4 * WINDOW_NS);
	static const struct {
		double sleeps;
		uint64_t window_ns;
	} cases[] = {
		{5, WINDOW_NS}, {1, 2 * WINDOW_NS}, {0.2, 10 * WINDOW_NS}, {0.04, 20 * WINDOW_NS}};
	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		window.sleeps = cases[k].sleeps;
		policy_regime_init(&chooser, false);
		policy_regime_update(&chooser, &window);
		assert_in_range(policy_regime_window_ns(&chooser), cases[k].window_ns - 1,
			cases[k].window_ns);
	}
}

/* However noisy, trials of the worse regime stay rare. */
static void test_noisy(void **state)
{
	struct job job = {.busy = {0.80, 0.83}, .noise = 0.1, .block_hz = 50};
	int worse = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct run run = start(seed);
		steps(&run, &job, 2000);
		worse += run.windows_in[POLICY_ASIDE];
	}
	print_message("worse for %.3f of the windows\n", worse / 40000.0);
	assert_true(worse < 40000 / 3);
}

static void test_gaps_grow(void **state)
{
	const struct job *const jobs[] = {&blocking, &harmed};
	(void)state;

	for (int j = 0; j < 2; j++) {
		struct run run = start(7);
		steps(&run, jobs[j], 2000);
		assert_true(run.trials >= 5 && run.trials < 1000);
		int before = 0;
		for (int i = 2; i < run.trials; i++) {
			int gap = run.trial_at[i] - run.trial_at[i - 1];
			assert_true(gap >= before);
			before = gap;
		}
		print_message("%d trials, the last gap %d windows\n", run.trials, before);
		assert_true(before >= 64); /* rare in the end */
		assert_true(before <= 128 + 8); /* but never given up */
	}
}

/* Another part of the program: its phases have another length, and the best regime is another. */
static void test_looks_again(void **state)
{
	(void)state;
	for (int slower = 0; slower < 2; slower++) {
		struct job job = blocking;
		struct run run = start(8);
		steps(&run, &job, 500);
		assert_int_equal(run.chooser.settled, POLICY_BALANCE);
		while (run.chooser.trial || run.chooser.wait < 50)
			(void)step(&run, &job);

		int trials = run.trials;
		job = (struct job){.busy = {0.90, 0.80},
			.noise = 0.01,
			.block_hz = slower ? 50.0 / 4.5 : 50 * 4.5};
		steps(&run, &job, 2);
		assert_int_equal(run.trials, trials + 1);
		steps(&run, &job, 1);
		assert_int_equal(run.chooser.regime, POLICY_ASIDE);
		assert_int_equal(run.chooser.reason, POLICY_REASON_SLOWER);
	}
}

/* The same rate within a factor of four is the same part. */
static void test_same_part(void **state)
{
	struct job job = blocking;
	struct run run = start(9);
	(void)state;

	steps(&run, &job, 500);
	while (run.chooser.trial || run.chooser.wait < 50)
		(void)step(&run, &job);
	int trials = run.trials;
	job.block_hz *= 3;
	steps(&run, &job, 40);
	assert_int_equal(run.trials, trials);
}

/* What one part of the program taught is forgotten when it ends. */
static void test_forgets(void **state)
{
	struct policy_window few = {.elapsed_ns = WINDOW_NS, .threads = 1, .cpus = 4};
	struct run run = start(10);
	(void)state;

	steps(&run, &blocking, 500);
	know(&run.chooser, few.threads, few.cpus);
	(void)policy_regime_update(&run.chooser, &few);
	assert_int_equal(run.chooser.regime, POLICY_ASIDE);
	steps(&run, &harmed, 10);
	assert_int_equal(run.chooser.settled, POLICY_ASIDE);
	assert_int_equal(run.chooser.reason, POLICY_REASON_SLOWER);
}

/* Short phases between yields: aside, but for a window now and then, which must not be missed when
 * phases get longer. */
static void test_short_yields(void **state)
{
	struct policy_window window = {.elapsed_ns = WINDOW_NS,
		.run_ns = 2 * WINDOW_NS,
		.wait_ns = WINDOW_NS,
		.short_yields = true,
		.threads = 3,
		.cpus = 2};
	struct policy_chooser chooser;
	int aside = 0;
	(void)state;

	policy_regime_init(&chooser, false);
	count(&chooser, 3, 2);
	for (int i = 0; i < 1000; i++) {
		(void)policy_regime_update(&chooser, &window);
		assert_true(chooser.yields);
		aside += chooser.regime == POLICY_ASIDE;
		if (chooser.regime == POLICY_ASIDE)
			assert_int_equal(chooser.reason, POLICY_REASON_SHORT);
		/* What they did in waits that they don't tell would count as work. */
		assert_int_equal(policy_regime_rest(&chooser), POLICY_TELLS);
	}
	assert_in_range(aside, 920, 950);
	window.short_yields = false;
	for (int i = 0; i < 20; i++)
		(void)policy_regime_update(&chooser, &window);
	assert_int_equal(chooser.reason, POLICY_REASON_NEVER_IDLE);
	window.short_yields = true;
	assert_true(policy_regime_update(&chooser, &window));
	/* They spin now, or sleep. */
	window.since_yield_ns = UINT64_C(20000000000);
	assert_true(policy_regime_update(&chooser, &window));
	assert_int_equal(chooser.reason, POLICY_REASON_NEVER_IDLE);
	window.since_yield_ns = 0;
	assert_true(policy_regime_update(&chooser, &window));
	window.sleeps = 5;
	for (int i = 0; i < 20; i++)
		(void)policy_regime_update(&chooser, &window);
	assert_int_not_equal(chooser.reason, POLICY_REASON_SHORT);

	policy_regime_init(&chooser, true);
	window.sleeps = 0;
	(void)policy_regime_update(&chooser, &window);
	assert_int_equal(chooser.regime, POLICY_BALANCE);
}

/* From every other reason to trials: the first is of the regime that the job is not in. */
static void test_first_trial(void **state)
{
	struct policy_window many = {.elapsed_ns = WINDOW_NS,
		.run_ns = 9 * WINDOW_NS / 5,
		.wait_ns = WINDOW_NS,
		.sleeps = 5,
		.phase_ns = 5e6,
		.cpus = 2};
	(void)state;

	for (uint32_t threads = 2; threads <= 7; threads++)
		for (int before = 0; before < 4; before++) {
			struct policy_chooser chooser;
			struct policy_window window = many;
			policy_regime_init(&chooser, false);
			window.threads = before == 0 ? 1 : threads;
			window.wait_ns = before == 1 ? 0 : WINDOW_NS;
			window.phase_ns = before == 2 ? 1e6 : 5e6;
			window.sleeps = before == 3 ? 0 : 5;
			policy_regime_update(&chooser, &window);
			many.threads = threads;
			for (int i = 0; i < 50 && chooser.reason != POLICY_REASON_TRIAL; i++) {
				enum policy_regime regime = chooser.regime;
				count(&chooser, threads, 2);
				(void)policy_regime_update(&chooser, &many);
				if (chooser.reason == POLICY_REASON_TRIAL)
					assert_int_not_equal(chooser.regime, regime);
			}
			assert_int_equal(chooser.reason, POLICY_REASON_TRIAL);
			assert_int_not_equal(chooser.regime, chooser.settled);
		}
}

/* Before trials: threads that sleep are balanced where turns gain much, and else left to the
 * kernel. */
static void test_begins(void **state)
{
	static const struct {
		uint32_t threads, cpus;
		enum policy_regime regime;
	} cases[] = {{3, 2, POLICY_BALANCE}, {5, 2, POLICY_BALANCE}, {7, 2, POLICY_ASIDE},
		{65, 64, POLICY_BALANCE}, {190, 64, POLICY_ASIDE}, {6, 3, POLICY_ASIDE},
		/* One for each, and they wait: something else runs there. */
		{2, 2, POLICY_BALANCE}};
	(void)state;

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
		for (int seldom = 0; seldom <= 1; seldom++) {
			struct policy_window window = {.elapsed_ns = WINDOW_NS,
				.run_ns = cases[k].cpus * WINDOW_NS / 2,
				.wait_ns = cases[k].threads * WINDOW_NS / 4,
				.sleeps = seldom ? 0.05 : 5,
				.threads = cases[k].threads,
				.cpus = cases[k].cpus};
			struct policy_chooser chooser;
			policy_regime_init(&chooser, false);
			count(&chooser, cases[k].threads, cases[k].cpus);
			policy_regime_update(&chooser, &window);
			assert_int_equal(chooser.regime, cases[k].regime);
			assert_int_equal(chooser.reason,
				seldom ? POLICY_REASON_LONG : POLICY_REASON_UNTRIED);
		}
}

/* With other jobs' threads there are as many for each CPU. Then it is left to the kernel, from the beginning on and
 * without trials, which would show what is taken from the others; but not while those have other things to do. */
static void test_filled_up(void **state)
{
	static const struct {
		uint32_t others;
		double need_ns, busy;
		bool always, spins;
		enum policy_regime regime;
		bool trials;
		int gap; /* of so many windows, the job has nearly all of one */
	} cases[] = {
		{3, 10e6, 0.5, false, false, POLICY_ASIDE, false, 0},
		{5, 10e6, 0.38, false, false, POLICY_ASIDE, false, 0},
		{3, 10e6, 0.85, false, false, POLICY_BALANCE, true, 0}, /* they hardly run */
		{3, 10e6, 0.7, false, false, POLICY_BALANCE, true,
			0}, /* likewise, and Linux takes no turns */
		{2, 10e6, 0.6, false, false, POLICY_BALANCE, true, 0}, /* there is one too many */
		{0, 10e6, 0.5, false, false, POLICY_BALANCE, true, 0},
		{3, 10e6, 0.5, true, false, POLICY_BALANCE, false, 0},
		{3, 10e6, 0.5, false, true, POLICY_ASIDE, false, 0},
		{3, 3e6, 0.5, false, true, POLICY_BALANCE, true,
			0}, /* shorter than Linux' slices */
		{3, 10e6, 0.5, false, false, POLICY_ASIDE, false, 2}, /* the others just wait */
		{3, 10e6, 0.5, false, true, POLICY_ASIDE, false, 3},
	};
	(void)state;

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
		for (int told = cases[k].spins; told <= 1; told++) {
			struct policy_chooser chooser;
			bool trials = false;
			policy_regime_init(&chooser, cases[k].always);
			chooser.others = cases[k].others;
			double each = (3 + cases[k].others) / 2.0;
			chooser.turns_gain_beside = ceil(each) / each - 1;
			count(&chooser, 3, 2);
			bool even = cases[k].others % 2 == 1 && !cases[k].always;
			assert_int_equal(chooser.regime, even ? POLICY_ASIDE : POLICY_BALANCE);
			for (int i = 0; i < 20; i++) {
				bool most = cases[k].gap > 0 && i % cases[k].gap == 1;
				double busy = most ? 0.9 : cases[k].busy + 0.05 * chooser.regime;
				struct policy_window window = {.elapsed_ns = WINDOW_NS,
					.run_ns = (uint64_t)(busy * 2 * (double)WINDOW_NS),
					.wait_ns = WINDOW_NS,
					.since_yield_ns = UINT64_MAX,
					.sleeps = cases[k].spins ? 0 : 5,
					.threads = 3,
					.cpus = 2,
					.told = told,
					.regular = true,
					.useful_ns = (uint64_t)(busy * 2 * (double)WINDOW_NS),
					.passed = busy * 10,
					.need_ns = cases[k].need_ns};
				policy_regime_update(&chooser, &window);
				trials |= chooser.trial;
			}
			assert_int_equal(
				chooser.trial ? chooser.settled : chooser.regime, cases[k].regime);
			assert_int_equal(trials, cases[k].trials);
		}
}

/* That ends when the job has more than its part in two windows in a row. */
static void test_filled_up_no_more(void **state)
{
	struct policy_chooser chooser;
	struct policy_window window = {.elapsed_ns = WINDOW_NS,
		.run_ns = WINDOW_NS,
		.wait_ns = WINDOW_NS,
		.since_yield_ns = UINT64_MAX,
		.sleeps = 5,
		.threads = 3,
		.cpus = 2};
	(void)state;

	policy_regime_init(&chooser, false);
	chooser.others = 3;
	policy_regime_update(&chooser, &window);
	assert_int_equal(chooser.reason, POLICY_REASON_FILLED);
	window.run_ns = 18 * WINDOW_NS / 10;
	policy_regime_update(&chooser, &window);
	assert_int_equal(chooser.reason, POLICY_REASON_FILLED);
	policy_regime_update(&chooser, &window);
	assert_int_not_equal(chooser.reason, POLICY_REASON_FILLED);
}

/* Beside others that fill up the CPUs: phases of threads that spin, about as long as those from which they are left to
 * the kernel; and threads whose needs differ, which gain by turns among themselves. */
static void test_filled_up_told(void **state)
{
	static const struct {
		double need_ns[2], needs_gain; /* by turns */
		unsigned changes; /* of whether it is left to the kernel for that reason */
	} cases[] = {{{4.7e6, 4.3e6}, 0, 1}, {{4.4e6, 4.2e6}, 0, 0}, {{4.7e6, 3.5e6}, 0, 20},
		{{10e6, 10e6}, 0.2, 0}};
	(void)state;

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		struct policy_chooser chooser;
		unsigned changes = 0;
		bool filled = false;
		policy_regime_init(&chooser, false);
		count(&chooser, 3, 2);
		chooser.others = 3;
		chooser.needs_gain = cases[k].needs_gain;
		for (int i = 0; i < 20; i++) {
			const struct policy_window window = {.elapsed_ns = WINDOW_NS,
				.run_ns = WINDOW_NS,
				.wait_ns = WINDOW_NS,
				.since_yield_ns = UINT64_MAX,
				.threads = 3,
				.cpus = 2,
				.told = true,
				.regular = true,
				.useful_ns = WINDOW_NS,
				.passed = 5,
				.need_ns = cases[k].need_ns[i % 2]};
			policy_regime_update(&chooser, &window);
			bool now = chooser.reason == POLICY_REASON_FILLED;
			changes += now != filled;
			filled = now;
		}
		assert_int_equal(changes, cases[k].changes);
	}
}

/* ---- Phases that are told ---- */

/* A job of 6 threads on 4 CPUs that tells its phases: how many of them its threads pass in a second, all
 * together, by regime. They spin: all of its time is used in either. */
struct telling {
	double need_ns;
	double passed_hz[2];
	double sleeps_hz; /* of each thread */
	bool irregular;
};

static bool tell(struct run *run, const struct telling *job)
{
	uint64_t window_ns = policy_regime_window_ns(&run->chooser);
	double passed = job->passed_hz[run->chooser.regime] * (double)window_ns * 1e-9;
	struct policy_window window = {.elapsed_ns = window_ns,
		.run_ns = 4 * window_ns,
		.wait_ns = 2 * window_ns,
		.since_yield_ns = UINT64_MAX,
		.sleeps = job->sleeps_hz * (double)window_ns * 1e-9,
		.threads = 6,
		.cpus = 4,
		.told = true,
		.regular = !job->irregular,
		.useful_ns = (uint64_t)(passed * job->need_ns),
		.passed = passed,
		.need_ns = job->need_ns};

	(void)count(&run->chooser, 6, 4);
	run->windows_in[run->chooser.regime]++;
	run->windows++;
	return policy_regime_update(&run->chooser, &window);
}

/* CPU use says nothing of jobs that spin. Phases do, whichever regime passes more of them. */
static void test_told_trials(void **state)
{
	(void)state;

	for (int better = POLICY_ASIDE; better <= POLICY_BALANCE; better++) {
		struct telling job = {.need_ns = 20e6, .passed_hz = {150, 150}};
		struct run run = start(1);
		job.passed_hz[better] = 170;
		for (int i = 0; i < 400; i++)
			tell(&run, &job);
		assert_int_equal(run.chooser.settled, better);
		assert_true(run.windows_in[better] > 9 * run.windows_in[!better]);
		assert_true(run.windows_in[!better] > 0);
		assert_true(run.chooser.spins);
	}
}

/* Another part of the program begins, in which the other regime is the better one. */
static void test_told_anew(void **state)
{
	struct telling first = {.need_ns = 20e6, .passed_hz = {150, 170}};
	struct telling second = {.need_ns = 40e6, .passed_hz = {85, 75}};
	struct run run = start(1);
	int windows = 0;
	(void)state;

	for (int i = 0; i < 400; i++)
		tell(&run, &first);
	assert_int_equal(run.chooser.settled, POLICY_BALANCE);
	while (run.chooser.settled == POLICY_BALANCE && windows < 100) {
		tell(&run, &second);
		windows++;
	}
	assert_in_range(windows, 2, 60);
}

/* Another part begins in the midst of a trial: nothing is decided before both regimes were measured in it. */
static void test_told_anew_in_a_trial(void **state)
{
	struct telling job = {.need_ns = 20e6, .passed_hz = {150, 170}};
	struct run run = start(1);
	(void)state;

	while (run.windows < 400 && !run.chooser.trial)
		tell(&run, &job);
	assert_int_equal(run.chooser.regime, POLICY_ASIDE);
	job.irregular = true;
	tell(&run, &job);
	assert_int_equal(run.chooser.regime, POLICY_BALANCE);
	assert_int_equal(run.chooser.reason, POLICY_REASON_UNTRIED);
	for (int i = 0; i < 100; i++) {
		tell(&run, &job);
		assert_int_equal(run.chooser.settled, POLICY_BALANCE);
	}
	assert_int_equal(run.chooser.reason, POLICY_REASON_FASTER);
}

static void test_told_without_trials(void **state)
{
	struct telling job = {.need_ns = 1e6, .passed_hz = {3000, 3000}, .sleeps_hz = 500};
	struct run run = start(1);
	(void)state;

	for (int i = 0; i < 100; i++) {
		tell(&run, &job);
		assert_int_equal(run.chooser.reason, POLICY_REASON_SHORT);
		assert_int_equal(run.chooser.regime, POLICY_ASIDE);
	}
	/* Where threads differ in their needs, they still want the right places. */
	run.chooser.needs_gain = 0.3;
	tell(&run, &job);
	assert_int_not_equal(run.chooser.reason, POLICY_REASON_SHORT);

	run = start(1);
	job = (struct telling){.need_ns = 1e9, .passed_hz = {3, 3}};
	for (int i = 0; i < 100; i++) {
		tell(&run, &job);
		assert_int_equal(run.chooser.reason, POLICY_REASON_LONG);
		assert_int_equal(run.chooser.regime, POLICY_BALANCE);
	}

	run = start(1);
	run.chooser.always = true;
	for (int i = 0; i < 100; i++) {
		tell(&run, &job);
		assert_int_equal(run.chooser.reason, POLICY_REASON_OPTION);
	}
}

/* The outcome of a first window of two threads on two CPUs, one of which others have part of. */
static struct policy_chooser beside_others(bool yields, double need_ns, double sleeps)
{
	struct policy_chooser chooser;
	struct policy_window window = {.elapsed_ns = 50000000,
		.run_ns = 75000000,
		.wait_ns = 25000000,
		.since_yield_ns = UINT64_MAX,
		.sleeps = sleeps,
		.threads = 2,
		.cpus = 2,
		.taken = true,
		.told = true,
		.regular = true,
		.yields = yields,
		.useful_ns = 50000000,
		.passed = 50e6 / need_ns,
		.need_ns = need_ns};

	policy_regime_init(&chooser, false);
	(void)policy_regime_update(&chooser, &window);
	return chooser;
}

/* Where threads yield, turns are in vain in short phases. Where they spin, they gain. From outside, both look
 * alike. */
static void test_told_yields(void **state)
{
	(void)state;

	assert_int_equal(beside_others(true, 5e5, 0).reason, POLICY_REASON_SHORT);
	assert_int_equal(beside_others(false, 5e5, 0).regime, POLICY_BALANCE);
	assert_int_equal(beside_others(true, 5e6, 0).regime, POLICY_BALANCE);
}

/* Threads that spin before they sleep may gain, so that trials decide; unless they share CPUs. */
static void test_told_sleeps(void **state)
{
	(void)state;

	assert_int_equal(beside_others(false, 1e6, 50).regime, POLICY_ASIDE);
	assert_int_equal(beside_others(false, 1e6, 50).reason, POLICY_REASON_UNTRIED);
}

/* Two threads on two CPUs beside others, whose phases of 0.05 ms are too short for turns. They sleep, or spin. */
static struct policy_window short_window(bool sleeps, double passed)
{
	return (struct policy_window){.elapsed_ns = 50000000,
		.run_ns = 75000000,
		.wait_ns = 25000000,
		.since_yield_ns = UINT64_MAX,
		.sleeps = sleeps ? 50 : 0,
		.threads = 2,
		.cpus = 2,
		.taken = true,
		.told = true,
		.regular = true,
		.useful_ns = (uint64_t)(passed * 5e4),
		.passed = passed,
		.need_ns = 5e4};
}

/* Threads that yield in waits, and sleep now and then, perhaps to write something: in one of so many phases. */
static void test_told_yields_and_sleeps(void **state)
{
	(void)state;

	for (double phases = 5; phases <= 500; phases *= 10) {
		struct policy_window window = short_window(true, 1000);
		struct policy_chooser chooser;
		window.yields = true;
		window.sleeps = window.passed / window.threads / phases;
		policy_regime_init(&chooser, false);
		(void)policy_regime_update(&chooser, &window);
		assert_int_equal(
			chooser.reason, phases > 20 ? POLICY_REASON_SHORT : POLICY_REASON_UNTRIED);
		assert_int_equal(chooser.yields, phases > 20);
		assert_int_equal(policy_regime_rest(&chooser), POLICY_TELLS);
	}
}

/* Threads that sleep in short phases rest, but tell all while they are on fewer CPUs. */
static void test_told_rests(void **state)
{
	struct policy_chooser chooser;
	int trials = 0;
	(void)state;

	policy_regime_init(&chooser, false);
	for (int i = 0; i < 1000; i++) {
		bool packed = policy_regime_tries_packing(&chooser);
		struct policy_window window = short_window(true, packed ? 100 : 200);
		window.threads = 3;
		(void)policy_regime_update(&chooser, &window);
		packed = policy_regime_tries_packing(&chooser);
		assert_int_equal(
			policy_regime_rest(&chooser), packed ? POLICY_TELLS : POLICY_RESTS_MORE);
		trials += packed;
	}
	assert_in_range(trials, 2, 20);
}

/* To keep threads apart costs little: a young job can pay for the first trial. */
static void test_told_apart(void **state)
{
	struct policy_window window = short_window(true, 1000);
	struct policy_chooser chooser;
	(void)state;

	policy_regime_init(&chooser, false);
	(void)policy_regime_update(&chooser, &window);
	assert_int_equal(chooser.regime, POLICY_ASIDE);
	assert_true(chooser.apart);
	(void)policy_regime_update(&chooser, &window);
	assert_true(chooser.trial);
	assert_int_equal(chooser.regime, POLICY_BALANCE);

	/* Where phases are told no longer, they may be long ones. */
	window.told = false;
	(void)policy_regime_update(&chooser, &window);
	assert_false(chooser.apart);
	window.told = true;

	/* Those that sleep at once lose more by it, and have to wait. */
	policy_regime_init(&chooser, false);
	window.run_ns = window.useful_ns;
	for (int i = 0; i < 20; i++) {
		(void)policy_regime_update(&chooser, &window);
		assert_int_equal(chooser.reason, POLICY_REASON_UNTRIED);
	}

	policy_regime_init(&chooser, false);
	window = short_window(false, 1000);
	(void)policy_regime_update(&chooser, &window);
	assert_int_equal(chooser.regime, POLICY_BALANCE);
	assert_true(chooser.spins && chooser.apart);

	policy_regime_init(&chooser, false);
	window.need_ns = 5e6;
	(void)policy_regime_update(&chooser, &window);
	assert_false(chooser.apart);
	window.need_ns = 5e4;
	window.threads = 3;
	(void)policy_regime_update(&chooser, &window);
	assert_false(chooser.apart);
}

/* Where threads yield in long phases, Linux takes so few turns that a job has to be older for the first trial. */
static void test_told_yields_try_late(void **state)
{
	uint64_t age_ns[2] = {0};
	(void)state;

	for (int slow = 0; slow <= 1; slow++) {
		struct policy_window window = short_window(false, 10);
		struct policy_chooser chooser;
		policy_regime_init(&chooser, false);
		window.since_yield_ns = 0;
		window.threads = 3;
		window.need_ns = slow ? 10e6 : 3e6;
		while (!chooser.trial) {
			count(&chooser, 3, 2);
			window.elapsed_ns = policy_regime_window_ns(&chooser);
			age_ns[slow] += window.elapsed_ns;
			assert_true(age_ns[slow] < UINT64_C(10000000000));
			(void)policy_regime_update(&chooser, &window);
		}
		assert_int_equal(chooser.regime, POLICY_ASIDE);
	}
	/* Without that twice as old, for its longer windows alone. */
	assert_true(age_ns[1] > 5 * age_ns[0]);
}

/* A phase counts the same in both regimes, though it may take more CPU time in one. */
static void test_told_unit(void **state)
{
	struct policy_chooser chooser;
	(void)state;

	policy_regime_init(&chooser, false);
	for (int i = 0; i < 20; i++) {
		struct policy_window window = short_window(true, 1000);
		if (chooser.regime == POLICY_BALANCE)
			window.need_ns *= 3;
		(void)policy_regime_update(&chooser, &window);
	}
	assert_true(chooser.arm[POLICY_BALANCE].weight > 0);
	assert_true(fabs(chooser.arm[POLICY_ASIDE].busy - chooser.arm[POLICY_BALANCE].busy) < 1e-6);
}

/* Phases that are regular in one window and irregular in the next are no reason for a trial in each. */
static void test_told_anew_each_time(void **state)
{
	struct policy_chooser chooser;
	int changes = 0;
	(void)state;

	policy_regime_init(&chooser, false);
	for (int i = 0; i < 400; i++) {
		struct policy_window window = short_window(true, 100);
		window.regular = i % 2 == 1;
		changes += policy_regime_update(&chooser, &window);
		assert_true(chooser.settled == POLICY_ASIDE || chooser.trial);
	}
	assert_in_range(changes, 2, 50);
}

/* A trial costs something, too, if it shows nothing because phases have become too long for one. */
static void test_told_cut_short(void **state)
{
	struct policy_chooser chooser;
	double trials_ns = 0, elapsed_ns = 0;
	(void)state;

	policy_regime_init(&chooser, false);
	for (int i = 0; i < 2000; i++) {
		struct policy_window window = short_window(true, 10);
		window.threads = 3;
		window.need_ns = chooser.trial ? 300e6 : 150e6;
		count(&chooser, 3, 2);
		window.elapsed_ns = policy_regime_window_ns(&chooser);
		elapsed_ns += (double)window.elapsed_ns;
		trials_ns += chooser.trial ? (double)window.elapsed_ns : 0;
		(void)policy_regime_update(&chooser, &window);
	}
	/* The first trial is taken to cost 0.3 of the third that perfect turns gain. */
	assert_true(trials_ns > 0);
	assert_true(0.1 * trials_ns < 5e6 + 0.005 * elapsed_ns);
}

/* Windows in which hardly any phase passes count for their regime, but show nothing of phases: those that passed
 * were of another kind. */
static void test_told_stalls(void **state)
{
	struct policy_chooser chooser;
	(void)state;

	policy_regime_init(&chooser, false);
	for (int i = 0; i < 40; i++) {
		struct policy_window window =
			short_window(true, chooser.regime == POLICY_BALANCE ? 1000 : 950);
		if (chooser.regime == POLICY_ASIDE && i % 2 == 1) {
			window.passed = 5;
			window.regular = false;
			window.need_ns = 3e6;
		}
		double weight = chooser.arm[POLICY_ASIDE].weight;
		(void)policy_regime_update(&chooser, &window);
		assert_true(chooser.arm[POLICY_ASIDE].weight >= weight);
		assert_true(chooser.regular && chooser.apart);
		assert_true(chooser.told_ns == 5e4);
	}
	assert_int_equal(chooser.settled, POLICY_BALANCE);
	assert_true(chooser.arm[POLICY_ASIDE].busy < 0.4);
}

/* Phases of the next part of a program are so long that a window never has many: soon they are known as such. */
static void test_told_longer_for_good(void **state)
{
	(void)state;

	for (double need_ns = 5e6; need_ns <= 80e6; need_ns *= 4) {
		struct policy_chooser chooser;
		int windows = 0;

		policy_regime_init(&chooser, false);
		for (int i = 0; i < 40; i++) {
			struct policy_window window = short_window(true, 1000);
			(void)policy_regime_update(&chooser, &window);
		}
		assert_true(chooser.apart);
		while (chooser.apart && windows < 1000) {
			struct policy_window window = short_window(true, 7.5e7 / need_ns);
			window.need_ns = need_ns;
			(void)policy_regime_update(&chooser, &window);
			windows++;
		}
		assert_in_range(windows, 2, 6);
		assert_true(chooser.told_ns == need_ns);
	}
}

/* No window is needed to see that, neither before nor after the first threads were balanced. */
static void test_told_short_at_once(void **state)
{
	struct run run = start(1);
	(void)state;

	run.chooser.told_short = true;
	assert_false(count(&run.chooser, 6, 4));
	assert_int_equal(run.chooser.regime, POLICY_ASIDE);
	assert_int_equal(run.chooser.reason, POLICY_REASON_SHORT);
	/* Whether they sleep is not known yet. */
	assert_int_equal(policy_regime_rest(&run.chooser), POLICY_TELLS);

	run = start(1);
	assert_true(count(&run.chooser, 6, 4));
	assert_int_equal(run.chooser.regime, POLICY_BALANCE);
	run.chooser.told_short = true;
	assert_true(count(&run.chooser, 6, 4));
	assert_int_equal(run.chooser.regime, POLICY_ASIDE);

	/* Threads that differ want the right places all the same, and options have the last word. */
	run = start(1);
	run.chooser.told_short = true;
	run.chooser.needs_gain = 0.3;
	assert_true(count(&run.chooser, 6, 4));
	assert_int_equal(run.chooser.regime, POLICY_BALANCE);
	policy_regime_init(&run.chooser, true);
	run.chooser.told_short = true;
	assert_true(count(&run.chooser, 6, 4));
	assert_int_equal(run.chooser.regime, POLICY_BALANCE);
}

/* Where work is handed out, threads end together anyway. As soon as it no longer is, they are balanced. */
static void test_dynamic(void **state)
{
	static const struct telling jobs[] = {
		{.need_ns = 20e6, .passed_hz = {150, 150}},
		{.need_ns = 20e6, .passed_hz = {150, 150}, .sleeps_hz = 25},
		{.need_ns = 1e9, .passed_hz = {3, 3}},
	};
	(void)state;

	for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
		struct run run = start(1);
		for (int part = 0; part < 4; part++) {
			run.chooser.dynamic = part % 2 == 0;
			for (int i = 0; i < 100; i++) {
				tell(&run, &jobs[k]);
				assert_int_equal(
					run.chooser.reason == POLICY_REASON_DYNAMIC, part % 2 == 0);
				if (part % 2 == 0 || i == 0)
					assert_int_equal(run.chooser.regime,
						part % 2 == 0 ? POLICY_ASIDE : POLICY_BALANCE);
			}
		}
	}
}

/* A window of six threads on so many CPUs, on which they get that share of the time, and wait else. */
static bool leaves_beside_others(struct policy_chooser *chooser, uint32_t cpus, double share)
{
	const double run_ns = share * cpus * WINDOW_NS;
	const struct policy_window window = {.elapsed_ns = WINDOW_NS,
		.run_ns = (uint64_t)run_ns,
		.wait_ns = (uint64_t)(6.0 * WINDOW_NS - run_ns),
		.since_yield_ns = UINT64_MAX,
		.threads = 6,
		.cpus = cpus,
		.told = true,
		.regular = true,
		.useful_ns = (uint64_t)run_ns,
		.passed = run_ns / 20e6,
		.need_ns = 20e6};

	know(chooser, 6, cpus);
	(void)policy_regime_update(chooser, &window);
	return chooser->reason == POLICY_REASON_DYNAMIC;
}

/* Beside other work turns may gain something. */
static void test_dynamic_beside_others(void **state)
{
	struct run run = start(1);
	(void)state;

	run.chooser.dynamic = true;
	assert_true(leaves_beside_others(&run.chooser, 4, 0.95));
	assert_true(leaves_beside_others(&run.chooser, 4, 0.85));
	assert_false(leaves_beside_others(&run.chooser, 4, 0.75));
	assert_int_equal(run.chooser.regime, POLICY_BALANCE);
	assert_false(leaves_beside_others(&run.chooser, 4, 0.85));
	/* Nor after a part with few threads. */
	assert_true(policy_regime_count(&run.chooser, 0, 4));
	assert_true(count(&run.chooser, 6, 4));
	assert_int_equal(run.chooser.regime, POLICY_BALANCE);
	assert_true(leaves_beside_others(&run.chooser, 4, 0.95));
	assert_false(leaves_beside_others(&run.chooser, 6, 0.75));
}

static bool leaves_at_once(bool dynamic, bool always, bool speeds_differ)
{
	struct run run = start(1);

	run.chooser.always = always;
	run.chooser.dynamic = dynamic;
	run.chooser.speeds_differ = speeds_differ;
	(void)count(&run.chooser, 6, 4);
	return run.chooser.reason == POLICY_REASON_DYNAMIC;
}

/* It is known before a phase has ended; options and unequal CPUs matter more. */
static void test_dynamic_at_once(void **state)
{
	struct run run = start(1);
	(void)state;

	assert_true(leaves_at_once(true, false, false));
	assert_false(leaves_at_once(false, false, false));
	assert_false(leaves_at_once(true, true, false));
	assert_false(leaves_at_once(true, false, true));

	/* Phases are not told yet, and threads never sleep, or do. */
	static const struct job awake = {.busy = {1, 1}};
	steps(&run, &awake, 1);
	assert_int_equal(run.chooser.reason, POLICY_REASON_NEVER_IDLE);
	run.chooser.dynamic = true;
	steps(&run, &awake, 1);
	assert_int_equal(run.chooser.reason, POLICY_REASON_DYNAMIC);
	steps(&run, &blocking, 1);
	assert_int_equal(run.chooser.reason, POLICY_REASON_DYNAMIC);
	assert_int_equal(run.chooser.regime, POLICY_ASIDE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_dynamic_at_once),
		cmocka_unit_test(test_dynamic_beside_others),
		cmocka_unit_test(test_no_trial_needed),
		cmocka_unit_test(test_spins),
		cmocka_unit_test(test_told_trials),
		cmocka_unit_test(test_told_anew),
		cmocka_unit_test(test_told_anew_in_a_trial),
		cmocka_unit_test(test_told_without_trials),
		cmocka_unit_test(test_told_yields),
		cmocka_unit_test(test_told_sleeps),
		cmocka_unit_test(test_told_yields_and_sleeps),
		cmocka_unit_test(test_told_rests),
		cmocka_unit_test(test_told_apart),
		cmocka_unit_test(test_told_yields_try_late),
		cmocka_unit_test(test_told_unit),
		cmocka_unit_test(test_told_cut_short),
		cmocka_unit_test(test_told_anew_each_time),
		cmocka_unit_test(test_told_stalls),
		cmocka_unit_test(test_told_longer_for_good),
		cmocka_unit_test(test_told_short_at_once),
		cmocka_unit_test(test_subdomains),
		cmocka_unit_test(test_reason_texts),
		cmocka_unit_test(test_settles),
		cmocka_unit_test(test_leaves_none_idle),
		cmocka_unit_test(test_idle_little),
		cmocka_unit_test(test_told_idle_little),
		cmocka_unit_test(test_trials_are_cheap),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_noisy),
		cmocka_unit_test(test_gaps_grow),
		cmocka_unit_test(test_looks_again),
		cmocka_unit_test(test_same_part),
		cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_begins),
		cmocka_unit_test(test_filled_up),
		cmocka_unit_test(test_filled_up_no_more),
		cmocka_unit_test(test_filled_up_told),
		cmocka_unit_test(test_first_trial),
		cmocka_unit_test(test_short_yields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
