/* SPDX-License-Identifier: MIT */
/* Segments of libprogress for fuzzers: as a program in the midst of its work has them, then damaged
 * by the input. */
#ifndef FUZZ_SEGMENT_FILE_H
#define FUZZ_SEGMENT_FILE_H

#include "libprogress/progress.h"
#include "libprogress/segment.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/memory_file.h"

/* A file without a name, which belongs to its user alone, like a segment. It is kept from input to
 * input, because it takes long to create. Readers get memory_file_dup() of it. */
static inline int segment_file_new(void)
{
	int fd = memfd_create("segment", MFD_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0600) < 0)
		abort();
	return memory_file_init(fd);
}

static inline void segment_file_write(int fd, const void *data, size_t bytes, size_t offset)
{
	if (pwrite(fd, data, bytes, (off_t)offset) != (ssize_t)bytes)
		abort();
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

/* A segment in memory. Free content with free(). */
struct segment {
	char *content;
	uint32_t workers, subdomains;
	size_t bytes;
};

static inline struct segment segment_new(pid_t pid, uint32_t workers, uint32_t subdomains)
{
	struct segment segment = {.workers = workers,
		.subdomains = subdomains,
		.bytes = segment_size(workers, subdomains)};

	segment.content = aligned_alloc(SEGMENT_LINE, segment.bytes);
	if (segment.content == NULL)
		abort();
	memset(segment.content, 0, segment.bytes);
	struct segment_header *header = (struct segment_header *)segment.content;
	header->balancing = 1;
	header->pairs = 5;
	header->low = 1;
	header->high = subdomains;
	segment_make_acceptable(header, pid, workers, subdomains);
	for (uint32_t w = 0; w < workers; w++) {
		struct segment_worker *worker =
			(struct segment_worker *)(segment.content + segment_worker_offset(w));
		worker->tid = (uint32_t)pid + w;
		worker->node = w % 2;
	}
	for (uint32_t s = 0; s < subdomains; s++) {
		struct segment_subdomain *subdomain =
			(struct segment_subdomain *)(segment.content +
						     segment_subdomain_offset(workers, s));
		subdomain->owner = subdomain->holder = s % workers;
		subdomain->updates = 100 + 50 * (s % workers);
	}
	return segment;
}

/* One write of the input, to any record. */
static inline void segment_damage(struct segment *segment, struct input *input)
{
	static const struct field header[] = {FIELD(segment_header, magic),
		FIELD(segment_header, version), FIELD(segment_header, header_bytes),
		FIELD(segment_header, size_bytes), FIELD(segment_header, workers),
		FIELD(segment_header, subdomains), FIELD(segment_header, worker_bytes),
		FIELD(segment_header, subdomain_bytes), FIELD(segment_header, pid),
		FIELD(segment_header, rank), FIELD(segment_header, created_ns),
		FIELD(segment_header, balancing), FIELD(segment_header, pairs),
		FIELD(segment_header, low), FIELD(segment_header, high),
		FIELD(segment_header, hybrid_every), FIELD(segment_header, period_ns),
		FIELD(segment_header, state), FIELD(segment_header, claim),
		FIELD(segment_header, beat_ns), FIELD(segment_header, points),
		FIELD(segment_header, moves), FIELD(segment_header, due_ns)};
	static const struct field worker[] = {FIELD(segment_worker, dirty),
		FIELD(segment_worker, tid), FIELD(segment_worker, node),
		FIELD(segment_worker, iterations), FIELD(segment_worker, updates),
		FIELD(segment_worker, handed)};
	static const struct field subdomain[] = {FIELD(segment_subdomain, sequence),
		FIELD(segment_subdomain, holder), FIELD(segment_subdomain, updates),
		FIELD(segment_subdomain, iteration), FIELD(segment_subdomain, residual),
		FIELD(segment_subdomain, owner)};
	uint32_t record = input_byte(input) % (1 + segment->workers + segment->subdomains);

	if (record == 0)
		input_write(input, segment->content, header, sizeof header / sizeof *header);
	else if (record <= segment->workers)
		input_write(input, segment->content + segment_worker_offset(record - 1), worker,
			sizeof worker / sizeof *worker);
	else
		input_write(input,
			segment->content + segment_subdomain_offset(
						   segment->workers, record - 1 - segment->workers),
			subdomain, sizeof subdomain / sizeof *subdomain);
}

#endif
