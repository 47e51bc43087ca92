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
 * only one of them. There a thread has an event for each (Linux 5.13; on Arm 6.6).
 */
#include "daemon/sample/back_end.h"
#include "daemon/sample/pmus.h"

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
/* PERF_PMU_TYPE_SHIFT, which older headers lack: above it, config says which PMU is to count. */
#define PMU_TYPE_SHIFT 32

_Static_assert(PERF_FD + PMUS_MAX <= SAMPLER_FDS, "a descriptor for each event");

struct perf_state {
	uint32_t type;
	uint64_t config[PMUS_MAX]; /* of each event of a thread */
	size_t events;
	bool exclude_kernel;
	bool have_schedstat;
};

static int open_event(const struct perf_state *state, uint64_t config, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = state->type,
		.size = sizeof(attr),
		.config = config,
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

static int read_event(int fd, struct pmus_value *out)
{
	ssize_t bytes = read(fd, out, sizeof(*out));

	if (bytes < 0)
		return -errno;
	return bytes == (ssize_t)sizeof(*out) ? 0 : -EIO;
}

/* Open all events of a thread; fd[] are -1 before. After an error some may be open. */
static int open_events(const struct perf_state *state, pid_t tid, int *fd)
{
	for (size_t i = 0; i < state->events; i++) {
		int r = open_event(state, state->config[i], tid);
		if (r < 0)
			return r;
		fd[i] = r;
	}
	return 0;
}

static void close_events(int *fd)
{
	for (size_t i = 0; i < PMUS_MAX; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
}

static int read_events(const struct perf_state *state, const int *fd, struct pmus_value *out)
{
	struct pmus_value value[PMUS_MAX];

	for (size_t i = 0; i < state->events; i++) {
		int error = read_event(fd[i], &value[i]);
		if (error != 0)
			return error;
	}
	*out = pmus_sum(value, state->events);
	return 0;
}

/* Check that the events can be opened on the calling thread, and count. */
static int probe(struct perf_state *state)
{
	int fd[PMUS_MAX] = {-1, -1, -1, -1};
	struct pmus_value value;

	state->exclude_kernel = false;
	int error = open_events(state, 0, fd);
	if (error == -EPERM) {
		/* With perf_event_paranoid 2, the default, only user space may be counted. */
		close_events(fd);
		state->exclude_kernel = true;
		error = open_events(state, 0, fd);
	}
	if (error == 0)
		error = read_events(state, fd, &value);
	close_events(fd);
	/* Virtual machines may offer a counter that stands still. A clock may not have ticked yet. */
	bool still = error == 0 && value.count == 0 && state->type != PERF_TYPE_SOFTWARE;
	return still ? -ENOENT : error;
}

static int probe_instructions(struct perf_state *state)
{
	uint32_t type[PMUS_MAX];
	int kinds = pmus_find("/sys/bus/event_source/devices", type);

	if (kinds < 0)
		return kinds;
	state->type = PERF_TYPE_HARDWARE;
	state->events = kinds > 1 ? (size_t)kinds : 1;
	for (size_t i = 0; i < state->events; i++)
		state->config[i] = PERF_COUNT_HW_INSTRUCTIONS |
				   (kinds > 1 ? (uint64_t)type[i] << PMU_TYPE_SHIFT : 0);
	return probe(state);
}

static int probe_task_clock(struct perf_state *state)
{
	state->type = PERF_TYPE_SOFTWARE;
	state->events = 1;
	state->config[0] = PERF_COUNT_SW_TASK_CLOCK;
	return probe(state);
}

static int perf_open(void **out)
{
	struct perf_state *state = calloc(1, sizeof(*state));

	if (state == NULL)
		return -ENOMEM;
	int error = probe_instructions(state);
	if (error != 0)
		error = probe_task_clock(state);
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
	int error = open_events(state, slot->tid, &slot->fd[PERF_FD]);
	if (error != 0)
		return error;
	return sampler_fd_is_scarce(slot->fd[PERF_FD + state->events - 1]) ? -EMFILE : 0;
}

static void read_slot(const struct perf_state *state, struct sampler_slot *slot)
{
	uint64_t progress = slot->progress;
	struct pmus_value value;
	int error = read_events(state, &slot->fd[PERF_FD], &value);

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
	slot->progress = value.count > progress ? value.count : progress;
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
