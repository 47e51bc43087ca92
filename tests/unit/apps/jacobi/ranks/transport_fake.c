/* SPDX-License-Identifier: MIT */
/*
 * Ranks in one process; see transport_fake.h.
 */
#undef NDEBUG
#include "tests/unit/apps/jacobi/ranks/transport_fake.h"

#include "tests/unit/random.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLLS_MAX 100000 /* of a rank; with more, something hangs */
#define VOTE_VALUES 64
#define LINE 64
#define TICK_NS 50000 /* at most this passes between two readings of the clock */

struct get {
	enum { GET_FREE, GET_BEGUN, GET_HALF, GET_COPIED, GET_DONE } state;
	uint32_t reader, owner;
	bool by_owner; /* whose polls advance it */
	bool tail_first;
	size_t offset, bytes, split;
	char *to;
	uint32_t left; /* polls */
};

struct message {
	struct transport_message message;
	uint64_t due; /* polls of the receiver */
	struct message *next;
};

struct vote {
	enum transport_operation operation;
	size_t n;
	uint32_t joined;
	union {
		double number;
		uint64_t word;
	} values[VOTE_VALUES];
};

struct transport {
	struct fake *fake;
	uint32_t rank;
	atomic_flag entered; /* one thread at a time */
	void *window;
	size_t window_bytes;
	struct get gets[TRANSPORT_GETS_MAX];
	uint32_t gets_used; /* the most so far */
	struct message *first, **last; /* to this rank */
	uint64_t polls, sent; /* sent: when the last one was sent, in polls */
	uint64_t votes_begun, votes_done;
	uint64_t vote_due; /* polls; 0: not all have begun */
	/* In a run: */
	pthread_t thread;
	pthread_cond_t turn;
	bool over;
	void (*body)(struct transport *t, void *arg);
	void *arg;
};

struct fake {
	struct fake_options options;
	uint64_t random;
	uint64_t now_ns;
	struct transport *transports;
	struct vote votes[2]; /* the next may begin before all know the result of the last */
	pthread_mutex_t lock; /* protects this and the transports */
	bool runs;
	uint32_t runner;
};

/* The rank that this thread is, in a run. */
static _Thread_local struct transport *self;

_Noreturn void fake_fail(const struct fake *fake, const char *what)
{
	fprintf(stderr, "seed %" PRIu64 ", rank %d: %s\n", fake->options.seed,
		self ? (int)self->rank : -1, what);
	fflush(NULL);
	_exit(1);
}

uint32_t fake_any(struct fake *fake, uint32_t most)
{
	return (uint32_t)random_int(&fake->random, 0, most);
}

static void enter(struct transport *t)
{
	if (atomic_flag_test_and_set(&t->entered))
		fake_fail(t->fake, "two threads are in one transport");
	pthread_mutex_lock(&t->fake->lock);
}

static void leave(struct transport *t)
{
	pthread_mutex_unlock(&t->fake->lock);
	atomic_flag_clear(&t->entered);
}

struct fake *fake_new(const struct fake_options *options)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	assert(fake);
	fake->options = *options;
	fake->random = options->seed;
	fake->now_ns = 1000000000;
	fake->transports = calloc(options->ranks, sizeof(*fake->transports));
	assert(fake->transports);
	pthread_mutex_init(&fake->lock, NULL);
	for (uint32_t rank = 0; rank < options->ranks; rank++) {
		struct transport *t = &fake->transports[rank];

		t->fake = fake;
		t->rank = rank;
		t->last = &t->first;
		atomic_flag_clear(&t->entered);
		pthread_cond_init(&t->turn, NULL);
	}
	return fake;
}

void fake_free(struct fake *fake)
{
	for (uint32_t rank = 0; rank < fake->options.ranks; rank++) {
		struct transport *t = &fake->transports[rank];

		for (uint32_t i = 0; i < t->gets_used; i++)
			if (t->gets[i].state != GET_FREE)
				fake_fail(fake, "a get is still under way");
		while (t->first) {
			struct message *next = t->first->next;

			free(t->first->message.data);
			free(t->first);
			t->first = next;
		}
		free(t->window);
		pthread_cond_destroy(&t->turn);
	}
	pthread_mutex_destroy(&fake->lock);
	free(fake->transports);
	free(fake);
}

struct transport *fake_transport(struct fake *fake, uint32_t rank)
{
	return &fake->transports[rank];
}

void *fake_window(const struct fake *fake, uint32_t rank)
{
	return fake->transports[rank].window;
}

void fake_messages(const struct fake *fake,
	void (*look)(const struct transport_message *message, void *arg), void *arg)
{
	for (uint32_t rank = 0; rank < fake->options.ranks; rank++)
		for (const struct message *m = fake->transports[rank].first; m; m = m->next)
			look(&m->message, arg);
}

/* ---- Turns and time ---- */

/* Call with the lock held. */
static void pass(struct transport *t)
{
	struct fake *fake = t->fake;
	uint32_t next = fake->runner, left = 0;

	for (uint32_t rank = 0; rank < fake->options.ranks; rank++)
		left += !fake->transports[rank].over;
	if (left == 0)
		return;
	/* Some run for a while, while others stand still. */
	if (t->over || fake_any(fake, 1) == 0)
		do
			next = fake_any(fake, fake->options.ranks - 1);
		while (fake->transports[next].over);
	fake->runner = next;
	if (next != t->rank)
		pthread_cond_signal(&fake->transports[next].turn);
	while (!t->over && fake->runner != t->rank)
		pthread_cond_wait(&t->turn, &fake->lock);
}

static void *thread_main(void *arg)
{
	struct transport *t = arg;

	if (t->fake->options.parallel) {
		t->body(t, t->arg);
		return NULL;
	}
	self = t;
	pthread_mutex_lock(&t->fake->lock);
	while (t->fake->runner != t->rank)
		pthread_cond_wait(&t->turn, &t->fake->lock);
	pthread_mutex_unlock(&t->fake->lock);
	t->body(t, t->arg);
	pthread_mutex_lock(&t->fake->lock);
	t->over = true;
	pass(t);
	pthread_mutex_unlock(&t->fake->lock);
	return NULL;
}

void fake_run(struct fake *fake, void (*body)(struct transport *t, void *arg), void *arg)
{
	pthread_attr_t attributes;
	cpu_set_t cpu;

	pthread_attr_init(&attributes);
	if (!fake->options.parallel) {
		/* One CPU is enough, as one thread runs at a time: passing the turn is faster
		 * then. */
		CPU_ZERO(&cpu);
		CPU_SET(sched_getcpu(), &cpu);
		pthread_attr_setaffinity_np(&attributes, sizeof(cpu), &cpu);
	}
	fake->runs = true;
	fake->runner = fake_any(fake, fake->options.ranks - 1);
	for (uint32_t rank = 0; rank < fake->options.ranks; rank++) {
		fake->transports[rank].body = body;
		fake->transports[rank].arg = arg;
		fake->transports[rank].over = false;
	}
	for (uint32_t rank = 0; rank < fake->options.ranks; rank++)
		if (pthread_create(&fake->transports[rank].thread, &attributes, thread_main,
			    &fake->transports[rank]) != 0)
			fake_fail(fake, "a thread could not be started");
	for (uint32_t rank = 0; rank < fake->options.ranks; rank++)
		pthread_join(fake->transports[rank].thread, NULL);
	fake->runs = false;
	pthread_attr_destroy(&attributes);
}

/* The linker puts this in place of clock_gettime(2). */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!self)
		return __real_clock_gettime(clock, now);
	struct fake *fake = self->fake;

	fake->now_ns += fake_any(fake, TICK_NS);
	now->tv_sec = (time_t)(fake->now_ns / 1000000000);
	now->tv_nsec = (long)(fake->now_ns % 1000000000);
	return 0;
}

/* ---- Windows ---- */

uint32_t transport_rank(const struct transport *t)
{
	return t->rank;
}

uint32_t transport_ranks(const struct transport *t)
{
	return t->fake->options.ranks;
}

const char *transport_host(const struct transport *t)
{
	(void)t;
	return "fake";
}

void transport_abort(struct transport *t, int status)
{
	(void)status;
	fake_fail(t->fake, "the job was ended");
}

static bool all_have_windows(struct transport *t)
{
	bool all = true;

	enter(t);
	for (uint32_t rank = 0; rank < t->fake->options.ranks; rank++)
		all = all && t->fake->transports[rank].window;
	leave(t);
	return all;
}

int transport_window(struct transport *t, size_t bytes, void **memory)
{
	bytes = (bytes + LINE - 1) / LINE * LINE;
	enter(t);
	assert(!t->window);
	t->window = aligned_alloc(LINE, bytes);
	assert(t->window);
	memset(t->window, 0, bytes);
	t->window_bytes = bytes;
	*memory = t->window;
	leave(t);
	/* Outside a run one thread plays all ranks, and opens them one after the other. */
	while (t->fake->runs && !all_have_windows(t))
		transport_poll(t);
	return 0;
}

int transport_get(struct transport *t, uint32_t rank, size_t offset, size_t bytes, void *to)
{
	struct fake *fake = t->fake;
	int ticket = 0;

	enter(t);
	while (ticket < TRANSPORT_GETS_MAX && t->gets[ticket].state != GET_FREE)
		ticket++;
	if (ticket == TRANSPORT_GETS_MAX || (fake->options.busy && fake_any(fake, 2) == 0)) {
		leave(t);
		return -EAGAIN;
	}
	if (rank >= fake->options.ranks || offset + bytes > t->window_bytes || bytes == 0)
		fake_fail(fake, "a get of what isn't there");
	if ((uint32_t)ticket >= t->gets_used)
		t->gets_used = (uint32_t)ticket + 1;
	t->gets[ticket] = (struct get){
		.state = GET_BEGUN,
		.reader = t->rank,
		.owner = rank,
		.by_owner = fake->options.server == FAKE_OWNER ||
			    (fake->options.server == FAKE_ANYBODY && fake_any(fake, 1)),
		.tail_first = fake_any(fake, 1),
		.offset = offset,
		.bytes = bytes,
		.split = fake->options.torn ? fake_any(fake, (uint32_t)(bytes / 8)) * 8 : bytes,
		.to = to,
		.left = fake_any(fake, fake->options.delay),
	};
	/* Overwrite what was there before, in case somebody looks too early. */
	memset(to, 0xee, bytes);
	leave(t);
	return ticket;
}

bool transport_done(struct transport *t, int ticket)
{
	enter(t);
	if (ticket < 0 || (uint32_t)ticket >= t->gets_used || t->gets[ticket].state == GET_FREE)
		fake_fail(t->fake, "a ticket that is no more");
	bool done = t->gets[ticket].state == GET_DONE;
	if (done)
		t->gets[ticket].state = GET_FREE;
	leave(t);
	return done;
}

static void copy(const struct get *get, const char *window, bool tail)
{
	if (tail)
		memcpy(get->to + get->split, window + get->offset + get->split,
			get->bytes - get->split);
	else
		memcpy(get->to, window + get->offset, get->split);
}

static void advance(struct fake *fake, struct get *get)
{
	const char *window = fake->transports[get->owner].window;

	while (get->state != GET_DONE && get->left == 0) {
		if (get->state == GET_BEGUN)
			copy(get, window, get->tail_first);
		else if (get->state == GET_HALF)
			copy(get, window, !get->tail_first);
		get->state++;
		get->left = fake_any(fake, fake->options.delay);
	}
	if (get->left > 0)
		get->left--;
}

void transport_poll(struct transport *t)
{
	struct fake *fake = t->fake;

	enter(t);
	if (++t->polls > POLLS_MAX && !fake->options.parallel)
		fake_fail(fake, "it hangs");
	for (uint32_t rank = 0; rank < fake->options.ranks; rank++) {
		struct transport *reader = &fake->transports[rank];

		for (uint32_t i = 0; i < reader->gets_used; i++) {
			struct get *get = &reader->gets[i];

			if (get->state != GET_FREE && get->state != GET_DONE &&
				(get->by_owner ? get->owner : get->reader) == t->rank)
				advance(fake, get);
		}
	}
	if (fake->runs && !fake->options.parallel)
		pass(t);
	leave(t);
}

/* ---- Messages ---- */

void transport_send(struct transport *t, uint32_t rank, uint32_t kind, void *data, size_t bytes)
{
	struct transport *to = &t->fake->transports[rank];
	struct message *message = malloc(sizeof(*message));

	assert(message && rank < t->fake->options.ranks);
	enter(t);
	*message = (struct message){
		.message = {.from = t->rank, .kind = kind, .bytes = bytes, .data = data},
		.due = to->polls + fake_any(t->fake, t->fake->options.delay),
	};
	*to->last = message;
	to->last = &message->next;
	t->sent = t->polls;
	leave(t);
}

/* Messages of one sender arrive in order; those of different senders in any. */
bool transport_receive(struct transport *t, struct transport_message *out)
{
	struct message **best = NULL;
	uint64_t seen = 0; /* bits */
	uint32_t choices = 0;

	enter(t);
	assert(t->fake->options.ranks <= 64);
	for (struct message **at = &t->first; *at; at = &(*at)->next) {
		uint64_t bit = UINT64_C(1) << (*at)->message.from;

		if (!(seen & bit) && (*at)->due <= t->polls && fake_any(t->fake, choices++) == 0)
			best = at;
		seen |= bit;
	}
	if (best) {
		struct message *message = *best;

		*out = message->message;
		*best = message->next;
		if (t->last == &message->next)
			t->last = best;
		free(message);
	}
	leave(t);
	return best;
}

bool transport_sent(const struct transport *t)
{
	return t->polls > t->sent + t->fake->options.delay;
}

/* ---- Votes ---- */

void transport_vote(
	struct transport *t, enum transport_operation operation, const void *values, size_t n)
{
	struct vote *vote = &t->fake->votes[t->votes_begun % 2];

	enter(t);
	if (t->votes_begun != t->votes_done || n > VOTE_VALUES)
		fake_fail(t->fake, "two votes at once, or too many values");
	if (vote->joined == t->fake->options.ranks)
		memset(vote, 0, sizeof(*vote));
	if (vote->joined++ == 0) {
		vote->operation = operation;
		vote->n = n;
		memcpy(vote->values, values, n * 8);
	} else {
		if (vote->operation != operation || vote->n != n)
			fake_fail(t->fake, "ranks vote on different things");
		for (size_t i = 0; i < n; i++) {
			double number;
			uint64_t word;

			memcpy(&number, (const char *)values + i * 8, 8);
			memcpy(&word, (const char *)values + i * 8, 8);
			if (operation == TRANSPORT_ADD)
				vote->values[i].word += word;
			else if (operation == TRANSPORT_SUM)
				vote->values[i].number += number;
			else if (number > vote->values[i].number)
				vote->values[i].number = number;
		}
	}
	t->votes_begun++;
	t->vote_due = 0;
	leave(t);
}

bool transport_voted(struct transport *t, void *values)
{
	const struct vote *vote = &t->fake->votes[t->votes_done % 2];
	bool done = false;

	enter(t);
	if (t->votes_begun == t->votes_done)
		fake_fail(t->fake, "no vote was begun");
	if (vote->joined == t->fake->options.ranks) {
		if (t->vote_due == 0)
			t->vote_due = t->polls + 1 + fake_any(t->fake, t->fake->options.delay);
		done = t->polls >= t->vote_due;
	}
	if (done) {
		memcpy(values, vote->values, vote->n * 8);
		t->votes_done++;
	}
	leave(t);
	return done;
}
