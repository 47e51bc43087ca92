/* SPDX-License-Identifier: MIT */
#include "libprogress/reader/reader_fd.h"

#include "libprogress/point.h"
#include "libprogress/progress.h"
#include "libprogress/reader/segment_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 128u /* records read by one call */
#define TRIES 4 /* reads of a record that is being written; a write takes nanoseconds */

const struct segment_file_kind progress_reader_files = {
	"progress", SEGMENT_MAGIC, offsetof(struct segment_header, pid)};

struct progress_reader {
	int fd;
	bool writable;
	struct progress_info info;
	uint64_t claim; /* ours; 0: none */
	struct point point; /* only if writable */
	struct segment_worker worker[BATCH];
	/* Read one after the other. A record whose sequence is the same in `first` and `last` is
	 * whole in `subdomain`. */
	struct segment_subdomain first[BATCH], subdomain[BATCH], last[BATCH];
};

/* The fields of the header that the balancer writes, from `claim` on. */
struct balancer_words {
	uint64_t claim, beat_ns, points, moves;
};

static_assert(offsetof(struct segment_header, moves) - offsetof(struct segment_header, claim) ==
		      offsetof(struct balancer_words, moves),
	"layout");

/* Returns 0, -EBADMSG when the file is too short, or an error of pwrite(2). */
static int write_at(int fd, const void *buffer, size_t bytes, uint64_t offset)
{
	ssize_t n;

	do {
		n = pwrite(fd, buffer, bytes, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == bytes ? 0 : -EBADMSG;
}

static int check_header(const struct segment_header *h, uint64_t size_bytes, uint32_t *version)
{
	if (h->magic == 0)
		return -EAGAIN;
	if (h->magic != SEGMENT_MAGIC)
		return -EBADMSG;
	if (version != NULL)
		*version = h->version;
	if (h->version < SEGMENT_VERSION_MIN || h->version > SEGMENT_VERSION)
		return -EPROTO;
	if (atomic_load_explicit(&h->state, memory_order_relaxed) == SEGMENT_NEW)
		return -EAGAIN;
	if (h->header_bytes != sizeof *h || h->worker_bytes != sizeof(struct segment_worker) ||
		h->subdomain_bytes != sizeof(struct segment_subdomain) || h->workers < 1 ||
		h->workers > PROGRESS_WORKERS_MAX || h->subdomains < 1 ||
		h->subdomains > PROGRESS_SUBDOMAINS_MAX ||
		h->size_bytes != segment_size(h->workers, h->subdomains) ||
		size_bytes < h->size_bytes || h->balancing < PROGRESS_BALANCE_NONE ||
		h->balancing > PROGRESS_BALANCE_HYBRID || h->pairs < 1 ||
		h->pairs > PROGRESS_PAIRS_MAX || h->hybrid_every < 1 || h->period_ns < 1)
		return -EBADMSG;
	return 0;
}

static int set_up(struct progress_reader *r, pid_t pid, uid_t uid, uint32_t *version)
{
	struct segment_header h;
	uint64_t size_bytes = 0;
	int error = segment_file_check(r->fd, uid, &size_bytes);

	if (error == 0 && size_bytes == 0)
		error = -EAGAIN;
	if (error == 0)
		error = segment_file_read(r->fd, &h, sizeof h, 0);
	if (error == 0)
		error = check_header(&h, size_bytes, version);
	if (error == 0 && h.pid != (uint32_t)pid)
		error = -EPERM;
	if (error != 0)
		return error;
	r->info = (struct progress_info){
		.pid = h.pid,
		.rank = h.rank,
		.workers = h.workers,
		.subdomains = h.subdomains,
		.balancing = h.balancing,
		.pairs = h.pairs,
		.low = h.low,
		.high = h.high,
		.hybrid_every = h.hybrid_every,
		.period_ns = h.period_ns,
		.created_ns = h.created_ns,
	};
	return r->writable ? point_init(&r->point, &h) : 0;
}

int progress_reader_open_fd(int fd, pid_t pid, uid_t uid, bool writable,
	struct progress_reader **out, uint32_t *version)
{
	struct progress_reader *r = aligned_alloc(SEGMENT_LINE, sizeof *r);

	if (r == NULL) {
		close(fd);
		return -ENOMEM;
	}
	memset(r, 0, sizeof *r);
	r->fd = fd;
	r->writable = writable;
	int error = set_up(r, pid, uid, version);
	if (error != 0) {
		progress_reader_close(r);
		return error;
	}
	*out = r;
	return 0;
}

int progress_reader_open(
	pid_t pid, uid_t uid, bool writable, struct progress_reader **out, uint32_t *version)
{
	int fd = segment_file_open(&progress_reader_files, uid, pid, writable);

	if (fd < 0)
		return fd;
	return progress_reader_open_fd(fd, pid, uid, writable, out, version);
}

const char *progress_reader_balancing(uint32_t balancing)
{
	switch (balancing) {
	case PROGRESS_BALANCE_NONE:
		return "none";
	case PROGRESS_BALANCE_JOINT:
		return "joint";
	case PROGRESS_BALANCE_SPLIT:
		return "split";
	case PROGRESS_BALANCE_HYBRID:
		return "hybrid";
	}
	return "unknown";
}

static int read_words(struct progress_reader *r, struct balancer_words *words)
{
	return segment_file_read(
		r->fd, words, sizeof *words, offsetof(struct segment_header, claim));
}

void progress_reader_close(struct progress_reader *reader)
{
	struct balancer_words words;

	if (reader == NULL)
		return;
	if (reader->claim != 0 && read_words(reader, &words) == 0 && words.claim == reader->claim) {
		uint64_t none = segment_claim(words.claim, SEGMENT_CLAIM_NONE);
		(void)write_at(
			reader->fd, &none, sizeof none, offsetof(struct segment_header, claim));
	}
	close(reader->fd);
	point_deinit(&reader->point);
	free(reader);
}

const struct progress_info *progress_reader_info(const struct progress_reader *reader)
{
	return &reader->info;
}

bool progress_reader_closed(struct progress_reader *reader)
{
	uint32_t state;

	/* If it was removed without being closed, it belonged to an earlier process with this pid,
	 * which was killed. */
	return segment_file_removed(reader->fd) ||
	       segment_file_read(reader->fd, &state, sizeof state,
		       offsetof(struct segment_header, state)) != 0 ||
	       state != SEGMENT_OPEN;
}

#define GET(field) atomic_load_explicit(&(field), memory_order_relaxed)

/* Reads up to BATCH workers from `first` on into reader->worker, and sets *n to their number. */
static int read_workers(struct progress_reader *r, uint32_t first, uint32_t *n)
{
	uint32_t rest = r->info.workers - first;

	*n = rest < BATCH ? rest : BATCH;
	return segment_file_read(
		r->fd, r->worker, *n * sizeof r->worker[0], segment_worker_offset(first));
}

int progress_reader_workers(struct progress_reader *reader, struct progress_worker_view *out)
{
	uint32_t n = 0;

	for (uint32_t first = 0; first < reader->info.workers; first += n) {
		int error = read_workers(reader, first, &n);
		if (error != 0)
			return error;
		for (uint32_t i = 0; i < n; i++)
			out[first + i] = (struct progress_worker_view){
				.tid = GET(reader->worker[i].tid),
				.node = GET(reader->worker[i].node),
				.dirty = GET(reader->worker[i].dirty) != 0,
				.iterations = GET(reader->worker[i].iterations),
				.updates = GET(reader->worker[i].updates),
				.handed = GET(reader->worker[i].handed),
			};
	}
	return 0;
}

static bool is_torn(const struct progress_reader *r, uint32_t i)
{
	uint32_t sequence = GET(r->first[i].sequence);

	return sequence % 2 != 0 || sequence != GET(r->last[i].sequence);
}

/* Reads `n` subdomains from number `from` on into the batch, from `at` on. */
static int read_thrice(struct progress_reader *r, uint32_t from, uint32_t at, uint32_t n)
{
	uint64_t offset = segment_subdomain_offset(r->info.workers, from);
	size_t bytes = n * sizeof r->first[0];
	int error = segment_file_read(r->fd, &r->first[at], bytes, offset);

	if (error == 0)
		error = segment_file_read(r->fd, &r->subdomain[at], bytes, offset);
	if (error == 0)
		error = segment_file_read(r->fd, &r->last[at], bytes, offset);
	return error;
}

/* Reads up to BATCH subdomains from `first` on into reader->subdomain, and sets *n to their number.
 * Repeats those that were being written, up to TRIES times. */
static int read_subdomains(struct progress_reader *r, uint32_t first, uint32_t *n)
{
	uint32_t rest = r->info.subdomains - first;

	*n = rest < BATCH ? rest : BATCH;
	int error = read_thrice(r, first, 0, *n);
	for (uint32_t i = 0; i < *n && error == 0; i++)
		for (int tries = 1; tries < TRIES && is_torn(r, i) && error == 0; tries++)
			error = read_thrice(r, first + i, i, 1);
	return error;
}

int progress_reader_subdomains(struct progress_reader *reader, struct progress_subdomain_view *out)
{
	uint32_t n = 0;

	for (uint32_t first = 0; first < reader->info.subdomains; first += n) {
		int error = read_subdomains(reader, first, &n);
		if (error != 0)
			return error;
		for (uint32_t i = 0; i < n; i++) {
			const struct segment_subdomain *s = &reader->subdomain[i];
			uint32_t owner = GET(s->owner), holder = GET(s->holder);
			uint64_t residual = GET(s->residual);
			struct progress_subdomain_view *view = &out[first + i];
			if (holder >= reader->info.workers) {
				*view = (struct progress_subdomain_view){
					.owner = UINT32_MAX, .holder = UINT32_MAX, .residual = NAN};
				continue;
			}
			*view = (struct progress_subdomain_view){
				.updates = GET(s->updates),
				.iteration = GET(s->iteration),
				.owner = owner < reader->info.workers ? owner : UINT32_MAX,
				.holder = holder,
				.torn = is_torn(reader, i),
			};
			memcpy(&view->residual, &residual, sizeof view->residual);
		}
	}
	return 0;
}

int progress_reader_balancer(struct progress_reader *reader, struct progress_balancer_view *out)
{
	struct balancer_words words;
	int error = read_words(reader, &words);

	if (error == 0)
		*out = (struct progress_balancer_view){
			.pid = (uint32_t)words.claim,
			.beat_ns = words.beat_ns,
			.points = words.points,
			.moves = words.moves,
		};
	return error;
}

int progress_reader_claim(struct progress_reader *reader, pid_t balancer, uint64_t now_ns)
{
	struct balancer_words words;

	if (!reader->writable)
		return -EROFS;
	int error = read_words(reader, &words);
	if (error != 0)
		return error;
	if ((uint32_t)words.claim != SEGMENT_CLAIM_NONE && words.claim != reader->claim &&
		segment_is_fresh(words.beat_ns, now_ns))
		return -EBUSY;
	uint64_t before = words.claim, mine = segment_claim(before, (uint32_t)balancer);
	/* The beat first, or the new claim would look old, and the program would take it over. */
	error = write_at(
		reader->fd, &now_ns, sizeof now_ns, offsetof(struct segment_header, beat_ns));
	if (error == 0)
		error = write_at(
			reader->fd, &mine, sizeof mine, offsetof(struct segment_header, claim));
	if (error == 0)
		error = read_words(reader, &words);
	if (error != 0)
		return error;
	if (words.claim != mine)
		return -EBUSY;
	if (before != reader->claim)
		reader->point.state.away = true;
	reader->claim = mine;
	return 0;
}

static int set_dirty(struct progress_reader *r, uint32_t worker)
{
	uint32_t dirty = 1;

	return write_at(r->fd, &dirty, sizeof dirty,
		segment_worker_offset(worker) + offsetof(struct segment_worker, dirty));
}

/* Fill in what the point decides on, and flag holders again that have not passed a subdomain on
 * yet. */
static int read_counters(struct progress_reader *r)
{
	uint32_t workers = r->info.workers, n = 0, reminded = UINT32_MAX;
	int error;

	for (uint32_t first = 0; first < workers; first += n) {
		error = read_workers(r, first, &n);
		if (error != 0)
			return error;
		for (uint32_t i = 0; i < n; i++) {
			r->point.worker[first + i].domain =
				GET(r->worker[i].tid) != 0 ? GET(r->worker[i].node) : POINT_ABSENT;
			r->point.worker[first + i].updates = GET(r->worker[i].updates);
		}
	}
	for (uint32_t first = 0; first < r->info.subdomains; first += n) {
		/* One read is enough, because each field that counts is whole in itself. At worst,
		 * a place that is being filled has its old updates at this one point. */
		uint32_t rest = r->info.subdomains - first;
		n = rest < BATCH ? rest : BATCH;
		error = segment_file_read(r->fd, r->subdomain, n * sizeof r->subdomain[0],
			segment_subdomain_offset(workers, first));
		for (uint32_t i = 0; i < n && error == 0; i++) {
			const struct segment_subdomain *s = &r->subdomain[i];
			uint32_t owner = GET(s->owner), holder = GET(s->holder);
			if (!point_fill(&r->point, first + i, GET(s->updates), owner, holder) ||
				holder == reminded)
				continue;
			reminded = holder;
			error = set_dirty(r, holder);
		}
		if (error != 0)
			return error;
	}
	return 0;
}

static int move(struct progress_reader *r, const struct policy_plb_move *move)
{
	uint64_t offset = segment_subdomain_offset(r->info.workers, move->subdomain) +
			  offsetof(struct segment_subdomain, owner);
	int error = write_at(r->fd, &move->to, sizeof move->to, offset);

	return error == 0 ? set_dirty(r, move->from) : error;
}

const struct policy_plb_move *progress_reader_moves(const struct progress_reader *reader)
{
	return reader->point.move;
}

int progress_reader_balance(struct progress_reader *reader, uint64_t now_ns, uint32_t *moves)
{
	struct balancer_words words;
	size_t n = 0;
	int error;

	*moves = 0;
	if (reader->claim == 0)
		return -ENOTCONN;
	if (reader->info.balancing != PROGRESS_BALANCE_NONE) {
		error = read_counters(reader);
		if (error != 0)
			return error;
		n = point_run(&reader->point);
	}
	/* Check as late as possible: the program may have taken over while this process stood
	 * still. */
	error = read_words(reader, &words);
	if (error == 0 && words.claim != reader->claim) {
		reader->claim = 0;
		error = -ENOTCONN;
	}
	for (size_t i = 0; i < n && error == 0; i++) {
		error = move(reader, &reader->point.move[i]);
		*moves += error == 0;
	}
	if (error != 0)
		return error;
	words.beat_ns = now_ns;
	words.points++;
	words.moves += n;
	/* All but the claim. */
	return write_at(reader->fd, (const char *)&words + sizeof words.claim,
		sizeof words - sizeof words.claim, offsetof(struct segment_header, beat_ns));
}
