/* SPDX-License-Identifier: MIT */
/* Files and headers for fuzzers of readers of segments. */
#ifndef FUZZ_SEGMENT_FILE_H
#define FUZZ_SEGMENT_FILE_H

#include "daemon/telemetry/telemetry.h"
#include "libprogress/progress.h"
#include "libprogress/segment.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file without a name, of `total` bytes, which begins with `data`; the rest is zero. Its mode is
 * that of a segment, for its user alone. */
static inline int segment_file(const void *data, size_t bytes, size_t total)
{
	int fd = memfd_create("segment", MFD_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0600) < 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes ||
		ftruncate(fd, (off_t)total) < 0)
		abort();
	return fd;
}

#define TELEMETRY_ARRAYS_BYTES                                                                     \
	(TELEMETRY_CPUS * sizeof(struct telemetry_cpu) +                                           \
		TELEMETRY_THREADS * sizeof(struct telemetry_thread) +                              \
		TELEMETRY_PROGRESS * sizeof(struct telemetry_progress))

/* Set what opening checks; leave the rest as it is. */
static inline void telemetry_make_acceptable(struct telemetry *t, pid_t pid)
{
	t->magic = TELEMETRY_MAGIC;
	t->version = TELEMETRY_VERSION;
	t->header_bytes = sizeof *t;
	t->total_bytes = sizeof *t + TELEMETRY_ARRAYS_BYTES;
	t->cpu_bytes = sizeof(struct telemetry_cpu);
	t->thread_bytes = sizeof(struct telemetry_thread);
	t->progress_bytes = sizeof(struct telemetry_progress);
	t->cpu_capacity = TELEMETRY_CPUS;
	t->thread_capacity = TELEMETRY_THREADS;
	t->progress_capacity = TELEMETRY_PROGRESS;
	t->pid = pid;
}

/* Set what opening checks; leave the rest as it is. Returns the size. */
static inline size_t segment_make_acceptable(
	struct segment_header *h, pid_t pid, uint32_t workers, uint32_t subdomains)
{
	h->magic = SEGMENT_MAGIC;
	h->version = SEGMENT_VERSION;
	h->header_bytes = sizeof *h;
	h->size_bytes = segment_size(workers, subdomains);
	h->workers = workers;
	h->subdomains = subdomains;
	h->worker_bytes = sizeof(struct segment_worker);
	h->subdomain_bytes = sizeof(struct segment_subdomain);
	h->pid = (uint32_t)pid;
	h->balancing = PROGRESS_BALANCE_NONE + h->balancing % 4;
	h->pairs = 1 + h->pairs % PROGRESS_PAIRS_MAX;
	h->hybrid_every += h->hybrid_every == 0;
	h->period_ns += h->period_ns == 0;
	h->state = SEGMENT_OPEN;
	return h->size_bytes;
}

#endif
