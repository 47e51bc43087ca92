/* SPDX-License-Identifier: MIT */
/*
 * One hog: a thread that takes CPU time from others by a pattern; see hog.h.
 */
#include "apps/noise/hog.h"

#include "apps/pin.h"
#include "daemon/base/clock.h"
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#define PLB_SLEEP_NS UINT64_C(200000)
#define PLB_BUSY_NS UINT64_C(46000) /* what 10,000 steps took on the paper's machines */
#define PLB_STEPS 500 /* between two looks at the clock: some 2 us */
#define SLICE_STEPS 4000 /* between two looks at the clock: some 20 us */
#define HOGS_SLEEP_MAX_S 5.0
#define HOGS_BUSY_MIN_S 5.0
#define HOGS_BUSY_MAX_S 10.0

const char *const hog_pattern_names[HOG_PATTERNS] = {
	[HOG_PLB] = "plb",
	[HOG_DUTY] = "duty",
	[HOG_HOGS] = "hogs",
};

int hog_stop_init(struct hog_stop *stop)
{
	atomic_init(&stop->now, false);
	return sem_init(&stop->sleepers, 0, 0) < 0 ? -errno : 0;
}

void hog_stop_deinit(struct hog_stop *stop)
{
	sem_destroy(&stop->sleepers);
}

void hog_stop_all(struct hog_stop *stop, int hogs)
{
	atomic_store(&stop->now, true);
	for (int i = 0; i < hogs; i++)
		sem_post(&stop->sleepers);
}

static bool stopped(const struct hog *hog)
{
	return atomic_load_explicit(&hog->stop->now, memory_order_relaxed);
}

/* Sleep until that time, or until stopped. */
static void sleep_until(struct hog *hog, uint64_t wall_ns)
{
	struct timespec deadline = clock_timespec(wall_ns);

	while (sem_clockwait(&hog->stop->sleepers, CLOCK_MONOTONIC, &deadline) < 0 &&
		errno == EINTR)
		;
}

/* The loop of the PLB paper; each step waits for the one before. The sum goes through memory, as in
 * an unoptimised build. */
static void compute(int steps)
{
	double sum = 1.0, a = 0.999999, b = 1e-6;

	/* The compiler must neither know the factors nor drop the sum. */
	__asm__ volatile("" : "+m"(a), "+m"(b));
	for (int i = 0; i < steps; i++) {
		sum = sum * a + b;
		__asm__ volatile("" : "+m"(sum));
	}
}

static void run_plb(struct hog *hog)
{
	uint64_t until_ns = clock_thread_ns();

	while (!stopped(hog)) {
		uint64_t begin_ns = clock_monotonic_ns();

		sleep_until(hog, begin_ns + PLB_SLEEP_NS);
		/* Timers are late, and CPUs differ: what counts is the share. */
		until_ns += (clock_monotonic_ns() - begin_ns) * PLB_BUSY_NS / PLB_SLEEP_NS;
		while (!stopped(hog) && clock_thread_ns() < until_ns)
			compute(PLB_STEPS);
	}
}

static void run_duty(struct hog *hog)
{
	uint64_t period_start_ns = clock_monotonic_ns();

	while (!stopped(hog)) {
		uint64_t until_ns = clock_thread_ns() + hog->busy_ns;

		while (!stopped(hog) && clock_thread_ns() < until_ns)
			compute(SLICE_STEPS);

		uint64_t now_ns = clock_monotonic_ns();
		uint64_t periods = (now_ns - period_start_ns) / hog->period_ns;

		/* A hog that is busy all the time must not sleep for a period. */
		if (periods == 0 && hog->busy_ns < hog->period_ns) {
			sleep_until(hog, period_start_ns + hog->period_ns);
			periods = 1;
		}
		period_start_ns += periods * hog->period_ns;
	}
}

/* Uniform in min..max seconds, scaled, in ns: splitmix64. */
static uint64_t random_ns(struct hog *hog, double min_s, double max_s)
{
	uint64_t z = hog->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;

	double unit = (double)(z >> 11) / (double)(UINT64_C(1) << 53);
	return (uint64_t)((min_s + unit * (max_s - min_s)) * hog->scale * 1e9);
}

static void run_hogs(struct hog *hog)
{
	/* Times add up from the start, so that late wakeups don't shift the schedule. */
	uint64_t wall_ns = clock_monotonic_ns();

	hog->random = hog->seed;
	while (!stopped(hog)) {
		wall_ns += random_ns(hog, 0, HOGS_SLEEP_MAX_S);
		sleep_until(hog, wall_ns);
		wall_ns += random_ns(hog, HOGS_BUSY_MIN_S, HOGS_BUSY_MAX_S);
		while (!stopped(hog) && clock_monotonic_ns() < wall_ns)
			compute(SLICE_STEPS);
	}
}

int hog_prepare(struct hog *hog, const char **what)
{
	if (hog->os_cpu >= 0) {
		*what = "pinning";
		int rc = pin_caller(hog->os_cpu);
		if (rc < 0)
			return rc;
	}
	/* On Linux 0 means the calling thread, and a nice value is a thread's own. */
	*what = "nice value";
	errno = 0;
	int now = getpriority(PRIO_PROCESS, 0);
	if (now == -1 && errno)
		return -errno;
	if (hog->nice != now && setpriority(PRIO_PROCESS, 0, hog->nice) < 0)
		return -errno;
	return 0;
}

void hog_run(struct hog *hog)
{
	switch (hog->pattern) {
	case HOG_PLB:
		run_plb(hog);
		break;
	case HOG_DUTY:
		run_duty(hog);
		break;
	case HOG_HOGS:
	case HOG_PATTERNS:
		run_hogs(hog);
		break;
	}
	hog->cpu_ns = clock_thread_ns();
}
