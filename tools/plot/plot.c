/* SPDX-License-Identifier: MIT */
/*
 * jugglectl plot: draws a traced run with gnuplot, or writes it as a web page or for Perfetto. This
 * file has the command line and the order of steps; picture.h, page.h and perfetto.h say what is in
 * the pictures.
 */
#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"
#include "tools/command/output.h"
#include "tools/command/parse.h"
#include "tools/command/print.h"
#include "tools/command/progress_line.h"
#include "tools/command/subcommands.h"
#include "tools/command/trace.h"
#include "tools/plot/gnuplot.h"
#include "tools/plot/page.h"
#include "tools/plot/perfetto.h"
#include "tools/plot/picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	THREADS = 32, /* drawn by default */
	THREADS_MAX = 1000,
	SUBDOMAINS = 64,
	SUBDOMAINS_MAX = 1000,
	TIDS_MAX = 1000,
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
	{"gnuplot", KEY_GNUPLOT, NULL, 0, "Write the gnuplot script, with its data, instead", 2},
	{"perfetto", KEY_PERFETTO, NULL, 0,
		"Write JSON for ui.perfetto.dev or chrome://tracing instead", 2},
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

enum format { FORMAT_SVG, FORMAT_PNG, FORMAT_HTML, FORMAT_GNUPLOT, FORMAT_JSON };

static const char *const format_names[] = {"svg", "png", "html", "gnuplot", "perfetto"};
static const char *const endings[] = {".svg", ".png", ".html", ".gp", ".json"};

struct plot_options {
	const char *trace, *output, *html;
	bool panel[PICTURE_PANELS], panels_given;
	uint64_t from_ns, to_ns;
	uint32_t threads, subdomains, width, height; /* 0: the default */
	int32_t tid[TIDS_MAX];
	size_t tids;
	bool gnuplot, perfetto;
};

/* The state of one call. */
struct plot {
	const char *program;
	const struct plot_options *options;
	const struct command_options *common;
	enum format format;
	const char *output; /* NULL: standard output */
	char *own_output; /* a name made up by us */
	struct command_progress progress;
	struct trace_file trace;
	struct plot_run run;
	struct chart chart;
	struct braid braid;
	uint64_t bytes; /* written */
};

/* ---- The command line ---- */

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

	if (options->tids == TIDS_MAX || parse_integer(word, 1, INT32_MAX, &tid) < 0)
		return false;
	options->tid[options->tids++] = (int32_t)tid;
	return true;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct plot_options *o = state->input;

	switch (key) {
	case 'o':
		o->output = arg;
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
		o->html = arg;
		return 0;
	case KEY_GNUPLOT:
		o->gnuplot = true;
		return 0;
	case KEY_PERFETTO:
		o->perfetto = true;
		return 0;
	case ARGP_KEY_ARG:
		return command_argument(state, arg, "trace", &o->trace);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool ends_in(const char *text, const char *ending)
{
	size_t bytes = strlen(text), tail = strlen(ending);

	return bytes > tail && strcmp(text + bytes - tail, ending) == 0;
}

/* The format, from the options and the name of the output. */
static int choose_format(struct plot *plot)
{
	const struct plot_options *o = plot->options;
	const char *output = o->html != NULL ? o->html : o->output;
	bool standard = output != NULL && strcmp(output, "-") == 0;

	plot->format = o->gnuplot        ? FORMAT_GNUPLOT
		       : o->perfetto     ? FORMAT_JSON
		       : o->html != NULL ? FORMAT_HTML
					 : FORMAT_SVG;
	if (plot->format == FORMAT_SVG && output != NULL && !standard) {
		if (ends_in(output, ".png"))
			plot->format = FORMAT_PNG;
		else if (ends_in(output, ".html"))
			plot->format = FORMAT_HTML;
		else if (!ends_in(output, ".svg"))
			return command_wrong(plot->program,
				"%s: the name has to end in .svg, .png or .html", output);
	}
	if (plot->format == FORMAT_HTML && page_frame.head == NULL)
		return command_fail(plot->program,
			"built without web pages: install dygraphs (Debian: apt-get install "
			"libjs-dygraphs), then build again with -Dhtml=enabled");
	if (standard && plot->common->json)
		return command_wrong(plot->program, "--json and standard output don't go together");
	if (standard && plot->format != FORMAT_GNUPLOT && isatty(STDOUT_FILENO))
		return command_wrong(
			plot->program, "standard output is a terminal: give --output a file");
	if (standard)
		return 0;
	plot->output = output;
	if (output != NULL)
		return 0;
	if (asprintf(&plot->own_output, "%s%s", o->trace, endings[plot->format]) < 0)
		return command_fail(plot->program, "%s", strerror(ENOMEM));
	plot->output = plot->own_output;
	return 0;
}

static int check_options(struct plot *plot)
{
	const struct plot_options *o = plot->options;

	if (o->trace == NULL)
		return command_wrong(
			plot->program, "the TRACE is missing: a file that juggle --trace wrote");
	if (o->gnuplot && o->perfetto)
		return command_wrong(plot->program, "--gnuplot and --perfetto don't go together");
	if (o->html != NULL && (o->gnuplot || o->perfetto || o->output != NULL))
		return command_wrong(plot->program,
			"--html doesn't go together with --gnuplot, --perfetto or --output");
	if (o->perfetto && (o->panels_given || o->width > 0 || o->height > 0))
		return command_wrong(plot->program,
			"--what, --width and --height are for pictures, not for --perfetto");
	if (o->from_ns >= o->to_ns)
		return command_wrong(plot->program, "--from has to be before --to");
	int rc = choose_format(plot);
	if (rc == 0 && plot->format == FORMAT_HTML && (o->width > 0 || o->height > 0))
		return command_wrong(
			plot->program, "--width and --height are for pictures, not for web pages");
	return rc;
}

/* ---- Reading ---- */

static int read_trace(struct plot *plot)
{
	const char *path = plot->options->trace;
	struct stat in, out;

	int there = plot->output != NULL ? stat(plot->output, &out) : fstat(STDOUT_FILENO, &out);
	if (there == 0 && stat(path, &in) == 0 && in.st_dev == out.st_dev &&
		in.st_ino == out.st_ino)
		return command_wrong(plot->program, "%s: that is the trace itself",
			plot->output != NULL ? plot->output : "standard output");
	return command_read_trace(plot->program, path, &plot->trace);
}

static int prepare_failed(const struct plot *plot, int r)
{
	const char *path = plot->options->trace;
	uint64_t end_ns = 0;

	for (size_t i = 0; i < plot->trace.points; i++)
		if (plot->trace.point[i].threads > 0 && plot->trace.point[i].now_ns > end_ns)
			end_ns = plot->trace.point[i].now_ns;
	if (r == -ENODATA && end_ns > plot->run.begin_ns)
		return command_fail(plot->program,
			"%s: no balancing points with threads in that time; the last is at %.6g s",
			path, plot_run_s(&plot->run, end_ns));
	if (r == -ENODATA)
		return command_fail(plot->program, "%s: no balancing points with threads", path);
	if (r == -ENOENT)
		return command_fail(plot->program,
			"%s: none of the threads of --tid exists in that time", path);
	return command_fail(plot->program, "%s", strerror(-r));
}

static int arrange_run(struct plot *plot)
{
	const struct plot_options *o = plot->options;
	bool all = o->perfetto;
	const struct chart_room *room = plot->format == FORMAT_HTML ? &chart_page : &chart_picture;
	const struct plot_choice choice = {.from_ns = o->from_ns,
		.to_ns = o->to_ns,
		.threads_max = o->threads > 0 ? o->threads
			       : all          ? UINT32_MAX
					      : THREADS,
		.tid = o->tid,
		.tids = o->tids};
	uint32_t subdomains = o->subdomains > 0 ? o->subdomains
			      : all             ? TRACE_SUBDOMAINS_MAX
						: SUBDOMAINS;

	int r = plot_run_init(&plot->run, &plot->trace, &choice);
	command_progress(&plot->progress, 0.6);
	if (r == 0 && !all)
		r = chart_init(&plot->chart, &plot->trace, &plot->run, room);
	if (r == 0)
		r = braid_init(&plot->braid, &plot->trace, &plot->run, subdomains, room);
	command_progress(&plot->progress, 0.8);
	return r == 0 ? 0 : prepare_failed(plot, r);
}

static void warn(const struct plot *plot)
{
	const struct plot_run *run = &plot->run;

	command_trace_warnings(plot->program, &plot->trace);
	if (run->threads_shown < run->threads_seen && plot->options->tids == 0)
		fprintf(stderr, "%s: %zu of %zu threads are drawn (--threads, --tid)\n",
			plot->program, run->threads_shown, run->threads_seen);
	if (plot->braid.shown < plot->braid.subdomains)
		fprintf(stderr, "%s: %zu of %zu subdomains are drawn (--subdomains)\n",
			plot->program, plot->braid.shown, plot->braid.subdomains);
}

/* ---- Drawing ---- */

static int fill_picture(const struct plot *plot, struct picture *picture)
{
	const struct plot_options *o = plot->options;
	bool any = false;

	*picture = (struct picture){.trace = &plot->trace,
		.run = &plot->run,
		.chart = &plot->chart,
		.braid = &plot->braid,
		.png = plot->format == FORMAT_PNG,
		.width = o->width > 0 ? o->width : WIDTH,
		.height = o->height};
	for (enum picture_panel i = 0; i < PICTURE_PANELS; i++) {
		picture->panel[i] = o->panels_given ? o->panel[i] : i != PICTURE_PROGRESS;
		any = any || (picture->panel[i] && picture_can(picture, i));
	}
	if (any)
		return 0;
	if (o->panel[PICTURE_WAITS])
		return command_fail(plot->program,
			"%s: there are no phases in it: no runtime told of them (juggle --phases)",
			o->trace);
	return command_fail(plot->program,
		"%s: there are no subdomains in it: no program published its progress, or juggle "
		"was too old to record it",
		o->trace);
}

/* Write the script, page or JSON into a scratch file. */
static int write_text(const struct plot *plot, int fd)
{
	struct picture picture;
	int r = 0;

	if (plot->format != FORMAT_JSON && fill_picture(plot, &picture) != 0)
		return COMMAND_IMPOSSIBLE;
	int copy = dup(fd);
	FILE *to = copy >= 0 ? fdopen(copy, "w") : NULL;
	if (to == NULL) {
		r = errno;
		if (copy >= 0)
			close(copy);
		return command_fail(plot->program, "%s", strerror(r));
	}
	if (plot->format == FORMAT_JSON)
		r = perfetto_write(&plot->trace, &plot->run, &plot->braid, to);
	else
		r = plot->format == FORMAT_HTML ? page_write(&picture, to)
						: picture_write(&picture, to);
	errno = 0;
	bool bad = ferror(to) != 0;
	bad = fclose(to) != 0 || bad;
	if (r == 0 && bad)
		r = errno != 0 ? -errno : -EIO;
	return r == 0 ? 0 : command_fail(plot->program, "a temporary file: %s", strerror(-r));
}

static int draw(const struct plot *plot, int script, int picture)
{
	char why[200];
	int r = gnuplot_run(script, picture, why);

	if (r == 0 && lseek(picture, 0, SEEK_END) > 0)
		return 0;
	if (r == -ENOENT)
		return command_fail(plot->program,
			"gnuplot is not installed (Debian: apt-get install gnuplot-nox); --gnuplot "
			"writes its script");
	if (r == 0 || r == -EIO)
		return command_fail(plot->program, "gnuplot failed: %s%s",
			why[0] != '\0' ? why : "it drew nothing",
			strstr(why, "terminal") != NULL && plot->format == FORMAT_PNG
				? "; try a name that ends in .svg"
				: "");
	return command_fail(plot->program, "gnuplot: %s", strerror(-r));
}

static int make_output(struct plot *plot)
{
	bool drawn = plot->format == FORMAT_SVG || plot->format == FORMAT_PNG;
	int text = output_scratch(), picture = drawn ? output_scratch() : -1, rc = 0;

	if (text < 0 || (drawn && picture < 0))
		rc = command_fail(plot->program, "a temporary file: %s",
			strerror(text < 0 ? -text : -picture));
	if (rc == 0)
		rc = write_text(plot, text);
	command_progress(&plot->progress, 0.9);
	if (rc == 0 && drawn)
		rc = draw(plot, text, picture);
	command_progress_end(&plot->progress);
	if (rc == 0) {
		int r = output_commit(drawn ? picture : text, plot->output, &plot->bytes);
		if (r < 0)
			rc = command_fail(plot->program, "%s: %s",
				plot->output != NULL ? plot->output : "standard output",
				strerror(-r));
	}
	if (text >= 0)
		close(text);
	if (picture >= 0)
		close(picture);
	return rc;
}

/* ---- Messages ---- */

static int report_output(const struct plot *plot)
{
	const struct plot_run *run = &plot->run;
	const struct trace_file *trace = &plot->trace;

	if (plot->output == NULL)
		return 0;
	if (!plot->common->json) {
		char *name = strdup(plot->output);
		if (name != NULL)
			command_make_printable(name);
		printf("%s: %zu thread%s, %zu points, %.6g to %.6g s\n",
			name != NULL ? name : "the output", run->threads_shown,
			run->threads_shown == 1 ? "" : "s", run->points,
			plot_run_s(run, run->from_ns), plot_run_s(run, run->to_ns));
		free(name);
		return command_flush(plot->program);
	}
	json_t *output = json_string(plot->output); /* any bytes */
	return command_print_json(plot->program,
		json_pack("{s:s, s:s, s:s, s:o, s:s, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, "
			  "s:b, s:I, s:I}",
			"program", "jugglectl plot", "version", JUGGLE_VERSION, "command",
			trace->command, "output", output != NULL ? output : json_null(), "format",
			format_names[plot->format], "bytes", (json_int_t)plot->bytes, "from_s",
			plot_run_s(run, run->from_ns), "to_s", plot_run_s(run, run->to_ns),
			"points", (json_int_t)run->points, "migrations",
			(json_int_t)run->migrations, "threads", (json_int_t)run->threads_seen,
			"threads_drawn", (json_int_t)run->threads_shown, "subdomains",
			(json_int_t)plot->braid.subdomains, "subdomains_drawn",
			(json_int_t)plot->braid.shown, "cut_short", trace->cut_short, "dropped",
			(json_int_t)trace->dropped, "unknown", (json_int_t)trace->unknown));
}

int plot_main(int argc, char **argv)
{
	struct plot_options options = {.to_ns = UINT64_MAX};
	const struct argp argp = {
		.options = table, .parser = read_option, .args_doc = "TRACE", .doc = doc};
	struct command_options common;
	int rc = command_parse(&argp, argc, argv, &options, &common);

	if (rc != 0)
		return rc < 0 ? COMMAND_WRONG : 0;
	struct plot plot = {.program = argv[0], .options = &options, .common = &common};
	rc = check_options(&plot);
	command_progress_begin(&plot.progress, &common);
	if (rc == 0)
		rc = read_trace(&plot);
	command_progress(&plot.progress, 0.4);
	if (rc == 0)
		rc = arrange_run(&plot);
	if (rc == 0) {
		rc = make_output(&plot);
		if (rc == 0 && !common.quiet)
			warn(&plot);
	}
	command_progress_end(&plot.progress);
	if (rc == 0)
		rc = report_output(&plot);
	braid_deinit(&plot.braid);
	chart_deinit(&plot.chart);
	plot_run_deinit(&plot.run);
	trace_file_deinit(&plot.trace);
	free(plot.own_output);
	return rc;
}
