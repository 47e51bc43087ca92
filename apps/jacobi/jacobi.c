/* SPDX-License-Identifier: MIT */
/*
 * jacobi: an asynchronous solver to balance, and to study asynchronous iterations with.
 */
#include "cpuset.h"
#include "options.h"
#include "output.h"
#include "result.h"
#include "solve.h"
#include "team.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *what, int error)
{
	fprintf(stderr, "jacobi: %s: %s\n", what, strerror(-error));
	return 1;
}

static int refused(const char *what)
{
	fprintf(stderr, "jacobi: %s\n", what);
	return 2;
}

/* Can it be written later? Pipes and the like are left alone: they might see their end. */
static int try_file(const char *path)
{
	struct stat status;

	if (strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
		return 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* The grid and its cut. Prints its errors; returns the exit status. */
static int cut(const struct options *options, uint32_t threads, struct grid *grid)
{
	uint64_t subdomains = (uint64_t)threads * options->subdomains;
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

	if (subdomains > PROGRESS_SUBDOMAINS_MAX ||
		grid_init(grid, options->rows, options->columns, options->cut, 1, threads,
			options->subdomains) < 0) {
		fprintf(stderr,
			"jacobi: %s cannot be cut into %" PRIu32 " x %" PRIu32
			" subdomains (threads x --subdomains), %s\n",
			options->rows ? "this --grid" : "the grid", threads, options->subdomains,
			subdomains > PROGRESS_SUBDOMAINS_MAX ? "1048576 at most"
			: options->cut == GRID_CUT_1D        ? "it has fewer rows"
							     : "it is too small, or too large");
		return 2;
	}
	/* Without this the kernel would grant it, and kill somebody when it is touched. */
	if (pages > 0 && page_bytes > 0 &&
		2.0 * sizeof(double) * grid->rows * grid->columns >
			(double)pages * (double)page_bytes)
		return refused("--grid: two copies of it are more than this machine's memory");
	return 0;
}

static int publish(const struct options *options, uint32_t threads, struct progress **progress)
{
	const struct progress_options how = {
		.workers = threads,
		.subdomains = threads * options->subdomains,
		.balancing = options->balancing,
		.pairs = options->pairs,
		.low = options->low,
		.high = options->high,
		.hybrid_every = options->hybrid_every,
		.period_ns = options->period_ns,
	};
	int rc = progress_create(&how, progress);

	if (rc == -ENOSPC)
		fprintf(stderr, "jacobi: publishing progress: /dev/shm is full\n");
	else if (rc < 0)
		return failed("publishing progress in /dev/shm", rc);
	return rc < 0 ? 1 : 0;
}

/* What was found, to all who want it. Prints its errors; returns the exit status. */
static int report(const struct solve_task *task, const struct solve_outcome *outcome, FILE *output)
{
	const struct options *options = task->options;
	bool json_only = options->json && strcmp(options->json, "-") == 0;
	int status = 0, rc;

	rc = output ? output_write(output, task->grid, task->subdomains) : 0;
	if (rc < 0)
		status = failed(options->output, rc);
	rc = options->quiet || json_only ? 0 : result_print(task, outcome);
	if (rc < 0)
		status = failed("standard output", rc);
	rc = options->json ? result_write(task, outcome) : 0;
	if (rc < 0)
		status = failed(options->json, rc);
	return status;
}

static int run(const struct options *options, const struct grid *grid, uint32_t threads,
	struct monitor *monitor, FILE *output)
{
	struct cpuset mask;
	struct solve_outcome outcome;
	size_t bytes = grid_subdomains(grid) * sizeof(struct subdomain);
	struct solve_task task = {
		.options = options,
		.grid = grid,
		.workers = threads,
		.subdomains = aligned_alloc(EDGE_LINE, bytes),
		.monitor = monitor,
		.pin = options->pin ? &mask : NULL,
	};
	int status = 1, rc = cpuset_of_caller(&mask);

	if (rc < 0 || !task.subdomains) {
		failed("preparing", rc < 0 ? rc : -ENOMEM);
		goto out;
	}
	memset(task.subdomains, 0, bytes);
	status = publish(options, threads, &task.progress);
	if (status)
		goto out;
	rc = solve(&task, &outcome);
	/* Now, as a closed pipe may end the report. */
	progress_close(task.progress);
	if (rc < 0)
		status = failed("starting the threads", rc);
	else
		status = report(&task, &outcome, output);
	for (uint32_t s = 0; s < grid_subdomains(grid); s++)
		subdomain_deinit(&task.subdomains[s]);
out:
	free(task.subdomains);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	struct grid grid;
	struct monitor monitor = {0};
	FILE *output = NULL;
	int rc = options_parse(argc, argv, &options);

	if (rc)
		return rc < 0 ? 2 : 0;
	if (options.pin && team_is_bound())
		return refused("--pin: OMP_PROC_BIND already binds the threads");

	uint32_t threads = options.threads ? options.threads : team_threads_default();
	if (threads > OPTIONS_THREADS_MAX)
		threads = OPTIONS_THREADS_MAX;
	int status = cut(&options, threads, &grid);
	if (status)
		return status;

	/* Opened now: who cannot write should know before the work is done. */
	if (options.output && !(output = fopen(options.output, "we")))
		return failed(options.output, -errno);
	rc = options.json ? try_file(options.json) : 0;
	if (rc < 0)
		return failed(options.json, rc);
	rc = monitor_init(&monitor, options.trace, options.quiet);
	status = rc < 0 ? failed(options.trace, rc)
			: run(&options, &grid, threads, &monitor, output);
	if (output && fclose(output) != 0 && status == 0)
		status = failed(options.output, -errno);
	rc = monitor_deinit(&monitor);
	if (rc < 0 && status == 0)
		status = failed(options.trace, rc);

	if (monitor.signal) {
		/* What there was is reported: now die of it, as who sent it expects. */
		pthread_sigmask(SIG_UNBLOCK, &monitor.signals, NULL);
		signal(monitor.signal, SIG_DFL);
		raise(monitor.signal);
	}
	return status;
}
