/* SPDX-License-Identifier: MIT */
/* Facts that can only be found by trying on this machine, with juggle's own code. */
#include "tools/doctor/system.h"

#include "daemon/proc/proc.h"
#include "daemon/telemetry/telemetry.h"
#include "daemon/topology/topology.h"
#include "tools/live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define TMPFS 0x01021994 /* TMPFS_MAGIC */
#define FIRST_PID_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO, the same on all machines */

static void try_samplers(struct doctor_system *system)
{
	for (enum sampler_kind kind = SAMPLER_SCHEDSTAT; kind < DOCTOR_SAMPLERS; kind++) {
		struct sampler *sampler = NULL;
		struct sampler_slot slot = {.pid = getpid(), .tid = getpid()};

		int error = sampler_new(&sampler, kind);
		if (error == 0) {
			/* Opening may succeed where reading a thread does not. */
			error = sampler_attach(sampler, &slot);
			if (error == 0)
				sampler_detach(sampler, &slot);
			if (kind == SAMPLER_PERF)
				system->instructions =
					strcmp(sampler_progress_unit(sampler), "ns") != 0;
			sampler_free(sampler);
		}
		system->sampler_error[kind] = error;
	}
}

/* Create a file as juggle would, and remove it at once. */
static void try_shm(struct doctor_system *system)
{
	char path[64];
	struct statfs fs;

	system->segment_bytes = sizeof(struct telemetry) +
				TELEMETRY_CPUS * sizeof(struct telemetry_cpu) +
				TELEMETRY_THREADS * sizeof(struct telemetry_thread) +
				TELEMETRY_PROGRESS * sizeof(struct telemetry_progress);
	snprintf(path, sizeof(path), "/juggle-doctor.%ld", (long)getpid());
	int fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		system->shm_error = -errno;
		return;
	}
	shm_unlink(path);
	if (fstatfs(fd, &fs) == 0) {
		system->shm_tmpfs = fs.f_type == TMPFS;
		system->shm_free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	}
	close(fd);
}

static void count_stale(struct doctor_system *system)
{
	struct live_entry *entry = NULL;
	size_t n = 0;

	if (live_list(&entry, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++)
		system->stale_segments +=
			entry[i].state == LIVE_STALE && entry[i].uid == system->uid;
	free(entry);
}

static void try_cpus(struct doctor_system *system)
{
	struct topology topology;

	system->affinity_error = cpuset_of_thread(0, &system->mask);
	if (!system->cpus_given)
		system->cpus = system->mask;
	if (topology_init(&topology, &system->cpus, &(struct topology_setup){0}) == 0) {
		system->domains = topology.domains;
		for (size_t i = 0; i < topology.cpus; i++)
			system->speed[topology.cpu[i].os_cpu] = topology.cpu[i].speed;
		snprintf(system->speeds_from, sizeof(system->speeds_from), "%s",
			topology.speeds_from);
		topology_deinit(&topology);
	}
}

/* In its own PID namespace, a process has another number than in the outer /proc. */
static int try_proc(void)
{
	char link[64], own[64];
	ssize_t length = readlink("/proc/self", link, sizeof(link) - 1);

	if (length < 0)
		return -errno;
	link[length] = '\0';
	snprintf(own, sizeof(own), "%ld", (long)getpid());
	return strcmp(link, own) == 0 ? 0 : -EXDEV;
}

void doctor_try_machine(struct doctor_system *system)
{
	struct proc_watch watch;
	struct timespec tick;
	struct rlimit files;
	char link[64];

	system->uid = geteuid();
	system->proc_error = try_proc();
	try_cpus(system);
	try_samplers(system);
	try_shm(system);
	count_stale(system);
	proc_watch_init(&watch);
	system->births_seen = watch.trusted;
	proc_watch_deinit(&watch);
	/* The coarse clocks advance once per tick. */
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_sec == 0)
		system->tick_ns = (uint64_t)tick.tv_nsec;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		system->open_files = files.rlim_max; /* juggle raises its own limit to that */
	ssize_t length = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
	link[length > 0 ? length : 0] = '\0';
	system->container = length > 0 && strcmp(link, FIRST_PID_NAMESPACE) != 0;
}
