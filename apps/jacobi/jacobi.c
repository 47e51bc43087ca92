/* SPDX-License-Identifier: MIT */
/*
 * jacobi: an asynchronous solver, as a program to balance and to study asynchronous iterations
 * with.
 */
#include "apps/crew.h"
#include "apps/jacobi/options.h"
#include "apps/jacobi/output.h"
#include "apps/jacobi/ranks/ranks.h"
#include "apps/jacobi/result.h"
#include "apps/jacobi/solve.h"
#include "daemon/base/cpuset.h"

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

/* One of the ranks, or the only one. */
struct place {
	struct transport *transport; /* NULL: alone */
	uint32_t rank, ranks, local_rank, local_ranks;
};

/* The MPI library starts threads, which must not get the signals that end a run in order. */
static int open_transport(struct transport **transport)
{
	sigset_t ends, before;

	sigemptyset(&ends);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	int rc = transport_open(transport);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* Join the other ranks, if there are any. Prints its errors; returns the exit status. */
static int join_ranks(struct place *place)
{
	*place = (struct place){.ranks = 1, .local_ranks = 1};
	if (!transport_wanted())
		return 0;
	int rc = open_transport(&place->transport);
	if (rc == -ENOTSUP && transport_expected() == 1)
		return 0;
	if (rc == -ENOTSUP)
		return refused("started as one of several ranks, but built without MPI: start it "
			       "without mpirun, or build it with -Dmpi=enabled");
	if (rc == -EPROTO)
		return refused("started by the mpirun of another MPI than the one that it was "
			       "built with");
	if (rc < 0)
		return failed("joining the other ranks", rc);
	place->rank = transport_rank(place->transport);
	place->ranks = transport_ranks(place->transport);
	place->local_rank = transport_local_rank(place->transport);
	place->local_ranks = transport_local_ranks(place->transport);
	return 0;
}

/* The largest of the ranks' numbers. */
static double largest(const struct place *place, double number)
{
	if (!place->transport)
		return number;
	transport_vote(place->transport, TRANSPORT_MAX, &number, 1);
	while (!transport_voted(place->transport, &number))
		transport_poll(place->transport);
	return number;
}

/* When one rank fails, all end in order, because the others would wait for it. */
static int agree(const struct place *place, int status)
{
	return (int)largest(place, status);
}

/* A hash of the options that must be the same on all ranks; otherwise windows would differ, or some
 * ranks wait for what others skip. It is a whole number that a double can hold. */
static double hash_common(const struct jacobi_options *options)
{
	uint64_t words[] = {0, options->rows, options->columns, options->subdomains, options->cut,
		options->mode, options->bound, options->plb.high, options->dplb.kind,
		options->iterations, options->output != NULL, 0};

	memcpy(&words[sizeof(words) / sizeof(words[0]) - 1], &options->residual, sizeof(words[0]));
	return (double)(window_seal(words, sizeof(words)) >> 32);
}

/* Rank 0 prints errors, and the help. Returns the exit status, or -1 to go on. */
static int read_options(
	int argc, char **argv, const struct place *place, struct jacobi_options *options)
{
	int rc = jacobi_options_parse(argc, argv, place->rank > 0, options);
	int status = rc < 0 ? 2 : 0;

	if (rc == 0 && options->pin && crew_is_bound()) {
		status = 2;
		if (place->rank == 0)
			refused("--pin: OMP_PROC_BIND already binds the threads");
	}
	int worst = agree(place, status);
	if (place->rank == 0 && worst > status)
		refused("another rank was started with wrong options");
	/* A rank that only prints help ends here, but the others wait for its number. */
	double hash = rc == 0 ? hash_common(options) : 0;
	double most = largest(place, hash), least = -largest(place, -hash);
	if (worst == 0 && most != least) {
		worst = 2;
		if (place->rank == 0)
			refused("not all ranks were started with the same options");
	}
	return rc == 0 && worst == 0 ? -1 : worst;
}

/* The same number on each rank. Ranks of one machine share its CPUs, unless each was bound to its
 * own. */
static uint32_t choose_threads(const struct jacobi_options *options, const struct place *place)
{
	uint32_t threads = options->threads;

	if (threads == 0) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);
		uint32_t share =
			online > place->local_ranks ? (uint32_t)online / place->local_ranks : 1;

		threads = crew_threads_default();
		if (place->transport && !getenv("OMP_NUM_THREADS") && threads > share)
			threads = share;
		if (threads > OPTIONS_THREADS_MAX)
			threads = OPTIONS_THREADS_MAX;
	}
	return (uint32_t)-largest(place, -(double)threads);
}

/* Can the file be written later? Don't open pipes and the like: their readers might see the end. */
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

/* The grid and its cut, the same on all ranks. Rank 0 prints errors. Returns the exit status. */
static int cut_grid(const struct jacobi_options *options, const struct place *place,
	uint32_t threads, struct grid *grid)
{
	uint64_t subdomains = (uint64_t)threads * options->subdomains;
	const char *why = "it is too small, or too large";
	char bands[64] = "";

	if (subdomains <= PROGRESS_SUBDOMAINS_MAX &&
		grid_init(grid, options->rows, options->columns, options->cut, place->ranks,
			threads, options->subdomains) == 0)
		return 0;
	if (place->rank > 0)
		return 2;
	if (place->ranks > 1)
		snprintf(bands, sizeof(bands),
			"%" PRIu32 " bands of columns (ranks) and each into ", place->ranks);
	if (subdomains > PROGRESS_SUBDOMAINS_MAX)
		why = "1048576 at most";
	else if (options->cut == GRID_CUT_1D && place->ranks == 1)
		why = "it has fewer rows";
	fprintf(stderr,
		"jacobi: %s cannot be cut into %s%" PRIu32 " x %" PRIu32
		" subdomains (threads x --subdomains), %s\n",
		options->rows ? "this --grid" : "the grid", bands, threads, options->subdomains,
		why);
	return 2;
}

/* A subdomain goes to another rank as one message, whose length is an int to MPI. The same on all
 * ranks; rank 0 prints errors. Returns the exit status. */
static int check_messages(
	const struct jacobi_options *options, const struct grid *grid, const struct place *place)
{
	struct grid_block block = grid_block(grid, 0); /* others are a row or a column larger */
	bool sent = place->ranks > 1 && (options->dplb.kind != DPLB_NONE || options->output);

	if (!sent || 8.0 * (block.rows + 16.0) * (block.columns + 16.0) < INT32_MAX)
		return 0;
	if (place->rank == 0)
		refused("--grid: subdomains of 2 GiB cannot be sent between ranks: have more "
			"--subdomains");
	return 2;
}

/* Without this check the kernel would grant the memory, and kill a process when it is touched. */
static int check_memory(const struct grid *grid, const struct place *place)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	double part = (double)place->local_ranks / place->ranks;

	if (pages > 0 && page_bytes > 0 &&
		2.0 * sizeof(double) * grid->rows * grid->columns * part >
			(double)pages * (double)page_bytes)
		return refused("--grid: two copies of it are more than this machine's memory");
	return 0;
}

/* Prints its errors; returns the exit status. */
static int publish(const struct jacobi_options *options, const struct solve_task *task,
	int32_t rank, struct progress **progress)
{
	uint32_t each = grid_rank_subdomains(task->grid);
	uint32_t *owner = calloc(task->slots, sizeof(*owner));
	const struct progress_options how = {
		.workers = task->workers,
		.subdomains = task->slots,
		.owner = owner,
		.balancing = options->balance.kind,
		.pairs = options->plb.pairs,
		.low = options->plb.low,
		.high = options->plb.high,
		.dead_band = options->plb.dead_band > 0 ? options->plb.dead_band
							: PROGRESS_DEAD_BAND_NONE,
		.bound = options->plb.bound,
		.hybrid_every = options->balance.hybrid_every,
		.period_ns = options->period_ns,
		.rank = rank,
	};
	int rc = -ENOMEM;

	if (owner) {
		for (uint32_t slot = 0; slot < task->slots; slot++)
			owner[slot] = slot < each ? slot / options->subdomains : PROGRESS_NOBODY;
		rc = progress_create(&how, progress);
	}
	free(owner);
	if (rc < 0)
		return failed("publishing progress", rc);
	int hidden = progress_published(*progress);
	if (hidden != 0 && (!options->quiet || !options->self_hosted))
		fprintf(stderr, "jacobi: progress is not published in /dev/shm%s: %s\n",
			options->self_hosted ? "" : ", so that nobody balances", strerror(-hidden));
	return 0;
}

/* Write the outcome in all forms that were asked for. Prints its errors; returns the exit
 * status. */
static int report_outcome(
	const struct solve_task *task, const struct solve_outcome *outcome, FILE *output)
{
	const struct jacobi_options *options = task->options;
	bool json_only = options->json && strcmp(options->json, "-") == 0;
	int status = 0, rc;

	rc = output ? output_write(output, task->grid, outcome->subdomains) : 0;
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

static int solve_and_report(const struct jacobi_options *options, const struct grid *grid,
	uint32_t threads, const struct place *place, struct monitor *monitor, FILE *output)
{
	struct cpuset mask;
	struct solve_outcome outcome;
	struct solve_task task = {
		.options = options,
		.grid = grid,
		.transport = place->ranks > 1 ? place->transport : NULL,
		.workers = threads,
		.slots = grid_subdomains(grid),
		.monitor = monitor,
		.pin = options->pin ? &mask : NULL,
		.pin_first = place->local_rank * threads,
	};
	int status, rc = cpuset_of_thread(0, &mask);

	if (task.transport)
		task.slots = ranks_slots(options, grid, threads);
	task.subdomains = edge_allocate(task.slots, sizeof(struct subdomain));
	if (rc < 0 || !task.subdomains) {
		status = failed("preparing", rc < 0 ? rc : -ENOMEM);
	} else {
		status = publish(options, &task, (int32_t)place->rank, &task.progress);
	}
	status = agree(place, status);
	if (status) {
		progress_close(task.progress);
		goto out;
	}
	rc = solve(&task, &outcome);
	/* Now, because a closed pipe may end the report. */
	progress_close(task.progress);
	if (rc < 0) {
		status = failed("solving", rc);
		/* The others are still solving. */
		if (task.transport)
			transport_abort(task.transport, status);
	} else if (place->rank == 0) {
		status = report_outcome(&task, &outcome, output);
	}
	solve_outcome_deinit(&outcome, grid);
	for (uint32_t s = 0; s < task.slots; s++)
		subdomain_deinit(&task.subdomains[s]);
out:
	free(task.subdomains);
	return status;
}

/* Open the files: all ranks write a trace, only rank 0 writes the others. They are opened now, so
 * that a file that cannot be written is known before the work is done. Prints its errors; returns
 * the exit status. */
static int open_files(const struct jacobi_options *options, const struct place *place,
	struct monitor *monitor, FILE **output)
{
	char trace[4096];
	bool first = place->rank == 0;
	int rc = 0;

	if (first && options->output && !(*output = fopen(options->output, "we")))
		return failed(options->output, -errno);
	if (first && options->json)
		rc = try_file(options->json);
	if (rc < 0)
		return failed(options->json, rc);
	if (place->ranks > 1 && options->trace)
		snprintf(trace, sizeof(trace), "%s.%" PRIu32, options->trace, place->rank);
	rc = monitor_init(monitor, place->ranks > 1 && options->trace ? trace : options->trace,
		options->quiet || !first);
	return rc < 0 ? failed(options->trace, rc) : 0;
}

static int close_files(const struct jacobi_options *options, struct monitor *monitor, FILE *output)
{
	int status = 0;

	if (output && fclose(output) != 0)
		status = failed(options->output, -errno);
	int rc = monitor_deinit(monitor);
	if (rc < 0 && status == 0)
		status = failed(options->trace, rc);
	return status;
}

int main(int argc, char **argv)
{
	struct jacobi_options options;
	struct grid grid;
	struct place place;
	struct monitor monitor = {0};
	FILE *output = NULL;
	int status = join_ranks(&place);

	if (status)
		return status;
	status = read_options(argc, argv, &place, &options);
	if (status >= 0)
		goto leave;

	uint32_t threads = choose_threads(&options, &place);
	status = cut_grid(&options, &place, threads, &grid);
	if (status == 0)
		status = check_messages(&options, &grid, &place);
	if (status)
		goto leave;
	status = check_memory(&grid, &place);
	if (status == 0)
		status = open_files(&options, &place, &monitor, &output);
	status = agree(&place, status);
	if (status == 0)
		status = solve_and_report(&options, &grid, threads, &place, &monitor, output);
	int closed = close_files(&options, &monitor, output);
	if (status == 0)
		status = closed;
	status = agree(&place, status);
leave:
	transport_close(place.transport);
	if (monitor.signal) {
		/* The report is written. Now die of the signal, as its sender expects. */
		pthread_sigmask(SIG_UNBLOCK, &monitor.signals, NULL);
		signal(monitor.signal, SIG_DFL);
		raise(monitor.signal);
	}
	return status;
}
