/* SPDX-License-Identifier: MIT */
/* How often a thread has slept: its status file stays open, but not where descriptors are few. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/job/thread.h"

static uint64_t read_sleeps(struct job_thread *thread)
{
	uint64_t sleeps = 0;

	assert_int_equal(job_thread_read_sleeps(thread, &sleeps), 0);
	return sleeps;
}

static void test_sleeps(void **state)
{
	struct job_thread thread = {.slot = {.pid = getpid(), .tid = getpid()}, .status_fd = -1};
	struct rlimit limit, low;

	(void)state;
	uint64_t before = read_sleeps(&thread);
	int fd = thread.status_fd;
	assert_true(fd >= 0);
	usleep(1000);
	uint64_t after = read_sleeps(&thread);
	assert_true(after > before);
	assert_int_equal(thread.status_fd, fd);
	job_thread_close(&thread);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(read_sleeps(&thread) >= after);
		assert_int_equal(thread.status_fd, -1);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sleeps)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
