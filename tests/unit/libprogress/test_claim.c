// SPDX-License-Identifier: MIT
/*
 * A new claim never looks old: whoever sees it sees its beat, too. tests/model/claim.pml shows why
 * that matters.
 *
 * A write to a file is not atomic. The linker puts __wrap_pwrite() here in place of pwrite(); it
 * writes word by word, and looks at the segment after each.
 */
#undef NDEBUG
#include "libprogress/progress.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

#include "libprogress/instance.h"
#include "libprogress/reader/reader.h"
#include "tests/unit/libprogress/segment_of.h"

#define BALANCER_PID 4242
#define DEAD_PID 4243
#define POINTS 100000

ssize_t __wrap_pwrite(int fd, const void *buffer, size_t bytes, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *buffer, size_t bytes, off_t offset);

/* The segment that the reader has open. */
static struct view view;
static uint64_t now_ns;
static unsigned words, old_claims;

static void look(void)
{
	uint32_t pid = (uint32_t)atomic_load(&view.header->claim);

	words++;
	old_claims += pid == BALANCER_PID &&
		      !segment_is_fresh(atomic_load(&view.header->beat_ns), now_ns);
}

ssize_t __wrap_pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
	char *to = (char *)view.header + offset;
	const char *from = buffer;

	(void)fd;
	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);
		memcpy(to + at, from + at, n);
		look();
	}
	return (ssize_t)bytes;
}

/* What 32-bit systems, and programs with large files, call instead. */
ssize_t __wrap_pwrite64(int fd, const void *buffer, size_t bytes, off_t offset)
{
	return __wrap_pwrite(fd, buffer, bytes, offset);
}

/* Each test has a segment, which is removed whatever happens. */
static int set_up(void **state)
{
	struct progress_options options = {
		.workers = 2, .subdomains = 8, .balancing = PROGRESS_BALANCE_JOINT};
	struct progress *p = NULL;

	if (shm_works()) {
		p = create_with(&options);
		view = view_open();
	}
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	if (*state != NULL)
		view_close(&view);
	progress_close(*state);
	return 0;
}

static void test_reader(void **state)
{
	const uint64_t before[] = {0, segment_claim(7, DEAD_PID)};
	(void)state;

	NEED_SHM();
	now_ns = 10 * SEGMENT_STALE_NS;
	for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
		struct progress_reader *reader;
		assert_int_equal(progress_reader_open(getpid(), geteuid(), true, &reader, NULL), 0);
		atomic_store(&view.header->claim, before[i]);
		atomic_store(&view.header->beat_ns, 1);
		words = 0;
		assert_int_equal(progress_reader_claim(reader, BALANCER_PID, now_ns), 0);
		assert_int_equal(words, 2);
		assert_int_equal((uint32_t)atomic_load(&view.header->claim), BALANCER_PID);
		progress_reader_close(reader);
		assert_int_equal((uint32_t)atomic_load(&view.header->claim), SEGMENT_CLAIM_NONE);
	}
	assert_int_equal(old_claims, 0);
}

struct watcher {
	atomic_bool stop;
	uint64_t old_claims;
};

/* Claims are numbered: if it is the same before and after, the beat was read during it. */
static void *watch(void *opaque)
{
	struct watcher *watcher = opaque;

	while (!atomic_load(&watcher->stop)) {
		uint64_t before = atomic_load(&view.header->claim);
		uint64_t beat_ns = atomic_load(&view.header->beat_ns);
		uint64_t after = atomic_load(&view.header->claim);
		watcher->old_claims +=
			before == after && (uint32_t)before != SEGMENT_CLAIM_NONE && beat_ns == 1;
	}
	return NULL;
}

static void test_program(void **state)
{
	struct watcher watcher = {.old_claims = 0};
	pthread_t thread;
	struct progress *p = *state;

	NEED_SHM();
	assert_int_equal(pthread_create(&thread, NULL, watch, &watcher), 0);
	for (int i = 0; i < POINTS; i++) {
		atomic_store(&view.header->beat_ns, 1);
		atomic_store(&view.header->due_ns, 0);
		progress_balance(p, 0);
	}
	atomic_store(&watcher.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&view.header->points), POINTS);
	assert_int_equal(watcher.old_claims, 0);
}

static void update(struct progress *p, uint64_t times)
{
	const uint32_t *mine;

	progress_begin(p, 0, &mine);
	for (uint64_t i = 1; i <= times; i++)
		progress_update(p, 0, 0, i, 0);
	atomic_store(&view.header->due_ns, 0);
	progress_balance(p, 0);
}

/* What a worker did while juggle balanced is not what it does in a period. */
static void test_speed_after_juggle(void **state)
{
	struct progress_reader *reader;
	struct progress *p = *state;

	NEED_SHM();
	assert_int_equal(progress_register(p, 0), 0);
	for (int i = 0; i < 5; i++)
		update(p, 10);
	assert_float_equal(p->point.worker[0].speed, 10, 1e-9);

	assert_int_equal(progress_reader_open(getpid(), geteuid(), true, &reader, NULL), 0);
	now_ns = atomic_load(&view.header->beat_ns) + SEGMENT_STALE_NS;
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, now_ns), 0);
	progress_reader_close(reader);
	update(p, 100000);
	assert_float_equal(p->point.worker[0].speed, 10, 1e-9);
	update(p, 10);
	assert_float_equal(p->point.worker[0].speed, 10, 1e-9);
	progress_leave(p, 0);
}

/* The two workers update all that they hold, each so many times. */
static void update_all(struct progress *p, uint64_t first, uint64_t second)
{
	const uint64_t times[] = {first, second};

	for (uint32_t w = 0; w < 2; w++) {
		const uint32_t *mine;
		uint32_t n = progress_begin(p, w, &mine);
		for (uint32_t k = 0; k < n; k++)
			for (uint64_t i = 1; i <= times[w]; i++)
				progress_update(p, w, mine[k], i, 0);
	}
}

static uint32_t balance(struct progress_reader *reader)
{
	uint32_t moves = 0;

	assert_int_equal(progress_reader_balance(reader, now_ns, &moves), 0);
	return moves;
}

/* Nor is it for juggle what they did while the program balanced: by that, the dead band would be
 * wider than any gap. */
static void test_speed_after_program(void **state)
{
	struct progress_reader *reader;
	struct progress *p = *state;
	uint32_t moves;

	NEED_SHM();
	for (uint32_t w = 0; w < 2; w++)
		assert_int_equal(progress_register(p, w), 0);
	assert_int_equal(progress_reader_open(getpid(), geteuid(), true, &reader, NULL), 0);
	now_ns = 10 * SEGMENT_STALE_NS;
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, now_ns), 0);
	for (int i = 0; i < 5; i++) {
		update_all(p, 10, 10);
		assert_int_equal(balance(reader), 0);
	}

	atomic_store(&view.header->beat_ns, 1); /* juggle stands still */
	atomic_store(&view.header->due_ns, 0);
	assert_int_equal(progress_balance(p, 0), 0);
	assert_int_equal(progress_reader_balance(reader, now_ns, &moves), -ENOTCONN);
	update_all(p, 100000, 100000);
	assert_int_equal(progress_reader_claim(reader, BALANCER_PID, now_ns), 0);
	assert_int_equal(balance(reader), 0);
	update_all(p, 100, 10);
	assert_int_not_equal(balance(reader), 0);
	progress_reader_close(reader);
	for (uint32_t w = 0; w < 2; w++)
		progress_leave(p, w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_speed_after_juggle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_speed_after_program, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
