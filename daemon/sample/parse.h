/* SPDX-License-Identifier: MIT */
/*
 * Parsing what the kernel says about a thread: text, and netlink messages.
 *
 * This is separate from the code that asks the kernel, so that tests can feed it recorded and
 * hostile input on any machine. The functions are pure; buffers may be unaligned.
 */
#ifndef JUGGLE_SAMPLE_PARSE_H
#define JUGGLE_SAMPLE_PARSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Totals since the thread was born; units as in struct sampler_slot. */
struct sample_counts {
	uint64_t run_ns;
	uint64_t wait_ns;
	uint64_t slices;
};

/* One answer to a TASKSTATS_CMD_GET request. */
struct sample_reply {
	uint32_t sequence; /* of the request */
	int error; /* 0, the kernel's error, or -EBADMSG for bad contents */
	pid_t tid; /* valid when error is 0, as are the counts */
	struct sample_counts counts;
};

/* The text of a schedstat file: "RUN WAIT SLICES\n". Later kernels may append fields. Returns 0, or
 * -EBADMSG with *out unchanged. */
int sample_parse_schedstat(const char *text, size_t bytes, struct sample_counts *out);

/* The attributes of a taskstats message (all that follows the generic netlink header). Returns 0,
 * or -EBADMSG with *tid and *out unchanged. */
int sample_parse_taskstats(
	const void *payload, size_t bytes, pid_t *tid, struct sample_counts *out);

/* A whole netlink message, of the generic netlink family `family` or an error message. Returns 0
 * when it answers a request, even with bad contents; -EBADMSG when it is cut short or malformed;
 * -ENOMSG when it is well formed but something else. On an error *out is unchanged. */
int sample_parse_reply(
	const void *message, size_t bytes, uint16_t family, struct sample_reply *out);

#endif
