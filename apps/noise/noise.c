/* SPDX-License-Identifier: MIT */
/*
 * noise: disturbs other programs in a known way. A balancer has to be measured on a machine that it
 * shares with others, and chance must not decide which run wins.
 */
#include "apps/noise/beside.h"
#include "apps/noise/hog.h"
#include "apps/noise/options.h"
#include "daemon/base/clock.h"
#include "daemon/base/json_file.h"
#include "daemon/base/parse.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

struct hog_thread {
	struct noise *noise;
	struct hog hog;
	pthread_t thread;
};

struct noise {
	const struct noise_options *options;
	struct hog_stop stop;
	struct hog_thread *members;
	pthread_barrier_t prepared; /* all hogs and main */
	atomic_bool failed; /* a hog could not be prepared, and said why */
};

static void *member_main(void *arg)
{
	struct hog_thread *member = arg;
	struct noise *noise = member->noise;
	const char *what = "";
	int rc = hog_prepare(&member->hog, &what);

	if (rc < 0 && !atomic_exchange(&noise->failed, true)) {
		if (member->hog.os_cpu >= 0 && strcmp(what, "pinning") == 0)
			fprintf(stderr, "noise: CPU %d: %s\n", member->hog.os_cpu,
				rc == -EINVAL ? "not there, or not allowed" : strerror(-rc));
		else
			fprintf(stderr, "noise: --nice %d: %s\n", member->hog.nice,
				rc == -EACCES || rc == -EPERM
					? "not permitted (needs CAP_SYS_NICE or a higher ulimit -e)"
					: strerror(-rc));
	}
	pthread_barrier_wait(&noise->prepared);
	if (!atomic_load(&noise->failed))
		hog_run(&member->hog);
	return NULL;
}

static struct hog hog_of(const struct noise_options *options, int index, int own_nice)
{
	int nice = own_nice;

	if (options->nice_count)
		nice = options->nice[index < options->nice_count ? index : options->nice_count - 1];
	return (struct hog){
		.pattern = options->pattern,
		.os_cpu = options->pinned ? cpuset_nth(&options->cpus, index) : -1,
		.nice = nice,
		.busy_ns = options->busy_ns,
		.period_ns = options->period_ns,
		.scale = options->scale,
		.seed = options->seed * UINT64_C(1000003) + (uint64_t)index,
	};
}

/* Wait for a signal to end, or until that time (0: for ever). */
static void wait_for_end(const sigset_t *signals, uint64_t end_ns)
{
	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		int signal;

		if (end_ns && now_ns >= end_ns)
			return;
		if (end_ns) {
			struct timespec left = clock_timespec(end_ns - now_ns);
			signal = sigtimedwait(signals, NULL, &left);
		} else {
			signal = sigwaitinfo(signals, NULL);
		}
		if (signal > 0)
			return;
	}
}

/* Have the kernel end us with our parent. Returns 0 or a negative errno, -ESRCH when it
 * ended before we could ask. */
static int follow_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

static int report_hogs(const struct noise *noise, uint64_t elapsed_ns)
{
	const struct noise_options *options = noise->options;
	double elapsed_s = (double)elapsed_ns / 1e9, cpu_s = 0;
	json_t *hogs = json_array();

	for (int i = 0; i < options->hogs; i++) {
		const struct hog *hog = &noise->members[i].hog;
		double hog_s = (double)hog->cpu_ns / 1e9;
		json_t *cpu = hog->os_cpu < 0 ? json_null() : json_integer(hog->os_cpu);

		cpu_s += hog_s;
		json_array_append_new(
			hogs, json_pack("{s:o, s:i, s:f, s:f}", "cpu", cpu, "nice", hog->nice,
				      "cpu_s", hog_s, "share", hog_s / elapsed_s));
	}

	int rc = json_file_write(options->json,
		json_pack("{s:s, s:s, s:s, s:I, s:f, s:f, s:f, s:o}", "program", "noise", "version",
			JUGGLE_VERSION, "pattern", hog_pattern_names[options->pattern], "seed",
			(json_int_t)options->seed, "elapsed_s", elapsed_s, "cpu_s", cpu_s, "share",
			cpu_s / elapsed_s / options->hogs, "hogs", hogs));
	if (rc < 0)
		fprintf(stderr, "noise: %s: %s\n", options->json, strerror(-rc));
	return rc < 0 ? 1 : 0;
}

/* Start all hogs. Returns 0, or the exit status after printing why. */
static int start_hogs(struct noise *noise)
{
	int own_nice = getpriority(PRIO_PROCESS, 0);
	int hogs = noise->options->hogs;

	for (int i = 0; i < hogs; i++) {
		struct hog_thread *member = &noise->members[i];

		member->noise = noise;
		member->hog = hog_of(noise->options, i, own_nice);
		member->hog.stop = &noise->stop;
		int rc = -pthread_create(&member->thread, NULL, member_main, member);
		if (rc < 0) {
			/* The others wait for this thread at the barrier; leaving main() ends
			 * them. */
			fprintf(stderr, "noise: starting thread %d of %d: %s\n", i + 1, hogs,
				strerror(-rc));
			return 1;
		}
	}
	pthread_barrier_wait(&noise->prepared);
	return 0;
}

/* Set up and start all hogs. Returns 0, or the exit status after printing why. */
static int begin_hogs(struct noise *noise)
{
	int rc;

	noise->members = calloc((size_t)noise->options->hogs, sizeof(*noise->members));
	rc = noise->members ? hog_stop_init(&noise->stop) : -ENOMEM;
	if (rc == 0)
		rc = -pthread_barrier_init(
			&noise->prepared, NULL, (unsigned)noise->options->hogs + 1);
	if (rc < 0) {
		fprintf(stderr, "noise: %s\n", strerror(-rc));
		return 1;
	}
	return start_hogs(noise);
}

static void stop_hogs(struct noise *noise)
{
	hog_stop_all(&noise->stop, noise->options->hogs);
	for (int i = 0; i < noise->options->hogs; i++)
		pthread_join(noise->members[i].thread, NULL);
}

static void free_hogs(struct noise *noise)
{
	pthread_barrier_destroy(&noise->prepared);
	hog_stop_deinit(&noise->stop);
	free(noise->members);
}

/* The process beside a command. Returns the exit status. */
static int disturb(const struct noise_options *options, struct beside *beside)
{
	struct noise noise = {.options = options};
	int status = begin_hogs(&noise);

	if (status)
		return status;
	status = atomic_load(&noise.failed);
	if (!status) {
		status = beside_ready(beside) < 0;
		if (!status)
			beside_wait(beside, options->time_ns);
	}
	stop_hogs(&noise);
	free_hogs(&noise);
	return status;
}

/* This process's number among those that mpirun or a batch system started; -1 without. */
static int own_rank(void)
{
	/* MPICH's mpirun comes before srun, which may have started it. */
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
	int64_t rank;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *text = getenv(names[i]);

		if (text && parse_integer(text, 0, INT32_MAX, &rank) == 0)
			return (int)rank;
	}
	return -1;
}

/* Become the command of a rank, with hogs beside it or not. Returns the exit status if not. */
static int become_command(const struct noise_options *options)
{
	struct beside beside;
	int rank = own_rank(), rc = 0;

	if (rank < 0) {
		fprintf(stderr, "noise: --ranks: mpirun did not start this, it has no number\n");
		return 1;
	}
	if (cpuset_has(&options->ranks, rank)) {
		rc = beside_fork(&beside);
		if (rc == 0)
			return disturb(options, &beside);
		if (rc > 0)
			rc = beside_await(&beside);
		if (rc == -ECHILD) /* it said why */
			return 1;
		if (rc < 0) {
			fprintf(stderr, "noise: starting hogs: %s\n", strerror(-rc));
			return 1;
		}
	}
	/* Only now, because the hogs have the nice value that noise had. */
	if (setpriority(PRIO_PROCESS, 0, options->command_nice) < 0) {
		fprintf(stderr, "noise: --nice-command %d: %s\n", options->command_nice,
			strerror(errno));
		return 1;
	}
	execvp(*options->command, options->command);
	rc = errno;
	fprintf(stderr, "noise: %s: %s\n", *options->command, strerror(rc));
	return rc == ENOENT ? 127 : 126;
}

int main(int argc, char **argv)
{
	pid_t parent = getppid();
	struct noise_options options;
	sigset_t signals;
	int rc = noise_options_parse(argc, argv, &options);

	if (rc)
		return rc < 0 ? 2 : 0;
	if (options.command)
		return become_command(&options);

	/* Blocked before the first thread exists, so that only wait_for_end() gets them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);

	if (options.with_parent) {
		rc = follow_parent(parent);
		if (rc == -ESRCH)
			return 0;
		if (rc < 0) {
			fprintf(stderr, "noise: --with-parent: %s\n", strerror(-rc));
			return 1;
		}
	}

	struct noise noise = {.options = &options};
	int status = begin_hogs(&noise);
	if (status)
		return status;

	uint64_t begin_ns = clock_monotonic_ns();
	bool failed = atomic_load(&noise.failed);
	if (!failed)
		wait_for_end(&signals, options.time_ns ? begin_ns + options.time_ns : 0);
	stop_hogs(&noise);

	uint64_t elapsed_ns = clock_monotonic_ns() - begin_ns;
	status = failed ? 1 : report_hogs(&noise, elapsed_ns ? elapsed_ns : 1);
	free_hogs(&noise);
	return status;
}
