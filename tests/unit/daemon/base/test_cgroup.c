/* SPDX-License-Identifier: MIT */
/* Finding control groups: the kernel's text, recorded and damaged. */
#undef NDEBUG
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/cgroup.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char groups_v1[] = "9:name=systemd:/a\n4:cpu,cpuacct:/b/c\n2:cpuset:/..\n0::/d\n";

/* Recorded: version 1 with a controller a mount, and version 2 beside it. */
static const char mounts_hybrid[] =
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	"33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
	"34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
	"40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static const char mounts_joint[] =
	"24 18 0:20 / /sys/fs/cgroup/systemd rw shared:9 - cgroup cgroup rw,xattr,name=systemd\n"
	"33 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:16 - cgroup cgroup "
	"rw,cpu,cpuacct\n";

/* Version 2 alone. */
static const char mounts_v2[] =
	"29 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 "
	"rw,nsdelegate,memory_recursiveprot\n";

/* A container without a namespace of its own for groups: it sees its own part of the tree. */
static const char mounts_container[] =
	"900 880 0:28 /docker/77aa /sys/fs/cgroup/cpu ro,nosuid master:16 - cgroup cgroup rw,cpu\n";

static void test_path(void **state)
{
	char out[32];
	(void)state;

	assert_int_equal(cgroup_parse_path(groups_v1, "cpu", out, sizeof out), 0);
	assert_string_equal(out, "/b/c");
	assert_int_equal(cgroup_parse_path(groups_v1, "cpuset", out, sizeof out), 0);
	assert_string_equal(out, "/");
	assert_int_equal(cgroup_parse_path(groups_v1, "", out, sizeof out), 0);
	assert_string_equal(out, "/d");
	assert_int_equal(cgroup_parse_path("4:cpu:/a..b/..c\n", "cpu", out, sizeof out), 0);
	assert_string_equal(out, "/a..b/..c");
	assert_int_equal(cgroup_parse_path("4:cpu:/a/../b\n", "cpu", out, sizeof out), 0);
	assert_string_equal(out, "/");
	static const char *const wrong[] = {"", "nonsense", "1:cpu", "1:cpux:/a", "1:cp:/a",
		"1:cpu:/more than there is room for, by far\n", ":", "::", "\n\n\n"};
	assert_int_equal(cgroup_parse_path(groups_v1, "memory", out, sizeof out), -ENOENT);
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_int_equal(cgroup_parse_path(wrong[i], "cpu", out, sizeof out), -ENOENT);
}

static void test_find(void **state)
{
	static const struct {
		const char *mounts, *groups, *controller, *path;
		size_t top; /* length of the mount point */
	} cases[] = {
		{mounts_hybrid, "4:cpu:/b/c\n0::/\n", "cpu", "/sys/fs/cgroup/cpu/b/c", 18},
		{mounts_hybrid, "4:cpu:/b/c\n0::/\n", "", "/sys/fs/cgroup/unified", 22},
		{mounts_hybrid, "4:cpu:/\n0::/\n", "cpu", "/sys/fs/cgroup/cpu", 18},
		{mounts_hybrid, "4:cpuset:/x\n", "cpu", NULL, 0},
		{mounts_joint, groups_v1, "cpu", "/sys/fs/cgroup/cpu,cpuacct/b/c", 26},
		{mounts_joint, groups_v1, "cpuacct", "/sys/fs/cgroup/cpu,cpuacct/b/c", 26},
		{mounts_joint, groups_v1, "", NULL, 0},
		{mounts_v2, "0::/user.slice/a.scope\n", "", "/sys/fs/cgroup/user.slice/a.scope",
			14},
		{mounts_v2, "0::/\n", "", "/sys/fs/cgroup", 14}, /* in a namespace, too */
		{mounts_v2, "0::/../other\n", "", "/sys/fs/cgroup", 14},
		{mounts_container, "2:cpu:/docker/77aa\n", "cpu", "/sys/fs/cgroup/cpu", 18},
		{mounts_container, "2:cpu:/docker/77aa/b\n", "cpu", "/sys/fs/cgroup/cpu/b", 18},
		{mounts_container, "2:cpu:/docker/77aab\n", "cpu", NULL, 0},
		{mounts_container, "2:cpu:/docker\n", "cpu", NULL, 0},
		/* Blanks and commas are octal. */
		{"1 2 3:4 / /my\\040groups rw - cgroup2 x rw\n", "0::/a\n", "", "/my groups/a", 10},
		{"1 2 3:4 / / rw - cgroup2 x rw\n", "0::/a\n", "", "/a", 0},
		/* Damaged. */
		{"", "0::/a\n", "", NULL, 0},
		{"1 2 3:4 / /x rw - cgroup2\n", "0::/a\n", "", NULL, 0},
		{"1 2 3:4 / /x rw cgroup2 x rw\n", "0::/a\n", "", NULL, 0},
		{"1 2 3:4 /\n", "0::/a\n", "", NULL, 0},
		{"\n\n - - - -\n", "0::/a\n", "", NULL, 0},
		{"x\n1 2 3:4 / /x rw - cgroup2 x rw", "0::/a", "", "/x/a", 2},
	};
	struct cgroup_folder folder;
	(void)state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		int r = cgroup_find(cases[i].mounts, cases[i].groups, cases[i].controller, &folder);
		if (r != (cases[i].path != NULL ? 0 : -ENOENT))
			fail_msg("%s in %s: %d", cases[i].groups, cases[i].mounts, r);
		if (r < 0)
			continue;
		assert_string_equal(folder.path, cases[i].path);
		assert_int_equal(folder.top, cases[i].top);
	}
}

/* Names that are too long are not cut: they would be those of other groups. */
static void test_long_names(void **state)
{
	enum { LONG = CGROUP_PATH_BYTES + 10 };
	char *name = malloc(LONG), *text = malloc(2 * LONG);
	struct cgroup_folder folder;
	(void)state;

	memset(name, 'a', LONG - 1);
	name[0] = '/';
	name[LONG - 1] = '\0';
	sprintf(text, "0::%s\n", name);
	assert_int_equal(cgroup_find(mounts_v2, text, "", &folder), -ENOENT);
	name[CGROUP_PATH_BYTES - 5] = '\0'; /* with the mount point, it is too long */
	sprintf(text, "0::%s\n", name);
	assert_int_equal(cgroup_find(mounts_v2, text, "", &folder), -ENOENT);
	sprintf(text, "1 2 3:4 / %.*s rw - cgroup2 x rw\n", LONG - 1, name);
	assert_int_equal(cgroup_find(text, "0::/abcdef\n", "", &folder), -ENOENT);
	free(name);
	free(text);
}

static void test_up(void **state)
{
	struct cgroup_folder folder;
	(void)state;

	assert_int_equal(cgroup_find(mounts_v2, "0::/a/b.c\n", "", &folder), 0);
	assert_true(cgroup_go_up(&folder));
	assert_string_equal(folder.path, "/sys/fs/cgroup/a");
	assert_true(cgroup_go_up(&folder));
	assert_string_equal(folder.path, "/sys/fs/cgroup");
	assert_false(cgroup_go_up(&folder));
	assert_string_equal(folder.path, "/sys/fs/cgroup");
}

static void test_cpu_max(void **state)
{
	static const char *const unlimited[] = {
		"max 100000", "", "0 0", "-1 100000", "x", "nan nan", "100000", "100000 0", "max"};
	(void)state;

	assert_true(cgroup_parse_cpu_max("150000 100000") == 1.5);
	assert_true(cgroup_parse_cpu_max("300000 100000\n") == 3);
	for (size_t i = 0; i < COUNT(unlimited); i++)
		assert_false(isfinite(cgroup_parse_cpu_max(unlimited[i])));
}

static void test_stat(void **state)
{
	static const char v2[] = "usage_usec 81\nnr_throttled 2\nthrottled_usec 1234567\nx 1\n";
	static const char *const wrong[] = {"", "throttled_usec", "throttled_usec ",
		"throttled_usec x", "throttled_usec -1", "throttled_usec 1x",
		"throttled_usec 99999999999999999999999", "throttled_usec_2 7",
		"a throttled_usec 7"};
	uint64_t value = 5;
	(void)state;

	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_int_equal(cgroup_parse_stat(wrong[i], "throttled_usec", &value), -ENOENT);
	assert_int_equal(value, 5);
	assert_int_equal(cgroup_parse_stat(v2, "throttled_usec", &value), 0);
	assert_int_equal(value, 1234567);
	assert_int_equal(
		cgroup_parse_stat("nr_periods 0\nthrottled_time 7", "throttled_time", &value), 0);
	assert_int_equal(value, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_up),
		cmocka_unit_test(test_cpu_max),
		cmocka_unit_test(test_stat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
