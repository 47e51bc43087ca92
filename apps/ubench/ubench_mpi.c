/* SPDX-License-Identifier: MIT */
/*
 * ubench-mpi: the same benchmark with an MPI rank in place of each thread. The ranks wait inside
 * the MPI library, which polls: a balancer has to find the processes, and gets no hint from the
 * kernel.
 */
#include "apps/pin.h"
#include "apps/ubench/options.h"
#include "apps/ubench/result.h"
#include "apps/ubench/setup.h"
#include "apps/ubench/thread.h"
#include "daemon/base/cpuset.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* This rank's place in the job. */
struct place {
	int rank;
	int ranks;
	int node_rank; /* among the ranks of this machine */
	struct cpuset cpus; /* of this machine that any of its ranks may use */
	int cpus_of_all_nodes;
};

static void place_init(struct place *place)
{
	struct cpuset mine = {0};
	MPI_Comm node;

	MPI_Comm_rank(MPI_COMM_WORLD, &place->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &place->ranks);
	MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &place->node_rank);

	/* mpirun may have bound each rank to a CPU of its own: only the union of the masks shows
	 * the CPUs of the job. A mask that can't be read adds nothing. */
	(void)cpuset_of_thread(0, &mine);
	MPI_Allreduce(mine.word, place->cpus.word, CPUSET_WORDS, MPI_UINT64_T, MPI_BOR, node);

	int cpus = place->node_rank == 0 ? cpuset_count(&place->cpus) : 0;
	MPI_Allreduce(&cpus, &place->cpus_of_all_nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Comm_free(&node);
}

/* Take rank 0's value, asleep: a rank that polls would slow rank 0's calibration. */
static void receive_asleep(void *value, int count, MPI_Datatype type)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	MPI_Request request;
	int done = 0;

	MPI_Ibcast(value, count, type, 0, MPI_COMM_WORLD, &request);
	for (;;) {
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		if (done)
			return;
		nanosleep(&pause, NULL);
	}
}

static void wait_mpi(void *arg)
{
	(void)arg;
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The timed part and the result. Returns the exit status. */
static int run_rank(const struct model *model, const struct ubench_options *options,
	const struct place *place, uint64_t rate)
{
	struct bench_thread thread = {0};
	struct job job;
	uint64_t *phase_ns = NULL;
	int worst, rc = 0, status = 0;

	setup_job(&job, options, rate, &place->cpus);
	job.wait = wait_mpi;
	if (place->rank == 0) {
		phase_ns = calloc(job_phase_times(&job), sizeof(*phase_ns));
		if (!phase_ns)
			rc = -ENOMEM;
	}
	/* Pinning goes by the number among the ranks of this machine, work by the rank in the
	 * job. */
	if (rc == 0 && job.pin)
		rc = pin_caller(cpuset_nth(job.pin, place->node_rank));
	job.pin = NULL;
	if (rc == 0)
		rc = thread_init(&thread, place->rank, phase_ns, &job);
	MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (worst < 0) {
		if (place->rank == 0)
			status = setup_failed(model->program, "starting a rank", worst);
		goto out;
	}
	thread_run(&thread, &job);

	/* Durations, not times of day: the clocks of two machines can't be compared. */
	uint64_t elapsed_ns = thread.ended_ns - thread.started_ns;
	struct result result = {
		.program = model->program,
		.threads = place->ranks,
		.cpus = place->cpus_of_all_nodes > 0 ? place->cpus_of_all_nodes : 1,
		.rate_steps_per_ms = rate,
		.phase_ns = phase_ns,
		.phase_count = job_phase_times(&job),
	};
	MPI_Reduce(&elapsed_ns, &result.elapsed_ns, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(
		&thread.work.state, &result.checksum, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
	if (place->rank == 0)
		status = result_write(&result, options);
out:
	thread_deinit(&thread);
	free(phase_ns);
	return status;
}

/* The speeds must fit each machine, one of whose ranks says so if they don't. Returns the same on all
 * ranks: 0, or the exit status to end with. */
static int check_speeds(
	const struct model *model, const struct ubench_options *options, const struct place *place)
{
	int status = 0, worst;

	if (place->node_rank == 0)
		status = setup_speeds(model->program, options, cpuset_count(&place->cpus));
	MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	return worst;
}

/* What rank 0 finds out for all: the rate, or that the run ends here. */
static int find_rate(const struct model *model, const struct ubench_options *options,
	const struct place *place, uint64_t *rate)
{
	int threads = options->calibrate ? 1 : place->ranks;

	if (options->threads && options->threads != place->ranks) {
		fprintf(stderr, "%s: --threads %d: there are %d ranks, and a rank is a thread\n",
			model->program, options->threads, place->ranks);
		return 2;
	}
	return setup_rate(model->program, options, threads, rate);
}

static int rank_main(int argc, char **argv)
{
	static const struct model model = {
		.program = "ubench-mpi",
		.doc = "The ubench benchmark on MPI, a rank in place of each thread: phases of a "
		       "fixed amount of work, MPI_Barrier after each.",
		.notes = "Barriers: mpi (MPI_Barrier), no other. --pin places the ranks of a "
			 "machine on the CPUs that mpirun gave to any of them.",
		.barriers = 1 << BARRIER_MPI,
		.barrier_default = BARRIER_MPI,
	};
	struct ubench_options options;
	struct place place;
	uint64_t found[2] = {0}; /* by rank 0: exit status, rate */

	place_init(&place);

	int rc = ubench_options_parse(argc, argv, &model, place.rank != 0, &options);
	if (rc)
		return rc < 0 ? 2 : 0;
	rc = check_speeds(&model, &options, &place);
	if (rc)
		return rc;
	if (place.rank == 0) {
		found[0] = (uint64_t)find_rate(&model, &options, &place, &found[1]);
		MPI_Request request;
		MPI_Ibcast(found, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else {
		receive_asleep(found, 2, MPI_UINT64_T);
	}
	if (found[0])
		return (int)found[0];
	if (options.calibrate)
		return place.rank == 0 ? result_write_rate(model.program, found[1], &options) : 0;
	return run_rank(&model, &options, &place, found[1]);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);

	int status = rank_main(argc, argv);

	MPI_Finalize();
	return status;
}
