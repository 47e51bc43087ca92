// SPDX-License-Identifier: MIT
/*
 * Subdomains of unequal work: an asynchronous Schwarz solver of Poisson's equation. Nobody waits
 * for anybody, and the library moves the strips that fall behind to threads that are ahead.
 *
 *     cc -O3 -D_GNU_SOURCE schwarz.c $(pkg-config --cflags --libs libprogress) -pthread -lm
 *     ./a.out --help
 *
 * The unit square is cut into strips, each higher than the one before. An update of a strip solves
 * its equations exactly, together with some rows of its neighbours, for the newest values around;
 * it writes back only its own rows (restricted additive Schwarz). The solver is a banded Cholesky
 * factorisation, so a strip of twice the height takes four times as long. The equations are an
 * M-matrix: they converge however old the values are that an update finds (Frommer and Szyld,
 * "Asynchronous two-stage iterative methods", 1994).
 *
 * The right-hand side is the eigenvector of the smallest eigenvalue, so the solution is known, and
 * its relative error is never more than the relative residual. Both are checked at the end.
 */
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

#define OVERLAP 4u /* rows of each neighbour that an update solves for, too */
#define ROUNDS_MAX 100u

struct options {
	uint32_t threads, strips, points; /* strips of each thread; points of a row and a column */
	uint32_t ratio, updates;
	double tolerance;
	size_t balance;
	bool by_work, pin;
};

/* ---- A strip ---- */

struct strip {
	uint32_t row, rows; /* its own; the first one, from 1 */
	uint32_t from, height; /* those that it solves for */
	double *factor; /* height + 1 numbers for each unknown: the diagonal, and below it */
	double *x; /* unknowns, column by column */
	uint64_t iteration; /* touched by its holder alone */
	_Atomic double residual2; /* square of its residual when it was last updated */
};

/* The unknowns, in rows and columns from 1, with a border of zeros. Everybody reads what
 * others write at any time: each number is of some iteration, which is all that it takes. */
struct square {
	uint32_t points;
	_Atomic double *u;
	double *source; /* right-hand side of each row and column, without border: a product */
};

static double load(const struct square *q, uint32_t row, uint32_t column)
{
	return atomic_load_explicit(
		&q->u[(size_t)row * (q->points + 2) + column], memory_order_relaxed);
}

static double source(const struct square *q, uint32_t row, uint32_t column)
{
	return q->source[row] * q->source[column];
}

static double row_residual2(const struct square *q, uint32_t row)
{
	double sum = 0;

	for (uint32_t c = 1; c <= q->points; c++) {
		double r = source(q, row, c) - 4 * load(q, row, c) + load(q, row - 1, c) +
			   load(q, row + 1, c) + load(q, row, c - 1) + load(q, row, c + 1);
		sum += r * r;
	}
	return sum;
}

/* Factorise the five-point Laplacian of the strip: L L^T, of as many bands as the strip has rows. */
static bool factorise(struct strip *s, uint32_t columns)
{
	size_t band = s->height, n = band * columns;
	double *column;

	s->factor = calloc(n * (band + 1), sizeof(*s->factor));
	s->x = malloc((n + band) * sizeof(*s->x));
	if (s->factor == NULL || s->x == NULL)
		return false;
	for (size_t j = 0; j < n; j++) {
		column = s->factor + j * (band + 1);
		column[0] = 4;
		if (band > 1)
			column[1] = (j + 1) % band == 0 ? 0 : -1;
		if (j + band < n)
			column[band] = -1;
	}
	for (size_t j = 0; j < n; j++) {
		column = s->factor + j * (band + 1);
		double diagonal = sqrt(column[0]);
		for (size_t i = 0; i <= band; i++)
			column[i] /= diagonal;
		column[0] = diagonal;
		for (size_t k = 1; k <= band && j + k < n; k++)
			for (size_t i = k; i <= band; i++)
				column[k * (band + 1) + i - k] -= column[i] * column[k];
	}
	return true;
}

/* x <- L^-T L^-1 x */
static void substitute(struct strip *s, uint32_t columns)
{
	size_t band = s->height, n = band * columns;
	double *x = s->x;

	/* Below the last unknowns factors are 0. */
	memset(x + n, 0, band * sizeof(*x));
	for (size_t j = 0; j < n; j++) {
		const double *column = s->factor + j * (band + 1);
		double value = x[j] /= column[0];
		for (size_t i = 1; i <= band; i++)
			x[j + i] -= column[i] * value;
	}
	for (size_t j = n; j-- > 0;) {
		const double *column = s->factor + j * (band + 1);
		double value = x[j];
		for (size_t i = 1; i <= band; i++)
			value -= column[i] * x[j + i];
		x[j] = value / column[0];
	}
}

/* Solve for the strip once more. Returns its residual before that, squared. */
static double update(struct strip *s, struct square *q)
{
	uint32_t last = s->from + s->height - 1;
	double residual2 = 0;

	for (uint32_t r = s->row; r < s->row + s->rows; r++)
		residual2 += row_residual2(q, r);
	for (uint32_t c = 1; c <= q->points; c++) {
		double *x = s->x + (size_t)(c - 1) * s->height;
		for (uint32_t r = s->from; r <= last; r++)
			x[r - s->from] = source(q, r, c);
		x[0] += load(q, s->from - 1, c);
		x[s->height - 1] += load(q, last + 1, c);
	}
	substitute(s, q->points);
	for (uint32_t r = s->row; r < s->row + s->rows; r++)
		for (uint32_t c = 1; c <= q->points; c++)
			atomic_store_explicit(&q->u[(size_t)r * (q->points + 2) + c],
				s->x[(size_t)(c - 1) * s->height + r - s->from],
				memory_order_relaxed);
	return residual2;
}

/* ---- The problem ---- */

struct problem {
	struct options options;
	struct square square;
	struct strip *strip;
	uint32_t strips;
	double source2; /* square of the residual of zeros */
	struct progress *progress;
	atomic_bool done;
};

/* From row to row, heights grow from the first strip's to `ratio` times that. Returns the first row
 * of a strip. */
static uint32_t first_row(const struct options *o, uint32_t strips, uint32_t strip)
{
	double slope = strips > 1 ? (o->ratio - 1.0) / (strips - 1) : 0;
	double below = strip + slope * strip * (strip - 1.0) / 2;
	double all = strips + slope * strips * (strips - 1.0) / 2;

	return 1 + (uint32_t)lround(o->points * below / all);
}

static bool make_strips(struct problem *p)
{
	uint32_t points = p->square.points;

	for (uint32_t i = 0; i < p->strips; i++) {
		struct strip *s = &p->strip[i];
		s->row = first_row(&p->options, p->strips, i);
		s->rows = first_row(&p->options, p->strips, i + 1) - s->row;
		s->from = s->row > OVERLAP ? s->row - OVERLAP : 1;
		uint32_t end = s->row + s->rows + OVERLAP;
		s->height = (end <= points + 1 ? end : points + 1) - s->from;
		if (!factorise(s, points))
			return false;
	}
	return true;
}

static bool problem_init(struct problem *p, const struct options *options)
{
	uint32_t points = options->points;
	double sum = 0;

	*p = (struct problem){.options = *options, .strips = options->threads * options->strips};
	p->square.points = points;
	p->square.u = calloc((size_t)(points + 2) * (points + 2), sizeof(*p->square.u));
	p->square.source = calloc(points + 2, sizeof(*p->square.source));
	p->strip = calloc(p->strips, sizeof(*p->strip));
	if (p->square.u == NULL || p->square.source == NULL || p->strip == NULL)
		return false;
	for (uint32_t i = 1; i <= points; i++) {
		p->square.source[i] = sin(M_PI * i / (points + 1));
		sum += p->square.source[i] * p->square.source[i];
	}
	p->source2 = sum * sum;
	return make_strips(p);
}

static void problem_deinit(struct problem *p)
{
	for (uint32_t i = 0; p->strip != NULL && i < p->strips; i++) {
		free(p->strip[i].factor);
		free(p->strip[i].x);
	}
	free(p->strip);
	free(p->square.source);
	free(p->square.u);
}

static double residual(const struct problem *p)
{
	double sum = 0;

	for (uint32_t r = 1; r <= p->square.points; r++)
		sum += row_residual2(&p->square, r);
	return sqrt(sum / p->source2);
}

/* Of the l2 norm, relative. */
static double error(const struct problem *p)
{
	double half = sin(M_PI / 2 / (p->square.points + 1)), eigenvalue = 8 * half * half;
	double sum = 0;

	for (uint32_t r = 1; r <= p->square.points; r++)
		for (uint32_t c = 1; c <= p->square.points; c++) {
			double e = load(&p->square, r, c) * eigenvalue - source(&p->square, r, c);
			sum += e * e;
		}
	return sqrt(sum / p->source2);
}

/* The most work first, each to the thread that has the least. Returns false without memory. */
static bool own_by_work(const struct problem *p, uint32_t *owner)
{
	double *work = calloc(p->options.threads, sizeof(*work));

	if (work == NULL)
		return false;
	for (uint32_t i = p->strips; i-- > 0;) { /* the last is the highest */
		double height = p->strip[i].height;
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

/* By what strips found when they were last updated; others have written since. */
static bool seems_solved(struct problem *p)
{
	double sum = 0, limit = p->options.tolerance * p->options.tolerance * p->source2;

	for (uint32_t i = 0; i < p->strips; i++)
		sum += atomic_load_explicit(&p->strip[i].residual2, memory_order_relaxed);
	return sum <= limit;
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
			struct strip *s = &p->strip[mine[i]];
			double residual2 = update(s, &p->square);
			atomic_store_explicit(&s->residual2, residual2, memory_order_relaxed);
			progress_update(p->progress, me, mine[i], ++s->iteration, sqrt(residual2));
			if (s->iteration >= p->options.updates || seems_solved(p))
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
	for (uint32_t i = 0; i < p->strips; i++)
		atomic_store(&p->strip[i].residual2, INFINITY);
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
		for (uint32_t i = 0; i < p->strips; i++)
			limit = limit || p->strip[i].iteration >= p->options.updates;
	} while (++*rounds < ROUNDS_MAX && !limit && residual(p) > p->options.tolerance);
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
	{"strips", 's', "N", 0, "Strips of each thread at the start, 1 to 64 (default: 4)", 0},
	{"points", 'n', "N", 0, "Points of each row and column, 16 to 4096 (default: 191)", 0},
	{"ratio", 'r', "N", 0,
		"How many times as high as the first strip the last one is, 1 to 64 (default: 4)",
		0},
	{"balance", 'b', "NAME", 0,
		"Move strips between threads: none, joint, split, hybrid or default, which is the "
		"library's (default: default)",
		0},
	{"owners", 'o', "NAME", 0,
		"Who has which strips at the start: blocks, equally many each, or work, equal work "
		"each (default: blocks)",
		0},
	{"tolerance", 'e', "E", 0, "Residual at the end, relative to the start (default: 1e-8)", 0},
	{"updates", 'u', "N", 0,
		"Give up when a strip has been updated that often (default: 1000000)", 0},
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

static uint32_t count(struct argp_state *state, const char *arg, uint32_t least, uint32_t most)
{
	char *end;
	unsigned long value = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end != '\0' || value < least || value > most)
		argp_error(state, "'%s' is not a whole number from %u to %u", arg, least, most);
	return (uint32_t)value;
}

static size_t choice(struct argp_state *state, const char *arg, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], arg) == 0)
			return i;
	argp_error(state, "unknown name '%s'; see --help", arg);
	return 0;
}

static double share(struct argp_state *state, const char *arg)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end != '\0' || !(value >= 1e-12 && value < 1))
		argp_error(state, "'%s' is not a number from 1e-12 to 1", arg);
	return value;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	static const char *const owners[] = {"blocks", "work"};
	struct options *o = state->input;

	switch (key) {
	case 't':
		o->threads = count(state, arg, 1, 1024);
		return 0;
	case 's':
		o->strips = count(state, arg, 1, 64);
		return 0;
	case 'n':
		o->points = count(state, arg, 16, 4096);
		return 0;
	case 'r':
		o->ratio = count(state, arg, 1, 64);
		return 0;
	case 'u':
		o->updates = count(state, arg, 1, UINT32_MAX);
		return 0;
	case 'b':
		o->balance = choice(state, arg, balances, sizeof(balances) / sizeof(*balances));
		return 0;
	case 'o':
		o->by_work = choice(state, arg, owners, 2) == 1;
		return 0;
	case 'e':
		o->tolerance = share(state, arg);
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
	uint64_t updates = 0;
	double r = residual(p), e = error(p);
	/* Rounding, beside what the residual explains. */
	bool verified = r <= p->options.tolerance && e <= r + 1e-10;

	for (uint32_t i = 0; i < p->strips; i++)
		updates += p->strip[i].iteration;
	printf("{\"threads\": %u, \"strips\": %u, \"points\": %u, \"lowest\": %u, \"highest\": %u, "
	       "\"balance\": \"%s\", \"elapsed_s\": %.6f, \"updates\": %llu, \"spread\": %llu, "
	       "\"rounds\": %u, \"residual\": %.3e, \"error\": %.3e, \"verified\": %s}\n",
		p->options.threads, p->strips, p->square.points, p->strip[0].rows,
		p->strip[p->strips - 1].rows, balances[p->options.balance], elapsed_s,
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
		.subdomains = p->strips,
		.owner = p->options.by_work ? owner : NULL,
		.balancing = (uint32_t)p->options.balance};
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

int main(int argc, char **argv)
{
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};
	struct options options = {.threads = 2,
		.strips = 4,
		.points = 191,
		.ratio = 4,
		.updates = 1000000,
		.tolerance = 1e-8};
	struct problem problem;
	int status = EXIT_FAILURE;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if ((options.ratio + 1) * options.threads * options.strips > 2 * options.points) {
		fputs("schwarz: too many strips: give more --points, or a smaller --ratio\n",
			stderr);
		return 2;
	}
	uint32_t *owner = calloc((size_t)options.threads * options.strips, sizeof(*owner));
	struct worker *worker = calloc(options.threads, sizeof(*worker));
	if (problem_init(&problem, &options) && owner != NULL && worker != NULL &&
		(!options.by_work || own_by_work(&problem, owner)))
		status = run(&problem, owner, worker);
	else
		fputs("schwarz: not enough memory\n", stderr);
	problem_deinit(&problem);
	free(worker);
	free(owner);
	return status;
}
