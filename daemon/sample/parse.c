// SPDX-License-Identifier: MIT
/*
 * Parsers for schedstat text and taskstats messages.
 *
 * The taskstats structure is read by the offsets below, not as a struct taskstats: that type has
 * the layout of the kernel headers of the build, and the layout has changed in the middle. Only
 * three fields are used, all near the start.
 */
#include "daemon/sample/parse.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdbool.h>
#include <string.h>

/* Offsets of fields, in bytes. Since version 2 the first is at 16. */
#define CPU_COUNT_OFFSET 16
#define CPU_DELAY_TOTAL_OFFSET 24
#define CPU_RUN_VIRTUAL_TOTAL_OFFSET 72
#define OLDEST_VERSION 8 /* Linux 2.6.31 */

#if TASKSTATS_VERSION != 14 && TASKSTATS_VERSION != 15
_Static_assert(offsetof(struct taskstats, cpu_count) == CPU_COUNT_OFFSET, "layout");
_Static_assert(offsetof(struct taskstats, cpu_delay_total) == CPU_DELAY_TOTAL_OFFSET, "layout");
_Static_assert(offsetof(struct taskstats, cpu_run_virtual_total) == CPU_RUN_VIRTUAL_TOTAL_OFFSET,
	"layout");
#endif

/* In Linux 6.14 and 6.15, each of the eight pairs of a count and its delay was followed by its
 * largest delay, and later also by its smallest. Version 16 moved these fields to the end. The
 * version became 15 only after they had come, so a reply of version 14 may have them, too: its
 * length shows. */
#define PAIRS_BEFORE_RUN 3 /* cpu, blkio, swapin */
#define PAIRS 8
#define VERSION_14_BYTES 432

/* How many fields follow each pair. */
static size_t inserted_fields(uint16_t version, size_t bytes)
{
	if (version == 15)
		return 2;
	for (size_t fields = 1; version == 14 && fields <= 2; fields++)
		if (bytes == VERSION_14_BYTES + PAIRS * fields * sizeof(uint64_t))
			return fields;
	return 0;
}

/* A number up to a separator; advances *at. The kernel sends none that does not fit. */
static bool parse_number(const char **at, const char *end, uint64_t *out)
{
	const char *c = *at;
	uint64_t value = 0;

	while (c < end && *c == ' ')
		c++;

	const char *first = c;
	while (c < end && *c >= '0' && *c <= '9') {
		uint64_t digit = (uint64_t)(*c - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
		c++;
	}
	/* A number that ends with the buffer may have been cut. */
	if (c == first || c == end || (*c != ' ' && *c != '\n'))
		return false;
	*at = c;
	*out = value;
	return true;
}

int sample_parse_schedstat(const char *text, size_t bytes, struct sample_counts *out)
{
	const char *at = text;
	const char *end = text + bytes;
	struct sample_counts counts;

	if (!parse_number(&at, end, &counts.run_ns) || !parse_number(&at, end, &counts.wait_ns) ||
		!parse_number(&at, end, &counts.slices))
		return -EBADMSG;
	*out = counts;
	return 0;
}

static uint64_t read_u64(const unsigned char *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

static int parse_structure(const unsigned char *at, size_t bytes, struct sample_counts *out)
{
	uint16_t version;

	if (bytes < sizeof(version))
		return -EBADMSG;
	memcpy(&version, at, sizeof(version));
	if (version < OLDEST_VERSION)
		return -EBADMSG;

	size_t run_offset = CPU_RUN_VIRTUAL_TOTAL_OFFSET +
			    PAIRS_BEFORE_RUN * inserted_fields(version, bytes) * sizeof(uint64_t);
	if (bytes < run_offset + sizeof(uint64_t))
		return -EBADMSG;

	out->slices = read_u64(at + CPU_COUNT_OFFSET);
	out->wait_ns = read_u64(at + CPU_DELAY_TOTAL_OFFSET);
	out->run_ns = read_u64(at + run_offset);
	return 0;
}

/* An attribute within a buffer. */
struct attribute {
	uint16_t type;
	const unsigned char *data;
	size_t bytes;
};

/* Take the attribute at *at, and advance. Returns 1, 0 at the end, or -EBADMSG. */
static int next_attribute(const unsigned char **at, const unsigned char *end, struct attribute *out)
{
	size_t left = (size_t)(end - *at);
	struct nlattr header;

	if (left == 0)
		return 0;
	if (left < sizeof(header))
		return -EBADMSG;
	memcpy(&header, *at, sizeof(header));
	if (header.nla_len < sizeof(header) || header.nla_len > left)
		return -EBADMSG;

	out->type = header.nla_type & NLA_TYPE_MASK;
	out->data = *at + sizeof(header);
	out->bytes = header.nla_len - sizeof(header);
	/* The padding of the last one may be missing. */
	size_t step = NLA_ALIGN((size_t)header.nla_len);
	*at += step < left ? step : left;
	return 1;
}

/* Parse the contents of TASKSTATS_TYPE_AGGR_PID. */
static int parse_aggregate(const struct attribute *aggregate, pid_t *tid, struct sample_counts *out)
{
	const unsigned char *at = aggregate->data;
	const unsigned char *end = aggregate->data + aggregate->bytes;
	struct attribute attribute;
	struct sample_counts counts;
	uint32_t found_tid = 0; /* which no thread has */
	bool have_counts = false;
	int more;

	while ((more = next_attribute(&at, end, &attribute)) > 0) {
		if (attribute.type == TASKSTATS_TYPE_PID) {
			if (attribute.bytes < sizeof(found_tid))
				return -EBADMSG;
			memcpy(&found_tid, attribute.data, sizeof(found_tid));
		} else if (attribute.type == TASKSTATS_TYPE_STATS) {
			if (parse_structure(attribute.data, attribute.bytes, &counts) != 0)
				return -EBADMSG;
			have_counts = true;
		}
	}
	if (more < 0 || !have_counts || found_tid == 0 || found_tid > INT32_MAX)
		return -EBADMSG;
	*tid = (pid_t)found_tid;
	*out = counts;
	return 0;
}

int sample_parse_taskstats(const void *payload, size_t bytes, pid_t *tid, struct sample_counts *out)
{
	const unsigned char *at = payload;
	const unsigned char *end = at + bytes;
	struct attribute attribute;

	/* Some kernels put an empty attribute first, to align the structure. */
	while (next_attribute(&at, end, &attribute) > 0)
		if (attribute.type == TASKSTATS_TYPE_AGGR_PID)
			return parse_aggregate(&attribute, tid, out);
	return -EBADMSG;
}

int sample_parse_reply(const void *message, size_t bytes, uint16_t family, struct sample_reply *out)
{
	const unsigned char *at = message;
	struct nlmsghdr header;

	if (bytes < sizeof(header))
		return -EBADMSG;
	memcpy(&header, at, sizeof(header));
	if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > bytes)
		return -EBADMSG;

	const unsigned char *payload = at + NLMSG_HDRLEN;
	size_t payload_bytes = header.nlmsg_len - NLMSG_HDRLEN;

	if (header.nlmsg_type == NLMSG_ERROR) {
		int32_t error;
		if (payload_bytes < sizeof(error))
			return -EBADMSG;
		memcpy(&error, payload, sizeof(error));
		if (error == 0) /* an acknowledgement, which we never ask for */
			return -ENOMSG;
		if (error > 0 || error < -4095)
			return -EBADMSG;
		*out = (struct sample_reply){.sequence = header.nlmsg_seq, .error = error};
		return 0;
	}
	if (header.nlmsg_type != family)
		return -ENOMSG;
	if (payload_bytes < GENL_HDRLEN)
		return -EBADMSG;

	struct sample_reply reply = {.sequence = header.nlmsg_seq};
	reply.error = sample_parse_taskstats(
		payload + GENL_HDRLEN, payload_bytes - GENL_HDRLEN, &reply.tid, &reply.counts);
	*out = reply;
	return 0;
}
