// SPDX-License-Identifier: MIT
/*
 * The reader of segments: what it refuses, whatever the file holds; values that are consistent
 * while the program writes at full speed; and balancing from outside.
 */
#undef NDEBUG
#include "libprogress/reader/reader.h"

#include "libprogress/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/libprogress/segment_of.h"
#include "tests/unit/random.h"

#define BALANCER_PID 4242

/* Each test has a segment with an image of it, and whatever is left of it is removed. */
struct fixture {
	struct progress *p;
	struct view v;
};

static const uint32_t owners[] = {0, 0, 1, 1, 2, 2, 2, 2};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct progress_options options = {.workers = 4,
		.subdomains = 8,
		.owner = owners,
		.pairs = 1,
		.dead_band = PROGRESS_DEAD_BAND_NONE,
		.rank = -3,
		.balancing = PROGRESS_BALANCE_JOINT};

	*state = f;
	assert_non_null(f);
	if (!shm_works())
		return 0;
	assert_int_equal(progress_create(&options, &f->p), 0);
	f->v = view_open();
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char path[PATH_BYTES];

	if (f->p != NULL) {
		f->v.header->size_bytes = segment_size(4, 8); /* some tests change it */
		view_close(&f->v);
		progress_close(f->p);
	}
	segment_path(path, getpid());
	unlink(path);
	free(f);
	return 0;
}

#define FIXTURE(f)                                                                                 \
	struct fixture *f = *state;                                                                \
	if (f->p == NULL) {                                                                        \
		print_message("SKIPPED: /dev/shm cannot be used here\n");                          \
		skip();                                                                            \
	}

static int try_open(uint32_t *version)
{
	struct progress_reader *reader = NULL;
	int error = progress_reader_open(getpid(), geteuid(), true, &reader, version);

	assert_true((error == 0) == (reader != NULL));
	progress_reader_close(reader);
	return error;
}

static struct progress_reader *open_reader(bool writable)
{
	struct progress_reader *reader = NULL;

	assert_int_equal(progress_reader_open(getpid(), geteuid(), writable, &reader, NULL), 0);
	return reader;
}

static void test_info(void **state)
{
	FIXTURE(f);
	struct progress_reader *reader = open_reader(false);
	const struct progress_info *info = progress_reader_info(reader);

	assert_int_equal(info->pid, getpid());
	assert_int_equal(info->rank, -3);
	assert_int_equal(info->workers, 4);
	assert_int_equal(info->subdomains, 8);
	assert_int_equal(info->balancing, PROGRESS_BALANCE_JOINT);
	assert_int_equal(info->pairs, 1);
	assert_int_equal(info->low, 2);
	assert_int_equal(info->high, 6);
	assert_int_equal(info->hybrid_every, 500);
	assert_int_equal(info->period_ns, 1000000);
	assert_true(info->created_ns == f->v.header->created_ns);
	assert_false(progress_reader_closed(reader));
	progress_reader_close(reader);
	progress_reader_close(NULL);
}

static void test_views(void **state)
{
	struct progress_worker_view worker[4];
	struct progress_subdomain_view subdomain[8];
	const uint32_t *mine;
	FIXTURE(f);

	progress_register(f->p, 2);
	assert_int_equal(progress_begin(f->p, 2, &mine), 4);
	progress_update(f->p, 2, 5, 17, 0.25);
	progress_update(f->p, 2, 5, 18, 0.125);
	progress_begin(f->p, 2, &mine);
	atomic_store(&f->v.subdomain[3].owner, 4);
	atomic_store(&f->v.subdomain[4].holder, 0x80000000u);
	struct progress_reader *reader = open_reader(false);
	assert_int_equal(progress_reader_workers(reader, worker), 0);
	assert_int_equal(worker[2].tid, getpid());
	assert_false(worker[2].dirty);
	assert_int_equal(worker[2].iterations, 1);
	assert_int_equal(worker[2].updates, 2);
	assert_int_equal(worker[2].handed, 0);
	assert_int_equal(worker[1].tid, 0);
	assert_true(worker[1].dirty);
	assert_int_equal(progress_reader_subdomains(reader, subdomain), 0);
	assert_int_equal(subdomain[5].updates, 2);
	assert_int_equal(subdomain[5].iteration, 18);
	assert_true(subdomain[5].residual == 0.125);
	assert_int_equal(subdomain[5].owner, 2);
	assert_int_equal(subdomain[5].holder, 2);
	assert_false(subdomain[5].torn);
	assert_int_equal(subdomain[3].owner, UINT32_MAX);
	assert_int_equal(subdomain[3].holder, 1);
	assert_int_equal(subdomain[4].holder, UINT32_MAX);
	/* An empty place shows nothing of what was there. */
	assert_int_equal(progress_remove(f->p, 5), 0);
	assert_int_equal(progress_reader_subdomains(reader, subdomain), 0);
	assert_int_equal(subdomain[5].updates, 0);
	assert_int_equal(subdomain[5].iteration, 0);
	assert_true(isnan(subdomain[5].residual));
	assert_int_equal(subdomain[5].owner, UINT32_MAX);
	assert_int_equal(subdomain[5].holder, UINT32_MAX);
	assert_false(subdomain[5].torn);
	assert_int_equal(progress_insert(f->p, 5, 1, 40), 0);
	assert_int_equal(progress_reader_subdomains(reader, subdomain), 0);
	assert_int_equal(subdomain[5].updates, 40);
	assert_int_equal(subdomain[5].iteration, 40);
	assert_true(isnan(subdomain[5].residual));
	assert_int_equal(subdomain[5].owner, 1);
	assert_int_equal(subdomain[5].holder, 1);

	/* Stopped in the middle of a write: it says so, and does not wait for ever. */
	atomic_store(&f->v.subdomain[5].sequence, 5);
	assert_int_equal(progress_reader_subdomains(reader, subdomain), 0);
	assert_true(subdomain[5].torn);
	assert_false(subdomain[6].torn);
	progress_reader_close(reader);
}

/* More than one batch of both. */
static void test_many(void **state)
{
	enum { WORKERS = 300, SUBDOMAINS = 1001 };
	struct progress_options options = {.workers = WORKERS, .subdomains = SUBDOMAINS};
	struct progress_worker_view *worker = calloc(WORKERS, sizeof *worker);
	struct progress_subdomain_view *subdomain = calloc(SUBDOMAINS, sizeof *subdomain);
	struct progress *p;
	FIXTURE(f);

	view_close(&f->v);
	progress_close(f->p);
	assert_int_equal(progress_create(&options, &p), 0);
	for (uint32_t k = 0; k < WORKERS; k++)
		for (uint32_t i = 0; i < k % 7; i++)
			progress_update(p, k, 0, 0, 0);
	for (uint32_t s = 1; s < SUBDOMAINS; s++)
		progress_update(p, 0, s, s * 3, s);
	struct progress_reader *reader = open_reader(true);
	assert_int_equal(progress_reader_workers(reader, worker), 0);
	assert_int_equal(progress_reader_subdomains(reader, subdomain), 0);
	for (uint32_t k = 1; k < WORKERS; k++)
		assert_int_equal(worker[k].updates, k % 7);
	for (uint32_t s = 1; s < SUBDOMAINS; s++) {
		assert_int_equal(subdomain[s].iteration, s * 3);
		assert_true(subdomain[s].residual == s);
	}
	progress_reader_close(reader);
	progress_close(p);
	f->p = NULL;
	free(worker);
	free(subdomain);
}

struct writer {
	struct progress *p;
	atomic_bool stop;
};

/* All three values of a record are the same number, over and over. */
static void *write_at_full_speed(void *opaque)
{
	struct writer *writer = opaque;

	for (uint64_t i = 1; !atomic_load_explicit(&writer->stop, memory_order_relaxed); i++) {
		progress_update(writer->p, 0, 1, i, (double)i);
		/* Pause now and then, so that there is something to read. */
		for (uint64_t pause = i % 64 == 0 ? 20000 : 0; pause > 0; pause--)
			__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

static void test_consistent(void **state)
{
	struct progress_subdomain_view subdomain[8];
	pthread_t thread;
	FIXTURE(f);
	struct writer writer = {.p = f->p};
	struct progress_reader *reader = open_reader(false);
	uint64_t last = 0;

	assert_int_equal(pthread_create(&thread, NULL, write_at_full_speed, &writer), 0);
	/* Until this many different whole records have been read. */
	for (int seen = 0; seen < 3000;) {
		assert_int_equal(progress_reader_subdomains(reader, subdomain), 0);
		if (subdomain[1].torn || subdomain[1].updates == last) {
			sched_yield();
			continue;
		}
		assert_int_equal(subdomain[1].updates, subdomain[1].iteration);
		assert_true(subdomain[1].residual == (double)subdomain[1].iteration);
		assert_true(subdomain[1].updates > last);
		last = subdomain[1].updates;
		seen++;
	}
	atomic_store(&writer.stop, true);
	pthread_join(thread, NULL);
	progress_reader_close(reader);
}

static void test_none(void **state)
{
	struct progress_reader *reader = NULL;
	FIXTURE(f);

	assert_int_equal(progress_reader_open(getppid(), geteuid(), false, &reader, NULL), -ENOENT);
	assert_int_equal(
		progress_reader_open(getpid(), geteuid() + 1, false, &reader, NULL), -ENOENT);
	assert_int_equal(progress_reader_open(-1, geteuid(), false, &reader, NULL), -ENOENT);
	assert_null(reader);
}

static void test_version(void **state)
{
	uint32_t version = 0;
	FIXTURE(f);

	assert_int_equal(try_open(&version), 0);
	assert_int_equal(version, 2);
	/* Version 1 can be read, too. */
	f->v.header->version = 1;
	assert_int_equal(try_open(&version), 0);
	assert_int_equal(version, 1);
	f->v.header->version = 0;
	assert_int_equal(try_open(&version), -EPROTO);
	f->v.header->version = 3;
	f->v.header->header_bytes = 512; /* which only that version could explain */
	assert_int_equal(try_open(&version), -EPROTO);
	assert_int_equal(version, 3);
	assert_int_equal(try_open(NULL), -EPROTO);
}

static void test_not_ready(void **state)
{
	char path[PATH_BYTES];
	FIXTURE(f);

	atomic_store(&f->v.header->state, SEGMENT_NEW);
	assert_int_equal(try_open(NULL), -EAGAIN);
	f->v.header->magic = 0;
	assert_int_equal(try_open(NULL), -EAGAIN);
	f->v.header->magic = SEGMENT_MAGIC + 1;
	assert_int_equal(try_open(NULL), -EBADMSG);
	segment_path(path, getpid());
	assert_int_equal(unlink(path), 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(try_open(NULL), -EAGAIN);
	assert_int_equal(write(fd, "PROGRESS", 8), 8);
	assert_int_equal(try_open(NULL), -EBADMSG);
	close(fd);
}

#define ASSERT_BAD(field, value)                                                                   \
	do {                                                                                       \
		struct segment_header *h_ = f->v.header;                                           \
		__typeof__(h_->field) was_ = h_->field;                                            \
		h_->field = (value);                                                               \
		if (try_open(NULL) != -EBADMSG)                                                    \
			fail_msg("accepted: " #field " = " #value);                                \
		h_->field = was_;                                                                  \
		assert_int_equal(try_open(NULL), 0);                                               \
	} while (0)

static void test_hostile_numbers(void **state)
{
	FIXTURE(f);

	ASSERT_BAD(header_bytes, 255);
	ASSERT_BAD(worker_bytes, 0);
	ASSERT_BAD(subdomain_bytes, 128);
	ASSERT_BAD(workers, 0);
	ASSERT_BAD(workers, 5);
	ASSERT_BAD(workers, UINT32_MAX);
	ASSERT_BAD(subdomains, 0);
	ASSERT_BAD(subdomains, 9);
	ASSERT_BAD(subdomains, UINT32_MAX);
	ASSERT_BAD(size_bytes, 0);
	ASSERT_BAD(size_bytes, UINT64_MAX);
	ASSERT_BAD(balancing, PROGRESS_BALANCE_DEFAULT);
	ASSERT_BAD(balancing, 5);
	ASSERT_BAD(pairs, 0);
	ASSERT_BAD(pairs, UINT32_MAX);
	ASSERT_BAD(hybrid_every, 0);
	ASSERT_BAD(period_ns, 0);
	/* Sizes that agree with each other, but not with the file. */
	f->v.header->subdomains = PROGRESS_SUBDOMAINS_MAX;
	f->v.header->size_bytes = segment_size(4, PROGRESS_SUBDOMAINS_MAX);
	assert_int_equal(try_open(NULL), -EBADMSG);
	f->v.header->subdomains = PROGRESS_SUBDOMAINS_MAX + 1;
	f->v.header->size_bytes = segment_size(4, PROGRESS_SUBDOMAINS_MAX + 1);
	assert_int_equal(try_open(NULL), -EBADMSG);
}

/* Whatever the bytes, opening and balancing end, and touch only their own memory. */
static void test_noise(void **state)
{
	uint64_t seed = 1;
	uint32_t moves;
	FIXTURE(f);

	for (int round = 0; round < 300; round++) {
		struct progress_reader *reader = open_reader(true);
		char *bytes = (char *)f->v.header;
		struct segment_header header;
		memcpy(&header, bytes, sizeof header);
		for (uint64_t i = 88; i < segment_size(4, 8); i++)
			if (random_int(&seed, 0, 3) == 0)
				bytes[i] = (char)random_word(&seed);
		progress_reader_claim(reader, BALANCER_PID, random_word(&seed));
		progress_reader_balance(reader, random_word(&seed), &moves);
		progress_reader_close(reader);
		memcpy(bytes, &header, sizeof header);
		bytes[random_int(&seed, 0, 87)] = (char)random_word(&seed);
		try_open(NULL);
		memcpy(bytes, &header, sizeof header);
	}
}

static void test_cut_short(void **state)
{
	struct progress_worker_view worker[4];
	struct progress_subdomain_view subdomain[8];
	struct progress_balancer_view balancer;
	char path[PATH_BYTES];
	uint32_t moves;
	FIXTURE(f);

	struct progress_reader *reader = open_reader(true);
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, 1), 0);
	segment_path(path, getpid());
	assert_int_equal(truncate(path, (off_t)segment_size(4, 8) - 1), 0);
	assert_int_equal(try_open(NULL), -EBADMSG);
	assert_int_equal(progress_reader_workers(reader, worker), 0);
	assert_int_equal(progress_reader_subdomains(reader, subdomain), -EBADMSG);
	assert_int_equal(progress_reader_balance(reader, 2, &moves), -EBADMSG);
	assert_int_equal(truncate(path, 300), 0);
	assert_int_equal(progress_reader_workers(reader, worker), -EBADMSG);
	assert_false(progress_reader_closed(reader));
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(progress_reader_balancer(reader, &balancer), -EBADMSG);
	assert_int_equal(progress_reader_balance(reader, 2, &moves), -EBADMSG);
	assert_true(progress_reader_closed(reader));
	progress_reader_close(reader);
	/* tear_down() needs something to look into. */
	assert_int_equal(truncate(path, (off_t)segment_size(4, 8)), 0);
}

static void test_foreign_files(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[PATH_BYTES], aside[PATH_BYTES + 8];
	FIXTURE(f);

	segment_path(path, getpid());
	snprintf(aside, sizeof aside, "%s.aside", path);
	/* The pid of another process. */
	f->v.header->pid++;
	assert_int_equal(try_open(NULL), -EPERM);
	f->v.header->pid--;
	/* Others could have written to this one. */
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(try_open(NULL), 0);

	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(symlink(aside, path), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	assert_int_equal(rmdir(path), 0);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(try_open(NULL), -EPERM);
	close(fd);
	assert_int_equal(unlink(path), 0);
	if (geteuid() == 0) {
		assert_int_equal(rename(aside, path), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(try_open(NULL), -ENOENT);
	}
	unlink(aside);
}

static void test_closed(void **state)
{
	FIXTURE(f);
	struct progress_reader *reader = open_reader(true);

	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, 1), 0);
	view_close(&f->v);
	progress_close(f->p);
	f->p = NULL;
	assert_true(progress_reader_closed(reader));
	progress_reader_close(reader);
}

/* A process with a segment of one subdomain, which a FIFO may keep from having a name. It ends when it is
 * killed. The caller's segment, which it inherits, is not taken for its own. */
static pid_t start_program(char path[PATH_BYTES], bool unnamed)
{
	struct progress_options options = {.workers = 1, .subdomains = 1};
	struct progress *p = NULL;
	char byte = 0;
	int ready[2];

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		segment_path(path, getpid());
		if ((unnamed && mkfifo(path, 0600) != 0) || progress_create(&options, &p) != 0 ||
			progress_published(p) != 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	segment_path(path, pid);
	return pid;
}

static void end_program(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A segment left by a killed process, which a new one with its pid replaces. */
static void test_replaced(void **state)
{
	struct progress_reader *reader = NULL;
	char path[PATH_BYTES];
	FIXTURE(f);
	pid_t pid = start_program(path, false);

	(void)f;
	assert_int_equal(progress_reader_open(pid, geteuid(), true, &reader, NULL), 0);
	end_program(pid);
	assert_false(progress_reader_closed(reader));
	assert_int_equal(unlink(path), 0);
	assert_true(progress_reader_closed(reader));
	progress_reader_close(reader);
}

static void test_unnamed(void **state)
{
	struct progress_reader *reader = NULL;
	char path[PATH_BYTES];
	FIXTURE(f);
	pid_t pid = start_program(path, true);

	(void)f;
	assert_int_equal(progress_reader_open(pid, geteuid(), true, &reader, NULL), 0);
	assert_int_equal(progress_reader_info(reader)->subdomains, 1);
	assert_int_equal(progress_reader_info(reader)->pid, pid);
	assert_false(progress_reader_closed(reader));
	end_program(pid);
	assert_true(progress_reader_closed(reader));
	progress_reader_close(reader);
	assert_int_equal(unlink(path), 0);
	/* Without a segment of its own, a process does not show its parent's. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	segment_path(path, pid);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(progress_reader_open(pid, geteuid(), false, &reader, NULL), -EPERM);
	end_program(pid);
	assert_int_equal(unlink(path), 0);
}

/* 0 has done most, 2 least. */
static void make_uneven(struct fixture *f)
{
	static const uint64_t updates[] = {30, 29, 20, 20, 10, 11, 12, 11};
	const uint32_t *mine;

	for (uint32_t k = 0; k < 3; k++) {
		assert_int_equal(progress_register(f->p, k), 0);
		progress_begin(f->p, k, &mine);
	}
	for (uint32_t s = 0; s < 8; s++)
		for (uint64_t i = 0; i < updates[s]; i++)
			progress_update(f->p, owners[s], s, i, 0);
}

static void test_balance(void **state)
{
	struct progress_balancer_view balancer;
	const uint32_t *mine;
	uint32_t moves = 9;
	FIXTURE(f);

	make_uneven(f);
	struct progress_reader *reader = open_reader(true);
	assert_int_equal(progress_reader_balance(reader, 5, &moves), -ENOTCONN);
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, 5), 0);
	assert_int_equal(progress_reader_balance(reader, 6, &moves), 0);
	assert_int_equal(moves, 1);
	assert_int_equal(f->v.subdomain[6].owner, 0);
	assert_int_equal(f->v.worker[2].dirty, 1);
	assert_int_equal(f->v.worker[0].dirty, 0);
	assert_int_equal(progress_reader_balancer(reader, &balancer), 0);
	assert_int_equal(balancer.pid, BALANCER_PID);
	assert_int_equal(balancer.beat_ns, 6);
	assert_int_equal(balancer.points, 1);
	assert_int_equal(balancer.moves, 1);
	assert_int_equal(progress_begin(f->p, 2, &mine), 3);
	assert_int_equal(progress_begin(f->p, 0, &mine), 3);
	assert_int_equal(mine[2], 6);

	/* A flag set for the wrong worker is set again for the right one. */
	atomic_store(&f->v.subdomain[2].owner, 0);
	assert_int_equal(progress_reader_balance(reader, 7, &moves), 0);
	assert_int_equal(f->v.worker[1].dirty, 1);
	progress_reader_close(reader);
	assert_int_equal((uint32_t)f->v.header->claim, SEGMENT_CLAIM_NONE);
}

/* Its old values no longer count, however far behind they are, and nobody is asked to pass it
 * on. */
static void test_balance_leaves_empty_places_out(void **state)
{
	const uint32_t *mine;
	uint32_t moves;
	FIXTURE(f);

	make_uneven(f);
	for (uint32_t s = 4; s < 8; s++)
		assert_int_equal(progress_remove(f->p, s), 0);
	assert_int_equal(progress_begin(f->p, 2, &mine), 0);
	atomic_store(&f->v.subdomain[6].owner, 0); /* by a balancer that came late */
	struct progress_reader *reader = open_reader(true);
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, 5), 0);
	assert_int_equal(progress_reader_balance(reader, 6, &moves), 0);
	assert_int_equal(moves, 0);
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(f->v.worker[k].dirty, 0);
	/* Inserted again, it does count. */
	for (uint32_t s = 4; s < 7; s++)
		assert_int_equal(progress_insert(f->p, s, 2, 10), 0);
	assert_int_equal(progress_reader_balance(reader, 7, &moves), 0);
	assert_int_equal(moves, 1);
	assert_int_equal(f->v.subdomain[7].owner, 2); /* empty still */
	progress_reader_close(reader);
}

static void test_claim(void **state)
{
	const uint64_t stale_ns = SEGMENT_STALE_NS;
	uint32_t moves;
	FIXTURE(f);

	struct progress_reader *reader = open_reader(false);
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, 1), -EROFS);
	progress_reader_close(reader);

	reader = open_reader(true);
	struct progress_reader *other = open_reader(true);
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, stale_ns), 0);
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, stale_ns + 1), 0);
	assert_int_equal(progress_reader_claim(other, BALANCER_PID, 2 * stale_ns), -EBUSY);
	assert_int_equal(progress_reader_claim(other, BALANCER_PID, 2 * stale_ns + 1), 0);
	/* Lost, though the same pid has it. */
	make_uneven(f);
	assert_int_equal(progress_reader_balance(reader, 2 * stale_ns + 2, &moves), -ENOTCONN);
	assert_int_equal(moves, 0);
	for (uint32_t s = 0; s < 8; s++)
		assert_int_equal(f->v.subdomain[s].owner, owners[s]);
	progress_reader_close(reader); /* does not release a claim of another */
	assert_int_equal((uint32_t)f->v.header->claim, BALANCER_PID);
	assert_int_equal(progress_reader_balance(other, 2 * stale_ns + 3, &moves), 0);
	assert_int_equal(moves, 1);
	progress_reader_close(other);
	assert_int_equal((uint32_t)f->v.header->claim, SEGMENT_CLAIM_NONE);
}

/* The program leaves balancing to the other as long as that one is alive. */
static void test_program_stands_back(void **state)
{
	struct timespec now;
	FIXTURE(f);

	make_uneven(f);
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	struct progress_reader *reader = open_reader(true);
	assert_int_equal(
		progress_reader_claim(reader, BALANCER_PID, now_ns + SEGMENT_STALE_NS / 2), 0);
	atomic_store(&f->v.header->due_ns, 0);
	assert_int_equal(progress_balance(f->p, 0), 0);
	progress_reader_close(reader);
	atomic_store(&f->v.header->due_ns, 0);
	assert_int_equal(progress_balance(f->p, 0), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_info),
		TEST(test_views),
		TEST(test_many),
		TEST(test_consistent),
		TEST(test_none),
		TEST(test_version),
		TEST(test_not_ready),
		TEST(test_hostile_numbers),
		TEST(test_noise),
		TEST(test_cut_short),
		TEST(test_foreign_files),
		TEST(test_closed),
		TEST(test_replaced),
		TEST(test_unnamed),
		TEST(test_balance),
		TEST(test_balance_leaves_empty_places_out),
		TEST(test_claim),
		TEST(test_program_stands_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
