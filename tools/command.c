/* SPDX-License-Identifier: MIT */
/* What the subcommands of jugglectl have in common; see command.h. */
#include "tools/command.h"

#include "daemon/base/clock.h"
#include "daemon/base/command_line.h"
#include "daemon/base/json_file.h"
#include "daemon/base/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PROGRESS_AFTER_NS (CLOCK_NS_PER_S / 2)
#define PROGRESS_EVERY_NS (CLOCK_NS_PER_S / 10)
#define PROGRESS_COLUMNS 30

enum { KEY_JSON = 0x20000 };

static const struct argp_option table[] = {
	{"json", KEY_JSON, NULL, 0, "Print JSON, an object a line", -2},
	{"quiet", 'q', NULL, 0, "Say less: no progress line, warnings or remarks", -2},
	{0},
};

struct parsing {
	void *input; /* the subcommand's */
	struct command_options *options;
};

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = parsing->input;
		return 0;
	case KEY_JSON:
		parsing->options->json = true;
		return 0;
	case 'q':
		parsing->options->quiet = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int command_parse(const struct argp *argp, int argc, char **argv, void *input,
	struct command_options *options)
{
	struct parsing parsing = {.input = input, .options = options};
	struct argp own = *argp;
	const struct argp_child children[] = {{.argp = &own}, {0}};
	const struct argp whole = {.options = table,
		.parser = read_option,
		.args_doc = argp->args_doc,
		.children = children};

	own.args_doc = NULL; /* else the help tells of the arguments twice */
	*options = (struct command_options){0};
	return command_line_parse(&whole, argv[0], 0, argc, argv, &parsing);
}

error_t command_interval(struct argp_state *state, const char *arg, uint64_t min_ns,
	uint64_t max_ns, const char *wanted, uint64_t *out_ns)
{
	uint64_t ns = 0;
	double seconds;

	if (parse_time_ns(arg, &ns) < 0 &&
		parse_fraction(arg, (double)max_ns * 1e-9, &seconds) == 0)
		ns = (uint64_t)(seconds * 1e9 + 0.5);
	if (ns < min_ns || ns > max_ns)
		return command_line_refuse(state, "--interval", arg, wanted);
	*out_ns = ns;
	return 0;
}

error_t command_argument(
	struct argp_state *state, const char *arg, const char *what, const char **out)
{
	if (*out != NULL) {
		argp_failure(state, 0, 0, "%s: one %s at a time", arg, what);
		return EINVAL;
	}
	*out = arg;
	return 0;
}

void command_make_printable(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* One line, whatever the names in it are. */
static void print_line(const char *program, const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	if (text != NULL)
		command_make_printable(text);
	fprintf(stderr, "%s: %s\n", program, text != NULL ? text : format);
	free(text);
}

int command_fail(const char *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(program, format, args);
	va_end(args);
	return COMMAND_IMPOSSIBLE;
}

int command_wrong(const char *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(program, format, args);
	va_end(args);
	return COMMAND_WRONG;
}

void command_words(const char *text, int column, int indent)
{
	bool first = true;

	for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
		int length = (int)strcspn(text, " ");
		if (!first && column + 1 + length > COMMAND_COLUMNS) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (!first)
			column += printf(" ");
		column += printf("%.*s", length, text);
		text += length;
		first = false;
	}
	putchar('\n');
}

void command_sentences(const char *format, ...)
{
	char text[1001];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	command_words(text, 0, 0);
}

int command_read_trace(const char *program, const char *path, struct trace_file *out)
{
	struct trace_error error;
	int r = trace_read(out, path, &error);

	if (r == 0)
		return 0;
	if (error.line > 0)
		return command_fail(program, "%s: line %zu: %s", path, error.line, error.text);
	return command_fail(
		program, "%s: %s", path, error.text[0] != '\0' ? error.text : strerror(-r));
}

void command_trace_warnings(const char *program, const struct trace_file *trace)
{
	if (trace->cut_short)
		fprintf(stderr, "%s: the trace is cut short; what is there is used\n", program);
	if (trace->dropped > 0)
		fprintf(stderr, "%s: %llu records are missing in the trace\n", program,
			(unsigned long long)trace->dropped);
	if (trace->unknown > 0)
		fprintf(stderr, "%s: %llu records are of a later version, and left out\n", program,
			(unsigned long long)trace->unknown);
}

int command_print_json(const char *program, json_t *object)
{
	int r = json_file_write("-", object);

	return r < 0 ? command_fail(program, "cannot write: %s", strerror(-r)) : 0;
}

void command_open_many(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int command_flush(const char *program)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return command_fail(program, "cannot write: %s", strerror(errno));
}

void command_progress_begin(
	struct command_progress *progress, const struct command_options *options)
{
	*progress = (struct command_progress){.wanted = !options->quiet && isatty(STDERR_FILENO),
		.begin_ns = clock_monotonic_ns()};
}

void command_progress(struct command_progress *progress, double done)
{
	char bar[PROGRESS_COLUMNS + 1];

	if (!progress->wanted)
		return;
	uint64_t now = clock_monotonic_ns();
	if (now - progress->begin_ns < PROGRESS_AFTER_NS ||
		now - progress->last_ns < PROGRESS_EVERY_NS)
		return;
	done = done < 0 ? 0 : done > 1 ? 1 : done;
	int filled = (int)(done * PROGRESS_COLUMNS);
	memset(bar, '.', PROGRESS_COLUMNS);
	memset(bar, '#', (size_t)filled);
	bar[PROGRESS_COLUMNS] = '\0';
	fprintf(stderr, "\r[%s] %3.0f %%", bar, 100 * done);
	if (done > 0.01)
		fprintf(stderr, ", %.0f s left ",
			(double)(now - progress->begin_ns) * 1e-9 * (1 - done) / done);
	progress->last_ns = now;
	progress->shown = true;
}

void command_progress_end(struct command_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->wanted = progress->shown = false;
}
