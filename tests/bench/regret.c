/* SPDX-License-Identifier: MIT */
/*
 * How much does juggle lose by not knowing the best period, and whether to balance at all? Runs the
 * daemon's policy in virtual time on many machines and programs: as it decides by itself, with each
 * fixed period, and left to a model of Linux; and as it decides where the program's runtime tells its phases.
 * Prints one line a case, and a summary of each class of cases; or what each deviation from the paper gains, for
 * juggle(7). Deterministic, though a case runs on each
 * CPU at a time. The exit status is 1 when a limit is not kept.
 */
#include "tools/sim/threads.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define COUNT(array) (sizeof(array) / sizeof *(array))

#define CPUS_MAX 64
#define RUN_NS (2 * S) /* work of each thread, at least ... */
#define PHASES_LEAST 2
#define ONE_OF 7 /* so many cases are left out but one; a divisor of no dimension */
#define STUCK 100 /* times the ideal time: a run that takes longer counts as that long */

/*
 * The machine, measured on one with two CPUs and Linux 6.18. A point costs the balancer some 50 us
 * with a move or two, and each thread is sampled in about 2 us. A thread that is moved loses some
 * 45 us. The kernel's figures come from three threads on two CPUs without juggle, whose speeds
 * relative to pinned threads, blocking, were 1.03, 1.13, 1.24 and 1.27 in phases of 5, 20, 100 and
 * 1000 ms: a CPU that falls idle takes a thread after up to 20 ms, and threads wander.
 */
#define POINT_NS (50 * US)
#define SAMPLE_NS (2 * US)
#define MOVE_NS (45 * US)
#define MARGIN_NS (500 * US) /* that of juggle */
#define SLICE_NS (4 * MS)
#define PULL_NS (20 * MS)
#define STRAY_NS (100 * MS)

static const struct {
	uint32_t n, m;
} sizes[] = {{2, 2}, {3, 2}, {4, 2}, {5, 2}, {7, 2}, {4, 4}, {5, 4}, {6, 4}, {9, 8}, {12, 8},
	{17, 16}, {24, 16}, {33, 32}, {65, 64}};
static const uint64_t phases[] = {
	500 * US, 1 * MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS, 50 * MS, 100 * MS, 500 * MS, 5 * S};
static const uint64_t periods[] = {2 * MS, 5 * MS, 10 * MS, 20 * MS, 50 * MS};
static const char *const barriers[] = {"block", "yield", "spin"};

enum disturbance { QUIET, HOG, SLOW, JITTER, UNEQUAL, HEAVY, DISTURBANCES };
static const char *const disturbances[] = {
	"quiet", "hog", "slow CPU", "uneven work", "unequal CPUs", "a heavy thread"};

/*
 * What must hold for the cases of a class: least and geometric mean of speeds relative to Linux, and to the best fixed
 * period. They stand where the policy stands now, less what a change elsewhere may move by chance: some 0.01 to 0.03, and
 * up to 0.05 beside a hog or a slow CPU. Threads that spin show no phases, so that the period is a guess. How fast a CPU
 * is, beside others' work or by itself, no policy knows before it has placed threads there.
 */
struct limits {
	double linux_least, linux_mean, best_least, best_mean;
	double told_least, told_mean; /* relative to Linux, where the program tells its phases */
};
static const struct limits limits[DISTURBANCES][COUNT(barriers)] = {
	[QUIET] = {{0.98, 1.065, 0.96, 0.985, 0.98, 1.08}, {0.97, 1.14, 0.97, 0.985, 0.98, 1.14},
		{0.96, 1.36, 0.94, 1.16, 0.95, 1.42}},
	[HOG] = {{0.80, 1.125, 0.93, 1.10, 0.955, 1.18}, {0.88, 1.145, 0.84, 1.06, 0.96, 1.19},
		{0.67, 1.22, 0.71, 1.0, 0.965, 1.43}},
	[SLOW] = {{0.76, 1.035, 0.80, 1.10, 0.98, 1.135}, {0.79, 1.13, 0.86, 1.0, 0.975, 1.22},
		{0.88, 1.22, 0.81, 1.01, 0.975, 1.32}},
	[JITTER] = {{0.96, 1.05, 0.95, 0.98, 0.975, 1.075}, {0.97, 1.105, 0.96, 0.985, 0.975, 1.11},
		{0.96, 1.35, 0.96, 1.18, 0.98, 1.34}},
	[UNEQUAL] = {{0.96, 1.09, 0.94, 0.975, 0.98, 1.1}, {0.95, 1.225, 0.83, 0.965, 0.98, 1.26},
		{0.92, 1.42, 0.89, 1.16, 0.98, 1.5}},
	[HEAVY] = {{0.79, 0.955, 0.87, 0.98, 0.975, 1.10}, {0.96, 1.09, 0.93, 0.98, 0.975, 1.185},
		{0.96, 1.24, 0.95, 1.05, 0.975, 1.40}},
};

/* ---- What -P juggle does beyond the paper, left out ---- */

static size_t forget_nothing(struct policy *policy)
{
	struct policy_swap_params params = policy_juggle_params(policy);

	params.forget_periods = 0;
	return policy_juggle_balance(policy, &params);
}

static size_t smooth_nothing(struct policy *policy)
{
	struct policy_swap_params params = policy_juggle_params(policy);

	params.speed_periods = 0;
	return policy_juggle_balance(policy, &params);
}

static size_t balance_as(struct policy *policy, unsigned to_the_letter)
{
	struct policy_swap_params params = policy_juggle_params(policy);

	params.to_the_letter = to_the_letter;
	return policy_juggle_balance(policy, &params);
}

static size_t keep_margin(struct policy *policy)
{
	return balance_as(policy, POLICY_PAPER_MARGIN);
}

static size_t fast_by_mean(struct policy *policy)
{
	return balance_as(policy, POLICY_PAPER_FAST);
}

static size_t sleepers_stay(struct policy *policy)
{
	return balance_as(policy, POLICY_PAPER_SLEEPERS);
}

static size_t line_9(struct policy *policy)
{
	return balance_as(policy, POLICY_PAPER_LINE_9);
}

static const struct deviation {
	const char *name; /* of what is left out */
	uint64_t period_ns; /* 0: as suits the job */
	size_t (*balance)(struct policy *policy); /* NULL: as it is */
	bool tickless, always, regular, paper;
} deviations[] = {
	{.name = "a period that suits the phases: 100 ms", .period_ns = 100 * MS},
	{.name = "the same: 10 ms", .period_ns = 10 * MS},
	{.name = "forgetting leads and lags", .balance = forget_nothing},
	{.name = "margins that shrink where few of many lag", .balance = keep_margin},
	{.name = "ticks", .tickless = true},
	{.name = "standing aside, and trials", .always = true},
	{.name = "smoothed speeds of CPUs", .balance = smooth_nothing},
	{.name = "fast CPUs by a margin, not by the mean alone", .balance = fast_by_mean},
	{.name = "sleepers that make way", .balance = sleepers_stay},
	{.name = "fast CPUs dropped in line 9 of Fig. 3", .balance = line_9},
	{.name = "periods that vary at random", .regular = true},
	{.name = "all, as with -P juggle2012", .paper = true},
};

struct tally {
	unsigned cases;
	double linux_least, linux_log, best_least, best_log, told_least, told_log;
};

/* A case, and the times that it takes. */
struct row {
	uint32_t n, m;
	uint64_t phase_ns;
	enum threads_barrier barrier;
	enum disturbance disturbance;
	bool done;
	double pinned_s, linux_s, juggle_s, told_s, best_s;
	uint64_t best_ns; /* the period of best_s */
	double without_s[COUNT(deviations)]; /* juggle_s without each of them */
};

/* All cases: whose turn it is, and which are done. */
struct work {
	struct row *row;
	size_t rows;
	bool deviate; /* measure without_s, and no more than it needs */
	atomic_size_t next;
	pthread_mutex_t lock; /* of `done` */
	pthread_cond_t one_done;
};

struct machine {
	struct threads_cpu cpu[CPUS_MAX];
	struct threads_load load;
	struct threads_params params;
};

static void set_up(struct machine *machine, const struct row *row)
{
	uint64_t count = RUN_NS / row->phase_ns;

	for (uint32_t j = 0; j < row->m; j++)
		machine->cpu[j] = (struct threads_cpu){.speed = 1};
	if (row->disturbance == SLOW)
		machine->cpu[0].speed = 0.6;
	for (uint32_t j = 0; j < row->m && row->disturbance == UNEQUAL; j++)
		machine->cpu[j].speed = j < (row->m + 2) / 3 ? 1 : 0.55;
	if (row->disturbance == HOG) {
		machine->load = (struct threads_load){.share = 0.5};
		machine->cpu[0].load = &machine->load;
		machine->cpu[0].loads = 1;
	}
	machine->params = (struct threads_params){.threads = row->n,
		.domains = 1,
		.cpu = machine->cpu,
		.cpus = row->m,
		.phase_ns = row->phase_ns,
		.phases = count > PHASES_LEAST ? count : PHASES_LEAST,
		.imbalance = row->disturbance == JITTER ? 0.1 : 0,
		.heavier = row->disturbance == HEAVY ? 0.5 : 0,
		.barrier = row->barrier,
		.slice_ns = SLICE_NS,
		.tick_ns = SLICE_NS,
		.migration_ns = MOVE_NS,
		.pull_ns = PULL_NS,
		.stray_ns = STRAY_NS,
		.balancer = THREADS_POLICY,
		.kind = &policy_kind_juggle,
		.untold = row->disturbance == SLOW,
		.period_ns = POLICY_AUTO_PERIOD_NS,
		.period_auto = true,
		.jitter = 0.1,
		.margin_ns = MARGIN_NS,
		.point_ns = POINT_NS + SAMPLE_NS * row->n,
		.seed = 1};
}

/* Seconds. */
static double run(const struct threads_params *params)
{
	struct threads_sim *sim;
	struct threads_result result;
	double ideal_ns = (double)params->phase_ns * (double)params->phases *
			  fmax(1, (double)params->threads / (double)params->cpus);
	int r = threads_new(&sim, params);

	if (r < 0) {
		fprintf(stderr, "regret: %s\n", strerror(-r));
		exit(2);
	}
	threads_run(sim, (uint64_t)(STUCK * ideal_ns));
	threads_get(sim, &result);
	threads_free(sim);
	return (double)result.time_ns * 1e-9;
}

static void count(struct tally *tally, const struct row *row)
{
	double of_linux = row->linux_s / row->juggle_s, of_best = row->best_s / row->juggle_s,
	       told = row->linux_s / row->told_s;

	if (tally->cases++ == 0)
		tally->linux_least = tally->best_least = tally->told_least = INFINITY;
	tally->linux_least = fmin(tally->linux_least, of_linux);
	tally->best_least = fmin(tally->best_least, of_best);
	tally->linux_log += log(of_linux);
	tally->best_log += log(of_best);
	tally->told_least = fmin(tally->told_least, told);
	tally->told_log += log(told);
}

static void run_case(struct row *row)
{
	struct machine machine;
	struct threads_params params;

	set_up(&machine, row);
	params = machine.params;
	row->juggle_s = run(&params);
	params.told = true;
	row->told_s = run(&params);
	params.told = false;
	params.kind = &policy_kind_static;
	row->pinned_s = run(&params);
	params.balancer = THREADS_REACTIVE;
	row->linux_s = run(&params);
	params.balancer = THREADS_POLICY;
	params.kind = &policy_kind_juggle;
	params.period_auto = false;
	params.always = true;
	row->best_s = INFINITY;
	for (size_t i = 0; i < COUNT(periods); i++) {
		params.period_ns = periods[i];
		double time_s = run(&params);
		if (time_s < row->best_s) {
			row->best_s = time_s;
			row->best_ns = periods[i];
		}
	}
}

static double run_without(const struct deviation *without, struct threads_params params)
{
	struct policy_kind kind = without->paper ? policy_kind_juggle2012 : policy_kind_juggle;

	if (without->period_ns > 0)
		kind.period_ns = without->period_ns;
	if (without->balance != NULL)
		kind.balance = without->balance;
	if (without->regular || kind.regular)
		params.jitter = 0;
	params.kind = &kind;
	params.tickless = without->tickless || without->paper;
	params.always = without->always;
	return run(&params);
}

/* The same without each of the deviations. */
static void run_deviations(struct row *row)
{
	struct machine machine;

	set_up(&machine, row);
	row->juggle_s = run(&machine.params);
	for (size_t i = 0; i < COUNT(deviations); i++)
		row->without_s[i] = run_without(&deviations[i], machine.params);
}

static void *run_cases(void *argument)
{
	struct work *work = argument;
	size_t i;

	while ((i = atomic_fetch_add(&work->next, 1)) < work->rows) {
		if (work->deviate)
			run_deviations(&work->row[i]);
		else
			run_case(&work->row[i]);
		pthread_mutex_lock(&work->lock);
		work->row[i].done = true;
		pthread_cond_signal(&work->one_done);
		pthread_mutex_unlock(&work->lock);
	}
	return NULL;
}

static void start(struct work *work)
{
	pthread_t thread;
	cpu_set_t cpus;
	int n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;

	for (int i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, run_cases, work) != 0 ||
			pthread_detach(thread) != 0) {
			fprintf(stderr, "regret: no threads\n");
			exit(2);
		}
}

static void wait_for(struct work *work, const struct row *row)
{
	pthread_mutex_lock(&work->lock);
	while (!row->done)
		pthread_cond_wait(&work->one_done, &work->lock);
	pthread_mutex_unlock(&work->lock);
}

static void show(const struct row *row)
{
	char name[64];

	snprintf(name, sizeof name, "n=%u m=%u e=%g ms %s, %s", row->n, row->m,
		(double)row->phase_ns * 1e-6, barriers[row->barrier],
		disturbances[row->disturbance]);
	printf("%-40s %9.3f %7.3f %7.3f %9.3f %9.3f %6g ms %9.3f\n", name, row->pinned_s,
		row->pinned_s / row->linux_s, row->pinned_s / row->juggle_s,
		row->linux_s / row->juggle_s, row->best_s / row->juggle_s,
		(double)row->best_ns * 1e-6, row->linux_s / row->told_s);
	fflush(stdout);
}

/* Whether the limits are kept. */
static bool sum_up(const struct tally *tally, const struct limits *limit, const char *name)
{
	double linux_mean = exp(tally->linux_log / tally->cases);
	double best_mean = exp(tally->best_log / tally->cases);
	double told_mean = exp(tally->told_log / tally->cases);
	bool kept = tally->linux_least >= limit->linux_least && linux_mean >= limit->linux_mean &&
		    tally->best_least >= limit->best_least && best_mean >= limit->best_mean &&
		    tally->told_least >= limit->told_least && told_mean >= limit->told_mean;

	printf("%-20s %5u %8.3f (%5.3f) %8.3f (%5.3f) %8.3f (%5.3f) %8.3f (%5.3f) %8.3f (%5.3f) "
	       "%8.3f (%5.3f)%s\n",
		name, tally->cases, linux_mean, limit->linux_mean, tally->linux_least,
		limit->linux_least, best_mean, limit->best_mean, tally->best_least,
		limit->best_least, told_mean, limit->told_mean, tally->told_least,
		limit->told_least, kept ? "" : "  NOT KEPT");
	return kept;
}

/* The table of juggle(7): times without each thing, relative to those with it. */
static void compare_deviations(const struct row *row, size_t rows, enum disturbance disturbance)
{
	printf("%-45s %6s %6s %6s %6s %6s\n", disturbances[disturbance], barriers[THREADS_BLOCK],
		barriers[THREADS_YIELD], barriers[THREADS_SPIN], "most", "least");
	for (size_t i = 0; i < COUNT(deviations); i++) {
		double logs[COUNT(barriers)] = {0}, most = 0, least = INFINITY;
		unsigned cases[COUNT(barriers)] = {0};
		for (size_t k = 0; k < rows; k++) {
			double longer = row[k].without_s[i] / row[k].juggle_s;
			if (row[k].disturbance != disturbance)
				continue;
			logs[row[k].barrier] += log(longer);
			cases[row[k].barrier]++;
			most = fmax(most, longer);
			least = fmin(least, longer);
		}
		printf("%-45s", deviations[i].name);
		for (size_t b = 0; b < COUNT(barriers); b++)
			printf(" %6.3f", exp(logs[b] / cases[b]));
		printf(" %6.3f %6.3f\n", most, least);
	}
}

static size_t list(struct row *row, bool all)
{
	unsigned number = 0;
	size_t rows = 0;

	for (size_t s = 0; s < COUNT(sizes); s++)
		for (size_t e = 0; e < COUNT(phases); e++)
			for (size_t b = 0; b < COUNT(barriers); b++)
				for (int d = 0; d < DISTURBANCES; d++)
					if (all || number++ % ONE_OF == 0)
						row[rows++] = (struct row){.n = sizes[s].n,
							.m = sizes[s].m,
							.phase_ns = phases[e],
							.barrier = (enum threads_barrier)b,
							.disturbance = (enum disturbance)d};
	return rows;
}

/* Only those on CPUs that do nothing else, or have a hog. */
static size_t list_deviating(struct row *row, bool all)
{
	size_t rows = list(row, all), kept = 0;

	for (size_t i = 0; i < rows; i++)
		if (row[i].disturbance == QUIET || row[i].disturbance == HOG)
			row[kept++] = row[i];
	return kept;
}

int main(int argc, char **argv)
{
	static struct row row[COUNT(sizes) * COUNT(phases) * COUNT(barriers) * DISTURBANCES];
	static struct work work = {.row = row,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.one_done = PTHREAD_COND_INITIALIZER};
	static struct tally tally[DISTURBANCES][COUNT(barriers)];
	static const struct limits none;
	bool all = false, kept = true;
	char name[64];

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--all") == 0) {
			all = true;
		} else if (strcmp(argv[i], "--deviations") == 0) {
			work.deviate = true;
		} else {
			fprintf(stderr,
				"usage: regret [--all] [--deviations]\n"
				"--all: every case, instead of one of %d, and without limits\n"
				"--deviations: what each deviation from the paper gains, instead\n",
				ONE_OF);
			return 2;
		}
	}
	if (work.deviate) {
		work.rows = list_deviating(row, all);
		start(&work);
		for (size_t i = 0; i < work.rows; i++)
			wait_for(&work, &row[i]);
		compare_deviations(row, work.rows, QUIET);
		printf("\n");
		compare_deviations(row, work.rows, HOG);
		return 0;
	}
	printf("%-40s %9s %7s %7s %9s %9s %9s %9s\n", "", "pinned s", "Linux", "juggle", "of Linux",
		"of best", "best", "told");
	work.rows = list(row, all);
	start(&work);
	for (size_t i = 0; i < work.rows; i++) {
		wait_for(&work, &row[i]);
		show(&row[i]);
		count(&tally[row[i].disturbance][row[i].barrier], &row[i]);
	}
	printf("\n%-20s %5s %16s %16s %16s %16s %16s %16s\n", "means, least (limit)", "cases",
		"of Linux", "least", "of best", "least", "told", "least");
	for (int d = 0; d < DISTURBANCES; d++)
		for (size_t b = 0; b < COUNT(barriers); b++) {
			snprintf(name, sizeof name, "%s, %s", barriers[b], disturbances[d]);
			kept &= sum_up(&tally[d][b], all ? &none : &limits[d][b], name);
		}
	return kept ? 0 : 1;
}
