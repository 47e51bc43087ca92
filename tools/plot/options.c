/* SPDX-License-Identifier: MIT */
#include "tools/plot/options.h"

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"
#include "tools/command/print.h"
#include "tools/plot/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	THREADS = 32, /* drawn by default */
	THREADS_MAX = 1000,
	SUBDOMAINS = 64,
	SUBDOMAINS_MAX = 1000,
	WIDTH = 1000,
};

enum {
	KEY_WHAT = 0x100,
	KEY_FROM,
	KEY_TO,
	KEY_TID,
	KEY_SUBDOMAINS,
	KEY_WIDTH,
	KEY_HEIGHT,
	KEY_PERFETTO,
	KEY_GNUPLOT,
	KEY_HTML,
	KEY_COMPARE,
};

static const struct argp_option table[] = {
	{"output", 'o', "FILE", 0,
		"Where to write; the ending of the name selects the format, .svg, .png or .html; - "
		"is "
		"standard output, as SVG (default: TRACE with .svg, .json or .gp at its end)",
		0},
	{"what", KEY_WHAT, "LIST", 0,
		"Panels: progress, lead, placement, waits, spread, braid, or all (default: all but "
		"progress)",
		0},
	{"from", KEY_FROM, "TIME", 0, "Begin this long after juggle started (default: 0)", 0},
	{"to", KEY_TO, "TIME", 0, "End this long after juggle started (default: the end)", 0},
	{"threads", 't', "N", 0,
		"Draw at most N threads, 1 to 1000 (default: 32, or with --perfetto all)", 0},
	{"tid", KEY_TID, "LIST", 0,
		"Draw only these threads, by tid, such as 4711,4713 (default: any)", 0},
	{"subdomains", KEY_SUBDOMAINS, "N", 0,
		"Draw at most N subdomains, 1 to 1000 (default: 64, or with --perfetto all)", 0},
	{"width", KEY_WIDTH, "N", 0, "Width in pixels, 400 to 10000 (default: 1000)", 1},
	{"height", KEY_HEIGHT, "N", 0,
		"Height in pixels, 200 to 10000 (default: what the panels need)", 1},
	{"html", KEY_HTML, "FILE", 0,
		"Write a web page instead, to pan and zoom over time in a browser; - is standard "
		"output",
		2},
	{"compare", KEY_COMPARE, NULL, 0,
		"A web page of two reports of juggle --report, side by side, instead of a trace",
		2},
	{"gnuplot", KEY_GNUPLOT, NULL, 0, "Write the gnuplot script, with its data, instead", 2},
	{"perfetto", KEY_PERFETTO, NULL, 0, "Write JSON for ui.perfetto.dev instead", 2},
	{0},
};

static const char doc[] =
	"Draw a run that juggle --trace recorded, by gnuplot or as a web page.\v"
	"All panels share one time axis. lead shows how far each thread is ahead of the mean of "
	"all; placement shows which threads were on which CPU; spread shows the time between the "
	"first and the last thread, and the migrations; braid shows which worker owns each "
	"subdomain of a program that publishes its progress; progress shows the CPU time of each "
	"thread. Times have a unit: ns, us, ms, s or min.\n\n"
	"Exit status: 0, 1 when something cannot be read, drawn or written, 2 when the command "
	"line is wrong.";

const char *const plot_format_names[] = {"svg", "png", "html", "gnuplot", "perfetto"};

static const char *const endings[] = {".svg", ".png", ".html", ".gp", ".json"};

/* What the format and the output follow from. */
struct reading {
	struct plot_options *out;
	const char *output, *html;
	bool gnuplot, perfetto;
};

static bool take_panel(void *out, const char *word)
{
	struct plot_options *options = out;
	bool all = strcmp(word, "all") == 0, known = all;

	for (size_t i = 0; i < PICTURE_PANELS; i++)
		if (all || strcmp(word, picture_names[i]) == 0)
			options->panel[i] = known = true;
	return known;
}

static bool take_tid(void *out, const char *word)
{
	struct plot_options *options = out;
	int64_t tid;

	if (options->tids == PLOT_TIDS_MAX || parse_integer(word, 1, INT32_MAX, &tid) < 0)
		return false;
	options->tid[options->tids++] = (int32_t)tid;
	return true;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct reading *reading = state->input;
	struct plot_options *o = reading->out;

	switch (key) {
	case 'o':
		reading->output = arg;
		return 0;
	case KEY_WHAT:
		o->panels_given = true;
		memset(o->panel, 0, sizeof(o->panel));
		return command_line_list(state, "--what", arg,
			"a list of progress, lead, placement, waits, spread, braid, or all",
			take_panel, o);
	case KEY_FROM:
		return command_line_time(state, "--from", arg, 0, &o->from_ns);
	case KEY_TO:
		return command_line_time(state, "--to", arg, 1, &o->to_ns);
	case 't':
		return command_line_count(state, "--threads", arg, 1, THREADS_MAX, &o->threads);
	case KEY_TID:
		return command_line_list(state, "--tid", arg,
			"numbers of threads, at most 1000 of them: 4711,4713", take_tid, o);
	case KEY_SUBDOMAINS:
		return command_line_count(
			state, "--subdomains", arg, 1, SUBDOMAINS_MAX, &o->subdomains);
	case KEY_WIDTH:
		return command_line_count(
			state, "--width", arg, PICTURE_WIDTH_MIN, PICTURE_SIZE_MAX, &o->width);
	case KEY_HEIGHT:
		return command_line_count(
			state, "--height", arg, PICTURE_HEIGHT_MIN, PICTURE_SIZE_MAX, &o->height);
	case KEY_HTML:
		reading->html = arg;
		return 0;
	case KEY_GNUPLOT:
		reading->gnuplot = true;
		return 0;
	case KEY_PERFETTO:
		reading->perfetto = true;
		return 0;
	case KEY_COMPARE:
		o->compare = true;
		return 0;
	case ARGP_KEY_ARG: /* behind all options */
		if (!o->compare)
			return command_argument(state, arg, "trace", &o->input[0]);
		return command_argument(
			state, arg, "pair of reports", &o->input[o->input[0] != NULL]);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool ends_in(const char *text, const char *ending)
{
	size_t bytes = strlen(text), tail = strlen(ending);

	return bytes > tail && strcmp(text + bytes - tail, ending) == 0;
}

/* What contradicts itself; NULL when nothing does. */
static const char *contradiction(const struct reading *reading)
{
	const struct plot_options *o = reading->out;
	bool for_run = o->panels_given || o->from_ns > 0 || o->to_ns < UINT64_MAX ||
		       o->threads > 0 || o->tids > 0 || o->subdomains > 0;

	if (reading->gnuplot && reading->perfetto)
		return "--gnuplot and --perfetto don't go together";
	if (reading->html != NULL &&
		(reading->gnuplot || reading->perfetto || reading->output != NULL))
		return "--html doesn't go together with --gnuplot, --perfetto or --output";
	if (reading->perfetto && (o->panels_given || o->width > 0 || o->height > 0))
		return "--what, --width and --height are for pictures, not for --perfetto";
	if (o->from_ns >= o->to_ns)
		return "--from has to be before --to";
	if (o->compare && (for_run || o->format != PLOT_HTML))
		return "--compare needs --html, and no options of what to draw";
	if (o->compare && o->input[1] == NULL)
		return "two REPORTs are needed: files that juggle --report wrote";
	if (o->input[0] == NULL)
		return "the TRACE is missing: a file that juggle --trace wrote";
	if (o->format == PLOT_HTML && (o->width > 0 || o->height > 0))
		return "--width and --height are for pictures, not for web pages";
	return NULL;
}

static enum plot_format format_of(const struct reading *reading)
{
	if (reading->gnuplot)
		return PLOT_GNUPLOT;
	if (reading->perfetto)
		return PLOT_PERFETTO;
	if (reading->html != NULL || (reading->output != NULL && ends_in(reading->output, ".html")))
		return PLOT_HTML;
	return reading->output != NULL && ends_in(reading->output, ".png") ? PLOT_PNG : PLOT_SVG;
}

static int choose_output(const struct reading *reading)
{
	struct plot_options *o = reading->out;
	const char *output = reading->html != NULL ? reading->html : reading->output;

	if (output != NULL && strcmp(output, "-") != 0) {
		if (o->format == PLOT_SVG && !ends_in(output, ".svg"))
			return command_wrong(o->program,
				"%s: the name has to end in .svg, .png or .html", output);
		o->output = output;
		return 0;
	}
	if (output != NULL) {
		if (o->common.json)
			return command_wrong(
				o->program, "--json and standard output don't go together");
		if (o->format != PLOT_GNUPLOT && isatty(STDOUT_FILENO))
			return command_wrong(
				o->program, "standard output is a terminal: give a file");
		return 0;
	}
	if (asprintf(&o->made_up, "%s%s", o->input[0], endings[o->format]) < 0)
		return command_fail(o->program, "%s", strerror(ENOMEM));
	o->output = o->made_up;
	return 0;
}

static void fill_in_defaults(struct plot_options *o)
{
	bool all = o->format == PLOT_PERFETTO;

	if (o->threads == 0)
		o->threads = all ? UINT32_MAX : THREADS;
	if (o->subdomains == 0)
		o->subdomains = all ? TRACE_SUBDOMAINS_MAX : SUBDOMAINS;
	if (o->width == 0)
		o->width = WIDTH;
	for (int i = 0; i < PICTURE_PANELS && !o->panels_given; i++)
		o->panel[i] = i != PICTURE_PROGRESS;
}

bool plot_options_parse(struct plot_options *out, int argc, char **argv, int *status)
{
	static const struct argp argp = {.options = table,
		.parser = read_option,
		.args_doc = "TRACE\n--compare --html=FILE REPORT REPORT",
		.doc = doc};
	struct reading reading = {.out = out};

	*out = (struct plot_options){.program = argv[0], .to_ns = UINT64_MAX};
	int r = command_parse(&argp, argc, argv, &reading, &out->common);
	if (r != 0) {
		*status = r < 0 ? COMMAND_WRONG : 0;
		return false;
	}
	out->format = format_of(&reading);
	const char *wrong = contradiction(&reading);
	if (wrong != NULL)
		*status = command_wrong(out->program, "%s", wrong);
	else if (out->format == PLOT_HTML && page_frame.head == NULL)
		*status = command_fail(out->program,
			"built without web pages: install dygraphs (Debian: apt-get install "
			"libjs-dygraphs), then build again with -Dhtml=enabled");
	else
		*status = choose_output(&reading);
	fill_in_defaults(out);
	return *status == 0;
}

void plot_options_deinit(struct plot_options *options)
{
	free(options->made_up);
	options->made_up = NULL;
}
