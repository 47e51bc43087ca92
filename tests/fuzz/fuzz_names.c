/* SPDX-License-Identifier: MIT */
/*
 * Feeds arbitrary bytes to what list, stat and top take from others beside segments: names of files in
 * /dev/shm, command lines, environments; and lets a user choose one of several jobs with such
 * commands. The first byte chooses which.
 */
#undef NDEBUG
#include "daemon/base/text.h"
#include "tests/fuzz/input.h"
#include "tools/live/internal.h"

#include <assert.h>
#include <stdio.h>

#define JOBS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What is accepted is what a segment would be called. */
static void check_name(const char *name)
{
	struct live_entry entry;
	char again[64];

	if (!live_entry_named(name, &entry))
		return;
	assert(entry.pid > 0);
	snprintf(again, sizeof again, "/dev/shm/%s.%u.%d",
		entry.kind == LIVE_JOB ? "juggle" : "progress", (unsigned)entry.uid,
		(int)entry.pid);
	assert(strcmp(entry.path, again) == 0 && strcmp(again + strlen("/dev/shm/"), name) == 0);
}

static void check_text(const char *text)
{
	for (const char *at = text; *at != '\0'; at++)
		assert((unsigned char)*at >= ' ' && *at != '\177');
}

/* Into memory of each size that ends where it ends. */
static void print(const char *text, size_t bytes, size_t room)
{
	char *out = malloc(room);

	assert(out != NULL);
	text_printable(out, room, text, bytes);
	assert(strlen(out) < room);
	check_text(out);
	free(out);
}

/* Lines: what the user typed, then a command for each job. */
static void choose(struct input *input)
{
	struct live_entry *jobs = calloc(JOBS, sizeof *jobs);
	const struct live_entry *chosen = NULL;
	struct live_error error = {""};
	uint8_t how = input_byte(input);
	char *text = input_text(input), *rest = text;
	const char *name = strsep(&rest, "\n");
	size_t n = 0;

	assert(jobs != NULL);
	for (; n < JOBS && rest != NULL; n++) {
		const char *command = strsep(&rest, "\n");
		jobs[n] = (struct live_entry){.kind = how >> n & 1 ? LIVE_PROGRESS : LIVE_JOB,
			.state = how >> 4 == 1 + n ? LIVE_STALE : LIVE_RUNS,
			.pid = 1000 + (pid_t)n,
			.rank = -1};
		text_printable(jobs[n].command, sizeof jobs[n].command, command, strlen(command));
	}
	int r = live_choose(jobs, n, how % 2 == 0 ? name : NULL, &chosen, &error);
	assert(r == 0 ? chosen >= jobs && chosen < jobs + n : error.text[0] != '\0');
	free(text);
	free(jobs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input input = {data, bytes};
	uint8_t which = input_byte(&input) % 4;

	if (which == 3) {
		choose(&input);
		return 0;
	}
	uint8_t room = which == 2 ? input_byte(&input) : 0;
	size_t left = input.left;
	char *text = input_text(&input);
	if (which == 0)
		check_name(text);
	else if (which == 1)
		assert(live_rank_in(text, left) >= -1);
	else
		print(text, left, 1u + room);
	free(text);
	return 0;
}
