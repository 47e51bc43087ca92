/* SPDX-License-Identifier: MIT */
/* Watching a folder. A missed change would hide another juggle, or a program's segment, for good. */
#undef NDEBUG
#include "daemon/base/folder_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

struct folder {
	char path[64];
	time_t second;
};

/* Something has changed in it, at a time that differs from all others. */
static void touch(struct folder *folder)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = ++folder->second}};

	assert_int_equal(utimensat(AT_FDCWD, folder->path, times, 0), 0);
}

static int set_up(void **state)
{
	struct folder *folder = calloc(1, sizeof *folder);

	if (folder == NULL)
		return -1;
	snprintf(folder->path, sizeof folder->path, "/tmp/test_folder_watch.XXXXXX");
	if (mkdtemp(folder->path) == NULL) {
		free(folder);
		return -1;
	}
	*state = folder;
	return 0;
}

static int tear_down(void **state)
{
	struct folder *folder = *state;

	rmdir(folder->path);
	free(folder);
	return 0;
}

static void test_changes(void **state)
{
	struct folder *folder = *state;
	struct folder_watch watch;

	folder_watch_init(&watch, folder->path);
	for (uint64_t now_ns = 0; now_ns < 5000 * MS; now_ns += 1000 * MS) {
		touch(folder);
		assert_true(folder_watch_changed(&watch, now_ns));
		assert_false(folder_watch_changed(&watch, now_ns + 5 * MS));
		/* What came right after that need not show. */
		assert_true(folder_watch_changed(&watch, now_ns + 500 * MS));
		assert_false(folder_watch_changed(&watch, now_ns + 501 * MS));
		assert_false(folder_watch_changed(&watch, now_ns + 900 * MS));
	}
}

static void test_repeat(void **state)
{
	const struct folder *folder = *state;
	struct folder_watch watch;

	folder_watch_init(&watch, folder->path);
	assert_true(folder_watch_changed(&watch, 0));
	assert_true(folder_watch_changed(&watch, 100 * MS));
	assert_false(folder_watch_changed(&watch, 200 * MS));
	folder_watch_repeat(&watch, 300 * MS);
	assert_false(folder_watch_changed(&watch, 301 * MS));
	assert_true(folder_watch_changed(&watch, 400 * MS));
	assert_false(folder_watch_changed(&watch, 500 * MS));
}

static void test_no_folder(void **state)
{
	struct folder_watch watch;

	(void)state;
	folder_watch_init(&watch, "/nonexistent");
	assert_false(folder_watch_changed(&watch, 0));
	assert_false(folder_watch_changed(&watch, 1000 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_repeat, set_up, tear_down),
		cmocka_unit_test(test_no_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
