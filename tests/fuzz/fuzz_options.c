// SPDX-License-Identifier: MIT
/*
 * Feeds arbitrary text to the parsers of words on command lines, and checks what they promise about
 * accepted values, and that refused ones change nothing. The first byte chooses the parser.
 */
#undef NDEBUG
#include "daemon/base/cpuset.h"
#include "daemon/base/parse.h"
#include "daemon/options.h"
#include "tests/fuzz/input.h"

#include <assert.h>
#include <errno.h>

#define UNCHANGED 4242

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_error(int r)
{
	assert(r == 0 || r == -EINVAL || r == -ERANGE);
}

static void check_unsigned(int (*parse)(const char *text, uint64_t *out), const char *text)
{
	uint64_t number = UINT64_MAX;
	int r = parse(text, &number);

	check_error(r);
	assert(r == 0 ? number <= INT64_MAX : number == UINT64_MAX);
}

static void check_integer(const char *text)
{
	int64_t number = UNCHANGED;
	int r = parse_integer(text, -100, 1000, &number);

	check_error(r);
	assert(r == 0 ? number >= -100 && number <= 1000 : number == UNCHANGED);
	(void)parse_integer(text, INT64_MIN, INT64_MAX, &number);
	check_error(parse_named_integer(text, "any", 0, 7, &number));
}

static void check_real(int (*parse)(const char *text, double max, double *out), const char *text)
{
	double number = -1;
	int r = parse(text, 100, &number);

	check_error(r);
	assert(r == 0 ? number >= 0 && number <= 100 : number == -1);
}

/* What was parsed, formatted, is the same set. */
static void check_cpus(const char *text)
{
	char list[8 * CPUSET_CPUS_MAX], cut[16];
	struct cpuset set, again;
	int r = cpuset_parse(text, &set);

	check_error(r);
	if (r != 0)
		return;
	assert(cpuset_count(&set) > 0);
	cpuset_format(&set, list, sizeof list);
	assert(cpuset_parse(list, &again) == 0 && memcmp(&set, &again, sizeof set) == 0);
	cpuset_format(&set, cut, sizeof cut);
	assert(memchr(cut, '\0', sizeof cut) != NULL);
}

/* --idle: a line with the list, then the name of a thread. */
static void check_idle(char *text)
{
	struct options options = {.idle = IDLE_COMM, .idle_list = text};
	char *end = strchr(text, '\n');

	if (end == NULL)
		return;
	*end = '\0';
	(void)options_idle_comm(&options, end + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	uint8_t which = input_byte(&input) % 7;
	char *text = input_text(&input);

	if (which == 0)
		check_unsigned(parse_time_ns, text);
	else if (which == 1)
		check_cpus(text);
	else if (which == 2)
		check_unsigned(parse_size_bytes, text);
	else if (which == 3)
		check_integer(text);
	else if (which == 4)
		check_real(parse_fraction, text);
	else if (which == 5)
		check_real(parse_positive, text);
	else
		check_idle(text);
	free(text);
	return 0;
}
