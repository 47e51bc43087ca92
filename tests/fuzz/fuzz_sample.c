// SPDX-License-Identifier: MIT
/*
 * Feeds arbitrary bytes to the samplers' parsers. The first byte chooses the parser; the second,
 * for messages, how far the buffer is from alignment.
 */
#include "daemon/sample/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct sample_counts counts;
	struct sample_reply reply;
	pid_t tid;

	if (bytes < 2)
		return 0;
	/* A copy that ends where the input ends, at every alignment. */
	size_t skip = data[1] % 8;
	size_t left = bytes - 2;
	char *buffer = malloc(skip + left + 1);
	if (buffer == NULL)
		return 0;
	char *input = buffer + 1 + skip;
	memcpy(input, data + 2, left);

	switch (data[0] % 3) {
	case 0:
		(void)sample_parse_schedstat(input, left, &counts);
		break;
	case 1:
		(void)sample_parse_taskstats(input, left, &tid, &counts);
		break;
	default:
		/* The family of generic netlink's own controller. */
		(void)sample_parse_reply(input, left, 0x10, &reply);
	}
	free(buffer);
	return 0;
}
