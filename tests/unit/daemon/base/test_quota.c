/* SPDX-License-Identifier: MIT */
/* Quotas of control groups in a file system that the test makes. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/base/quota.h"

static char root[] = "/tmp/test-quota.XXXXXX";

static int remove_one(const char *path, const struct stat *file, int type, struct FTW *where)
{
	(void)file;
	(void)type;
	(void)where;
	return remove(path);
}

static void put(const char *path, const char *text)
{
	char name[512];

	snprintf(name, sizeof name, "%s/%s", root, path);
	for (char *slash = strchr(name + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(name, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	FILE *file = fopen(name, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void take_away(const char *path)
{
	char name[512];

	snprintf(name, sizeof name, "%s/%s", root, path);
	assert_int_equal(remove(name), 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test-quota.XXXXXX");
	return mkdtemp(root) == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put_v2(void)
{
	put("proc/self/mountinfo", "28 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
				   "29 22 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	put("proc/7/cgroup", "0::/pod/one\n");
	put("proc/7/stat", "7 (a) b) S 1 7 7 0 -1 4194304 9 9\n");
	put("cg/cpu.stat", "usage_usec 10\n");
	put("cg/pod/cpu.max", "250000 100000\n");
	put("cg/pod/cpu.stat", "nr_throttled 1\nthrottled_usec 1000\n");
	put("cg/pod/one/cpu.max", "max 100000\n");
	put("cg/pod/one/cpu.stat", "nr_throttled 0\nthrottled_usec 0\n");
}

static void test_v2(void **state)
{
	struct quota *quota = malloc(sizeof *quota);
	(void)state;

	put_v2();
	quota_init(quota, root);
	assert_true(isinf(quota->cpus));
	assert_int_equal(quota_look(quota, 8), -ENOENT);
	assert_int_equal(quota_look(quota, 7), 0);
	assert_true(quota->cpus == 2.5); /* of the group above */
	assert_int_equal(quota->throttled_ns, 0); /* since this look */
	put("cg/pod/cpu.stat", "throttled_usec 1500\n");
	put("cg/pod/one/cpu.max", "50000 100000\n");
	put("cg/pod/one/cpu.stat", "throttled_usec 20\n");
	assert_int_equal(quota_look(quota, 7), 0);
	assert_true(quota->cpus == 0.5); /* the least */
	assert_int_equal(quota->throttled_ns, 520000);
	/* What is gone, or can't be read, is no limit. */
	put("cg/pod/one/cpu.max", "nonsense\n");
	put("cg/pod/cpu.max", "");
	assert_int_equal(quota_look(quota, 7), 0);
	assert_true(isinf(quota->cpus));
	assert_int_equal(quota->throttled_ns, 520000);
	/* The process has ended. */
	assert_int_equal(quota_look(quota, 8), -ENOENT);
	assert_int_equal(quota->throttled_ns, 520000);
	free(quota);
}

/* Another group has another total. */
static void test_other_group(void **state)
{
	struct quota *quota = malloc(sizeof *quota);
	(void)state;

	put_v2();
	put("cg/two/cpu.max", "100000 100000\n");
	put("cg/two/cpu.stat", "throttled_usec 70000\n");
	quota_init(quota, root);
	assert_int_equal(quota_look(quota, 7), 0);
	put("proc/7/cgroup", "0::/two\n");
	assert_int_equal(quota_look(quota, 7), 0);
	assert_true(quota->cpus == 1);
	assert_int_equal(quota->throttled_ns, 0);
	put("cg/two/cpu.stat", "throttled_usec 70001\n");
	assert_int_equal(quota_look(quota, 7), 0);
	assert_int_equal(quota->throttled_ns, 1000);
	/* A total that shrinks, or is too large for ns, counts as nothing. */
	put("cg/two/cpu.stat", "throttled_usec 5\n");
	assert_int_equal(quota_look(quota, 7), 0);
	put("cg/two/cpu.stat", "throttled_usec 18446744073709551615\n");
	assert_int_equal(quota_look(quota, 7), 0);
	assert_int_equal(quota->throttled_ns, 1000);
	free(quota);
}

/* The groups that are shown of a process at its end need not be those that it was in. */
static void test_exiting(void **state)
{
	struct quota *quota = malloc(sizeof *quota);
	(void)state;

	put_v2();
	quota_init(quota, root);
	assert_int_equal(quota_look(quota, 7), 0);
	put("proc/7/cgroup", "0::/\n");
	put("proc/7/stat", "7 (a) b) R 1 7 7 0 -1 4194308 9 9\n");
	assert_int_equal(quota_look(quota, 7), -ESRCH);
	assert_true(quota->cpus == 2.5);
	take_away("proc/7/stat");
	assert_int_equal(quota_look(quota, 7), -ESRCH);
	assert_true(quota->cpus == 2.5);
	put("proc/7/stat", "7 (a\n");
	assert_int_equal(quota_look(quota, 7), 0);
	assert_true(isinf(quota->cpus));
	free(quota);
}

/* Version 1, with version 2 beside it; times of version 1 are in ns. */
static void test_v1(void **state)
{
	struct quota *quota = malloc(sizeof *quota);
	(void)state;

	put("proc/self/mountinfo", "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
				   "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
	put("proc/self/cgroup", "5:memory:/elsewhere\n1:cpu:/a/b\n0::/\n");
	put("cg/cpu/cpu.cfs_quota_us", "-1\n");
	put("cg/cpu/cpu.cfs_period_us", "100000\n");
	put("cg/cpu/a/b/cpu.cfs_quota_us", "150000\n");
	put("cg/cpu/a/b/cpu.cfs_period_us", "50000\n");
	put("cg/cpu/a/b/cpu.stat", "nr_periods 5\nnr_throttled 4\nthrottled_time 300\n");
	quota_init(quota, root);
	assert_int_equal(quota_look(quota, 0), 0);
	assert_true(quota->cpus == 3);
	put("cg/cpu/a/b/cpu.stat", "nr_periods 5\nnr_throttled 4\nthrottled_time 1300\n");
	put("cg/cpu/a/b/cpu.cfs_period_us", "0\n");
	assert_int_equal(quota_look(quota, 0), 0);
	assert_int_equal(quota->throttled_ns, 1000);
	assert_true(isinf(quota->cpus));
	put("cg/cpu/a/b/cpu.cfs_quota_us", "99999999999999999999999\n");
	assert_int_equal(quota_look(quota, 0), 0);
	assert_true(isinf(quota->cpus));
	free(quota);
}

static void test_no_groups(void **state)
{
	struct quota *quota = malloc(sizeof *quota);
	(void)state;

	quota_init(quota, root);
	assert_int_equal(quota_look(quota, 0), -ENOENT);
	put("proc/self/cgroup", "");
	assert_int_equal(quota_look(quota, 0), 0);
	assert_true(isinf(quota->cpus));
	free(quota);
}

static void test_cpus(void **state)
{
	(void)state;
	assert_int_equal(quota_cpus_of(INFINITY, 8), 8);
	assert_int_equal(quota_cpus_of(8.1, 8), 8);
	assert_int_equal(quota_cpus_of(7.1, 8), 8);
	assert_int_equal(quota_cpus_of(3, 8), 3);
	assert_int_equal(quota_cpus_of(2.001, 8), 3);
	assert_int_equal(quota_cpus_of(0.01, 8), 1);
	assert_int_equal(quota_cpus_of(1e300, 8), 8);
	assert_int_equal(quota_cpus_of(1, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_v2, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_group, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exiting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_v1, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_groups, set_up, tear_down),
		cmocka_unit_test(test_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
