// SPDX-License-Identifier: MIT
/*
 * What libphases costs: ns of a barrier with and without it, when there is nothing else to do, and
 * after 1 ms of work, when the clocks are read at both turns. Writes JSON to standard output.
 *
 *     phases_cost LIBPHASES
 *
 * It runs itself in turns with the library preloaded and without it, and takes the median.
 */
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef HAVE_MPI
#include <mpi.h>
#endif

#define ROUNDS 5
#define BATCHES 101
#define CALLS 1000 /* a batch */
#define SPACED 200
#define WORK_NS 1e6

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, compare);
	return values[count / 2];
}

static pthread_barrier_t barrier;

static void wait_pthread(void)
{
	pthread_barrier_wait(&barrier);
}

static double tight(void (*wait)(void))
{
	double times[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		double start = now_ns();
		for (int k = 0; k < CALLS; k++)
			wait();
		times[i] = (now_ns() - start) / CALLS;
	}
	return median(times, BATCHES);
}

static double spaced(void (*wait)(void))
{
	double times[SPACED];

	for (int i = 0; i < SPACED; i++) {
		double start = now_ns(), end;
		while ((end = now_ns()) - start < WORK_NS)
			;
		wait();
		times[i] = now_ns() - end;
	}
	return median(times, SPACED);
}

#ifdef _OPENMP
static void wait_openmp(void)
{
#pragma omp barrier
}

static double tight_openmp(int threads)
{
	double found = 0;

	omp_set_num_threads(threads);
#pragma omp parallel
	{
		double mine = tight(wait_openmp);
#pragma omp master
		found = mine;
	}
	return found;
}

static double spaced_openmp(void)
{
	double found = 0;

#pragma omp parallel num_threads(1)
	found = spaced(wait_openmp);
	return found;
}
#endif

#ifdef HAVE_MPI
static void wait_mpi(void)
{
	double in = 1, out;
	MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
#endif

/* One number a line: ns of a call, in the order of names[]. */
static const char *const names[] = {"pthread_barrier_1", "pthread_barrier_1_after_1ms",
	"omp_barrier_1", "omp_barrier_1_after_1ms", "omp_barrier_2", "mpi_allreduce_1",
	"mpi_allreduce_1_after_1ms"};
#define NAMES ((int)(sizeof names / sizeof names[0]))

static int measure(void)
{
	pthread_barrier_init(&barrier, NULL, 1);
	printf("%g\n%g\n", tight(wait_pthread), spaced(wait_pthread));
#ifdef _OPENMP
	printf("%g\n", tight_openmp(1));
	printf("%g\n%g\n", spaced_openmp(), tight_openmp(2));
#else
	printf("0\n0\n0\n");
#endif
#ifdef HAVE_MPI
	MPI_Init(NULL, NULL);
	printf("%g\n%g\n", tight(wait_mpi), spaced(wait_mpi));
	MPI_Finalize();
#else
	printf("0\n0\n");
#endif
	return EXIT_SUCCESS;
}

/* A run of this program: 0 where there was none. */
static void run(const char *preload, double values[NAMES])
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	FILE *from;

	self[length > 0 ? length : 0] = '\0';
	setenv("PHASES_COST_RUN", self, 1);
	setenv("PHASES_COST_PRELOAD", preload, 1);
	from = popen("LD_PRELOAD=\"$PHASES_COST_PRELOAD\" \"$PHASES_COST_RUN\"", "r");
	for (int i = 0; i < NAMES; i++) {
		if (!from || fscanf(from, "%lf", &values[i]) != 1)
			values[i] = 0;
	}
	if (from)
		pclose(from);
}

int main(int argc, char **argv)
{
	static double without[NAMES][ROUNDS], with[NAMES][ROUNDS];
	double values[NAMES];

	if (argc < 2)
		return measure();
	for (int round = 0; round < ROUNDS; round++) {
		run("", values);
		for (int i = 0; i < NAMES; i++)
			without[i][round] = values[i];
		run(argv[1], values);
		for (int i = 0; i < NAMES; i++)
			with[i][round] = values[i];
	}

	json_t *report = json_object();
	json_object_set_new(report, "what", json_string("median ns of one barrier"));
	for (int i = 0; i < NAMES; i++) {
		double plain = median(without[i], ROUNDS), seen = median(with[i], ROUNDS);
		if (plain > 0)
			json_object_set_new(report, names[i],
				json_pack("{s:f, s:f, s:f}", "without", plain, "with", seen, "cost",
					seen - plain));
	}
	json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(4));
	putchar('\n');
	json_decref(report);
	return EXIT_SUCCESS;
}
