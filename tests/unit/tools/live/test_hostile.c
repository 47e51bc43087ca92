// SPDX-License-Identifier: MIT
/* Whatever a segment holds, and whatever happens to it meanwhile, looking at it ends. */
#undef NDEBUG
#include "tools/live/internal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "tests/unit/tools/live/segments.h"

static void test_damaged(void **state)
{
	size_t bytes;
	FIXTURE(f);

	put(f->progress, "", 0);
	ASSERT_STATE(f->progress, LIVE_STARTING);
	put(f->progress, "noise", 5);
	ASSERT_STATE(f->progress, LIVE_DAMAGED);
	struct live_entry entry = get(f->progress);
	assert_int_equal(live_remove(&entry), -EBUSY);
	unlink(f->progress);
	/* No file of a segment: the one that the process has open counts. */
	assert_int_equal(mkfifo(f->progress, 0600), 0);
	ASSERT_STATE(f->progress, LIVE_RUNS);
	unlink(f->progress);
	assert_int_equal(symlink(f->job, f->progress), 0);
	ASSERT_STATE(f->progress, LIVE_RUNS);
	unlink(f->progress);
	assert_int_equal(symlink("nowhere", f->progress), 0);
	ASSERT_STATE(f->progress, LIVE_RUNS);
	unlink(f->progress);
	assert_int_equal(mkdir(f->progress, 0700), 0);
	ASSERT_STATE(f->progress, LIVE_RUNS);
	rmdir(f->progress);
	char *all = map(f->job, &bytes);
	((struct telemetry *)all)->version = 77;
	entry = get(f->job);
	assert_int_equal(entry.state, LIVE_OTHER_VERSION);
	assert_int_equal(entry.version, 77);
	assert_int_equal(live_remove(&entry), -EBUSY);
	munmap(all, bytes);
}

/* Its process is gone: then it may be removed, whatever it is. */
static void test_damaged_and_stale(void **state)
{
	FIXTURE(f);

	end_child(f);
	put(f->job, "noise", 5);
	assert_removed(f->job);
	put(f->job, "", 0);
	assert_removed(f->job);
	assert_int_equal(mkfifo(f->job, 0600), 0);
	assert_removed(f->job);
	/* The link itself, not what it points to. */
	assert_int_equal(symlink(f->progress, f->job), 0);
	assert_removed(f->job);
	assert_removed(f->progress);
}

/* Look at a segment in which every byte behind the checked part may be anything. */
static void test_noise(void **state)
{
	uint64_t seed = 1;
	size_t bytes, progress_bytes;
	struct live_error error;
	char name[20];
	FIXTURE(f);
	char *job = map(f->job, &bytes), *progress = map(f->progress, &progress_bytes);
	struct telemetry *before = malloc(sizeof *before);

	assert_non_null(before);
	memcpy(before, job, sizeof *before);
	snprintf(name, sizeof name, "%d", (int)f->pid);
	for (int round = 0; round < 60; round++) {
		struct live_sample one = {0}, two = {0};
		struct live_job *live = NULL;
		assert_int_equal(live_open(name, &live, &error), 0);
		for (size_t i = offsetof(struct telemetry, command);
			i < offsetof(struct telemetry, progress_bytes); i++)
			job[i] = (char)random_word(&seed);
		/* Only a few, to save time. */
		((struct telemetry *)job)->slots = (uint32_t)random_int(&seed, 0, 20);
		((struct telemetry *)job)->progress_slots = (uint32_t)random_int(&seed, 0, 20);
		for (size_t i = 0; i < 20 * sizeof(struct telemetry_thread); i++)
			((char *)telemetry_threads((struct telemetry *)job))[i] =
				(char)random_word(&seed);
		for (size_t i = 0; i < 20 * sizeof(struct telemetry_progress); i++)
			((char *)telemetry_progress((struct telemetry *)job))[i] =
				(char)random_word(&seed);
		for (size_t i = sizeof(struct segment_header); i < progress_bytes; i++)
			progress[i] = (char)random_word(&seed);
		struct live_entry entry = get(f->job);
		assert_int_equal(entry.pid, f->pid);
		if (live_take(live, &one) == 0) {
			live_compare(NULL, &one);
			if (live_take(live, &two) == 0)
				live_compare(&one, &two);
		}
		live_sample_deinit(&one);
		live_sample_deinit(&two);
		live_close(live);
		memcpy(job, before, sizeof *before);
	}
	free(before);
	munmap(job, bytes);
	munmap(progress, progress_bytes);
}

static void test_cut_while_watched(void **state)
{
	struct live_sample sample = {0};
	struct live_error error;
	struct live_job *live = NULL;
	char name[20];
	FIXTURE(f);

	snprintf(name, sizeof name, "%d", (int)f->pid);
	assert_int_equal(live_open(name, &live, &error), 0);
	assert_int_equal(live_take(live, &sample), 0);
	assert_true(sample.wrapped);
	assert_int_equal(sample.threads, 1);
	assert_int_equal(sample.processes, 1);
	assert_int_equal(sample.process[0].error, 0);
	assert_int_equal(sample.process[0].rank, 3);
	live_sample_deinit(&sample);
	/* A damaged segment of one process does not affect others. */
	assert_int_equal(truncate(f->progress, 300), 0);
	assert_int_equal(live_take(live, &sample), 0);
	assert_true(sample.process[0].error < 0);
	live_sample_deinit(&sample);
	assert_int_equal(truncate(f->job, sizeof(struct telemetry)), 0);
	assert_int_equal(live_take(live, &sample), -EBADMSG);
	assert_int_equal(truncate(f->job, 100), 0);
	assert_int_equal(live_take(live, &sample), -EBADMSG);
	assert_int_equal(unlink(f->job), 0);
	assert_int_equal(live_take(live, &sample), -ESRCH);
	live_close(live);
	live = NULL;
	/* Errors say what can't be done with the file. */
	put(f->progress, "noise", 5);
	assert_int_equal(live_open(name, &live, &error), -EBADMSG);
	assert_true(strstr(error.text, f->progress) != NULL);
	assert_null(live);
}

static void test_died_while_watched(void **state)
{
	struct live_sample sample = {0};
	struct live_error error;
	struct live_job *live = NULL;
	char name[20];
	FIXTURE(f);

	snprintf(name, sizeof name, "%d", (int)f->pid);
	assert_int_equal(live_open(name, &live, &error), 0);
	end_child(f);
	assert_int_equal(live_take(live, &sample), -ESRCH);
	live_close(live);
	live = NULL;
	assert_int_equal(live_open(name, &live, &error), -ESRCH);
	assert_true(strstr(error.text, "jugglectl clean") != NULL);
	assert_null(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_damaged),
		TEST(test_damaged_and_stale),
		TEST(test_noise),
		TEST(test_cut_while_watched),
		TEST(test_died_while_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
