/* SPDX-License-Identifier: MIT */
/*
 * jugglectl top: a live screen of a job. This file has the command line; the screen is in run.c, or
 * missing.c where there is no ncurses.
 */
#include "tools/top/top.h"

#include "daemon/base/command_line.h"
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/subcommands.h"

#include <stdlib.h>

#define COUNT_MAX 1000000000

enum { KEY_SORT = 0x100, KEY_VIEW, KEY_EXIT, KEY_NO_COLOR };

static const struct argp_option table[] = {
	{"interval", 'i', "TIME", 0,
		"Time between two looks, such as 2, 0.5 or 500ms, from 100ms to 60min (default: "
		"1s)",
		0},
	{"count", 'c', "N", 0, "Exit after N looks (default: never)", 0},
	{"sort", KEY_SORT, "KEY", 0,
		"Sort threads by lead, share, wait, moves, cpu or tid (default: lead)", 0},
	{"view", KEY_VIEW, "NAME", 0,
		"Start with overview, threads, cpus or subdomains (default: overview)", 0},
	{"exit", KEY_EXIT, NULL, 0, "Exit when the job ends, instead of showing its last state", 0},
	{"no-color", KEY_NO_COLOR, NULL, 0, "Use no colours, as when NO_COLOR is set", 0},
	{0},
};

static const char doc[] =
	"Show a job as a live screen: the progress of its threads and subdomains, and which thread "
	"is on which CPU.\v"
	"JOB is the pid of juggle, of its command, or of a process below or above them, or the "
	"name of the command. It may be omitted if there is only one job; of several, you choose "
	"one. The key ? shows what the other keys do.\n\n"
	"Exit status: 0, 1 when there is no such job or no terminal, 2 when the command line is "
	"wrong.";

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct top_options *top = state->input;
	size_t which = 0;
	error_t error;

	switch (key) {
	case 'i':
		return command_interval(state, arg, VIEW_INTERVAL_MIN_NS, VIEW_INTERVAL_MAX_NS,
			"a time from 100ms to 60min, as 2, 0.5 or 500ms", &top->interval_ns);
	case 'c':
		return command_line_count(state, "--count", arg, 1, COUNT_MAX, &top->count);
	case KEY_SORT:
		error = command_line_choice(
			state, "--sort", arg, view_sort_names, VIEW_SORTS, &which);
		top->sort = (enum view_sort)which;
		return error;
	case KEY_VIEW:
		error = command_line_choice(state, "--view", arg, view_names, VIEW_NAMED, &which);
		top->panel = (enum view_panel)which;
		return error;
	case KEY_EXIT:
		top->exit = true;
		return 0;
	case KEY_NO_COLOR:
		top->colour = false;
		return 0;
	case ARGP_KEY_ARG:
		return command_argument(state, arg, "job", &top->job);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int top_main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	struct top_options top = {.program = argv[0],
		.interval_ns = UINT64_C(1000000000),
		.colour = no_color == NULL || no_color[0] == '\0'};
	const struct argp argp = {
		.options = table, .parser = read_option, .args_doc = "[JOB]", .doc = doc};
	struct command_options common;
	int r = command_parse(&argp, argc, argv, &top, &common);

	if (r != 0)
		return r < 0 ? COMMAND_WRONG : 0;
	if (common.json)
		return command_wrong(
			argv[0], "--json: not for a live screen; use `jugglectl stat --json'");
	live_open_many();
	return top_run(&top);
}
