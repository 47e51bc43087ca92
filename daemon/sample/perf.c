// SPDX-License-Identifier: MIT
/*
 * Samples from perf events; only this file calls perf_event_open.
 *
 * On cores of different speed, equal CPU time is not equal progress. So progress is the number of
 * instructions where the machine counts them, and the task clock elsewhere, as in most virtual
 * machines. Unlike the times of schedstat, the task clock is exact for a thread that runs right
 * now. Run and wait times come from schedstat.
 *
 * Where there are several kinds of cores, each kind has its own PMU, and a generic event counts on
 * only one of them. There the task clock is used, too.
 */
#include "daemon/sample/back_end.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* slot->fd[0] is schedstat's. */
#define PERF_FD 1

struct perf_state {
	uint32_t type;
	uint64_t config;
	bool exclude_kernel;
	bool have_schedstat;
};

/* What read(2) returns with the read_format below. */
struct perf_value {
	uint64_t count;
	uint64_t enabled_ns; /* time that the thread ran */
	uint64_t running_ns; /* the part of it in which a counter was free */
};

static int open_event(const struct perf_state *state, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = state->type,
		.size = sizeof(attr),
		.config = state->config,
		.exclude_kernel = state->exclude_kernel,
		.exclude_hv = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return (int)fd;
	/* The kernel says EACCES both for another user's thread and for perf_event_paranoid. */
	return errno == EACCES ? -EPERM : -errno;
}

static int read_event(int fd, struct perf_value *out)
{
	ssize_t bytes = read(fd, out, sizeof(*out));

	if (bytes < 0)
		return -errno;
	return bytes == (ssize_t)sizeof(*out) ? 0 : -EIO;
}

/* The number of kinds of cores. Only the PMU of a kind of core has a file of this name, which lists
 * its CPUs, and only where there may be several kinds. */
static unsigned core_pmus(void)
{
	static const char devices[] = "/sys/bus/event_source/devices";
	DIR *dir = opendir(devices);
	struct dirent *entry;
	unsigned n = 0;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL) {
		char path[sizeof(devices) + sizeof(entry->d_name) + sizeof("//cpus")];
		snprintf(path, sizeof(path), "%s/%s/cpus", devices, entry->d_name);
		if (access(path, F_OK) == 0)
			n++;
	}
	closedir(dir);
	return n;
}

/* Check that the event can be opened on the calling thread, and counts. */
static int probe(struct perf_state *state, uint32_t type, uint64_t config)
{
	struct perf_value value;

	state->type = type;
	state->config = config;
	state->exclude_kernel = false;
	SAMPLE_AUTO_CLOSE int fd = open_event(state, 0);
	if (fd == -EPERM) {
		/* With perf_event_paranoid 2, the default, only user space may be counted. */
		state->exclude_kernel = true;
		fd = open_event(state, 0);
	}
	if (fd < 0)
		return fd;

	int error = read_event(fd, &value);
	/* Virtual machines may offer a counter that stands still. */
	return error == 0 && value.count == 0 ? -ENOENT : error;
}

static int perf_open(void **out)
{
	struct perf_state *state = calloc(1, sizeof(*state));
	int error = -ENOENT;

	if (state == NULL)
		return -ENOMEM;
	if (core_pmus() <= 1)
		error = probe(state, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	if (error != 0)
		error = probe(state, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	if (error != 0) {
		free(state);
		return error == -EPERM ? error : -ENOSYS;
	}
	state->have_schedstat = sample_schedstat_probe() == 0;
	*out = state;
	return 0;
}

static int perf_attach(void *opaque, struct sampler_slot *slot)
{
	const struct perf_state *state = opaque;

	if (state->have_schedstat) {
		int error = sample_schedstat_attach(slot);
		if (error != 0)
			return error;
	}
	int fd = open_event(state, slot->tid);
	if (fd < 0)
		return fd;
	slot->fd[PERF_FD] = fd;
	return sample_fd_is_scarce(fd) ? -EMFILE : 0;
}

/* When there are more events than counters, the kernel lets events take turns. What an event missed
 * is estimated from what it counted. */
static uint64_t scaled_count(const struct perf_value *value)
{
	if (value->running_ns == 0 || value->running_ns >= value->enabled_ns)
		return value->count;
	return (uint64_t)((double)value->count * (double)value->enabled_ns /
			  (double)value->running_ns);
}

static void read_slot(const struct perf_state *state, struct sampler_slot *slot)
{
	uint64_t progress = slot->progress;
	struct perf_value value;
	int error = read_event(slot->fd[PERF_FD], &value);

	if (error != 0) {
		slot->error = error;
		return;
	}
	/* An event outlives its thread, so schedstat has to show that the thread ended. */
	if (state->have_schedstat) {
		if (sample_schedstat_read_one(slot) != 0)
			return;
	} else {
		struct sample_counts counts = {.run_ns = value.enabled_ns};
		if (syscall(SYS_tgkill, slot->pid, slot->tid, 0) != 0 && errno == ESRCH) {
			slot->error = -ESRCH;
			return;
		}
		if (sample_store(slot, &counts) != 0)
			return;
	}
	/* An estimate may fall. */
	uint64_t count = scaled_count(&value);
	slot->progress = count > progress ? count : progress;
}

static void perf_read(void *opaque, struct sampler_slot *const *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		read_slot(opaque, slots[i]);
}

static const char *perf_progress_unit(const void *opaque)
{
	const struct perf_state *state = opaque;
	return state->type == PERF_TYPE_HARDWARE ? "instructions" : "ns";
}

const struct sample_back_end sample_perf = {
	.kind = SAMPLER_PERF,
	.open = perf_open,
	.close = free,
	.attach = perf_attach,
	.read = perf_read,
	.progress_unit = perf_progress_unit,
};
