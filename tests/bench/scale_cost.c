/* SPDX-License-Identifier: MIT */
/*
 * What many threads cost: scans for the threads of a job, sampling all of them, and one decision
 * (for 256 CPUs, as many threads as there are, and swaps). Writes medians as JSON to standard output.
 * With SECONDS it measures nothing, but is a job for juggle: three more threads are busy for so long.
 *
 *     scale_cost THREADS [SECONDS]
 */
#include "daemon/base/clock.h"
#include "daemon/base/parse.h"
#include "daemon/policy/kind.h"
#include "daemon/policy/policy.h"
#include "daemon/proc/proc.h"
#include "daemon/sample/sampler.h"

#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CPUS 256
#define ROUNDS 101
#define PERIOD_NS UINT64_C(10000000)
#define STACK_BYTES 65536
#define THREADS_MOST 60000

static sem_t end;

static void *sleep_until_end(void *unused)
{
	while (sem_wait(&end) != 0)
		;
	return unused;
}

static void *be_busy(void *unused)
{
	for (volatile unsigned i = 0; i < UINT_MAX; i++) /* for ever */
		i = 0;
	return unused;
}

static int fail(const char *what)
{
	fprintf(stderr, "scale_cost: %s\n", what);
	return EXIT_FAILURE;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median in microseconds. */
static double median_us(uint64_t ns[ROUNDS])
{
	qsort(ns, ROUNDS, sizeof *ns, compare);
	return (double)ns[ROUNDS / 2] * 1e-3;
}

/* ---- Scans and samples ---- */

static bool everybody_is_known(const void *unused, pid_t pid, pid_t tid)
{
	(void)unused;
	return pid != tid;
}

/* Scan when all threads are new, or when all but the first one are known. Returns how many are new; 0 on
 * an error. */
static size_t measure_scan(bool known, const struct proc_thread **found, double *us)
{
	const struct proc_scan_options options = {.root = getpid(),
		.include_root = true,
		.is_known = known ? everybody_is_known : NULL};
	struct proc_scan *scan; /* has what is found, and so stays */
	uint64_t ns[ROUNDS];
	size_t n = 0;

	if (proc_scan_new(&scan, &options) < 0)
		return 0;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin_ns = clock_monotonic_ns();
		if (proc_scan_run(scan, found, &n) < 0)
			return 0;
		ns[round] = clock_monotonic_ns() - begin_ns;
	}
	*us = median_us(ns);
	return n;
}

static bool measure_samples(const struct proc_thread *found, size_t n, double *us)
{
	struct sampler *sampler;
	struct sampler_slot *slot = calloc(n, sizeof *slot), **all = calloc(n, sizeof(void *));
	uint64_t ns[ROUNDS];
	bool good = slot != NULL && all != NULL && sampler_new(&sampler, SAMPLER_AUTO) == 0;

	for (size_t i = 0; i < n && good; i++) {
		all[i] = &slot[i];
		slot[i] = (struct sampler_slot){.pid = found[i].pid, .tid = found[i].tid};
		good = sampler_attach(sampler, &slot[i]) == 0;
	}
	for (int round = 0; round < ROUNDS && good; round++) {
		uint64_t begin_ns = clock_monotonic_ns();
		sampler_read(sampler, all, n);
		ns[round] = clock_monotonic_ns() - begin_ns;
	}
	if (good)
		*us = median_us(ns);
	return good; /* the process ends soon */
}

/* ---- Decisions ---- */

/* The threads of a CPU share it evenly. */
static void run_threads(const struct policy *policy, struct policy_sight *sight, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t sharing =
			sight[i].cpu != POLICY_NO_CPU ? policy->cpu[sight[i].cpu].threads : 1;
		uint64_t run_ns = PERIOD_NS / (sharing > 0 ? sharing : 1);
		sight[i].news = POLICY_TIMES;
		sight[i].run_ns += run_ns;
		sight[i].work += run_ns;
		sight[i].wait_ns += PERIOD_NS - run_ns;
		sight[i].slices++;
	}
}

static bool measure_decisions(size_t n, double *us, double *moves)
{
	struct policy_params params = {.kind = policy_kind_find("juggle"),
		.period_ns = PERIOD_NS,
		.margin_ns = 500000,
		.always = true,
		.domains = 1,
		.seed = 1};
	struct policy_sight *sight = calloc(n, sizeof *sight);
	struct policy policy = {0};
	struct policy_domain domain = {.cpus = CPUS};
	int32_t os_cpu[CPUS];
	uint64_t ns[ROUNDS];

	for (int j = 0; j < CPUS; j++)
		os_cpu[j] = j;
	if (sight == NULL || policy_init(&policy, &params, os_cpu, CPUS) < 0 ||
		policy_reserve(&policy, n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		sight[i] = (struct policy_sight){.tid = (int32_t)i + 1, .cpu = POLICY_NO_CPU};
	*moves = 0;
	for (int round = -ROUNDS; round < ROUNDS; round++) {
		run_threads(&policy, sight, n);
		const struct policy_observation observation = {
			.now_ns = (uint64_t)(round + ROUNDS + 1) * PERIOD_NS,
			.thread = sight,
			.threads = n,
			.domain = &domain};
		uint64_t begin_ns = clock_monotonic_ns();
		const struct policy_decision *decision = policy_step(&policy, &observation);
		if (round >= 0) { /* it has settled */
			ns[round] = clock_monotonic_ns() - begin_ns;
			*moves += (double)decision->moves / ROUNDS;
		}
		domain = decision->domain[0];
		for (size_t k = 0; k < decision->moves; k++)
			sight[decision->move[k].thread].cpu = decision->move[k].to;
	}
	*us = median_us(ns);
	policy_deinit(&policy);
	free(sight);
	return true;
}

/* ---- All ---- */

static bool start_threads(int64_t count, void *(*run)(void *))
{
	struct rlimit files;
	pthread_attr_t attributes;
	pthread_t thread;
	bool good = sem_init(&end, 0, 0) == 0;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (int64_t i = 0; i < count && good; i++)
		good = pthread_create(&thread, &attributes, run, NULL) == 0;
	pthread_attr_destroy(&attributes);
	return good;
}

int main(int argc, char **argv)
{
	const struct proc_thread *found = NULL;
	int64_t count, seconds;
	double scan_us, rescan_us, sample_us, decide_us, moves;

	if (argc < 2 || argc > 3 || parse_integer(argv[1], 1, THREADS_MOST, &count) < 0)
		return fail("expected a number of threads, 1 to 60000");
	if (!start_threads(count - 1, sleep_until_end))
		return fail("that many threads cannot be started here");
	if (argc == 3) {
		if (parse_integer(argv[2], 1, 1000, &seconds) < 0 || !start_threads(3, be_busy))
			return fail("expected a number of seconds, 1 to 1000");
		sleep((unsigned)seconds);
		_exit(EXIT_SUCCESS);
	}
	if (measure_scan(true, &found, &rescan_us) == 0)
		return fail("/proc cannot be read");
	size_t n = measure_scan(false, &found, &scan_us);
	if (n == 0 || !measure_samples(found, n, &sample_us) ||
		!measure_decisions(n, &decide_us, &moves))
		return fail("no memory, or no samples");
	json_t *result = json_pack("{s:I, s:i, s:f, s:f, s:f, s:f, s:f}", "threads", (json_int_t)n,
		"cpus", CPUS, "scan_us", scan_us, "rescan_us", rescan_us, "sample_us", sample_us,
		"decide_us", decide_us, "moves", moves);
	json_dumpf(result, stdout, JSON_REAL_PRECISION(4));
	putchar('\n');
	_exit(fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}
