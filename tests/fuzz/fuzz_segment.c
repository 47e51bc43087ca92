/* SPDX-License-Identifier: MIT */
/*
 * Reads arbitrary bytes as a segment of libprogress: what the reader returns has to keep within its
 * bounds, and balancing has to end. The first byte determines whether the header is made
 * acceptable; the next two, the numbers of workers and subdomains; the fourth, how much is cut off
 * afterwards.
 */
#undef NDEBUG
#include "libprogress/reader/reader_fd.h"

#include "libprogress/progress.h"
#include "libprogress/segment.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/fuzz/segment_file.h"

#define PID 4711

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static bool is_expected(int error)
{
	return error == 0 || error == -EBADMSG;
}

static void check_subdomains(
	const struct progress_info *info, const struct progress_subdomain_view *s)
{
	for (uint32_t i = 0; i < info->subdomains; i++) {
		assert(s[i].holder < info->workers || s[i].holder == UINT32_MAX);
		assert(s[i].owner < info->workers || s[i].owner == UINT32_MAX);
		assert(s[i].holder != UINT32_MAX || (isnan(s[i].residual) && s[i].updates == 0));
	}
}

/* Copies to memory that ends where the records end. */
static void use(struct progress_reader *reader)
{
	const struct progress_info *info = progress_reader_info(reader);
	struct progress_worker_view *worker = calloc(info->workers, sizeof *worker);
	struct progress_subdomain_view *subdomain = calloc(info->subdomains, sizeof *subdomain);
	struct progress_balancer_view balancer;
	uint32_t moves;

	assert(worker != NULL && subdomain != NULL);
	assert(is_expected(progress_reader_workers(reader, worker)));
	int error = progress_reader_subdomains(reader, subdomain);
	assert(is_expected(error));
	if (error == 0)
		check_subdomains(info, subdomain);
	assert(is_expected(progress_reader_balancer(reader, &balancer)));
	error = progress_reader_claim(reader, PID, 1);
	assert(is_expected(error) || error == -EBUSY);
	error = progress_reader_balance(reader, 2, &moves);
	assert(is_expected(error) || error == -ENOTCONN);
	free(worker);
	free(subdomain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct progress_reader *reader = NULL;
	uint32_t version;

	if (bytes < 4)
		return 0;
	bool accepted = data[0] % 4 != 0;
	size_t rest = bytes - 4, total = rest;
	size_t room = rest > sizeof(struct segment_header) ? rest : sizeof(struct segment_header);
	/* Some numbers are larger than what the reader reads at once. */
	char *content = aligned_alloc(
		SEGMENT_LINE, (room + SEGMENT_LINE - 1) / SEGMENT_LINE * SEGMENT_LINE);
	assert(content != NULL);
	memset(content, 0, room);
	memcpy(content, data + 4, rest);
	if (accepted)
		total = segment_make_acceptable(
			(struct segment_header *)content, PID, 1 + data[1], 1 + 2u * data[2]);
	size_t written = accepted ? (room < total ? room : total) : rest;
	int fd = segment_file(content, written, total), other = dup(fd);
	free(content);
	int error = progress_reader_open_fd(fd, PID, geteuid(), true, &reader, &version);
	assert((error == 0) == (reader != NULL));
	assert(error == 0 || (!accepted && (error == -EAGAIN || error == -EPROTO ||
						   error == -EBADMSG || error == -EPERM)));
	if (error == 0) {
		use(reader);
		if (ftruncate(other, (off_t)(total / 256 * data[3])) == 0)
			use(reader);
		assert(progress_reader_closed(reader)); /* it has no name */
	}
	progress_reader_close(reader);
	close(other);
	return 0;
}
