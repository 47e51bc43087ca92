/* SPDX-License-Identifier: MIT */
/* Does the kernel keep times? With its answers made up. */
#undef NDEBUG
#include "daemon/sample/back_end.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const char *line; /* of schedstat */
static long cpu_time_ns;

ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t __wrap_pread64(int fd, void *buffer, size_t bytes, off_t offset);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	(void)fd, (void)offset;
	assert_true(strlen(line) <= bytes);
	memcpy(buffer, line, strlen(line));
	return (ssize_t)strlen(line);
}

ssize_t __wrap_pread64(int fd, void *buffer, size_t bytes, off_t offset)
{
	return __wrap_pread(fd, buffer, bytes, offset);
}

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	*out = (struct timespec){.tv_nsec = cpu_time_ns};
	return 0;
}

static void test_probe(void **state)
{
	(void)state;
	line = "4000000 1000 3\n";
	cpu_time_ns = 4000000;
	assert_int_equal(sample_schedstat_probe(), 0);
	line = "0 0 0\n";
	assert_int_equal(sample_schedstat_probe(), -ENOSYS);
	/* The scheduler's clock has not ticked yet. */
	cpu_time_ns = 0;
	assert_int_equal(sample_schedstat_probe(), 0);
	line = "no numbers\n";
	assert_true(sample_schedstat_probe() < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
