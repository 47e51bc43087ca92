/* SPDX-License-Identifier: MIT */
/*
 * jugglectl list: the jobs of juggle and the programs on this machine that publish progress. It
 * prints a table, in which the processes of a wrapped job stand below it, or one JSON object per
 * line.
 */
#include "libprogress/progress.h"
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/subcommands.h"
#include "tools/command/user.h"
#include "tools/live/live.h"
#include "tools/table/table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NOBODY SIZE_MAX

enum { KEY_NO_HEADINGS = 0x100 };

static const struct argp_option table[] = {
	{"all", 'a', NULL, 0, "List also each segment that a dead process left, as --json does", 0},
	{"user", 'u', "USER", 0,
		"List only what belongs to this user, by name or number (default: all users)", 0},
	{"running", 'r', NULL, 0, "List only what runs and can be read", 0},
	{"no-headings", KEY_NO_HEADINGS, NULL, 0, "Print no line of headings", 0},
	{"wide", 'w', NULL, 0, "Do not cut commands to the width of a terminal", 0},
	{0},
};

static const char doc[] = "List the jobs that juggle runs on this machine, and the programs that "
			  "publish progress.\v"
			  "The processes of a wrapped job are listed below it.";

struct list_options {
	struct user_choice user;
	bool all, running, no_headings, wide;
};

struct listing {
	const char *program;
	struct list_options options;
	struct command_options common;
	struct live_entry *entry;
	size_t entries;
	size_t *job; /* for each entry the index of the job that it belongs to, or NOBODY */
};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct list_options *options = state->input;

	switch (key) {
	case 'a':
		options->all = true;
		return 0;
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

static bool is_wanted(const struct list_options *options, const struct live_entry *e)
{
	return user_is_wanted(&options->user, e->uid) && (!options->running || is_there(e));
}

/* Drop entries that are not wanted, in place. */
static void select_entries(struct listing *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->entries; i++)
		if (is_wanted(&list->options, &list->entry[i]))
			list->entry[n++] = list->entry[i];
	list->entries = n;
}

/* ---- Columns ---- */

enum {
	KIND,
	SHOWN_PID,
	PID,
	JUGGLE_PID,
	JOB_PID,
	UID,
	USER,
	AGE,
	STATE,
	RANK,
	SHOWN_THREADS,
	THREADS,
	IDLE,
	WORKERS,
	CPUS,
	SUBDOMAINS,
	SHOWN_BALANCED,
	ATTACHED,
	LOST,
	POLICY,
	REGIME,
	BALANCING,
	BALANCER_PID,
	PATH,
	BYTES,
	VERSION,
	COMMAND,
	SHOWN_COMMAND,
	COLUMNS,
};

/* Columns without a key are not in the JSON. */
static const struct column column[COLUMNS] = {
	[KIND] = {"kind", NULL, SHOW_PLAIN, 0, 0},
	[SHOWN_PID] = {NULL, "PID/JOB", SHOW_PLAIN, 0, 0},
	[PID] = {"pid", NULL, SHOW_PLAIN, 0, 0},
	[JUGGLE_PID] = {"juggle_pid", NULL, SHOW_PLAIN, 0, 0},
	[JOB_PID] = {"job_pid", NULL, SHOW_PLAIN, 0, 0},
	[UID] = {"uid", NULL, SHOW_PLAIN, 0, 0},
	[USER] = {"user", "USER", SHOW_PLAIN, 0, 0},
	[AGE] = {"age_s", "AGE", SHOW_AGE, 0, 0},
	[STATE] = {"state", "STATE", SHOW_PLAIN, 0, 0},
	[RANK] = {"rank", "RANK", SHOW_PLAIN, 0, 0},
	[SHOWN_THREADS] = {NULL, "THR", SHOW_PLAIN, 0, 0},
	[THREADS] = {"threads", NULL, SHOW_PLAIN, 0, 0},
	[IDLE] = {"idle_threads", NULL, SHOW_PLAIN, 0, 0},
	[WORKERS] = {"workers", NULL, SHOW_PLAIN, 0, 0},
	[CPUS] = {"cpus", "CPUS", SHOW_PLAIN, 0, 0},
	[SUBDOMAINS] = {"subdomains", "SUBD", SHOW_PLAIN, 0, 0},
	[SHOWN_BALANCED] = {NULL, "BALANCED", SHOW_PLAIN, 0, 0},
	[ATTACHED] = {"attached", NULL, SHOW_YES, 0, 0},
	[LOST] = {"lost", NULL, SHOW_YES, 0, 0},
	[POLICY] = {"policy", NULL, SHOW_PLAIN, 0, 0},
	[REGIME] = {"regime", NULL, SHOW_PLAIN, 0, 0},
	[BALANCING] = {"balancing", NULL, SHOW_PLAIN, 0, 0},
	[BALANCER_PID] = {"balancer_pid", NULL, SHOW_PLAIN, 0, 0},
	[PATH] = {"path", NULL, SHOW_PLAIN, 0, 0},
	[BYTES] = {"size_bytes", NULL, SHOW_PLAIN, 0, 0},
	[VERSION] = {"version", NULL, SHOW_PLAIN, 0, 0},
	[COMMAND] = {"command", NULL, SHOW_PLAIN, 0, 0},
	[SHOWN_COMMAND] = {NULL, "COMMAND", SHOW_PLAIN, 0, 0},
};

/* A segment. Unknown cells are zero. */
struct list_row {
	struct value cell[COLUMNS];
	char user[USER_BYTES], pid[40], balanced[40]; /* texts of cells */
};

static struct value get(const void *row, size_t which)
{
	return ((const struct list_row *)row)->cell[which];
}

static const struct table listed = {.column = column, .columns = COLUMNS, .get = get};

/* ---- Rows ---- */

/* Has its content been read, and is it of this kind? */
static bool was_read(const struct live_entry *e, enum live_kind kind)
{
	return e->kind == kind && (kind == LIVE_JOB ? e->policy[0] != '\0' : e->workers > 0);
}

static struct value positive(int64_t number)
{
	return number > 0 ? value_id(number) : value_unknown();
}

static void write_job(struct list_row *row, const struct live_entry *e)
{
	struct value *cell = row->cell;

	if (e->job_pid > 0)
		snprintf(row->pid, sizeof row->pid, "%d/%d", (int)e->pid, (int)e->job_pid);
	if (is_there(e))
		snprintf(row->balanced, sizeof row->balanced, "%s%s", e->attached ? "-p, " : "",
			e->lost                            ? "balancer died"
			: strcmp(e->policy, "juggle") != 0 ? e->policy
			: e->balancing                     ? "juggle"
							   : "aside");
	cell[JOB_PID] = positive(e->job_pid);
	cell[SHOWN_THREADS] = cell[THREADS] = value_count(e->threads);
	cell[IDLE] = value_count(e->idle_threads);
	cell[CPUS] = value_count(e->cpus);
	cell[ATTACHED] = value_bool(e->attached);
	cell[LOST] = value_bool(e->lost);
	cell[POLICY] = value_text(e->policy);
	cell[REGIME] = value_text(live_regime_name(e->balancing));
}

static void write_progress(struct list_row *row, const struct live_entry *e)
{
	bool outside = e->balancer_pid > 0 && e->balancer_pid != e->pid;
	const char *who = outside ? ", juggle" : ", itself";
	const char *balancing = progress_reader_balancing(e->asked);
	struct value *cell = row->cell;

	/* libprogress's own threads are the balancer for one point at a time only. */
	snprintf(row->balanced, sizeof row->balanced, "%s%s", balancing,
		is_there(e) && e->asked != PROGRESS_BALANCE_NONE ? who : "");
	cell[RANK] = value_id(e->rank);
	cell[SHOWN_THREADS] = cell[WORKERS] = value_count(e->workers);
	cell[SUBDOMAINS] = value_count(e->subdomains);
	cell[BALANCING] = value_text(balancing);
	cell[BALANCER_PID] = positive(e->balancer_pid);
}

/* The command without the folder of the program. */
static const char *short_command(const char *command)
{
	size_t word = strcspn(command, " ");
	const char *slash = memrchr(command, '/', word);

	return slash != NULL && slash + 1 < command + word ? slash + 1 : command;
}

static void write_row(const struct listing *list, size_t i, struct list_row *row)
{
	const struct live_entry *e = &list->entry[i];
	size_t owner = e->kind == LIVE_JOB ? i : list->job[i];
	const char *command = e->command[0] != '\0' ? e->command : "-";
	struct value *cell = row->cell;

	*row = (struct list_row){0};
	snprintf(row->pid, sizeof row->pid, "%s%d", list->job[i] == NOBODY ? "" : " \\_ ",
		(int)e->pid);
	if (was_read(e, LIVE_JOB))
		write_job(row, e);
	if (was_read(e, LIVE_PROGRESS))
		write_progress(row, e);
	cell[KIND] = value_text(e->kind == LIVE_JOB ? "job" : "progress");
	cell[SHOWN_PID] = value_text(row->pid);
	cell[PID] = value_id(e->pid);
	cell[JUGGLE_PID] = owner != NOBODY ? value_id(list->entry[owner].pid) : value_unknown();
	cell[UID] = value_count(e->uid);
	cell[USER] = value_text(user_name(e->uid, row->user));
	cell[AGE] = value_rate(e->age_s);
	cell[STATE] = value_text(live_state_name(e->state));
	cell[SHOWN_BALANCED] = value_text(row->balanced);
	cell[PATH] = value_text(e->path);
	cell[BYTES] = value_count(e->bytes);
	cell[VERSION] = positive(e->version);
	cell[COMMAND] = value_text(e->command);
	cell[SHOWN_COMMAND] = value_text(list->options.wide ? command : short_command(command));
}

/* Segments of dead processes may be thousands. */
static bool leaves_out_stale(const struct listing *list)
{
	return !list->options.all && !list->common.json;
}

/* Write the entries that don't belong to another, each followed by those that belong to it. Returns
 * how many rows. */
static size_t write_rows(const struct listing *list, struct list_row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < list->entries; i++) {
		bool left_out = list->entry[i].state == LIVE_STALE && leaves_out_stale(list);
		if (list->job[i] != NOBODY || left_out)
			continue;
		write_row(list, i, &row[n++]);
		bool above = list->entry[i].kind == LIVE_JOB && is_there(&list->entry[i]);
		for (size_t k = i + 1; above && k < list->entries; k++)
			if (list->job[k] == i)
				write_row(list, k, &row[n++]);
	}
	return n;
}

/* ---- Output ---- */

static int print_objects(const struct listing *list, const struct list_row *row, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		json_t *object = json_object();
		if (table_add_cells(object, &listed, &row[i]) < 0) {
			json_decref(object);
			object = NULL;
		}
		rc = command_print_json(list->program, object);
	}
	return rc;
}

/* The width of a line. */
static int line_columns(const struct listing *list)
{
	struct winsize window;

	if (list->options.wide)
		return INT_MAX;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > COMMAND_COLUMNS)
		return window.ws_col - 1;
	return COMMAND_COLUMNS;
}

/* ---- All of it ---- */

static void remark_stale(const struct listing *list)
{
	size_t stale = 0, removable = 0;

	for (size_t i = 0; i < list->entries; i++) {
		if (list->entry[i].state != LIVE_STALE)
			continue;
		stale++;
		removable += geteuid() == 0 || list->entry[i].uid == geteuid();
	}
	if (stale == 0)
		return;
	fprintf(stderr, "%s: %zu left by dead processes", list->program, stale);
	if (leaves_out_stale(list))
		fprintf(stderr, " (--all lists %s)", stale == 1 ? "it" : "them");
	if (removable == stale)
		fprintf(stderr, ": remove %s with jugglectl clean\n", stale == 1 ? "it" : "them");
	else if (removable > 0)
		fprintf(stderr, ", %zu of them yours: remove these with jugglectl clean\n",
			removable);
	else
		fprintf(stderr, " of other users, who can remove them with jugglectl clean\n");
}

static void remark_nothing(const struct listing *list)
{
	if (!list->common.quiet)
		fprintf(stderr, "%s: no job of juggle, and no program that publishes progress\n",
			list->program);
}

static int print_rows(const struct listing *list)
{
	struct list_row *row = calloc(list->entries + 1, sizeof *row);

	if (row == NULL)
		return command_fail(list->program, "%s", strerror(ENOMEM));
	const struct table_rows rows = {
		.row = row, .n = write_rows(list, row), .bytes = sizeof *row};
	int rc = 0;
	if (rows.n == 0) {
		remark_nothing(list);
	} else if (list->common.json) {
		rc = print_objects(list, row, rows.n);
	} else {
		table_print(stdout, &listed, &rows, line_columns(list), !list->options.no_headings);
		rc = command_flush(list->program);
	}
	free(row);
	return rc;
}

static int list_segments(struct listing *list)
{
	int error = live_list(&list->entry, &list->entries);

	if (error != 0)
		return command_fail(list->program,
			"cannot read /dev/shm, where jobs and programs publish their state: %s",
			strerror(-error));
	select_entries(list);
	if (find_jobs(list) < 0)
		return command_fail(list->program, "%s", strerror(ENOMEM));
	int rc = print_rows(list);
	if (rc == 0 && !list->common.quiet)
		remark_stale(list);
	return rc;
}

int list_main(int argc, char **argv)
{
	struct listing list = {.program = argv[0]};
	const struct argp argp = {.options = table, .parser = read_option, .doc = doc};
	int rc = command_parse(&argp, argc, argv, &list.options, &list.common);

	if (rc != 0)
		return rc < 0 ? COMMAND_WRONG : 0;
	rc = list_segments(&list);
	free(list.entry);
	free(list.job);
	return rc;
}
