/* SPDX-License-Identifier: MIT */
/*
 * jugglectl clean: removes the segments whose process is gone, which kill -9 leaves, and no others.
 */
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/subcommands.h"
#include "tools/command/user.h"
#include "tools/live/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option table[] = {
	{"dry-run", 'n', NULL, 0, "Only print what would be removed", 0},
	{"user", 'u', "USER", 0,
		"Remove only what belongs to this user, by name or number (default: all users)", 0},
	{0},
};

static const char doc[] = "Remove what killed processes left in /dev/shm.";

struct clean_options {
	struct user_choice user;
	bool dry_run;
};

enum outcome { REMOVED, WOULD_REMOVE, LEFT, FAILED, OUTCOMES };

static const char *const outcome_names[OUTCOMES] = {"removed", "would_remove", "left", "failed"};
static const char *const outcome_words[OUTCOMES] = {"removed", "would remove", "left", "failed"};

struct cleaning {
	const char *program;
	struct clean_options options;
	struct command_options common;
	size_t count[OUTCOMES];
	uint64_t freed_bytes;
};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct clean_options *options = state->input;

	switch (key) {
	case 'n':
		options->dry_run = true;
		return 0;
	case 'u':
		return user_parse(state, arg, &options->user);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Why a segment in this state is kept. */
static const char *why_left(enum live_state state)
{
	switch (state) {
	case LIVE_RUNS:
		return "its process runs";
	case LIVE_STARTING:
		return "its process starts";
	case LIVE_UNSEEN:
		return "no such process is visible from here, but another process uses it, or may "
		       "use it";
	case LIVE_FOREIGN:
		return "it belongs to another user, and its process runs";
	case LIVE_OTHER_VERSION:
		return "it is of another version, and its process runs";
	case LIVE_DAMAGED:
		return "it is damaged, but a process with its number runs";
	case LIVE_STALE:
		break;
	}
	return "";
}

static enum outcome remove_stale(const struct live_entry *entry, const char **why)
{
	int error = live_remove(entry);

	switch (error) {
	case 0:
		return REMOVED;
	case -ENOENT:
		*why = "by another process meanwhile";
		return REMOVED;
	case -EBUSY:
		*why = "it is in use now";
		return LEFT;
	default:
		*why = strerror(-error);
		return FAILED;
	}
}

static enum outcome clean_entry(
	const struct clean_options *options, const struct live_entry *entry, const char **why)
{
	bool gone = entry->state == LIVE_STALE || entry->state == LIVE_UNSEEN;

	*why = NULL;
	if (gone && geteuid() != 0 && entry->uid != geteuid()) {
		*why = "another user's";
		return LEFT;
	}
	if (entry->state != LIVE_STALE) {
		*why = why_left(entry->state);
		return LEFT;
	}
	return options->dry_run ? WOULD_REMOVE : remove_stale(entry, why);
}

static int print_json(
	const char *program, const struct live_entry *entry, enum outcome outcome, const char *why)
{
	char user[USER_BYTES];

	return command_print_json(program,
		json_pack("{s:s, s:s, s:s, s:s?, s:s, s:i, s:I, s:s, s:I}", "path", entry->path,
			"action", outcome_names[outcome], "state", live_state_name(entry->state),
			"reason", why, "kind", entry->kind == LIVE_JOB ? "job" : "progress", "pid",
			(int)entry->pid, "uid", (json_int_t)entry->uid, "user",
			user_name(entry->uid, user), "size_bytes", (json_int_t)entry->bytes));
}

/* Failures are also reported on standard error, whatever the form of the output. */
static int report(const struct cleaning *c, const struct live_entry *entry, enum outcome outcome,
	const char *why)
{
	if (outcome == FAILED)
		command_fail(c->program, "cannot remove %s: %s", entry->path, why);
	if (c->common.json)
		return print_json(c->program, entry, outcome, why);
	if (outcome != FAILED && (outcome != LEFT || !c->common.quiet))
		printf("%s %s%s%s\n", outcome_words[outcome], entry->path, why != NULL ? ": " : "",
			why != NULL ? why : "");
	return 0;
}

static void print_sum(const struct cleaning *c)
{
	size_t n = c->count[REMOVED] + c->count[WOULD_REMOVE];
	double bytes = (double)c->freed_bytes;

	if (n == 0)
		puts("Nothing to remove.");
	else
		printf("%zu %s, %.1f %s.\n", n, c->options.dry_run ? "would be removed" : "removed",
			bytes < 1e6 ? bytes * 1e-3 : bytes * 1e-6, bytes < 1e6 ? "kB" : "MB");
}

static int clean_all(struct cleaning *c, const struct live_entry *entry, size_t n)
{
	const char *why;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		if (!user_is_wanted(&c->options.user, entry[i].uid))
			continue;
		enum outcome outcome = clean_entry(&c->options, &entry[i], &why);
		c->count[outcome]++;
		if (outcome == REMOVED || outcome == WOULD_REMOVE)
			c->freed_bytes += entry[i].bytes;
		rc = report(c, &entry[i], outcome, why);
	}
	if (rc == 0 && !c->common.json)
		print_sum(c);
	if (rc == 0)
		rc = command_flush(c->program);
	return rc == 0 && c->count[FAILED] > 0 ? COMMAND_IMPOSSIBLE : rc;
}

int clean_main(int argc, char **argv)
{
	struct cleaning c = {.program = argv[0]};
	struct live_entry *entry = NULL;
	size_t n = 0;
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};
	int rc = command_parse(&argp, argc, argv, &c.options, &c.common);

	if (rc != 0)
		return rc < 0 ? COMMAND_WRONG : 0;
	rc = live_list(&entry, &n);
	if (rc != 0)
		return command_fail(c.program, "cannot look into /dev/shm: %s", strerror(-rc));
	rc = clean_all(&c, entry, n);
	free(entry);
	return rc;
}
