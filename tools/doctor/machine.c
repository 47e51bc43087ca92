/* SPDX-License-Identifier: MIT */
/* What files in /proc and /sys say about a machine, be it this one or a recorded one. */
#include "tools/doctor/system.h"
#include "tools/doctor/text.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAT_BYTES 1048576 /* enough for some 8000 CPUs */
#define CPUS "/sys/devices/system/cpu/"

/* The CPUs of a mask that are the first of their core. A CPU whose core isn't known counts as a
 * core of its own. */
static void read_cores(const char *root, const struct cpuset *mask, struct cpuset *first)
{
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++) {
		struct cpuset siblings;
		char path[128];
		bool is_first = cpuset_has(mask, cpu);
		if (!is_first)
			continue;
		snprintf(path, sizeof(path), CPUS "cpu%d/topology/thread_siblings_list", cpu);
		doctor_read_cpus(root, path, &siblings);
		for (int i = 0; i < cpu && is_first; i++)
			is_first = !cpuset_has(&siblings, i) || !cpuset_has(mask, i);
		if (is_first)
			cpuset_add(first, cpu);
	}
}

static void read_governor(struct doctor_system *system, const char *root, int cpu)
{
	char path[128], governor[sizeof(system->governor)];

	snprintf(path, sizeof(path), CPUS "cpu%d/cpufreq/scaling_governor", cpu);
	if (doctor_read_file(root, path, governor, sizeof(governor)) != 0)
		return;
	if (system->governor[0] == '\0') {
		memcpy(system->governor, governor, sizeof(governor));
		snprintf(path, sizeof(path), CPUS "cpu%d/cpufreq/scaling_driver", cpu);
		doctor_read_file(root, path, system->driver, sizeof(system->driver));
	} else if (strcmp(system->governor, governor) != 0)
		strcpy(system->governor, "several");
}

static void read_cpus(struct doctor_system *system, const char *root)
{
	struct cpuset available;

	doctor_read_cpus(root, CPUS "online", &system->online);
	available = system->online;
	doctor_read_cpus(root, CPUS "offline", &system->offline);
	doctor_read_cpus(root, CPUS "isolated", &system->isolated);
	doctor_read_cpus(root, CPUS "nohz_full", &system->nohz_full);
	doctor_read_cpus(root, "/sys/devices/cpu_core/cpus", &system->kind[0]);
	doctor_read_cpus(root, "/sys/devices/cpu_atom/cpus", &system->kind[1]);
	read_cores(root, &system->cpus, &system->first);
	if (cpuset_count(&system->cpuset) > 0)
		for (size_t i = 0; i < CPUSET_WORDS; i++)
			available.word[i] &= system->cpuset.word[i];
	read_cores(root, &available, &system->cores);
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX; cpu++)
		if (cpuset_has(&system->cpus, cpu))
			read_governor(system, root, cpu);
}

/* The lines of CPUs are the first ones. */
static void read_stolen(struct doctor_system *system, const char *root)
{
	char *text = malloc(STAT_BYTES), *rest = text;

	if (text == NULL || doctor_read_file(root, "/proc/stat", text, STAT_BYTES) != 0)
		rest = NULL;
	while (rest != NULL) {
		int cpu;
		double share;
		if (doctor_parse_stolen(strsep(&rest, "\n"), &cpu, &share) == 0)
			system->stolen[cpu] = share;
	}
	free(text);
}

static double quota_v2(const char *root, const char *folder)
{
	char path[4200], text[64];

	snprintf(path, sizeof(path), "%s/cpu.max", folder);
	return doctor_read_file(root, path, text, sizeof(text)) == 0 ? doctor_parse_cpu_max(text)
								     : INFINITY;
}

static double quota_v1(const char *root, const char *folder)
{
	char path[4200];
	int64_t quota_us, period_us;

	snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
	if (doctor_read_number(root, path, &quota_us) != 0 || quota_us <= 0)
		return INFINITY;
	snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
	if (doctor_read_number(root, path, &period_us) != 0 || period_us <= 0)
		return INFINITY;
	return (double)quota_us / (double)period_us;
}

/* The smallest quota of a cgroup and of those above it. Within a container the path may be the
 * host's, and only the top is visible. What can't be read counts as no limit. */
static void read_quota(struct doctor_system *system, const char *root, const char *mount,
	const char *path, double (*quota)(const char *root, const char *folder))
{
	char folder[4160];

	snprintf(folder, sizeof(folder), "%s%s", mount, path);
	size_t top = strlen(mount);
	for (;;) {
		system->quota_cpus = fmin(system->quota_cpus, quota(root, folder));
		char *slash = strrchr(folder, '/');
		if (strlen(folder) <= top || slash == NULL)
			return;
		*slash = '\0';
	}
}

/* The CPUs of a cgroup, or of the nearest one above it that lists any. */
static void read_cpuset(struct doctor_system *system, const char *root, const char *mount,
	const char *path, const char *file)
{
	char folder[4160], name[4300];

	snprintf(folder, sizeof(folder), "%s%s", mount, path);
	size_t top = strlen(mount);
	while (cpuset_count(&system->cpuset) == 0) {
		snprintf(name, sizeof(name), "%s/%s", folder, file);
		doctor_read_cpus(root, name, &system->cpuset);
		char *slash = strrchr(folder, '/');
		if (strlen(folder) <= top || slash == NULL)
			return;
		*slash = '\0';
	}
}

static void read_cgroups(struct doctor_system *system, const char *root)
{
	static const char *const v2[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	static const char *const v1[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
	char text[16384], path[4000];

	if (doctor_read_file(root, "/proc/self/cgroup", text, sizeof(text)) != 0)
		return;
	if (doctor_parse_cgroup(text, "cpu", path, sizeof(path)) == 0)
		for (size_t i = 0; i < sizeof v1 / sizeof *v1; i++)
			read_quota(system, root, v1[i], path, quota_v1);
	if (doctor_parse_cgroup(text, "cpuset", path, sizeof(path)) == 0)
		read_cpuset(system, root, "/sys/fs/cgroup/cpuset", path, "cpuset.effective_cpus");
	if (doctor_parse_cgroup(text, "", path, sizeof(path)) != 0)
		return;
	for (size_t i = 0; i < sizeof v2 / sizeof *v2; i++) {
		read_quota(system, root, v2[i], path, quota_v2);
		read_cpuset(system, root, v2[i], path, "cpuset.cpus.effective");
	}
}

static void read_kernel(struct doctor_system *system, const char *root)
{
	char enabled[16];
	int64_t number;

	doctor_read_file(
		root, "/proc/sys/kernel/osrelease", system->release, sizeof(system->release));
	(void)doctor_parse_version(system->release, &system->kernel);
	doctor_read_file(root, "/sys/kernel/sched_ext/state", enabled, sizeof(enabled));
	if (strcmp(enabled, "enabled") == 0 &&
		doctor_read_file(root, "/sys/kernel/sched_ext/root/ops", system->sched_ext,
			sizeof(system->sched_ext)) != 0)
		strcpy(system->sched_ext, "unknown");
	if (doctor_read_number(root, "/proc/sys/kernel/sched_autogroup_enabled", &number) == 0)
		system->autogroup = number != 0;
	if (doctor_read_number(root, "/proc/sys/kernel/perf_event_paranoid", &number) == 0)
		system->perf_paranoid = (int)number;
}

static void read_process(struct doctor_system *system, const char *root)
{
	enum { CAP_SYS_NICE_BIT = 23 };
	char text[16384];
	uint64_t number;

	if (doctor_read_file(root, "/proc/self/status", text, sizeof(text)) == 0) {
		if (doctor_parse_status(text, "Seccomp", 10, &number) == 0 && number <= 2)
			system->seccomp = (int)number;
		if (doctor_parse_status(text, "CapEff", 16, &number) == 0)
			system->may_move_others = number >> CAP_SYS_NICE_BIT & 1;
	}
	if (doctor_read_file(root, "/proc/self/mounts", text, sizeof(text)) == 0)
		system->hidepid = doctor_parse_hidepid(text);
}

void doctor_read_machine(struct doctor_system *system, const char *root)
{
	read_cgroups(system, root);
	read_cpus(system, root); /* within their limits */
	read_stolen(system, root);
	read_kernel(system, root);
	read_process(system, root);
}
