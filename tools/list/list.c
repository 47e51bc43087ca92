/* SPDX-License-Identifier: MIT */
/*
 * jugglectl list: the jobs of juggle and the programs that publish progress on this machine, as a table
 * for people, in which the processes of a wrapped job stand below it, or an object a line.
 */
#include "libprogress/progress.h"
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/subcommands.h"
#include "tools/command/user.h"
#include "tools/live/live.h"
#include "tools/table/format.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COMMAND_LEAST 10 /* columns that a command gets, whatever is before it */
#define NOBODY SIZE_MAX

enum { KEY_NO_HEADINGS = 0x100 };

static const struct argp_option table[] = {
	{"user", 'u', "USER", 0, "Only this user's, by name or number (default: all users)", 0},
	{"running", 'r', NULL, 0, "Only what runs and can be read", 0},
	{"no-headings", KEY_NO_HEADINGS, NULL, 0, "No line of headings", 0},
	{"wide", 'w', NULL, 0, "Do not cut commands to the width of a terminal", 0},
	{0},
};

static const char doc[] = "What juggle runs, and what publishes progress, on this machine.\v"
			  "Processes of a wrapped job stand below it.";

struct options {
	struct user_choice user;
	bool running, no_headings, wide;
};

struct listing {
	const char *program;
	struct options options;
	struct command_options common;
	struct live_entry *entry;
	size_t entries;
	size_t *job; /* for each the index of the job that it belongs to, or NOBODY */
};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'u':
		return user_parse(state, arg, &options->user);
	case 'r':
		options->running = true;
		return 0;
	case KEY_NO_HEADINGS:
		options->no_headings = true;
		return 0;
	case 'w':
		options->wide = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- What belongs to what ---- */

static bool is_there(const struct live_entry *e)
{
	return e->state == LIVE_RUNS || e->state == LIVE_STARTING;
}

static size_t job_of(const struct listing *list, const struct live_entry *progress)
{
	if (progress->juggle_pid == 0)
		return NOBODY;
	for (size_t i = 0; i < list->entries && list->entry[i].kind == LIVE_JOB; i++) {
		const struct live_entry *e = &list->entry[i];
		if (e->uid == progress->uid && e->pid == progress->juggle_pid)
			return i;
	}
	return NOBODY;
}

static int find_jobs(struct listing *list)
{
	list->job = calloc(list->entries + 1, sizeof *list->job);
	if (list->job == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < list->entries; i++) {
		const struct live_entry *e = &list->entry[i];
		list->job[i] = job_of(list, e);
	}
	return 0;
}

static bool is_wanted(const struct options *options, const struct live_entry *e)
{
	return user_is_wanted(&options->user, e->uid) && (!options->running || is_there(e));
}

/* Leave out what is not wanted, in place. */
static void select_entries(struct listing *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->entries; i++)
		if (is_wanted(&list->options, &list->entry[i]))
			list->entry[n++] = list->entry[i];
	list->entries = n;
}

/* Those that are below nothing, each with what is below it. */
static int in_order(const struct listing *list, int (*each)(void *, size_t), void *context)
{
	int rc = 0;

	for (size_t i = 0; i < list->entries && rc == 0; i++) {
		if (list->job[i] != NOBODY)
			continue;
		rc = each(context, i);
		bool above = list->entry[i].kind == LIVE_JOB && is_there(&list->entry[i]);
		for (size_t k = i + 1; above && k < list->entries && rc == 0; k++)
			if (list->job[k] == i)
				rc = each(context, k);
	}
	return rc;
}

/* Has its content been read, and is it of this kind? */
static bool was_read(const struct live_entry *e, enum live_kind kind)
{
	return e->kind == kind && (kind == LIVE_JOB ? e->policy[0] != '\0' : e->workers > 0);
}

/* ---- As JSON ---- */

static json_t *maybe(bool known, json_int_t value)
{
	return known ? json_integer(value) : json_null();
}

static json_t *text_or_null(bool known, const char *text)
{
	return known && text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *bool_or_null(bool known, bool value)
{
	return known ? json_boolean(value) : json_null();
}

static json_t *entry_json(const struct listing *list, size_t i)
{
	const struct live_entry *e = &list->entry[i];
	char user[USER_BYTES];
	size_t owner = e->kind == LIVE_JOB ? i : list->job[i];
	bool job = was_read(e, LIVE_JOB), progress = was_read(e, LIVE_PROGRESS);
	json_t *object = json_pack("{s:s, s:s, s:i, s:o, s:I, s:s, s:o, s:o?, s:s, s:I, s:o}",
		"kind", e->kind == LIVE_JOB ? "job" : "progress", "state",
		live_state_name(e->state), "pid", (int)e->pid, "juggle_pid",
		maybe(owner != NOBODY, owner != NOBODY ? list->entry[owner].pid : 0), "uid",
		(json_int_t)e->uid, "user", user_name(e->uid, user), "command",
		text_or_null(true, e->command), "age_s", json_real(e->age_s), "path", e->path,
		"size_bytes", (json_int_t)e->bytes, "version", maybe(e->version > 0, e->version));
	json_t *more = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "job_pid",
		maybe(job && e->job_pid > 0, e->job_pid), "attached",
		bool_or_null(job, e->attached), "lost", bool_or_null(job, e->lost), "policy",
		text_or_null(job, e->policy), "regime",
		text_or_null(job, live_regime_name(e->balancing)), "threads",
		maybe(job, e->threads), "idle_threads", maybe(job, e->idle_threads), "cpus",
		maybe(job, e->cpus), "rank", maybe(progress && e->rank >= 0, e->rank), "workers",
		maybe(progress, e->workers), "subdomains", maybe(progress, e->subdomains),
		"balancing", text_or_null(progress, progress_reader_balancing(e->asked)),
		"balancer_pid", maybe(progress && e->balancer_pid > 0, e->balancer_pid));

	if (object != NULL && (more == NULL || json_object_update(object, more) < 0)) {
		json_decref(object);
		object = NULL;
	}
	json_decref(more);
	return object;
}

static int print_object(void *context, size_t i)
{
	const struct listing *list = context;

	return command_print_json(list->program, entry_json(list, i));
}

/* ---- As text ---- */

enum column { PID, USER, AGE, STATE, RANK, THREADS, CPUS, SUBDOMAINS, BALANCED, COLUMNS };

static const struct {
	const char *heading;
	bool right;
} column[COLUMNS] = {
	[PID] = {"PID/JOB", false},
	[USER] = {"USER", false},
	[AGE] = {"AGE", true},
	[STATE] = {"STATE", false},
	[RANK] = {"RANK", true},
	[THREADS] = {"THR", true},
	[CPUS] = {"CPUS", true},
	[SUBDOMAINS] = {"SUBD", true},
	[BALANCED] = {"BALANCED", false},
};

struct row {
	char cell[COLUMNS][40];
	const char *command;
};

struct table {
	const struct listing *list;
	struct row *row;
	size_t rows;
	int width[COLUMNS];
};

static void write_job(struct row *row, const struct live_entry *e)
{
	size_t bytes = sizeof row->cell[0];

	if (e->job_pid > 0)
		snprintf(row->cell[PID], bytes, "%d/%d", (int)e->pid, (int)e->job_pid);
	snprintf(row->cell[THREADS], bytes, "%u", e->threads);
	snprintf(row->cell[CPUS], bytes, "%u", e->cpus);
	if (!is_there(e))
		return;
	snprintf(row->cell[BALANCED], bytes, "%s%s", e->attached ? "-p, " : "",
		e->lost                            ? "balancer died"
		: strcmp(e->policy, "juggle") != 0 ? e->policy
		: e->balancing                     ? "juggle"
						   : "aside");
}

static void write_progress(struct row *row, const struct live_entry *e)
{
	size_t bytes = sizeof row->cell[0];
	bool outside = e->balancer_pid > 0 && e->balancer_pid != e->pid;
	const char *who = outside ? ", juggle" : ", itself";

	if (e->rank >= 0)
		snprintf(row->cell[RANK], bytes, "%d", (int)e->rank);
	snprintf(row->cell[THREADS], bytes, "%u", e->workers);
	snprintf(row->cell[SUBDOMAINS], bytes, "%u", e->subdomains);
	/* Its own threads are noted as its balancer for the moment of a balancing point only. */
	snprintf(row->cell[BALANCED], bytes, "%s%s", progress_reader_balancing(e->asked),
		is_there(e) && e->asked != PROGRESS_BALANCE_NONE ? who : "");
}

static int add_row(void *context, size_t i)
{
	struct table *t = context;
	const struct live_entry *e = &t->list->entry[i];
	struct row *row = &t->row[t->rows++];
	size_t bytes = sizeof row->cell[0];
	char user[USER_BYTES];

	for (int c = 0; c < COLUMNS; c++)
		strcpy(row->cell[c], "-");
	snprintf(row->cell[PID], bytes, "%s%d", t->list->job[i] == NOBODY ? "" : " \\_ ",
		(int)e->pid);
	snprintf(row->cell[USER], bytes, "%.12s", user_name(e->uid, user));
	snprintf(row->cell[STATE], bytes, "%s", live_state_name(e->state));
	snprintf(row->cell[AGE], bytes, "%s", format_age(e->age_s).text);
	if (was_read(e, LIVE_JOB))
		write_job(row, e);
	if (was_read(e, LIVE_PROGRESS))
		write_progress(row, e);
	row->command = e->command[0] != '\0' ? e->command : "-";
	return 0;
}

/* The columns of a line for its command; INT_MAX: all that it needs. */
static int columns_left(const struct table *t)
{
	struct winsize window;
	int left = COMMAND_COLUMNS;

	if (t->list->options.wide)
		return INT_MAX;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > COMMAND_COLUMNS)
		left = window.ws_col - 1;
	for (int c = 0; c < COLUMNS; c++)
		left -= t->width[c] > 0 ? t->width[c] + 1 : 0;
	return left < COMMAND_LEAST ? COMMAND_LEAST : left;
}

/* Without the folder of the program, and as long as there is room. */
static void print_command(const char *command, int columns)
{
	size_t word = strcspn(command, " ");

	if (columns < INT_MAX)
		for (size_t i = word; i > 0; i--)
			if (command[i - 1] == '/' && i < word) {
				command += i;
				break;
			}
	printf("%.*s\n", format_cut(command, columns), command);
}

static void print_cells(const struct table *t, const struct row *row)
{
	for (int c = 0; c < COLUMNS; c++)
		if (t->width[c] > 0)
			printf("%*s ", column[c].right ? t->width[c] : -t->width[c],
				row != NULL ? row->cell[c] : column[c].heading);
}

/* A column that has nothing but dashes is left out. */
static void measure(struct table *t)
{
	for (int c = 0; c < COLUMNS; c++) {
		int width = 0;
		for (size_t i = 0; i < t->rows; i++) {
			int length = (int)strlen(t->row[i].cell[c]);
			if (strcmp(t->row[i].cell[c], "-") != 0 && length > width)
				width = length;
		}
		int heading = t->list->options.no_headings ? 1 : (int)strlen(column[c].heading);
		t->width[c] = width == 0 || width > heading ? width : heading;
	}
}

static int print_table(const struct listing *list)
{
	struct table t = {.list = list, .row = calloc(list->entries + 1, sizeof *t.row)};

	if (t.row == NULL)
		return command_fail(list->program, "%s", strerror(ENOMEM));
	in_order(list, add_row, &t);
	measure(&t);
	if (!list->options.no_headings) {
		print_cells(&t, NULL);
		puts("COMMAND");
	}
	int left = columns_left(&t);
	for (size_t i = 0; i < t.rows; i++) {
		print_cells(&t, &t.row[i]);
		print_command(t.row[i].command, left);
	}
	free(t.row);
	return command_flush(list->program);
}

/* ---- All of it ---- */

static size_t removable(const struct listing *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->entries; i++)
		n += list->entry[i].state == LIVE_STALE &&
		     (geteuid() == 0 || list->entry[i].uid == geteuid());
	return n;
}

static int print_all(struct listing *list)
{
	int rc = list->common.json ? in_order(list, print_object, list) : print_table(list);
	size_t stale = removable(list);

	if (rc == 0 && stale > 0 && !list->common.quiet)
		fprintf(stderr,
			"%s: %zu left by processes that are gone: remove %s with jugglectl clean\n",
			list->program, stale, stale == 1 ? "it" : "them");
	return rc;
}

static int look(struct listing *list)
{
	int error = live_list(&list->entry, &list->entries);

	if (error != 0)
		return command_fail(list->program,
			"cannot look into /dev/shm, without which nothing can be told: %s",
			strerror(-error));
	select_entries(list);
	if (find_jobs(list) < 0)
		return command_fail(list->program, "%s", strerror(ENOMEM));
	if (list->entries > 0)
		return print_all(list);
	if (!list->common.quiet)
		fprintf(stderr, "%s: no job of juggle, and no program that publishes progress\n",
			list->program);
	return 0;
}

int list_main(int argc, char **argv)
{
	struct listing list = {.program = argv[0]};
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};
	int rc = command_parse(&argp, argc, argv, &list.options, &list.common);

	if (rc != 0)
		return rc < 0 ? COMMAND_WRONG : 0;
	rc = look(&list);
	free(list.entry);
	free(list.job);
	return rc;
}
