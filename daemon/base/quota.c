/* SPDX-License-Identifier: MIT */
#include "daemon/base/quota.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/base/file.h"
#include "daemon/base/parse.h"

/* How a version of control groups writes of quotas. */
struct version {
	const char *controller;
	double (*cpus)(const char *root, const char *folder);
	const char *key; /* of the throttled time in cpu.stat */
	uint64_t unit_ns;
};

static int read_file(
	const char *root, const char *folder, const char *name, char *out, size_t bytes)
{
	char path[CGROUP_PATH_BYTES + 32];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return file_read_text(root, path, out, bytes);
}

static int64_t read_us(const char *root, const char *folder, const char *name)
{
	char text[64];
	int64_t value;

	return read_file(root, folder, name, text, sizeof text) == 0 &&
			       parse_integer(text, 1, INT64_MAX, &value) == 0
		       ? value
		       : 0;
}

static double cpus_v1(const char *root, const char *folder)
{
	int64_t quota_us = read_us(root, folder, "cpu.cfs_quota_us");
	int64_t period_us = quota_us > 0 ? read_us(root, folder, "cpu.cfs_period_us") : 0;

	return period_us > 0 ? (double)quota_us / (double)period_us : INFINITY;
}

static double cpus_v2(const char *root, const char *folder)
{
	char text[64];

	return read_file(root, folder, "cpu.max", text, sizeof text) == 0
		       ? cgroup_parse_cpu_max(text)
		       : INFINITY;
}

static uint64_t throttled_ns(const struct version *version, const char *root, const char *folder)
{
	char text[2048];
	uint64_t value;

	if (read_file(root, folder, "cpu.stat", text, sizeof text) < 0 ||
		cgroup_parse_stat(text, version->key, &value) < 0)
		return 0;
	return value < UINT64_MAX / version->unit_ns ? value * version->unit_ns : 0;
}

/* A group and those above it. What can't be read counts as no limit. */
static void look_up(
	struct quota *quota, const struct version *version, double *cpus, uint64_t *total_ns)
{
	struct cgroup_folder folder;

	if (cgroup_find(quota->mounts, quota->groups, version->controller, &folder) < 0)
		return;
	do {
		*cpus = fmin(*cpus, version->cpus(quota->root, folder.path));
		*total_ns += throttled_ns(version, quota->root, folder.path);
	} while (cgroup_go_up(&folder));
}

/* The kernel then shows the root for its groups of version 1. A process that has no stat any more has exited. */
static bool is_exiting(const char *root, pid_t pid)
{
	enum { PF_EXITING = 4 };
	char path[64], text[1024];
	unsigned flags;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (file_read_text(root, path, text, sizeof text) < 0)
		return true;
	const char *name_end = strrchr(text, ')');
	return name_end != NULL && sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       (flags & PF_EXITING) != 0;
}

void quota_init(struct quota *quota, const char *root)
{
	*quota = (struct quota){.root = root, .cpus = INFINITY};
	(void)cgroup_read_mounts(root, quota->mounts, sizeof quota->mounts);
}

int quota_look(struct quota *quota, pid_t pid)
{
	static const struct version versions[] = {
		{"cpu", cpus_v1, "throttled_time", 1}, {"", cpus_v2, "throttled_usec", 1000}};
	char path[64] = "/proc/self/cgroup", groups[sizeof quota->groups];
	double cpus = INFINITY;
	uint64_t total_ns = 0;

	if (pid != 0)
		snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
	int r = file_read_text(quota->root, path, groups, sizeof groups);
	if (r < 0)
		return r;
	if (pid != 0 && is_exiting(quota->root, pid))
		return -ESRCH;
	/* Other groups have counted since another time. */
	bool same = strcmp(groups, quota->groups) == 0;
	memcpy(quota->groups, groups, sizeof groups);
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		look_up(quota, &versions[i], &cpus, &total_ns);
	if (same && total_ns > quota->total_ns)
		quota->throttled_ns += total_ns - quota->total_ns;
	quota->total_ns = total_ns;
	quota->cpus = cpus;
	return 0;
}

int quota_cpus_of(double quota_cpus, int cpus)
{
	double whole = fmax(1, ceil(quota_cpus));

	return whole < cpus ? (int)whole : cpus;
}
