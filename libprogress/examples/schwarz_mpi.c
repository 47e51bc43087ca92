// SPDX-License-Identifier: MIT
/*
 * Subdomains that move between the ranks of an MPI program: schwarz.c, with a rank instead of each
 * thread. Nobody waits for anybody. The library decides which strip goes to which rank; all messages
 * are here.
 *
 *     mpicc -O3 -D_GNU_SOURCE -I../.. schwarz_mpi.c strips.c \
 *             $(pkg-config --cflags --libs libprogress) -lm
 *     mpirun -n 2 ./a.out --help
 *
 * Each rank has the whole square, in which it keeps the rows of its own strips, and what it has got
 * of those around them. After an update of a strip, its holder sends the rows next to another strip
 * to the rank that has that one, as far as it knows: where strips are is told by the halos
 * themselves, and whoever gets one for a strip that has left forwards it. So no table of places is
 * needed (Zarins & Weiland 2020, Section 3.2). A strip travels with its rows; the factors stay.
 *
 * Records of ranks are exchanged all the time, by one MPI_Iallgather() after another. They also tell
 * when the problem seems to be solved. Since all get the same records, all stop at the same time.
 */
#include "libprogress/examples/strips.h"

#include <mpi.h>
#include <progress.h>

#include <argp.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RECEIVES 4u /* messages that may come at a time */
#define FORWARDS 8u /* that may be under way; further halos are lost, which others make up for */
#define RECORDS_NS UINT64_C(5000000) /* between exchanges of records */
#define PERIOD_MIN_MS 5u /* balancing points come after those */
#define HALO_ROWS (STRIPS_OVERLAP + 1)

enum { BALANCE_NONE, BALANCE_RANKS, BALANCE_RANDOM };

static const char *const balances[] = {"none", "ranks", "random"};

struct options {
	struct strips_options problem;
	uint32_t balance, period_ms;
	uint32_t slow_rank, slow_times; /* 0: none */
};

enum tag { TAG_HALO, TAG_STRIP };

/* What is known of another rank's strip: who has it, or had it at that iteration. */
struct place {
	uint64_t iteration;
	uint32_t rank;
	uint32_t unused;
};

/* Before the rows of a message. */
struct head {
	uint32_t strip;
	uint32_t target; /* of a halo: the strip that needs it */
	struct place place; /* of the strip */
	/* Of a strip: */
	double residual2;
	struct place neighbour[2]; /* below and above */
	uint64_t halo[2]; /* iterations of the rows of these */
};

struct message {
	MPI_Request request; /* MPI_REQUEST_NULL: none is under way */
	struct head *head;
};

/* What a rank tells all others. */
struct record {
	struct progress_rank rank;
	double residual2; /* of its strips, in all */
	uint64_t most; /* updates of one of its strips */
};

struct rank {
	struct options options;
	struct strips strips;
	struct progress *progress; /* the places are the strips */
	uint32_t number, ranks;
	struct place *place; /* of each strip */
	/* For each strip, the iterations of the rows next to those below and above: */
	uint64_t *halo;
	size_t message_bytes; /* of the largest */
	struct message receive[RECEIVES], forward[FORWARDS];
	struct message *show; /* for each strip, to the one below and to the one above */
	struct message leaving; /* one strip at a time */
	uint32_t next; /* receive[] that is taken next */
	struct record mine, *all;
	MPI_Request exchange;
	uint64_t begin_ns, records_due_ns, balance_due_ns;
	int64_t under_way; /* messages: sent, less received */
	uint64_t decisions, departures;
	bool stops;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "schwarz_mpi: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
	exit(EXIT_FAILURE);
}

static bool has(const struct rank *r, uint32_t strip)
{
	return progress_holder(r->progress, strip) != PROGRESS_NOBODY;
}

/* ---- Rows in messages ---- */

static double *rows_of(const struct head *head)
{
	return (double *)(head + 1);
}

static size_t row_bytes(const struct rank *r)
{
	return r->strips.options.points * sizeof(double);
}

static _Atomic double *first_of_row(const struct rank *r, uint32_t row)
{
	return &r->strips.u[(size_t)row * (r->strips.options.points + 2) + 1];
}

static void copy_out(const struct rank *r, uint32_t row, uint32_t rows, double *to)
{
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t c = 0; c < r->strips.options.points; c++)
			*to++ = atomic_load_explicit(
				first_of_row(r, row + i) + c, memory_order_relaxed);
}

static void copy_in(struct rank *r, uint32_t row, uint32_t rows, const double *from)
{
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t c = 0; c < r->strips.options.points; c++)
			atomic_store_explicit(
				first_of_row(r, row + i) + c, *from++, memory_order_relaxed);
}

/* Its neighbour below or above; not below `count` if there is none. */
static uint32_t neighbour_of(uint32_t strip, uint32_t side)
{
	return side == 0 ? strip - 1 : strip + 1;
}

static uint32_t side_of(uint32_t strip, uint32_t target)
{
	return target < strip ? 0 : 1;
}

/* The first of the rows of a strip that its neighbour solves for, or looks at. */
static uint32_t halo_row(const struct rank *r, uint32_t strip, uint32_t side)
{
	const struct strip *s = &r->strips.strip[strip];

	return side == 0 ? s->row : s->row + s->rows - HALO_ROWS;
}

static bool is_sent(struct message *m)
{
	int done;

	MPI_Test(&m->request, &done, MPI_STATUS_IGNORE);
	return done;
}

/* Synchronous, so that a rank that looks seldom is not flooded. */
static void send(struct rank *r, struct message *m, uint32_t rows, enum tag tag, uint32_t to)
{
	size_t bytes = sizeof(*m->head) + rows * row_bytes(r);

	MPI_Issend(m->head, (int)bytes, MPI_BYTE, (int)to, tag, MPI_COMM_WORLD, &m->request);
	r->under_way++;
}

/* To the neighbours that are elsewhere, unless the halo before is still on its way. */
static void send_halos(struct rank *r, uint32_t strip)
{
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t target = neighbour_of(strip, side);
		struct message *m = &r->show[2 * strip + side];
		if (target >= r->strips.count || has(r, target) || !is_sent(m))
			continue;
		*m->head = (struct head){.strip = strip,
			.target = target,
			.place = {r->strips.strip[strip].iteration, r->number, 0}};
		copy_out(r, halo_row(r, strip, side), HALO_ROWS, rows_of(m->head));
		send(r, m, HALO_ROWS, TAG_HALO, r->place[target].rank);
	}
}

static void forward(struct rank *r, const struct head *head)
{
	for (uint32_t i = 0; i < FORWARDS; i++) {
		struct message *m = &r->forward[i];
		if (!is_sent(m))
			continue;
		memcpy(m->head, head, sizeof(*head) + HALO_ROWS * row_bytes(r));
		send(r, m, HALO_ROWS, TAG_HALO, r->place[head->target].rank);
		return;
	}
}

/* Later news of a strip that is elsewhere. */
static void note_place(struct rank *r, uint32_t strip, const struct place *place)
{
	if (!has(r, strip) && place->iteration > r->place[strip].iteration)
		r->place[strip] = *place;
}

static void note_halo(
	struct rank *r, uint32_t strip, uint32_t side, uint64_t iteration, const double *rows)
{
	if (has(r, strip) || iteration <= r->halo[2 * strip + side])
		return;
	copy_in(r, halo_row(r, strip, side), HALO_ROWS, rows);
	r->halo[2 * strip + side] = iteration;
}

static void take_halo(struct rank *r, const struct head *head)
{
	note_halo(r, head->strip, side_of(head->strip, head->target), head->place.iteration,
		rows_of(head));
	note_place(r, head->strip, &head->place);
	if (!has(r, head->target) && !r->stops)
		forward(r, head);
}

/* ---- Strips that move ---- */

/* For the library: neighbours stay together, so that few halos go from rank to rank. */
static int32_t halos_saved(void *arg, uint32_t strip, uint32_t to)
{
	const struct rank *r = arg;
	int32_t saved = 0;

	for (uint32_t side = 0; side < 2; side++) {
		uint32_t n = neighbour_of(strip, side);
		if (n < r->strips.count)
			saved += has(r, n) ? -1 : r->place[n].rank == to;
	}
	return saved;
}

/* It travels with its rows and with the halos around it: without them, its first updates there would
 * undo much. */
static void send_strip(struct rank *r, uint32_t strip, uint32_t to)
{
	struct strip *s = &r->strips.strip[strip];
	struct head *head = r->leaving.head;
	double *rows = rows_of(head);

	*head = (struct head){
		.strip = strip, .place = {s->iteration, to, 0}, .residual2 = s->residual2};
	copy_out(r, s->row, s->rows, rows);
	rows += (size_t)s->rows * r->strips.options.points;
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t n = neighbour_of(strip, side);
		if (n >= r->strips.count)
			continue;
		head->neighbour[side] =
			has(r, n) ? (struct place){r->strips.strip[n].iteration, r->number, 0}
				  : r->place[n];
		head->halo[side] =
			has(r, n) ? r->strips.strip[n].iteration : r->halo[2 * n + 1 - side];
		copy_out(r, halo_row(r, n, 1 - side), HALO_ROWS,
			rows + (size_t)side * HALO_ROWS * r->strips.options.points);
	}
	progress_remove(r->progress, strip);
	r->place[strip] = head->place;
	r->halo[2 * strip] = r->halo[2 * strip + 1] = s->iteration;
	send(r, &r->leaving, s->rows + 2 * HALO_ROWS, TAG_STRIP, to);
	r->departures++;
}

static void take_strip(struct rank *r, const struct head *head)
{
	struct strip *s = &r->strips.strip[head->strip];
	const double *rows = rows_of(head);

	copy_in(r, s->row, s->rows, rows);
	rows += (size_t)s->rows * r->strips.options.points;
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t n = neighbour_of(head->strip, side);
		if (n >= r->strips.count)
			continue;
		note_halo(r, n, 1 - side, head->halo[side],
			rows + (size_t)side * HALO_ROWS * r->strips.options.points);
		note_place(r, n, &head->neighbour[side]);
	}
	s->iteration = head->place.iteration;
	s->residual2 = head->residual2;
	if ((s->factor == NULL && !strip_factorise(s, r->strips.options.points)) ||
		progress_insert(r->progress, head->strip, 0, s->iteration) < 0)
		fail("can't take a strip");
}

/* DPLB, between two iterations: the list of progress_begin() is not used then. */
static void balance(struct rank *r)
{
	struct progress_rank *known = calloc(r->ranks, sizeof(*known));
	struct progress_rank_move move;

	if (known == NULL)
		fail("not enough memory");
	r->decisions++;
	for (uint32_t i = 0; i < r->ranks; i++)
		known[i] = r->all[i].rank;
	/* It never waits. Where to is what a record said. */
	if (progress_rank_balance(r->progress, now_ns() - r->begin_ns, known, r->ranks, &move) &&
		move.to < r->ranks && is_sent(&r->leaving))
		send_strip(r, move.subdomain, move.to);
	free(known);
}

/* ---- What comes ---- */

static void post(struct rank *r, struct message *m)
{
	MPI_Irecv(m->head, (int)r->message_bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
		MPI_COMM_WORLD, &m->request);
}

/* Messages of a rank are taken in the order in which it sent them. */
static void receive(struct rank *r)
{
	for (;;) {
		struct message *m = &r->receive[r->next];
		MPI_Status status;
		int done;

		MPI_Test(&m->request, &done, &status);
		if (!done)
			return;
		r->under_way--;
		r->next = (r->next + 1) % RECEIVES;
		if (status.MPI_TAG == TAG_HALO)
			take_halo(r, m->head);
		else
			take_strip(r, m->head);
		post(r, m);
	}
}

/* Have all told what they have? Since all know the same, all decide the same. */
static bool is_over(const struct rank *r)
{
	uint32_t strips = 0;
	double residual2 = 0;
	uint64_t most = 0;

	for (uint32_t i = 0; i < r->ranks; i++) {
		strips += r->all[i].rank.subdomains;
		residual2 += r->all[i].residual2;
		most = r->all[i].most > most ? r->all[i].most : most;
	}
	/* Without a strip that is on its way, nothing can be said. */
	return (strips == r->strips.count && strips_seem_solved(&r->strips, residual2)) ||
	       most >= r->options.problem.updates;
}

static void begin_exchange(struct rank *r)
{
	r->mine = (struct record){0};
	progress_rank_read(r->progress, &r->mine.rank);
	for (uint32_t s = 0; s < r->strips.count; s++) {
		const struct strip *strip = &r->strips.strip[s];
		if (!has(r, s))
			continue;
		r->mine.residual2 += strip->residual2;
		r->mine.most = strip->iteration > r->mine.most ? strip->iteration : r->mine.most;
	}
	MPI_Iallgather(&r->mine, sizeof(r->mine), MPI_BYTE, r->all, sizeof(r->mine), MPI_BYTE,
		MPI_COMM_WORLD, &r->exchange);
}

/* Returns whether records have come. */
static bool exchange(struct rank *r)
{
	uint64_t now = now_ns();
	int done;

	if (r->exchange == MPI_REQUEST_NULL) {
		if (now >= r->records_due_ns)
			begin_exchange(r);
		return false;
	}
	MPI_Test(&r->exchange, &done, MPI_STATUS_IGNORE);
	if (!done)
		return false;
	r->records_due_ns = now + RECORDS_NS;
	r->stops = is_over(r);
	return true;
}

/* ---- A rank ---- */

static void update(struct rank *r, uint32_t strip)
{
	struct strip *s = &r->strips.strip[strip];
	double residual2 = strip_update(&r->strips, s);

	for (uint32_t i = 1; r->number == r->options.slow_rank && i < r->options.slow_times; i++)
		strip_update(&r->strips, s);
	s->residual2 = residual2; /* what a slow CPU would have found */
	progress_update(r->progress, 0, strip, ++s->iteration, sqrt(residual2));
}

/* Until all strips of all ranks seem solved. */
static void run_once(struct rank *r)
{
	r->stops = false;
	for (uint32_t s = 0; s < r->strips.count; s++)
		r->strips.strip[s].residual2 = INFINITY;
	while (!r->stops) {
		const uint32_t *mine;
		uint32_t n = progress_begin(r->progress, 0, &mine);
		bool news = false;

		for (uint32_t i = 0; i < n && !r->stops; i++) {
			update(r, mine[i]);
			send_halos(r, mine[i]);
			receive(r);
			news = exchange(r) || news;
		}
		if (n == 0) {
			receive(r);
			news = exchange(r);
		}
		if (!news || r->stops || r->options.balance == BALANCE_NONE ||
			now_ns() < r->balance_due_ns)
			continue;
		r->balance_due_ns = now_ns() + r->options.period_ms * UINT64_C(1000000);
		balance(r);
	}
}

/* Collective: until nothing is on its way. */
static void settle(struct rank *r)
{
	int64_t mine, under_way;

	do {
		MPI_Request sum;
		int done = 0;

		receive(r);
		mine = r->under_way;
		MPI_Iallreduce(&mine, &under_way, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &sum);
		while (!done) {
			receive(r);
			MPI_Test(&sum, &done, MPI_STATUS_IGNORE);
		}
	} while (under_way != 0);
}

/* Collective: let all ranks have the newest rows of all strips, each of which exactly one must
 * have. */
static void share(struct rank *r)
{
	uint32_t points = r->strips.options.points, count = r->strips.count;
	double *rows = calloc(points, row_bytes(r));
	uint32_t *holders = calloc(2 * (size_t)count, sizeof(*holders));

	if (rows == NULL || holders == NULL)
		fail("not enough memory");
	for (uint32_t s = 0; s < count; s++) {
		const struct strip *strip = &r->strips.strip[s];
		if (!has(r, s))
			continue;
		holders[s] = 1;
		holders[count + s] = r->number;
		copy_out(r, strip->row, strip->rows, rows + (size_t)(strip->row - 1) * points);
	}
	MPI_Allreduce(
		MPI_IN_PLACE, rows, (int)(points * points), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(
		MPI_IN_PLACE, holders, (int)(2 * count), MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
	for (uint32_t s = 0; s < count; s++) {
		if (holders[s] != 1)
			fail("a strip is not on exactly one rank");
		r->place[s].rank = holders[count + s];
	}
	copy_in(r, 1, points, rows);
	free(holders);
	free(rows);
}

static uint32_t solve(struct rank *r)
{
	uint32_t rounds = 0;
	uint64_t most;

	do {
		run_once(r);
		settle(r);
		share(r);
		most = 0;
		for (uint32_t i = 0; i < r->ranks; i++)
			most = r->all[i].most > most ? r->all[i].most : most;
	} while (++rounds < STRIPS_ROUNDS_MAX && most < r->options.problem.updates &&
		 strips_residual(&r->strips) > r->options.problem.tolerance);
	return rounds;
}

/* Collective. Returns whether the result is right. */
static bool report(const struct rank *r, double elapsed_s, uint32_t rounds)
{
	const struct strips *all = &r->strips;
	double e = strips_error(all), residual = strips_residual(all);
	/* Rounding, beside what the residual explains. */
	bool verified = residual <= r->options.problem.tolerance && e <= residual + 1e-10;
	uint64_t sums[3] = {r->departures, 0, r->decisions}, ends[2] = {0, 0};
	uint32_t held = 0, *each = calloc(r->ranks, sizeof(*each));

	if (each == NULL)
		fail("not enough memory");
	for (uint32_t s = 0; s < all->count; s++) {
		uint64_t updates = all->strip[s].iteration;
		if (!has(r, s))
			continue;
		held++;
		sums[1] += updates;
		ends[0] = updates > ends[0] ? updates : ends[0];
		ends[1] = UINT64_MAX - updates > ends[1] ? UINT64_MAX - updates : ends[1];
	}
	MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
	MPI_Allgather(&held, 1, MPI_UINT32_T, each, 1, MPI_UINT32_T, MPI_COMM_WORLD);
	if (r->number == 0) {
		printf("{\"ranks\": %u, \"strips\": %u, \"points\": %u, \"lowest\": %u, "
		       "\"highest\": %u, \"balance\": \"%s\", \"elapsed_s\": %.6f, "
		       "\"updates\": %llu, \"spread\": %llu, \"decisions\": %llu, "
		       "\"moves\": %llu, \"held\": [",
			r->ranks, all->count, all->options.points, all->strip[0].rows,
			all->strip[all->count - 1].rows, balances[r->options.balance], elapsed_s,
			(unsigned long long)sums[1],
			(unsigned long long)(ends[0] - (UINT64_MAX - ends[1])),
			(unsigned long long)sums[2], (unsigned long long)sums[0]);
		for (uint32_t i = 0; i < r->ranks; i++)
			printf("%s%u", i > 0 ? ", " : "", each[i]);
		printf("], \"rounds\": %u, \"residual\": %.3e, \"error\": %.3e, "
		       "\"verified\": %s}\n",
			rounds, residual, e, verified ? "true" : "false");
		if (!verified)
			fputs("schwarz_mpi: not solved\n", stderr);
	}
	free(each);
	return verified;
}

/* ---- The beginning and the end ---- */

static struct head *allocate(size_t bytes)
{
	struct head *head = malloc(bytes);

	if (head == NULL)
		fail("not enough memory");
	return head;
}

static void open_messages(struct rank *r)
{
	uint32_t count = r->strips.count, rows = 0;
	size_t halo_bytes = sizeof(struct head) + HALO_ROWS * row_bytes(r);

	for (uint32_t s = 0; s < count; s++)
		rows = r->strips.strip[s].rows > rows ? r->strips.strip[s].rows : rows;
	r->message_bytes = sizeof(struct head) + (rows + 2 * HALO_ROWS) * row_bytes(r);
	r->show = calloc(2 * (size_t)count, sizeof(*r->show));
	if (r->show == NULL)
		fail("not enough memory");
	for (uint32_t i = 0; i < 2 * count; i++)
		r->show[i] = (struct message){MPI_REQUEST_NULL, allocate(halo_bytes)};
	for (uint32_t i = 0; i < FORWARDS; i++)
		r->forward[i] = (struct message){MPI_REQUEST_NULL, allocate(halo_bytes)};
	r->leaving = (struct message){MPI_REQUEST_NULL, allocate(r->message_bytes)};
	for (uint32_t i = 0; i < RECEIVES; i++) {
		r->receive[i].head = allocate(r->message_bytes);
		post(r, &r->receive[i]);
	}
	r->exchange = MPI_REQUEST_NULL;
}

/* All that was sent has come. */
static void close_message(struct message *m)
{
	MPI_Wait(&m->request, MPI_STATUS_IGNORE);
	free(m->head);
}

static void close_messages(struct rank *r)
{
	for (uint32_t i = 0; i < 2 * r->strips.count; i++)
		close_message(&r->show[i]);
	for (uint32_t i = 0; i < FORWARDS; i++)
		close_message(&r->forward[i]);
	close_message(&r->leaving);
	for (uint32_t i = 0; i < RECEIVES; i++) {
		MPI_Cancel(&r->receive[i].request);
		close_message(&r->receive[i]);
	}
	free(r->show);
}

static void set_up(struct rank *r)
{
	uint32_t each = r->options.problem.strips, count = r->ranks * each;
	uint32_t *owner = calloc(count, sizeof(*owner));

	r->place = calloc(count, sizeof(*r->place));
	r->halo = calloc(2 * (size_t)count, sizeof(*r->halo));
	r->all = calloc(r->ranks, sizeof(*r->all));
	if (!strips_init(&r->strips, &r->options.problem, count) || owner == NULL ||
		r->place == NULL || r->halo == NULL || r->all == NULL)
		fail("not enough memory");
	for (uint32_t s = 0; s < count; s++) {
		r->place[s].rank = s / each;
		owner[s] = r->place[s].rank == r->number ? 0 : PROGRESS_NOBODY;
		if (owner[s] == 0 &&
			!strip_factorise(&r->strips.strip[s], r->options.problem.points))
			fail("not enough memory");
	}
	const struct progress_options options = {.workers = 1,
		.subdomains = count,
		.owner = owner,
		.balancing = PROGRESS_BALANCE_NONE, /* a single worker */
		.low = 1,
		.high = 2 * each,
		.rank = (int32_t)r->number};
	const struct progress_rank_options between = {
		.period_ns = r->options.period_ms * UINT64_C(1000000),
		.random_ranks = r->options.balance == BALANCE_RANDOM ? r->ranks : 0,
		.halos_saved = halos_saved,
		.arg = r};
	if (progress_create(&options, &r->progress) < 0 ||
		progress_rank_setup(r->progress, &between) < 0 ||
		progress_register(r->progress, 0) < 0)
		fail("libprogress refused");
	free(owner);
	open_messages(r);
}

static void tear_down(struct rank *r)
{
	close_messages(r);
	progress_leave(r->progress, 0);
	progress_close(r->progress);
	strips_deinit(&r->strips);
	free(r->place);
	free(r->halo);
	free(r->all);
}

/* ---- The command ---- */

static const struct argp_option table[] = {
	{"balance", 'b', "NAME", 0,
		"Move strips between ranks: none; ranks, from those that fall behind; "
		"or random, to test it (default: ranks)",
		0},
	{"period", 'i', "MS", 0,
		"Milliseconds between balancing points of a rank, 5 to 60000 (default: 500)", 0},
	{"slow", 'S', "RANK:N", 0,
		"That rank does each update N times, 1 to 100, as if its CPU were that slow", 0},
	{0},
};

static const char doc[] =
	"Solve Poisson's equation on strips of unequal work, without ever waiting, and move strips "
	"between the ranks of an MPI program as libprogress says.\v"
	"Rank 0 prints a JSON object: elapsed_s is the time to solution, after all preparations; "
	"decisions is how many balancing points there were, of all ranks; "
	"held is how many strips each rank has at the end; verified says whether residual "
	"and error are what they must be.\n\n"
	"Exit status: 0, 1 when the run failed or its result is wrong, 2 when the command line is "
	"wrong.";

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *times;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->problem;
		return 0;
	case 'b':
		o->balance = strips_read_name(
			state, arg, balances, sizeof(balances) / sizeof(*balances));
		return 0;
	case 'i':
		o->period_ms = strips_read_count(state, arg, PERIOD_MIN_MS, 60000);
		return 0;
	case 'S':
		times = strchr(arg, ':');
		if (times == NULL)
			argp_error(state, "'%s' is not RANK:N", arg);
		*times++ = '\0';
		o->slow_rank = strips_read_count(state, arg, 0, UINT32_MAX);
		o->slow_times = strips_read_count(state, times, 1, 100);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Before MPI_Init(): --help and mistakes need no other ranks. */
static void read_command_line(int argc, char **argv, struct options *options)
{
	const struct argp_child children[] = {{&strips_argp, 0, NULL, 0}, {0}};
	const struct argp argp = {
		.options = table, .parser = read_option, .doc = doc, .children = children};

	argp_err_exit_status = 2;
	*options = (struct options){.balance = BALANCE_RANKS, .period_ms = 500};
	argp_parse(&argp, argc, argv, 0, NULL, options);
}

/* What can be checked only when it is known how many ranks there are; rank 0 tells what is wrong. */
static bool fits(const struct rank *r)
{
	const struct options *o = &r->options;
	bool strips = strips_fit(&o->problem, r->ranks * o->problem.strips, HALO_ROWS);
	bool slow = o->slow_times == 0 || o->slow_rank < r->ranks;

	if (r->number == 0 && !strips)
		fputs("schwarz_mpi: too many strips: give more --points, or a smaller --ratio\n",
			stderr);
	else if (r->number == 0 && !slow)
		fprintf(stderr, "schwarz_mpi: --slow: there is no rank %u\n", o->slow_rank);
	return strips && slow;
}

int main(int argc, char **argv)
{
	struct rank r = {0};
	int number, ranks;

	read_command_line(argc, argv, &r.options);
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &number);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	r.number = (uint32_t)number;
	r.ranks = (uint32_t)ranks;
	if (!fits(&r)) {
		MPI_Finalize();
		return 2;
	}
	set_up(&r);
	MPI_Barrier(MPI_COMM_WORLD);
	r.begin_ns = now_ns();
	r.balance_due_ns = r.begin_ns + r.options.period_ms * UINT64_C(1000000);
	uint32_t rounds = solve(&r);
	bool right = report(&r, (double)(now_ns() - r.begin_ns) * 1e-9, rounds);
	tear_down(&r);
	MPI_Finalize();
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
