// SPDX-License-Identifier: MIT
/*
 * Subdomains of unequal work: an asynchronous Schwarz solver of Poisson's equation. Nobody waits
 * for anybody, and the library moves the strips that fall behind to threads that are ahead. strips.h
 * describes the problem; residual and error are checked at the end. schwarz_mpi.c is the same for
 * the ranks of an MPI program.
 *
 *     cc -O3 -D_GNU_SOURCE -I../.. schwarz.c strips.c $(pkg-config --cflags --libs libprogress) \
 *             -pthread -lm
 *     ./a.out --help
 */
#include "libprogress/examples/strips.h"

#include <progress.h>

#include <argp.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	struct strips_options problem;
	uint32_t threads;
	uint32_t balance;
	bool by_work, pin;
};

struct problem {
	struct options options;
	struct strips strips;
	struct progress *progress;
	atomic_bool done;
};

/* The most work first, each to the thread that has the least. Returns false without memory. */
static bool own_by_work(const struct problem *p, uint32_t *owner)
{
	double *work = calloc(p->options.threads, sizeof(*work));

	if (work == NULL)
		return false;
	for (uint32_t i = p->strips.count; i-- > 0;) { /* the last is the highest */
		double height = p->strips.strip[i].height;
		uint32_t least = 0;
		for (uint32_t w = 1; w < p->options.threads; w++)
			least = work[w] < work[least] ? w : least;
		owner[i] = least;
		work[least] += height * height;
	}
	free(work);
	return true;
}

/* ---- Threads ---- */

static bool seems_solved(const struct problem *p)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->strips.count; i++)
		sum += atomic_load_explicit(&p->strips.strip[i].residual2, memory_order_relaxed);
	return strips_seem_solved(&p->strips, sum);
}

struct worker {
	struct problem *problem;
	uint32_t number;
	pthread_t thread;
};

static void *work(void *opaque)
{
	const struct worker *worker = opaque;
	struct problem *p = worker->problem;
	uint32_t me = worker->number;
	const uint32_t *mine;

	progress_register(p->progress, me); /* can't fail: there is one thread for each worker */
	while (!atomic_load(&p->done)) {
		uint32_t n = progress_begin(p->progress, me, &mine);
		for (uint32_t i = 0; i < n; i++) {
			struct strip *s = &p->strips.strip[mine[i]];
			double residual2 = strip_update(&p->strips, s);
			progress_update(p->progress, me, mine[i], ++s->iteration, sqrt(residual2));
			if (s->iteration >= p->options.problem.updates || seems_solved(p))
				atomic_store(&p->done, true);
		}
		progress_balance(p->progress, me);
	}
	progress_leave(p->progress, me);
	return NULL;
}

/* The CPU of a thread that is pinned. */
static void choose_cpu(pthread_attr_t *attributes, uint32_t worker)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return;
	uint32_t left = worker % (uint32_t)CPU_COUNT(&all);
	int cpu = 0;
	while (!CPU_ISSET(cpu, &all) || left-- > 0)
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_attr_setaffinity_np(attributes, sizeof(one), &one);
}

static bool start(struct worker *worker)
{
	pthread_attr_t attributes;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	if (worker->problem->options.pin)
		choose_cpu(&attributes, worker->number);
	bool started = pthread_create(&worker->thread, &attributes, work, worker) == 0;
	pthread_attr_destroy(&attributes);
	return started;
}

/* Until all strips seem solved. Each is updated at least once. Returns whether threads could be
 * started. */
static bool run_once(struct problem *p, struct worker *worker)
{
	uint32_t started = 0;

	atomic_store(&p->done, false);
	for (uint32_t i = 0; i < p->strips.count; i++)
		atomic_store(&p->strips.strip[i].residual2, INFINITY);
	for (; started < p->options.threads; started++) {
		worker[started] = (struct worker){.problem = p, .number = started};
		if (!start(&worker[started]))
			break;
	}
	if (started < p->options.threads)
		atomic_store(&p->done, true);
	for (uint32_t w = 0; w < started; w++)
		pthread_join(worker[w].thread, NULL);
	return started == p->options.threads;
}

/* Until they are. Returns whether threads could be started. */
static bool solve(struct problem *p, struct worker *worker, uint32_t *rounds)
{
	bool limit = false;

	*rounds = 0;
	do {
		if (!run_once(p, worker))
			return false;
		for (uint32_t i = 0; i < p->strips.count; i++)
			limit = limit || p->strips.strip[i].iteration >= p->options.problem.updates;
	} while (++*rounds < STRIPS_ROUNDS_MAX && !limit &&
		 strips_residual(&p->strips) > p->options.problem.tolerance);
	return true;
}

/* ---- The command ---- */

static const char *const balances[] = {
	[PROGRESS_BALANCE_DEFAULT] = "default",
	[PROGRESS_BALANCE_NONE] = "none",
	[PROGRESS_BALANCE_JOINT] = "joint",
	[PROGRESS_BALANCE_SPLIT] = "split",
	[PROGRESS_BALANCE_HYBRID] = "hybrid",
};

static const struct argp_option table[] = {
	{"threads", 't', "N", 0, "Threads, 1 to 1024 (default: 2)", 0},
	{"balance", 'b', "NAME", 0,
		"Move strips between threads: none, joint, split, hybrid or default, which is the "
		"library's (default: default)",
		0},
	{"owners", 'o', "NAME", 0,
		"Who has which strips at the start: blocks, equally many each, or work, equal work "
		"each (default: blocks)",
		0},
	{"pin", 'p', NULL, 0, "Pin each thread to a CPU of the affinity mask", 0},
	{0},
};

static const char doc[] =
	"Solve Poisson's equation on strips of unequal work, without ever waiting, and have "
	"libprogress move strips between threads.\v"
	"Prints a JSON object: elapsed_s is the time to solution, after all preparations; verified "
	"says whether residual and error are what they must be. Under juggle(1), it balances "
	"instead of the threads.\n\n"
	"Exit status: 0, 1 when the run failed or its result is wrong, 2 when the command line is "
	"wrong.";

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	static const char *const owners[] = {"blocks", "work"};
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->problem;
		return 0;
	case 't':
		o->threads = strips_read_count(state, arg, 1, 1024);
		return 0;
	case 'b':
		o->balance = strips_read_name(
			state, arg, balances, sizeof(balances) / sizeof(*balances));
		return 0;
	case 'o':
		o->by_work = strips_read_name(state, arg, owners, 2) == 1;
		return 0;
	case 'p':
		o->pin = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Returns whether the result is right. */
static bool report(const struct problem *p, double elapsed_s, uint32_t rounds)
{
	const struct strips *all = &p->strips;
	uint64_t updates = 0;
	double r = strips_residual(all), e = strips_error(all);
	/* Rounding, beside what the residual explains. */
	bool verified = r <= p->options.problem.tolerance && e <= r + 1e-10;

	for (uint32_t i = 0; i < all->count; i++)
		updates += all->strip[i].iteration;
	printf("{\"threads\": %u, \"strips\": %u, \"points\": %u, \"lowest\": %u, \"highest\": %u, "
	       "\"balance\": \"%s\", \"elapsed_s\": %.6f, \"updates\": %llu, \"spread\": %llu, "
	       "\"rounds\": %u, \"residual\": %.3e, \"error\": %.3e, \"verified\": %s}\n",
		p->options.threads, all->count, all->options.points, all->strip[0].rows,
		all->strip[all->count - 1].rows, balances[p->options.balance], elapsed_s,
		(unsigned long long)updates, (unsigned long long)progress_spread(p->progress),
		rounds, r, e, verified ? "true" : "false");
	return verified;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int run(struct problem *p, uint32_t *owner, struct worker *worker)
{
	struct progress_options options = {.workers = p->options.threads,
		.subdomains = p->strips.count,
		.owner = p->options.by_work ? owner : NULL,
		.balancing = p->options.balance};
	uint32_t rounds;

	int error = progress_create(&options, &p->progress);
	if (error != 0) {
		fprintf(stderr, "schwarz: progress_create: %s\n", strerror(-error));
		return EXIT_FAILURE;
	}
	double begin = now_s();
	bool right = solve(p, worker, &rounds);
	if (!right)
		fputs("schwarz: can't start threads\n", stderr);
	else if (!(right = report(p, now_s() - begin, rounds)))
		fputs("schwarz: not solved\n", stderr);
	progress_close(p->progress);
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool prepare(struct problem *p)
{
	if (!strips_init(&p->strips, &p->options.problem,
		    p->options.threads * p->options.problem.strips))
		return false;
	for (uint32_t i = 0; i < p->strips.count; i++)
		if (!strip_factorise(&p->strips.strip[i], p->options.problem.points))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	const struct argp_child children[] = {{&strips_argp, 0, NULL, 0}, {0}};
	const struct argp argp = {
		.options = table, .parser = read_option, .doc = doc, .children = children};
	struct problem problem = {.options = {.threads = 2}};
	const struct options *o = &problem.options;
	int status = EXIT_FAILURE;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &problem.options);
	uint32_t count = o->threads * o->problem.strips;
	if (!strips_fit(&o->problem, count, 1)) {
		fputs("schwarz: too many strips: give more --points, or a smaller --ratio\n",
			stderr);
		return 2;
	}
	uint32_t *owner = calloc(count, sizeof(*owner));
	struct worker *worker = calloc(o->threads, sizeof(*worker));
	if (prepare(&problem) && owner != NULL && worker != NULL &&
		(!o->by_work || own_by_work(&problem, owner)))
		status = run(&problem, owner, worker);
	else
		fputs("schwarz: not enough memory\n", stderr);
	strips_deinit(&problem.strips);
	free(worker);
	free(owner);
	return status;
}
