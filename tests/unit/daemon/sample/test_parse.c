/* SPDX-License-Identifier: MIT */
/* The parsers of daemon/sample on recorded and hostile input. */
#undef NDEBUG
#include "daemon/sample/parse.h"

#include <errno.h>
#include <linux/netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/taskstats/replies.h"

static int parse_text(const char *text, struct sample_counts *out)
{
	return sample_parse_schedstat(text, strlen(text), out);
}

static void test_schedstat_text(void **state)
{
	struct sample_counts counts;
	(void)state;

	assert_int_equal(parse_text("388609 183641604 1\n", &counts), 0);
	assert_int_equal(counts.run_ns, 388609);
	assert_int_equal(counts.wait_ns, 183641604);
	assert_int_equal(counts.slices, 1);
	assert_int_equal(parse_text("0 0 0\n", &counts), 0);
	assert_int_equal(counts.run_ns, 0);
	assert_int_equal(
		parse_text("18446744073709551615 18446744073709551615 18446744073709551615\n",
			&counts),
		0);
	assert_true(counts.slices == UINT64_MAX);
	/* a kernel that appends a field */
	assert_int_equal(parse_text("1 2 3 4\n", &counts), 0);
	assert_int_equal(counts.slices, 3);
}

static void test_schedstat_bad_text(void **state)
{
	static const char *const bad[] = {"", "\n", " ", "1", "1 2", "1 2 ", "1 2\n", "1 2 3",
		"1 2 3x\n", "x 2 3\n", "-1 2 3\n", "1\n2\n3\n", "1 2 18446744073709551616\n",
		"99999999999999999999 2 3\n", "1,2,3\n"};
	(void)state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sample_counts counts = {7, 8, 9};
		assert_int_equal(parse_text(bad[i], &counts), -EBADMSG);
		assert_int_equal(counts.run_ns, 7);
		assert_int_equal(counts.slices, 9);
	}
}

static const struct {
	const char *name;
	const unsigned char *bytes;
	size_t n;
} replies[] = {
	{"13", reply_v13, sizeof(reply_v13)},
	{"14", reply_v14, sizeof(reply_v14)},
	{"14 with maxima", reply_v14_max, sizeof(reply_v14_max)},
	{"14 with maxima, minima", reply_v14_max_min, sizeof(reply_v14_max_min)},
	{"15", reply_v15, sizeof(reply_v15)},
	{"16", reply_v16, sizeof(reply_v16)},
	{"17", reply_v17, sizeof(reply_v17)},
};
#define REPLIES (sizeof(replies) / sizeof(replies[0]))

static void assert_recorded(const struct sample_reply *reply)
{
	assert_int_equal(reply->sequence, REPLY_SEQUENCE);
	assert_int_equal(reply->error, 0);
	assert_int_equal(reply->tid, REPLY_TID);
	assert_int_equal(reply->counts.run_ns, REPLY_RUN_NS);
	assert_int_equal(reply->counts.wait_ns, REPLY_WAIT_NS);
	assert_int_equal(reply->counts.slices, REPLY_SLICES);
}

static void test_reply_versions(void **state)
{
	(void)state;
	for (size_t i = 0; i < REPLIES; i++) {
		struct sample_reply reply = {0};
		print_message("version %s\n", replies[i].name);
		assert_int_equal(
			sample_parse_reply(replies[i].bytes, replies[i].n, REPLY_FAMILY, &reply),
			0);
		assert_recorded(&reply);
	}
}

static void test_reply_misaligned(void **state)
{
	unsigned char buffer[sizeof(reply_v16) + 8];
	(void)state;

	for (size_t skip = 0; skip < 8; skip++) {
		struct sample_reply reply;
		memcpy(buffer + skip, reply_v16, sizeof(reply_v16));
		assert_int_equal(
			sample_parse_reply(buffer + skip, sizeof(reply_v16), REPLY_FAMILY, &reply),
			0);
		assert_recorded(&reply);
	}
}

/* Each length, in a buffer of exactly that length, so that a sanitizer sees a read beyond it. */
static void test_reply_truncated(void **state)
{
	(void)state;
	for (size_t i = 0; i < REPLIES; i++) {
		for (size_t n = 0; n < replies[i].n; n++) {
			struct sample_reply reply = {.sequence = 99};
			unsigned char *cut = malloc(n + 1);
			assert_non_null(cut);
			memcpy(cut + 1, replies[i].bytes, n);
			assert_int_equal(
				sample_parse_reply(cut + 1, n, REPLY_FAMILY, &reply), -EBADMSG);
			assert_int_equal(reply.sequence, 99);

			/* and with a header that says this is all */
			if (n >= sizeof(struct nlmsghdr) + 4) {
				uint32_t says = (uint32_t)n;
				memcpy(cut + 1, &says, sizeof(says));
				assert_int_equal(
					sample_parse_reply(cut + 1, n, REPLY_FAMILY, &reply), 0);
				assert_int_equal(reply.error, -EBADMSG);
				assert_int_equal(reply.sequence, REPLY_SEQUENCE);
			}
			free(cut);
		}
	}
}

/* Offsets of the lengths and types of the attributes in a reply. */
#define AGGREGATE_AT 20
#define TID_AT 24
#define STATS_AT 32
#define VERSION_AT 36

static void test_reply_hostile_lengths(void **state)
{
	static const size_t fields[] = {AGGREGATE_AT, TID_AT, STATS_AT};
	static const uint16_t values[] = {0, 1, 3, 4, 5, 7, 0x7fff, 0xfffe, 0xffff};
	(void)state;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			unsigned char *bytes = malloc(sizeof(reply_v16));
			struct sample_reply reply;
			assert_non_null(bytes);
			memcpy(bytes, reply_v16, sizeof(reply_v16));
			memcpy(bytes + fields[i], &values[j], sizeof(values[j]));
			assert_int_equal(
				sample_parse_reply(bytes, sizeof(reply_v16), REPLY_FAMILY, &reply),
				0);
			assert_int_equal(reply.error, -EBADMSG);
			free(bytes);
		}
	}
}

static int error_with_u16(size_t at, uint16_t value)
{
	unsigned char bytes[sizeof(reply_v16)];
	struct sample_reply reply;

	memcpy(bytes, reply_v16, sizeof(bytes));
	memcpy(bytes + at, &value, sizeof(value));
	assert_int_equal(sample_parse_reply(bytes, sizeof(bytes), REPLY_FAMILY, &reply), 0);
	return reply.error;
}

static void test_reply_odd_contents(void **state)
{
	struct sample_reply reply;
	(void)state;

	assert_int_equal(error_with_u16(VERSION_AT, 0), -EBADMSG);
	assert_int_equal(error_with_u16(VERSION_AT, 1), -EBADMSG);
	assert_int_equal(error_with_u16(AGGREGATE_AT + 2, 5), -EBADMSG); /* of a process */
	assert_int_equal(error_with_u16(TID_AT + 2, 9), -EBADMSG);
	assert_int_equal(error_with_u16(STATS_AT + 2, 9), -EBADMSG);
	/* flags are not part of the type */
	assert_int_equal(error_with_u16(AGGREGATE_AT + 2, 4 | NLA_F_NESTED), 0);
	/* another family */
	assert_int_equal(sample_parse_reply(reply_v16, sizeof(reply_v16), REPLY_FAMILY + 1, &reply),
		-ENOMSG);

	/* an empty attribute in front, which some kernels add to align the structure */
	unsigned char padded[sizeof(reply_v16) + 4];
	const struct nlattr padding = {.nla_len = 4, .nla_type = 6};
	uint32_t says = sizeof(padded);
	memcpy(padded, reply_v16, AGGREGATE_AT);
	memcpy(padded, &says, sizeof(says));
	memcpy(padded + AGGREGATE_AT, &padding, sizeof(padding));
	memcpy(padded + AGGREGATE_AT + 4, reply_v16 + AGGREGATE_AT,
		sizeof(reply_v16) - AGGREGATE_AT);
	assert_int_equal(sample_parse_reply(padded, sizeof(padded), REPLY_FAMILY, &reply), 0);
	assert_recorded(&reply);
}

static void test_reply_error_message(void **state)
{
	static const struct {
		int32_t error;
		int result;
	} cases[] = {{-ESRCH, 0}, {-EPERM, 0}, {-4095, 0}, {0, -ENOMSG}, {1, -EBADMSG},
		{-4096, -EBADMSG}, {INT32_MIN, -EBADMSG}};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct {
			struct nlmsghdr header;
			struct nlmsgerr error;
		} message = {.header = {.nlmsg_len = sizeof(message),
				     .nlmsg_type = NLMSG_ERROR,
				     .nlmsg_seq = 5}};
		struct sample_reply reply = {0};
		message.error.error = cases[i].error;
		assert_int_equal(
			sample_parse_reply(&message, sizeof(message), REPLY_FAMILY, &reply),
			cases[i].result);
		if (cases[i].result == 0) {
			assert_int_equal(reply.error, cases[i].error);
			assert_int_equal(reply.sequence, 5);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedstat_text),
		cmocka_unit_test(test_schedstat_bad_text),
		cmocka_unit_test(test_reply_versions),
		cmocka_unit_test(test_reply_misaligned),
		cmocka_unit_test(test_reply_truncated),
		cmocka_unit_test(test_reply_hostile_lengths),
		cmocka_unit_test(test_reply_odd_contents),
		cmocka_unit_test(test_reply_error_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
