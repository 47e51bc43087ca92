/* SPDX-License-Identifier: MIT */
/*
 * Reads damaged segments of libprogress: what the reader returns has to keep within its bounds,
 * balancing has to end, and what the daemon makes of it, its trace among that, has to be right. The
 * first byte determines whether the rest is a whole file or writes to a segment, and whether the
 * header is made acceptable; the second, how much is cut off afterwards; the next two, the numbers of
 * workers and subdomains.
 */
#undef NDEBUG
#include "libprogress/reader/reader_fd.h"

#include "libprogress/policy/plb.h"

#include <assert.h>
#include <errno.h>
#include <math.h>

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

static void balance(struct progress_reader *reader, const struct progress_info *info)
{
	uint32_t moves;
	int error = progress_reader_claim(reader, PID, 1);

	assert(is_expected(error) || error == -EBUSY);
	error = progress_reader_balance(reader, 2, &moves);
	assert(is_expected(error) || error == -ENOTCONN);
	for (uint32_t i = 0; i < moves; i++) {
		const struct policy_plb_move *move = &progress_reader_moves(reader)[i];
		assert(move->subdomain < info->subdomains && move->from < info->workers &&
			move->to < info->workers && move->from != move->to);
	}
}

/* Copies to memory that ends where the records end. */
static void use(struct progress_reader *reader)
{
	const struct progress_info *info = progress_reader_info(reader);
	struct progress_worker_view *worker = calloc(info->workers, sizeof *worker);
	struct progress_subdomain_view *subdomain = calloc(info->subdomains, sizeof *subdomain);
	struct progress_balancer_view balancer;

	assert(worker != NULL && subdomain != NULL);
	assert(is_expected(progress_reader_workers(reader, worker)));
	int error = progress_reader_subdomains(reader, subdomain);
	assert(is_expected(error));
	if (error == 0)
		check_subdomains(info, subdomain);
	assert(is_expected(progress_reader_balancer(reader, &balancer)));
	assert(progress_reader_balancing(info->balancing) != NULL);
	balance(reader, info);
	free(worker);
	free(subdomain);
}

/* Mostly a few, to save time; some are more than the reader reads at once. */
static uint32_t number(struct input *input)
{
	uint32_t byte = input_byte(input);

	return 1 + (byte < 240 ? byte % 8 : byte);
}

/* Returns the size of the file. */
static size_t write_segment(int fd, struct input *input, bool accepted)
{
	uint32_t workers = number(input), subdomains = number(input);
	struct segment segment = segment_new(PID, workers, subdomains);

	while (input->left > 1)
		segment_damage(&segment, input);
	if (accepted)
		segment_make_acceptable(
			(struct segment_header *)segment.content, PID, workers, subdomains);
	segment_file_write(fd, segment.content, segment.bytes, 0);
	free(segment.content);
	return segment.bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static int fd = -1;
	struct progress_reader *reader = NULL;
	struct input input = {data, bytes};
	uint8_t how = input_byte(&input), cut = input_byte(&input);
	bool accepted = how % 4 >= 2;
	size_t total = input.left;
	uint32_t version;

	if (fd < 0)
		fd = segment_file_new();
	if (how % 4 == 0)
		segment_file_write(fd, input.at, input.left, 0);
	else
		total = write_segment(fd, &input, accepted);
	memory_file_resize(fd, total);
	int error = progress_reader_open_fd(
		memory_file_dup(fd), PID, geteuid(), true, &reader, &version);
	assert((error == 0) == (reader != NULL));
	assert(error == 0 || (!accepted && (error == -EAGAIN || error == -EPROTO ||
						   error == -EBADMSG || error == -EPERM)));
	if (error == 0) {
		use(reader);
		if (cut > 0) {
			memory_file_resize(fd, total / 256 * cut);
			use(reader);
		}
		assert(progress_reader_closed(reader)); /* it has no name */
	}
	progress_reader_close(reader);
	return 0;
}
