// SPDX-License-Identifier: MIT
/*
 * Samples from /proc/PID/task/TID/schedstat: the default source.
 *
 * It needs no privilege, is exact to the nanosecond for a thread that does not run, and
 * costs one pread of a file that stays open. A slot without a descriptor (few were left)
 * opens and closes it at each read.
 */
#include "daemon/sample/back_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 64 /* "/proc/4194304/task/4194304/schedstat" */
#define TEXT_BYTES 128

static int open_schedstat(pid_t pid, pid_t tid)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

static int read_counts(int fd, struct sample_counts *out)
{
	char text[TEXT_BYTES];
	ssize_t bytes = pread(fd, text, sizeof(text), 0);

	if (bytes < 0)
		return -errno;
	if (bytes == 0)
		return -ESRCH;
	return sample_parse_schedstat(text, (size_t)bytes, out);
}

/* A kernel may have the file but always show zero. The calling thread has run, and reading the
 * clock updates its time, so zero means that the kernel keeps no times; unless the clock has not
 * ticked yet either, as on a machine whose scheduler has no better one than the timer. */
int sample_schedstat_probe(void)
{
	struct timespec cpu_time;
	struct sample_counts counts;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_time) != 0)
		return -errno;

	SAMPLE_AUTO_CLOSE int fd = open_schedstat(getpid(), (pid_t)syscall(SYS_gettid));
	if (fd == -ENOENT)
		return -ENOSYS;
	if (fd < 0)
		return fd;
	int error = read_counts(fd, &counts);
	bool has_run = cpu_time.tv_sec > 0 || cpu_time.tv_nsec > 0;
	if (error == 0 && counts.run_ns == 0 && has_run)
		error = -ENOSYS;
	return error;
}

int sample_schedstat_attach(struct sampler_slot *slot)
{
	int fd = open_schedstat(slot->pid, slot->tid);

	if (fd == -ENOENT)
		return sample_why_missing(slot->pid, slot->tid);
	if (fd == -EMFILE || fd == -ENFILE)
		return 0; /* read_one tries again each time */
	if (fd < 0)
		return fd;
	if (sampler_fd_is_scarce(fd))
		close(fd);
	else
		slot->fd[0] = fd;
	return 0;
}

/* For a slot without a descriptor. */
static int open_and_read(const struct sampler_slot *slot, struct sample_counts *out)
{
	SAMPLE_AUTO_CLOSE int fd = open_schedstat(slot->pid, slot->tid);

	if (fd == -ENOENT)
		return sample_why_missing(slot->pid, slot->tid);
	return fd >= 0 ? read_counts(fd, out) : fd;
}

int sample_schedstat_read_one(struct sampler_slot *slot)
{
	struct sample_counts counts;
	int error =
		slot->fd[0] >= 0 ? read_counts(slot->fd[0], &counts) : open_and_read(slot, &counts);

	if (error != 0)
		return slot->error = error;
	return sample_store(slot, &counts);
}

static int schedstat_open(void **state)
{
	(void)state;
	return sample_schedstat_probe();
}

static int schedstat_attach(void *state, struct sampler_slot *slot)
{
	(void)state;
	return sample_schedstat_attach(slot);
}

static void schedstat_read(void *state, struct sampler_slot *const *slots, size_t n)
{
	(void)state;
	for (size_t i = 0; i < n; i++)
		sample_schedstat_read_one(slots[i]);
}

const struct sample_back_end sample_schedstat = {
	.kind = SAMPLER_SCHEDSTAT,
	.open = schedstat_open,
	.attach = schedstat_attach,
	.read = schedstat_read,
};
