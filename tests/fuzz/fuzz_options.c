// SPDX-License-Identifier: MIT
/*
 * Feeds arbitrary text to the parsers of command lines, and checks what they promise about accepted
 * values. The first byte chooses the parser.
 */
#include "daemon/base/cpuset.h"
#include "daemon/base/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void parse_time(const char *text)
{
	uint64_t ns = UINT64_MAX;
	int r = parse_time_ns(text, &ns);

	if (r == 0 ? ns > INT64_MAX : (r != -EINVAL && r != -ERANGE) || ns != UINT64_MAX)
		abort();
}

static void parse_cpus(const char *text)
{
	struct cpuset mask;
	int r = cpuset_parse(text, &mask);

	if (r == 0 ? cpuset_count(&mask) == 0 : r != -EINVAL && r != -ERANGE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes < 1)
		return 0;
	/* A copy that ends where the text ends. */
	char *text = malloc(bytes);
	if (text == NULL)
		return 0;
	memcpy(text, data + 1, bytes - 1);
	text[bytes - 1] = '\0';
	if (data[0] % 2 == 0)
		parse_time(text);
	else
		parse_cpus(text);
	free(text);
	return 0;
}
