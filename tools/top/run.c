/* SPDX-License-Identifier: MIT */
/*
 * The loop of jugglectl top: look at the job, draw, wait for a key or for the next time to look.
 * There is one thread, and only terminal_wait() blocks.
 */
#include "daemon/base/clock.h"
#include "tools/command/print.h"
#include "tools/top/arrange.h"
#include "tools/top/screen.h"
#include "tools/top/terminal.h"
#include "tools/top/top.h"
#include "tools/top/watch.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct top {
	const struct top_options *options;
	struct terminal *terminal;
	struct canvas canvas;
	struct arrange arrange;
	struct watch watch;
	struct view view;
};

static void show_message(struct view *view, const char *text)
{
	snprintf(view->message, sizeof(view->message), "%s", text);
}

/* ---- Jobs ---- */

/* List the jobs again. The chosen one stays chosen if it is still there. */
static void list_jobs(struct top *top)
{
	struct view *view = &top->view;
	pid_t pid = view->chosen < view->entries ? view->entry[view->chosen].pid : 0;
	struct live_entry *entry;
	size_t n;
	int r = live_choices(&entry, &n);

	if (r < 0) {
		show_message(view, strerror(-r));
		return;
	}
	free(view->entry);
	view->entry = entry;
	view->entries = n;
	for (size_t i = 0; i < n; i++)
		if (pid != 0 ? entry[i].pid == pid : watch_is(&top->watch, &entry[i])) {
			view->chosen = i;
			return;
		}
	if (view->chosen >= n)
		view->chosen = n > 0 ? n - 1 : 0;
}

static void open_job(struct top *top, const struct live_entry *entry)
{
	struct live_error error = {""};
	struct view *view = &top->view;

	if (watch_open_entry(&top->watch, entry, &error) < 0) {
		show_message(view, error.text);
		return;
	}
	view->picking = view->ended = view->paused = false;
	if (view->panel == VIEW_JOBS)
		view->panel = view->last;
	memset(view->scroll, 0, sizeof(view->scroll));
}

static void next_job(struct top *top)
{
	struct view *view = &top->view;
	size_t next = 0;

	list_jobs(top);
	for (size_t i = 0; i < view->entries; i++)
		if (watch_is(&top->watch, &view->entry[i]))
			next = (i + 1) % view->entries;
	if (view->entries == 0 || watch_is(&top->watch, &view->entry[next])) {
		show_message(view, "There is no other job.");
		return;
	}
	view->chosen = next;
	open_job(top, &view->entry[next]);
}

/* Open the job that the user asked for, or show all to choose from. Returns an exit status. */
static int open_first_job(struct top *top)
{
	const struct top_options *options = top->options;
	struct live_error error = {""};
	int r = watch_open(&top->watch, options->job, &error);

	if (r == 0)
		return 0;
	if (r != -ENOTUNIQ || options->job != NULL)
		return command_fail(options->program, "%s", error.text);
	top->view.picking = true;
	top->view.panel = VIEW_JOBS;
	list_jobs(top);
	return 0;
}

/* ---- The loop ---- */

static void look_at_job(struct top *top)
{
	struct view *view = &top->view;

	if (view->panel == VIEW_JOBS)
		list_jobs(top);
	if (top->watch.job == NULL || view->paused)
		return;
	int r = watch_look(&top->watch);
	if (r < 0)
		show_message(view, strerror(-r));
	view->ended = top->watch.ended;
}

static int draw(struct top *top)
{
	bool open = top->watch.job != NULL;
	const struct frame frame = {.sample = open ? &top->watch.sample : NULL,
		.arrange = &top->arrange,
		.history = &top->watch.history,
		.view = &top->view};
	int rows, cols;

	terminal_size(top->terminal, &rows, &cols);
	if (canvas_resize(&top->canvas, rows, cols) < 0)
		return -ENOMEM;
	if (open && arrange(&top->arrange, &top->watch.sample, &top->view) < 0)
		return -ENOMEM;
	screen_draw(&top->canvas, &frame);
	terminal_show(top->terminal, &top->canvas);
	return 0;
}

/* Returns whether to go on. */
static bool handle_key(struct top *top, uint32_t key)
{
	switch (view_key(&top->view, key)) {
	case VIEW_QUIT:
		return false;
	case VIEW_NEXT_JOB:
		next_job(top);
		return true;
	case VIEW_LIST_JOBS:
		if (top->view.panel != VIEW_JOBS)
			top->view.last = top->view.panel;
		top->view.panel = VIEW_JOBS;
		list_jobs(top);
		return true;
	case VIEW_OPEN_JOB:
		open_job(top, &top->view.entry[top->view.chosen]);
		return true;
	default:
		return true;
	}
}

/* Draw changes by keys at once, until it is time to look again. Then returns 1; 0 to end, or a
 * negative errno code. */
static int wait_and_draw(struct top *top, uint64_t looked_ns)
{
	for (;;) {
		uint32_t key = 0;
		int r = draw(top);
		if (r < 0)
			return r;
		switch (terminal_wait(top->terminal, looked_ns + top->view.interval_ns, &key)) {
		case TERMINAL_TIME:
			return 1;
		case TERMINAL_END:
			return 0;
		case TERMINAL_KEY:
			if (!handle_key(top, key))
				return 0;
			break;
		case TERMINAL_REDRAW:
			break;
		}
	}
}

static int loop(struct top *top)
{
	uint32_t left = top->options->count;

	for (;;) {
		uint64_t looked_ns = clock_monotonic_ns();
		int r = wait_and_draw(top, looked_ns);
		if (r <= 0)
			return r;
		if (top->options->count > 0 && --left == 0)
			return 0;
		look_at_job(top);
		if (top->watch.ended && top->options->exit)
			return 0;
	}
}

static int run_on_terminal(struct top *top)
{
	const char *program = top->options->program;
	int r = terminal_open(top->options->colour, &top->terminal);

	if (r < 0)
		return command_fail(program, "cannot use this terminal: %s", strerror(-r));
	r = loop(top);
	int ended_by = terminal_close(top->terminal);
	if (r < 0)
		return command_fail(program, "%s", strerror(-r));
	if (ended_by == SIGTERM || ended_by == SIGHUP || ended_by == SIGQUIT)
		raise(ended_by);
	return 0;
}

int top_run(const struct top_options *options)
{
	struct top top = {.options = options,
		.view = {.panel = options->panel,
			.sort = options->sort,
			.interval_ns = options->interval_ns}};
	const char *lacks = terminal_lacks();

	setlocale(LC_CTYPE, "");
	top.canvas.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (lacks != NULL)
		return command_fail(options->program,
			"a live screen needs %s; use `jugglectl stat --interval %g'", lacks,
			(double)options->interval_ns * 1e-9);
	int status = open_first_job(&top);
	if (status == 0)
		status = run_on_terminal(&top);
	watch_close(&top.watch);
	arrange_deinit(&top.arrange);
	canvas_deinit(&top.canvas);
	view_deinit(&top.view);
	return status;
}
