/* SPDX-License-Identifier: MIT */
/* What files in /proc and /sys say about a machine, be it this one or a recorded one. */
#include "daemon/base/file.h"
#include "daemon/base/quota.h"
#include "daemon/proc/proc.h"
#include "tools/doctor/system.h"
#include "tools/doctor/text.h"

#include <limits.h>
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
	if (file_read_text(root, path, governor, sizeof(governor)) != 0)
		return;
	if (system->governor[0] == '\0') {
		memcpy(system->governor, governor, sizeof(governor));
		snprintf(path, sizeof(path), CPUS "cpu%d/cpufreq/scaling_driver", cpu);
		file_read_text(root, path, system->driver, sizeof(system->driver));
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
	char *text = malloc(STAT_BYTES);
	struct proc_cpu_times *times = calloc(CPUSET_CPUS_MAX, sizeof(*times));

	if (text != NULL && times != NULL &&
		file_read_text(root, "/proc/stat", text, STAT_BYTES) == 0)
		proc_parse_cpu_times(text, strlen(text), times, CPUSET_CPUS_MAX);
	for (int cpu = 0; cpu < CPUSET_CPUS_MAX && times != NULL; cpu++)
		if (times[cpu].total_ticks > 0)
			system->stolen[cpu] =
				(double)times[cpu].stolen_ticks / (double)times[cpu].total_ticks;
	free(times);
	free(text);
}

static void read_load(struct doctor_system *system, const char *root)
{
	char text[128];

	if (file_read_text(root, "/proc/loadavg", text, sizeof(text)) == 0)
		(void)doctor_parse_load(text, &system->load);
}

/* The CPUs of a cgroup, or of the nearest one above it that lists any. */
static void read_cpuset(struct doctor_system *system, const char *root, const char *mounts,
	const char *groups, const char *controller, const char *file)
{
	struct cgroup_folder folder;
	char name[CGROUP_PATH_BYTES + 64];

	if (cgroup_find(mounts, groups, controller, &folder) < 0)
		return;
	do {
		snprintf(name, sizeof(name), "%s/%s", folder.path, file);
		doctor_read_cpus(root, name, &system->cpuset);
	} while (cpuset_count(&system->cpuset) == 0 && cgroup_go_up(&folder));
}

static void read_cgroups(struct doctor_system *system, const char *root)
{
	struct quota quota;

	quota_init(&quota, root);
	if (quota_look(&quota, 0) < 0)
		return;
	system->quota_cpus = quota.cpus;
	read_cpuset(system, root, quota.mounts, quota.groups, "cpuset", "cpuset.effective_cpus");
	if (cpuset_count(&system->cpuset) == 0)
		read_cpuset(system, root, quota.mounts, quota.groups, "", "cpuset.cpus.effective");
}

static void read_kernel(struct doctor_system *system, const char *root)
{
	char enabled[16];
	int64_t number;

	file_read_text(
		root, "/proc/sys/kernel/osrelease", system->release, sizeof(system->release));
	(void)doctor_parse_version(system->release, &system->kernel);
	file_read_text(root, "/sys/kernel/sched_ext/state", enabled, sizeof(enabled));
	if (strcmp(enabled, "enabled") == 0 &&
		file_read_text(root, "/sys/kernel/sched_ext/root/ops", system->sched_ext,
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

	if (file_read_text(root, "/proc/self/status", text, sizeof(text)) == 0) {
		if (doctor_parse_status(text, "Seccomp", 10, &number) == 0 && number <= 2)
			system->seccomp = (int)number;
		if (doctor_parse_status(text, "CapEff", 16, &number) == 0)
			system->may_move_others = number >> CAP_SYS_NICE_BIT & 1;
	}
	if (file_read_text(root, "/proc/self/mounts", text, sizeof(text)) == 0)
		system->hidepid = doctor_parse_hidepid(text);
}

void doctor_read_machine(struct doctor_system *system, const char *root)
{
	read_cgroups(system, root);
	read_cpus(system, root); /* within their limits */
	read_stolen(system, root);
	read_load(system, root);
	read_kernel(system, root);
	read_process(system, root);
}
