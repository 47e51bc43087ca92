/* SPDX-License-Identifier: MIT */
/*
 * jugglectl plot: draws a traced run with gnuplot, or writes it as a web page or for Perfetto. This
 * file has the order of steps; picture.h, page.h and perfetto.h say what is in the pictures.
 */
#include "daemon/base/json_text.h"
#include "daemon/base/text.h"
#include "tools/command/output.h"
#include "tools/command/print.h"
#include "tools/command/progress_line.h"
#include "tools/command/subcommands.h"
#include "tools/command/trace.h"
#include "tools/plot/gnuplot.h"
#include "tools/plot/options.h"
#include "tools/plot/page.h"
#include "tools/plot/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The state of one call. */
struct plot {
	const char *program;
	const struct plot_options *options;
	struct command_progress progress;
	struct trace_file trace;
	struct plot_run run;
	struct chart chart;
	struct braid braid;
	struct comparison comparison;
	uint64_t bytes; /* written */
};

/* ---- Reading ---- */

static int read_trace(struct plot *plot)
{
	const char *path = plot->options->input[0];

	command_progress(&plot->progress, 0);
	int rc = command_read_trace(plot->program, path, &plot->trace);
	command_progress(&plot->progress, 0.4);
	return rc;
}

/* Is a file that is read the one that is to be written? */
static bool overwrites(const struct plot_options *options)
{
	struct stat in, out;
	int there =
		options->output != NULL ? stat(options->output, &out) : fstat(STDOUT_FILENO, &out);

	for (int i = 0; i < COMPARISON_REPORTS && there == 0 && options->input[i] != NULL; i++)
		if (stat(options->input[i], &in) == 0 && in.st_dev == out.st_dev &&
			in.st_ino == out.st_ino)
			return true;
	return false;
}

static int prepare_failed(const struct plot *plot, int r)
{
	const char *path = plot->options->input[0];
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
	const struct chart_room *room = o->format == PLOT_HTML ? &chart_page : &chart_picture;
	const struct plot_choice choice = {.from_ns = o->from_ns,
		.to_ns = o->to_ns,
		.threads_max = o->threads,
		.tid = o->tid,
		.tids = o->tids};

	int r = plot_run_init(&plot->run, &plot->trace, &choice);
	command_progress(&plot->progress, 0.6);
	if (r == 0 && o->format != PLOT_PERFETTO)
		r = chart_init(&plot->chart, &plot->trace, &plot->run, room);
	if (r == 0)
		r = braid_init(&plot->braid, &plot->trace, &plot->run, o->subdomains, room);
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
		.png = o->format == PLOT_PNG,
		.width = o->width,
		.height = o->height};
	for (enum picture_panel i = 0; i < PICTURE_PANELS; i++) {
		picture->panel[i] = o->panel[i];
		any = any || (picture->panel[i] && picture_can(picture, i));
	}
	if (any)
		return 0;
	if (o->panel[PICTURE_WAITS])
		return command_fail(plot->program,
			"%s: there are no phases in it: no runtime told of them (juggle --phases)",
			o->input[0]);
	return command_fail(plot->program,
		"%s: there are no subdomains in it: no program published its progress, or juggle "
		"was too old to record it",
		o->input[0]);
}

/* Write the script, page or JSON into a scratch file. */
static int write_text(const struct plot *plot, int fd)
{
	enum plot_format format = plot->options->format;
	struct picture picture;
	int r = 0;

	if (!plot->options->compare && format != PLOT_PERFETTO && fill_picture(plot, &picture) != 0)
		return COMMAND_IMPOSSIBLE;
	int copy = dup(fd);
	FILE *to = copy >= 0 ? fdopen(copy, "w") : NULL;
	if (to == NULL) {
		r = errno;
		if (copy >= 0)
			close(copy);
		return command_fail(plot->program, "%s", strerror(r));
	}
	if (plot->options->compare)
		comparison_write(&plot->comparison, to);
	else if (format == PLOT_PERFETTO)
		r = perfetto_write(&plot->trace, &plot->run, &plot->braid, to);
	else
		r = format == PLOT_HTML ? page_write(&picture, to) : picture_write(&picture, to);
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
			strstr(why, "terminal") != NULL && plot->options->format == PLOT_PNG
				? "; try a name that ends in .svg"
				: "");
	return command_fail(plot->program, "gnuplot: %s", strerror(-r));
}

static int make_output(struct plot *plot)
{
	const struct plot_options *o = plot->options;
	bool drawn = o->format == PLOT_SVG || o->format == PLOT_PNG;
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
		int r = output_commit(drawn ? picture : text, o->output, &plot->bytes);
		if (r < 0)
			rc = command_fail(plot->program, "%s: %s",
				o->output != NULL ? o->output : "standard output", strerror(-r));
	}
	if (text >= 0)
		close(text);
	if (picture >= 0)
		close(picture);
	return rc;
}

/* ---- Messages ---- */

static int report_run(const struct plot *plot, json_t *output)
{
	const struct plot_run *run = &plot->run;
	const struct trace_file *trace = &plot->trace;

	return command_print_json(plot->program,
		json_pack("{s:s, s:s, s:s, s:o, s:s, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, "
			  "s:b, s:I, s:I}",
			"program", "jugglectl plot", "version", JUGGLE_VERSION, "command",
			trace->command, "output", output, "format",
			plot_format_names[plot->options->format], "bytes", (json_int_t)plot->bytes,
			"from_s", plot_run_s(run, run->from_ns), "to_s",
			plot_run_s(run, run->to_ns), "points", (json_int_t)run->points,
			"migrations", (json_int_t)run->migrations, "threads",
			(json_int_t)run->threads_seen, "threads_drawn",
			(json_int_t)run->threads_shown, "subdomains",
			(json_int_t)plot->braid.subdomains, "subdomains_drawn",
			(json_int_t)plot->braid.shown, "cut_short", trace->cut_short, "dropped",
			(json_int_t)trace->dropped, "unknown", (json_int_t)trace->unknown));
}

static int report_comparison(const struct plot *plot, json_t *output)
{
	const double *elapsed_s = plot->comparison.elapsed_s;

	return command_print_json(
		plot->program, json_pack("{s:s, s:s, s:o, s:s, s:I, s:[f, f], s:f}", "program",
				       "jugglectl plot", "version", JUGGLE_VERSION, "output",
				       output, "format", plot_format_names[plot->options->format],
				       "bytes", (json_int_t)plot->bytes, "elapsed_s", elapsed_s[0],
				       elapsed_s[1], "speedup", elapsed_s[0] / elapsed_s[1]));
}

static int report_output(const struct plot *plot)
{
	const struct plot_run *run = &plot->run;
	const double *elapsed_s = plot->comparison.elapsed_s;
	const char *path = plot->options->output;

	if (path == NULL)
		return 0;
	if (plot->options->common.json) {
		json_t *output = json_text(path);
		return plot->options->compare ? report_comparison(plot, output)
					      : report_run(plot, output);
	}
	char *name = strdup(path);
	if (name != NULL)
		text_make_printable(name);
	printf("%s: ", name != NULL ? name : "the output");
	free(name);
	if (plot->options->compare)
		printf("%.4g s and %.4g s: the second is %.3g times as fast\n", elapsed_s[0],
			elapsed_s[1], elapsed_s[0] / elapsed_s[1]);
	else
		printf("%zu thread%s, %zu points, %.6g to %.6g s\n", run->threads_shown,
			run->threads_shown == 1 ? "" : "s", run->points,
			plot_run_s(run, run->from_ns), plot_run_s(run, run->to_ns));
	return command_flush(plot->program);
}

/* ---- The order of steps ---- */

static int run(struct plot *plot)
{
	const struct plot_options *o = plot->options;
	int rc = 0;

	if (overwrites(o))
		return command_wrong(plot->program, "%s: that is the %s itself",
			o->output != NULL ? o->output : "standard output",
			o->compare ? "report" : "trace");
	if (o->compare) {
		rc = comparison_init(&plot->comparison, plot->program, o->input);
	} else {
		rc = read_trace(plot);
		if (rc == 0)
			rc = arrange_run(plot);
	}
	if (rc == 0)
		rc = make_output(plot);
	if (rc == 0 && !o->compare && !o->common.quiet)
		warn(plot);
	return rc;
}

int plot_main(int argc, char **argv)
{
	struct plot_options options;
	int rc;

	if (plot_options_parse(&options, argc, argv, &rc)) {
		struct plot plot = {.program = argv[0], .options = &options};
		command_progress_begin(&plot.progress, &options.common);
		rc = run(&plot);
		command_progress_end(&plot.progress);
		if (rc == 0)
			rc = report_output(&plot);
		comparison_deinit(&plot.comparison);
		braid_deinit(&plot.braid);
		chart_deinit(&plot.chart);
		plot_run_deinit(&plot.run);
		trace_file_deinit(&plot.trace);
	}
	plot_options_deinit(&options);
	return rc;
}
