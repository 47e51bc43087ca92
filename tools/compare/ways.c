/* SPDX-License-Identifier: MIT */
/* Ways to run a command; see ways.h. */
#include "tools/compare/ways.h"

#include "daemon/base/parse.h"

#include <argz.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const ways_words[WAYS_SKIPPABLE] = {"linux", "pinned", "juggle"};

/* The juggle of the same installation, or of the same build; else the one in PATH. */
static void find_juggle(char out[PATH_MAX])
{
	static const char *const places[] = {"/juggle", "/../daemon/juggle"};
	char own[PATH_MAX], place[PATH_MAX + 20];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

	own[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(own, '/');
	if (slash != NULL)
		*slash = '\0';
	for (size_t i = 0; slash != NULL && i < sizeof places / sizeof *places; i++) {
		snprintf(place, sizeof place, "%s%s", own, places[i]);
		if (access(place, X_OK) == 0 && realpath(place, out) != NULL)
			return;
	}
	strcpy(out, "juggle");
}

static size_t count_words(char *const *words)
{
	size_t n = 0;

	while (words[n] != NULL)
		n++;
	return n;
}

/* A command line of these words, then those of an argz vector, then others. NULL: none of them. */
static char **join(char *const *first, const char *vector, size_t vector_bytes, char *const *last)
{
	size_t n = count_words(first), more = argz_count(vector, vector_bytes);
	size_t rest = last != NULL ? count_words(last) : 0;
	char **words = calloc(n + more + rest + 1, sizeof *words);

	if (words == NULL)
		return NULL;
	memcpy(words, first, n * sizeof *words);
	if (more > 0)
		argz_extract(vector, vector_bytes, words + n);
	if (rest > 0)
		memcpy(words + n + more, last, rest * sizeof *words);
	return words;
}

/* juggle with options, of which those of the user come last and count. */
static char **juggle_command(
	struct ways *ways, struct way *way, const char *with, char *const *command)
{
	char *const pinned[] = {ways->juggle, "-q", "-P", "static", NULL};
	char *const plain[] = {ways->juggle, "-q", "--report", ways->report, NULL};
	char *const *first = way->kind == WAY_PINNED ? pinned : plain;
	size_t bytes = 0;

	if (with != NULL && parse_words(with, &way->words, &bytes) < 0)
		return NULL;
	if (argz_add(&way->words, &bytes, "--") != 0)
		return NULL;
	return join(first, way->words, bytes, command);
}

static int add(struct ways *ways, enum way_kind kind, const char *text, char *const *command)
{
	static const char *const names[] = {"Linux", "pinned", "juggle"};
	char *const shell[] = {"sh", "-c", (char *)text, NULL};
	struct way *way = &ways->way[ways->n++];

	way->kind = kind;
	if (kind == WAY_LINUX)
		way->command = join(command, NULL, 0, NULL);
	else if (kind == WAY_AGAINST)
		way->command = join(shell, NULL, 0, NULL);
	else
		way->command = juggle_command(ways, way, text, command);
	snprintf(way->name, sizeof way->name, "%s%s", kind == WAY_WITH ? "juggle " : "",
		kind < WAYS_SKIPPABLE ? names[kind] : text);
	return way->command != NULL ? 0 : -ENOMEM;
}

int ways_init(struct ways *ways, const struct ways_wanted *wanted)
{
	int r = 0;

	*ways = (struct ways){.report_fd = memfd_create("report", MFD_CLOEXEC)};
	if (ways->report_fd < 0)
		return -errno;
	snprintf(ways->report, sizeof ways->report, "/proc/%d/fd/%d", (int)getpid(),
		ways->report_fd);
	if (wanted->juggle != NULL)
		snprintf(ways->juggle, sizeof ways->juggle, "%s", wanted->juggle);
	else
		find_juggle(ways->juggle);
	for (enum way_kind kind = WAY_LINUX; r == 0 && kind < WAYS_SKIPPABLE; kind++)
		if (!wanted->skip[kind])
			r = add(ways, kind, NULL, wanted->command);
	for (size_t i = 0; r == 0 && i < wanted->withs; i++)
		r = add(ways, WAY_WITH, wanted->with[i], wanted->command);
	for (size_t i = 0; r == 0 && i < wanted->againsts; i++)
		r = add(ways, WAY_AGAINST, wanted->against[i], wanted->command);
	if (r < 0)
		ways_deinit(ways);
	return r;
}

void ways_deinit(struct ways *ways)
{
	for (size_t i = 0; i < ways->n; i++) {
		free(ways->way[i].command);
		free(ways->way[i].words);
	}
	ways->n = 0;
	if (ways->report_fd >= 0)
		close(ways->report_fd);
	ways->report_fd = -1;
}
