/* SPDX-License-Identifier: MIT */
#include "daemon/team/neighbours.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/parse.h"

#define FOLDER "/dev/shm"
#define ENTRIES_MOST 1000 /* whoever fills the folder can't keep us busy */
/* A juggle without an interval for that long, and for that many periods, is dead or stopped. */
#define ALIVE_NS UINT64_C(1000000000)
#define ALIVE_PERIODS 3
/* One that is not alive, and began that long ago, was probably killed if it has no process: to begin takes less. But in
 * another container, where its process isn't seen, it may only have been stopped, so all are looked at again after
 * AGAIN_NS. */
#define GONE_NS UINT64_C(10000000000)
#define AGAIN_NS UINT64_C(60000000000)
#define PERIOD_MOST_NS UINT64_C(3600000000000) /* that the options allow */

static void count_one(uint32_t *count, int32_t os_cpu)
{
	if (os_cpu >= 0 && os_cpu < CPUSET_CPUS_MAX)
		count[os_cpu]++;
}

static void count_threads(struct telemetry_reader *reader, const struct telemetry *header,
	bool older, struct neighbours_counts *counts)
{
	uint32_t slots = telemetry_get32(&header->slots), cpus = telemetry_get32(&header->cpus);
	struct telemetry_thread *thread = calloc(slots + 1, sizeof *thread);
	struct telemetry_cpu *cpu = calloc(cpus + 1, sizeof *cpu);
	bool read = thread != NULL && cpu != NULL &&
		    telemetry_reader_threads(reader, thread, slots) == 0 &&
		    telemetry_reader_cpus(reader, cpu, cpus) == 0;

	for (uint32_t i = 0, all = 0, loose = 0; i < slots && cpus > 0 && read; i++) {
		uint32_t flags = telemetry_get32(&thread[i].flags);
		int32_t os_cpu = atomic_load_explicit(&thread[i].os_cpu, memory_order_relaxed);
		if (!(flags & TELEMETRY_THREAD_COMPUTE) || (flags & TELEMETRY_THREAD_ENDED))
			continue;
		count_one(counts->all, cpu[all++ % cpus].os_cpu);
		if (older)
			count_one(counts->older, os_cpu < 0 ? cpu[loose++ % cpus].os_cpu : os_cpu);
	}
	free(thread);
	free(cpu);
}

static bool is_older(const struct telemetry *other, const struct telemetry *own)
{
	return other->start_ns != own->start_ns ? other->start_ns < own->start_ns
						: other->pid < own->pid;
}

static bool is_alive(const struct telemetry *other, uint64_t now_ns)
{
	uint64_t heartbeat_ns = telemetry_get(&other->heartbeat_ns);
	uint64_t period_ns = telemetry_get(&other->period_ns);
	uint64_t periods_ns =
		ALIVE_PERIODS * (period_ns < PERIOD_MOST_NS ? period_ns : PERIOD_MOST_NS);
	uint64_t most_ns = periods_ns > ALIVE_NS ? periods_ns : ALIVE_NS;

	/* It may have balanced since now_ns was read. */
	return heartbeat_ns > now_ns ? heartbeat_ns - now_ns < ALIVE_NS
				     : now_ns - heartbeat_ns < most_ns;
}

/* Was it killed, so that its segment is left for ever? */
static bool is_gone(const struct telemetry *other, uint64_t now_ns)
{
	bool old = other->start_ns > now_ns || now_ns - other->start_ns > GONE_NS;

	return old && !is_alive(other, now_ns) && kill(other->pid, 0) < 0 && errno == ESRCH;
}

bool neighbours_count(struct telemetry_reader *reader, const struct telemetry *own, uint64_t now_ns,
	struct neighbours_counts *counts)
{
	struct telemetry header;

	if (telemetry_reader_header(reader, &header) != 0)
		return false;
	uint32_t state = telemetry_get32(&header.state);
	if (state == TELEMETRY_RUNNING && is_alive(&header, now_ns))
		count_threads(reader, &header, is_older(&header, own), counts);
	return (state == TELEMETRY_STARTING || state == TELEMETRY_RUNNING) &&
	       !is_gone(&header, now_ns);
}

/* As above, for the juggle with that pid. */
static bool count_of(
	pid_t pid, const struct telemetry *own, uint64_t now_ns, struct neighbours_counts *counts)
{
	struct telemetry_reader *reader;

	if (pid == own->pid)
		return false;
	int r = telemetry_reader_open(pid, getuid(), &reader, NULL);
	if (r < 0) /* by no fault of its own? */
		return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
	bool count = neighbours_count(reader, own, now_ns, counts);
	telemetry_reader_close(reader);
	return count;
}

void neighbours_init(struct neighbours *neighbours)
{
	folder_watch_init(&neighbours->folder, FOLDER);
}

/* Which juggles of this user have segments? */
static void find_all(struct neighbours *neighbours)
{
	DIR *folder = opendir(FOLDER);
	const struct dirent *file;
	char prefix[32];
	int64_t pid;

	neighbours->count = 0;
	if (folder == NULL)
		return;
	int length = snprintf(prefix, sizeof prefix, "juggle.%u.", (unsigned)getuid());
	for (int i = 0; i < ENTRIES_MOST && neighbours->count < NEIGHBOURS_MAX &&
			(file = readdir(folder)) != NULL;
		i++)
		if (strncmp(file->d_name, prefix, (size_t)length) == 0 &&
			parse_integer(file->d_name + length, 1, INT32_MAX, &pid) == 0)
			neighbours->pid[neighbours->count++] = (pid_t)pid;
	closedir(folder);
}

void neighbours_look(struct neighbours *neighbours, const struct telemetry *own, uint64_t now_ns)
{
	size_t before = neighbours->count, kept = 0;

	if (folder_watch_changed(&neighbours->folder, now_ns) ||
		now_ns - neighbours->read_ns > AGAIN_NS) {
		neighbours->read_ns = now_ns;
		find_all(neighbours);
	}
	if (before == 0 && neighbours->count == 0)
		return;
	struct neighbours_counts *counts = calloc(1, sizeof *counts);
	if (counts == NULL)
		return;
	for (size_t k = 0; k < neighbours->count; k++)
		if (count_of(neighbours->pid[k], own, now_ns, counts))
			neighbours->pid[kept++] = neighbours->pid[k];
	neighbours->count = kept;
	bool any = before > 0 || kept > 0;
	for (size_t j = 0; j < CPUSET_CPUS_MAX && any; j++) {
		atomic_store_explicit(
			&neighbours->older[j], counts->older[j], memory_order_relaxed);
		atomic_store_explicit(&neighbours->all[j], counts->all[j], memory_order_relaxed);
	}
	free(counts);
}
