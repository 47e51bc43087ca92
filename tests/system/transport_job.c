// SPDX-License-Identifier: MIT
/*
 * A job for the tests of the ranks' network. Every rank does at once, from several threads that
 * take turns, what jacobi does with it: writes to its window and reads others', sends messages of
 * all sizes to all, and votes. All that is read, received or counted can be told from the numbers
 * alone.
 *
 *     transport-job check ROUNDS [SLOW]  ROUNDS per thread; rank SLOW looks at the network rarely
 *     transport-job pump                 nothing but looks at the network, until it is killed
 *     transport-job abort STATUS         the last rank ends all, the others wait for it
 *
 * Each rank says who it is when it has joined, rank 0 the verdict of all in the end. Exit status 0,
 * 1 for what was wrong, 3 when there is nothing to join.
 */
#include "apps/jacobi/ranks/transport.h"

#include "tests/unit/random.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 3,
	SLOTS = 4 * THREADS, /* of each rank's window, which its threads write in turn */
	WORDS = 1024, /* of a slot */
	GETS = 24, /* of a thread, under way at once */
	LIFE_S = 60, /* of a rank: whatever hangs ends, and fails */
	VALUES = 64, /* of the longest vote */
};

struct slot {
	_Atomic uint64_t words[WORDS];
};

struct get {
	int ticket; /* -1: not under way */
	uint32_t rank, slot, first, words;
	uint32_t least; /* at least so often the words had been written */
	uint64_t data[WORDS];
};

struct job {
	struct transport *t;
	uint32_t rank, ranks;
	uint64_t rounds;
	bool slow;
	struct slot *window;
	pthread_mutex_t lock;

	/* Protected by the lock. */
	uint64_t wrong;
	uint64_t gets, messages, votes;
	uint64_t *sent, *received; /* by rank */
	bool voting;
	uint32_t *newest; /* by rank and slot: the newest value that was read */
};

struct worker {
	struct job *job;
	uint32_t number;
	pthread_t thread;
	uint64_t seed;
	uint64_t round;
	struct get gets[GETS];
};

__attribute__((format(printf, 2, 3))) static void wrong(struct job *job, const char *format, ...)
{
	va_list arguments;

	if (job->wrong++ > 4)
		return;
	flockfile(stderr);
	fprintf(stderr, "transport-job: rank %" PRIu32 ": ", job->rank);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	funlockfile(stderr);
}

/* A word says where it belongs and how often it was written. */
static uint64_t word_of(uint32_t rank, uint32_t slot, uint32_t index, uint32_t writes)
{
	return (uint64_t)rank << 56 | (uint64_t)slot << 48 | (uint64_t)index << 32 | writes;
}

/* Write the words in order, so that a reader of one knows what to expect of the others. */
static void write_slot(struct job *job, uint32_t slot, uint32_t writes)
{
	for (uint32_t i = 0; i < WORDS; i++)
		atomic_store_explicit(&job->window[slot].words[i],
			word_of(job->rank, slot, i, writes), memory_order_release);
}

/* --- gets -------------------------------------------------------------------------------- */

static bool start_get(struct job *job, struct get *get)
{
	uint32_t newest = job->newest[get->rank * SLOTS + get->slot];

	get->least = newest ? newest - 1 : 0;
	memset(get->data, 0xff, sizeof(get->data));
	get->ticket = transport_get(job->t, get->rank,
		get->slot * sizeof(struct slot) + get->first * sizeof(uint64_t),
		get->words * sizeof(uint64_t), get->data);
	return get->ticket >= 0;
}

static bool finish_get(struct job *job, struct get *get)
{
	uint32_t *newest = &job->newest[get->rank * SLOTS + get->slot];

	if (!transport_done(job->t, get->ticket))
		return false;
	get->ticket = -1;
	job->gets++;
	for (uint32_t i = 0; i < WORDS; i++) {
		uint32_t writes = (uint32_t)get->data[i];
		bool asked = i < get->words;
		uint64_t right =
			asked ? word_of(get->rank, get->slot, get->first + i, writes) : UINT64_MAX;

		if (get->data[i] != right ||
			(asked && (writes < get->least || writes > job->rounds))) {
			wrong(job,
				"slot %" PRIu32 " of rank %" PRIu32 ": %" PRIx64 " in word %" PRIu32
				" of a get of %" PRIu32 " words from %" PRIu32 ", written %" PRIu32
				" times at least",
				get->slot, get->rank, get->data[i], i, get->words, get->first,
				get->least);
			break;
		}
		if (asked && writes > *newest)
			*newest = writes;
	}
	return true;
}

static void random_gets(struct worker *worker)
{
	struct job *job = worker->job;

	for (int i = 0; i < GETS; i++) {
		struct get *get = &worker->gets[i];

		if (get->ticket >= 0 && !finish_get(job, get))
			continue;
		get->rank = (uint32_t)random_int(&worker->seed, 0, job->ranks - 1);
		get->slot = (uint32_t)random_int(&worker->seed, 0, SLOTS - 1);
		get->words = (uint32_t)random_int(&worker->seed, 0, WORDS);
		get->first = (uint32_t)random_int(&worker->seed, 0, WORDS - get->words);
		if (!start_get(job, get))
			wrong(job, "no get of %d", GETS * THREADS);
	}
}

static void end_gets(struct worker *worker)
{
	for (int i = 0; i < GETS; i++) {
		while (worker->gets[i].ticket >= 0 && !finish_get(worker->job, &worker->gets[i]))
			transport_poll(worker->job->t);
	}
}

/* As many gets as possible, and no more; each slot as it was when all had met. */
static void all_gets(struct job *job, uint32_t writes)
{
	struct get *gets = calloc(TRANSPORT_GETS_MAX + 1, sizeof(*gets));
	uint32_t slot = 0;

	if (!gets)
		abort();
	for (int i = 0; i <= TRANSPORT_GETS_MAX; i++) {
		gets[i].rank = slot / SLOTS % job->ranks;
		gets[i].slot = slot++ % SLOTS;
		gets[i].words = WORDS;
		if (start_get(job, &gets[i]) != (i < TRANSPORT_GETS_MAX))
			wrong(job, "get %d: ticket %d", i, gets[i].ticket);
		if (i < TRANSPORT_GETS_MAX)
			gets[i].least = writes;
	}
	if (gets[TRANSPORT_GETS_MAX].ticket != -EAGAIN)
		wrong(job, "one get too many: %d", gets[TRANSPORT_GETS_MAX].ticket);
	for (int i = 0; i < TRANSPORT_GETS_MAX; i++)
		while (gets[i].ticket >= 0 && !finish_get(job, &gets[i]))
			transport_poll(job->t);
	free(gets);
}

/* --- messages ---------------------------------------------------------------------------- */

/* The nth message from one rank to another. */
static size_t message_bytes(uint32_t from, uint32_t to, uint64_t n)
{
	uint64_t seed = n << 32 | from << 16 | to;
	uint64_t which = random_word(&seed) % 64;

	if (which < 8)
		return 0;
	return random_word(&seed) % (which == 63 ? 3 << 20 : which > 56 ? 100000 : 500);
}

static void send_message(struct job *job, uint32_t to)
{
	uint64_t n = job->sent[to]++, seed = n << 32 | job->rank << 16 | to;
	size_t bytes = message_bytes(job->rank, to, n);
	uint8_t *data = bytes ? malloc(bytes) : NULL;

	if (bytes && !data)
		abort();
	uint8_t first = (uint8_t)random_word(&seed);
	for (size_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(first + i * 7 + (i >> 8));
	transport_send(job->t, to, (uint32_t)(n % 1024), data, bytes);
}

static void receive_messages(struct job *job)
{
	struct transport_message message;

	while (transport_receive(job->t, &message)) {
		if (message.from >= job->ranks) {
			wrong(job, "message from rank %" PRIu32, message.from);
			free(message.data);
			continue;
		}
		uint64_t n = job->received[message.from]++;
		uint64_t seed = n << 32 | message.from << 16 | job->rank;
		uint8_t first = (uint8_t)random_word(&seed);
		const uint8_t *data = message.data;

		job->messages++;
		if (message.kind != n % 1024 ||
			message.bytes != message_bytes(message.from, job->rank, n))
			wrong(job,
				"message %" PRIu64 " from rank %" PRIu32 ": kind %" PRIu32
				", %zu bytes",
				n, message.from, message.kind, message.bytes);
		for (size_t i = 0; i < message.bytes; i++) {
			if (data[i] == (uint8_t)(first + i * 7 + (i >> 8)))
				continue;
			wrong(job, "message %" PRIu64 " from rank %" PRIu32 ": byte %zu of %zu", n,
				message.from, i, message.bytes);
			break;
		}
		free(message.data);
	}
}

static bool messages_left(const struct job *job)
{
	if (!transport_sent(job->t))
		return true;
	for (uint32_t i = 0; i < job->ranks; i++)
		if (job->received[i] < job->rounds * THREADS)
			return true;
	return false;
}

/* --- votes ------------------------------------------------------------------------------- */

/* Vote v: small whole numbers, whose sums are exact, except those of 64 bits, whose sums wrap. */
static void vote(struct job *job)
{
	uint64_t v = job->votes;
	uint32_t operation = (uint32_t)(v % 3);
	size_t n = 1 + v * 7 % VALUES;
	uint64_t words[VALUES], words_right[VALUES];
	double values[VALUES], values_right[VALUES];

	for (size_t i = 0; i < n; i++) {
		double most = 0, sum = 0;
		uint64_t add = 0;
		for (uint32_t rank = 0; rank < job->ranks; rank++) {
			uint64_t seed = v << 32 | rank << 16 | i;
			uint64_t word = random_word(&seed);
			double value = (double)(word % 1000) - 500;

			sum += value;
			most = rank == 0 || value > most ? value : most;
			add += word;
			if (rank == job->rank) {
				words[i] = word;
				values[i] = value;
			}
		}
		words_right[i] = add;
		values_right[i] = operation == TRANSPORT_MAX ? most : sum;
	}
	void *mine = operation == TRANSPORT_ADD ? (void *)words : (void *)values;
	void *right = operation == TRANSPORT_ADD ? (void *)words_right : (void *)values_right;
	if (!job->voting) {
		transport_vote(job->t, operation, mine, n);
		memset(mine, 0xff, n * sizeof(uint64_t)); /* copied at the call */
		job->voting = true;
		return;
	}
	if (!transport_voted(job->t, mine))
		return;
	if (memcmp(mine, right, n * sizeof(uint64_t)) != 0)
		wrong(job, "vote %" PRIu64 " of %zu values", v, n);
	job->voting = false;
	job->votes++;
}

/* All ranks meet, and keep polling the network until all are here. */
static uint64_t meet(struct job *job, uint64_t value)
{
	transport_vote(job->t, TRANSPORT_ADD, &value, 1);
	do
		transport_poll(job->t);
	while (!transport_voted(job->t, &value));
	return value;
}

/* --- all of it --------------------------------------------------------------------------- */

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct job *job = worker->job;

	for (uint64_t round = 1; round <= job->rounds; round++) {
		for (uint32_t slot = worker->number; slot < SLOTS; slot += THREADS)
			write_slot(job, slot, (uint32_t)round);
		if (job->slow)
			nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
		pthread_mutex_lock(&job->lock);
		transport_poll(job->t);
		receive_messages(job);
		random_gets(worker);
		for (uint32_t to = 0; to < job->ranks; to++)
			send_message(job, to);
		if (job->votes < job->rounds)
			vote(job);
		pthread_mutex_unlock(&job->lock);
	}
	pthread_mutex_lock(&job->lock);
	end_gets(worker);
	pthread_mutex_unlock(&job->lock);
	return NULL;
}

static void check_window(struct job *job)
{
	const uint8_t *bytes = (const uint8_t *)job->window;

	if ((uintptr_t)job->window % 64)
		wrong(job, "window at %p", (void *)job->window);
	for (size_t i = 0; i < SLOTS * sizeof(struct slot); i++) {
		if (bytes[i]) {
			wrong(job, "window is not empty");
			break;
		}
	}
	meet(job, 0);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		write_slot(job, slot, 0);
}

static int check(struct job *job)
{
	struct worker *workers = calloc(THREADS, sizeof(*workers));
	void *memory;

	job->sent = calloc(job->ranks, sizeof(*job->sent));
	job->received = calloc(job->ranks, sizeof(*job->received));
	job->newest = calloc((size_t)job->ranks * SLOTS, sizeof(*job->newest));
	if (transport_window(job->t, SIZE_MAX, &memory) != -ENOMEM ||
		transport_window(job->t, SIZE_MAX / 4, &memory) != -ENOMEM)
		wrong(job, "a window larger than any memory");
	if (!workers || !job->sent || !job->received || !job->newest ||
		transport_window(job->t, SLOTS * sizeof(struct slot), &memory) < 0)
		abort();
	job->window = memory;
	check_window(job);
	meet(job, 0);
	all_gets(job, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i].job = job;
		workers[i].number = i;
		workers[i].seed = job->rank * THREADS + i;
		for (int j = 0; j < GETS; j++)
			workers[i].gets[j].ticket = -1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	while (job->votes < job->rounds || messages_left(job)) {
		transport_poll(job->t);
		receive_messages(job);
		if (job->votes < job->rounds)
			vote(job);
	}
	meet(job, 0);
	all_gets(job, (uint32_t)job->rounds);

	uint64_t all = meet(job, job->wrong);
	if (job->rank == 0)
		printf("transport-job: %s: %" PRIu64 " gets, %" PRIu64 " messages, %" PRIu64
		       " votes at rank 0, %" PRIu64 " wrong at all\n",
			transport_library(job->t), job->gets, job->messages, job->votes, all);
	/* Messages that nobody receives must not prevent closing. */
	for (uint32_t to = 0; to < job->ranks; to++)
		transport_send(job->t, to, 0, calloc(1, 100000), 100000);
	free(workers);
	free(job->sent);
	free(job->received);
	free(job->newest);
	return all ? 1 : 0;
}

_Noreturn static void pump(struct job *job)
{
	const uint64_t one = 1;
	uint64_t all;

	transport_vote(job->t, TRANSPORT_ADD, &one, 1);
	for (;;) {
		transport_poll(job->t);
		if (transport_voted(job->t, &all))
			transport_vote(job->t, TRANSPORT_ADD, &one, 1);
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
}

int main(int argc, char **argv)
{
	struct job job = {.lock = PTHREAD_MUTEX_INITIALIZER};
	const char *what = argc > 1 ? argv[1] : "";
	const char *number = argc > 2 ? argv[2] : "1";

	uint32_t expected = transport_expected();

	alarm(LIFE_S);
	setvbuf(stdout, NULL, _IOLBF, 0);
	int status = transport_open(&job.t);
	if (status < 0) {
		fprintf(stderr, "transport-job: %s, %s\n", strerror(-status),
			expected != 1 ? "wanted" : "not wanted");
		return 3;
	}
	job.rank = transport_rank(job.t);
	job.ranks = transport_ranks(job.t);
	printf("transport-job: rank %" PRIu32 " of %" PRIu32 " on %s, there %" PRIu32
	       ", expected %" PRIu32 ", process %d\n",
		job.rank, job.ranks, transport_host(job.t), transport_local_rank(job.t), expected,
		(int)getpid());
	if (strcmp(what, "pump") == 0)
		pump(&job);
	if (strcmp(what, "abort") == 0) {
		if (job.rank == job.ranks - 1)
			transport_abort(job.t, atoi(number));
		pump(&job);
	}
	job.rounds = strtoul(number, NULL, 10);
	job.slow = argc > 3 && strtoul(argv[3], NULL, 10) == job.rank;
	status = check(&job);
	transport_close(job.t);
	return status;
}
