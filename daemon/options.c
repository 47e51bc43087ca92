/* SPDX-License-Identifier: MIT */
#include "daemon/options.h"

#include <argp.h>
#include <argz.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/command_line.h"
#include "daemon/base/parse.h"
#include "daemon/base/text.h"

/* The defaults. They are parsed like options, and are part of the help text. */
#define DEFAULT_PERIOD "auto"
#define DEFAULT_JITTER "10"
#define DEFAULT_POLICY "juggle"
#define DEFAULT_PHASES "auto"
#define DEFAULT_DOMAINS "split"
#define DEFAULT_IDLE "auto"
#define DEFAULT_SAMPLER "auto"
#define DEFAULT_MARGIN "500us"

#define PERIOD_LEAST "100us"
#define PERIOD_LEAST_NS UINT64_C(100000)
#define LONGEST_NS UINT64_C(3600000000000)

/* Keys of options that have no short name, and of --policy, whose help is made at run time. */
enum {
	KEY_POLICY = 'P',
	KEY_JITTER = 256,
	KEY_DOMAINS,
	KEY_SPEEDS,
	KEY_IDLE,
	KEY_SAMPLER,
	KEY_MARGIN,
	KEY_REPORT,
	KEY_TRACE,
	KEY_ALWAYS,
	KEY_FIT,
	KEY_PHASES,
};

static const struct argp_option table[] = {
	{"cpus", 'c', "LIST", 0, "CPUs to use, such as 0-5,8 (default: the caller's affinity mask)",
		1},
	{"pid", 'p', "PID", 0, "balance a running process and all below it, instead of a command",
		1},
	{"threads", 'n', "N", 0,
		"compute threads to wait for before the first distribution (default: found by "
		"watching)",
		1},
	{"fit", KEY_FIT, 0, 0,
		"set what the environment leaves unset, such as OMP_NUM_THREADS, to what fits the "
		"CPUs and the quota",
		1},
	{"phases", KEY_PHASES, "WHEN", 0,
		"have the program's own runtimes tell where its threads wait for each other: auto "
		"(where OpenMP, MPI or pthread barriers are used), on or off "
		"(default: " DEFAULT_PHASES ")",
		1},
	{"period", 'i', "TIME", 0,
		"time between balancing points, such as 4ms or 0.01s, from " PERIOD_LEAST
		" to 3600s (default: " DEFAULT_PERIOD ")",
		2},
	{"jitter", KEY_JITTER, "PCT", 0,
		"random variation of each period, in percent (default: " DEFAULT_JITTER ")", 2},
	{"policy", KEY_POLICY, "NAME", 0, "", 2}, /* see filter_help() */
	{"always", KEY_ALWAYS, 0, 0,
		"balance whenever there are enough threads, without trials of whether it pays", 2},
	{"domains", KEY_DOMAINS, "MODE", 0,
		"split (each NUMA node on its own), llc (each last-level cache on its own) or "
		"joint (all CPUs as one pool) "
		"(default: " DEFAULT_DOMAINS ")",
		2},
	{"speeds", KEY_SPEEDS, "LIST", 0,
		"speeds of the CPUs, in the order of their numbers, such as 8x1,16x0.55 (default: "
		"as "
		"the system tells)",
		2},
	{"idle", KEY_IDLE, "LIST", 0,
		"threads to leave alone: auto, main, none, comm=GLOB, or several of these, "
		"separated by commas (default: " DEFAULT_IDLE ")",
		2},
	{"sampler", KEY_SAMPLER, "NAME", 0,
		"auto, schedstat, taskstats or perf (default: " DEFAULT_SAMPLER ")", 2},
	{"margin", KEY_MARGIN, "TIME", 0,
		"error margin of the ahead/behind test (default: " DEFAULT_MARGIN ")", 2},
	{"report", KEY_REPORT, "FILE", 0,
		"write a JSON report at the end; - is standard error (default: none)", 3},
	{"trace", KEY_TRACE, "FILE", 0, "write every balancing point (default: none)", 3},
	{"quiet", 'q', 0, 0, "print no warnings", 3},
	{"verbose", 'v', 0, 0, "print a summary on standard error at the end", 3},
	{0},
};

/* argp adds --version only if it finds this symbol, which -fvisibility=hidden would hide. */
__attribute__((visibility("default"))) const char *argp_program_version = "juggle " JUGGLE_VERSION;

/* Say what is wrong, with what the user wrote made fit to print, and exit. */
static void refuse(struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse(struct argp_state *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_format(format, args);
	va_end(args);
	argp_error(state, "%s", text != NULL ? text : format);
	free(text);
}

static void parse_cpus(struct argp_state *state, struct options *o, const char *arg)
{
	int r = cpuset_parse(arg, &o->cpus);

	if (r == -ERANGE)
		refuse(state, "-c %s: CPU numbers end at %d", arg, CPUSET_CPUS_MAX - 1);
	else if (r < 0)
		refuse(state, "-c '%s': expected a list of CPUs such as 0-5,8", arg);
	o->cpus_given = true;
}

static uint64_t parse_time(struct argp_state *state, const char *name, const char *arg)
{
	uint64_t ns = 0;
	int r = parse_time_ns(arg, &ns);

	if (r == -ERANGE || ns > LONGEST_NS)
		refuse(state, "%s %s: the longest time is one hour", name, arg);
	else if (r < 0)
		refuse(state, "%s '%s': expected a time such as 4ms, 0.01s or 500us", name, arg);
	return ns;
}

static int64_t parse_number(
	struct argp_state *state, const char *name, const char *arg, int64_t least, int64_t most)
{
	int64_t value = 0;

	if (parse_integer(arg, least, most, &value) < 0)
		refuse(state, "%s '%s': expected a number from %lld to %lld", name, arg,
			(long long)least, (long long)most);
	return value;
}

static void read_speeds(struct argp_state *state, struct options *o, const char *arg)
{
	double *speed = calloc(CPUSET_CPUS_MAX, sizeof *speed);

	if (speed == NULL)
		argp_failure(state, EXIT_JUGGLE_FAILED, ENOMEM, "--speeds");
	int r = parse_speeds(arg, CPUSET_CPUS_MAX, speed, &o->speeds);
	if (r == -ERANGE)
		refuse(state, "--speeds %s: speeds are from 0.01 to 100, for at most %d CPUs", arg,
			CPUSET_CPUS_MAX);
	else if (r < 0)
		refuse(state,
			"--speeds '%s': expected a list of speeds such as 1,0.55 or 8x1,16x0.55",
			arg);
	free(o->speed);
	o->speed = speed;
}

/* The words of a comma-separated list, one per call; *at is the list at first. Returns the length
 * of the word, or -1 at the end. */
static int next_word(const char **at, const char **word)
{
	if (*at == NULL)
		return -1;
	*word = *at;
	size_t length = strcspn(*at, ",");
	*at = (*at)[length] == ',' ? *at + length + 1 : NULL;
	return (int)length;
}

static bool is_word(const char *word, int length, const char *expected)
{
	return (size_t)length == strlen(expected) && strncmp(word, expected, (size_t)length) == 0;
}

bool options_idle_comm(const struct options *options, const char *comm)
{
	const char *at = options->idle & IDLE_COMM ? options->idle_list : NULL, *word;
	char glob[64];
	int length;

	while ((length = next_word(&at, &word)) >= 0) {
		if (length <= 5 || strncmp(word, "comm=", 5) != 0)
			continue;
		snprintf(glob, sizeof glob, "%.*s", length - 5, word + 5);
		if (fnmatch(glob, comm, 0) == 0)
			return true;
	}
	return false;
}

static void parse_idle(struct argp_state *state, struct options *o, const char *arg)
{
	const char *at = arg, *word;
	int length;
	bool none = false;

	o->idle = 0;
	o->idle_list = arg;
	while ((length = next_word(&at, &word)) >= 0) {
		if (is_word(word, length, "auto"))
			o->idle |= IDLE_AUTO;
		else if (is_word(word, length, "main"))
			o->idle |= IDLE_MAIN;
		else if (is_word(word, length, "none"))
			none = true;
		else if (length > 5 && length < 64 && strncmp(word, "comm=", 5) == 0)
			o->idle |= IDLE_COMM;
		else
			refuse(state,
				"--idle '%s': expected auto, main, none or comm=GLOB, or several "
				"of these, separated by commas",
				arg);
	}
	if (none && o->idle != 0)
		refuse(state, "--idle '%s': none excludes the others", arg);
}

/* Returns the index of the word; an argp error if it is none of them. */
static int parse_word(
	struct argp_state *state, const char *name, const char *arg, const char *const *words)
{
	char list[128] = "";

	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(arg, words[i]) == 0)
			return i;
		if (i > 0)
			strncat(list, words[i + 1] != NULL ? ", " : " or ",
				sizeof list - strlen(list) - 1);
		strncat(list, words[i], sizeof list - strlen(list) - 1);
	}
	refuse(state, "%s '%s': expected %s", name, arg, list);
	return 0;
}

/* All names of the table of policies, with or without summaries: "a (...), b or c (...)". */
static void list_policies(char *out, size_t bytes, bool summaries)
{
	size_t used = 0;
	const struct policy_kind *kind;

	for (size_t i = 0; (kind = policy_kind_at(i)) != NULL && used < bytes; i++) {
		const char *before = i == 0 ? "" : policy_kind_at(i + 1) != NULL ? ", " : " or ";
		used += (size_t)snprintf(out + used, bytes - used, summaries ? "%s%s (%s)" : "%s%s",
			before, kind->name, kind->summary);
	}
}

static const struct policy_kind *parse_policy(struct argp_state *state, const char *arg)
{
	const struct policy_kind *kind = policy_kind_find(arg);
	char list[256];

	list_policies(list, sizeof list, false);
	if (kind == NULL)
		refuse(state, "-P '%s': expected %s", arg, list);
	return kind;
}

/* The help of -P comes from the table of policies. argp frees what this returns. */
static char *filter_help(int key, const char *text, void *input)
{
	char list[512], *help;

	(void)input;
	if (key != KEY_POLICY)
		return (char *)text;
	list_policies(list, sizeof list, true);
	return asprintf(&help, "%s (default: " DEFAULT_POLICY ")", list) < 0 ? (char *)text : help;
}

/* In the order of enum phases_choice. */
static const char *const phases_words[] = {"auto", "on", "off", NULL};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'c':
		parse_cpus(state, o, arg);
		return 0;
	case 'p':
		o->pid = (pid_t)parse_number(state, "-p", arg, 1, INT32_MAX);
		return 0;
	case 'n':
		o->threads = (uint32_t)parse_number(state, "-n", arg, 1, 1000000);
		return 0;
	case 'i':
		o->period_auto = strcmp(arg, "auto") == 0;
		o->period_ns =
			o->period_auto ? POLICY_AUTO_PERIOD_NS : parse_time(state, "-i", arg);
		if (o->period_ns < PERIOD_LEAST_NS)
			refuse(state, "-i %s: the shortest period is " PERIOD_LEAST, arg);
		return 0;
	case KEY_JITTER:
		o->jitter = (double)parse_number(state, "--jitter", arg, 0, 90) / 100;
		o->jitter_given = true;
		return 0;
	case KEY_POLICY:
		o->policy = parse_policy(state, arg);
		return 0;
	case KEY_FIT:
		o->fit = true;
		return 0;
	case KEY_PHASES:
		o->phases = (enum phases_choice)parse_word(state, "--phases", arg, phases_words);
		return 0;
	case KEY_ALWAYS:
		o->always = true;
		return 0;
	case KEY_DOMAINS:
		o->domains = (enum topology_domains)parse_word(
			state, "--domains", arg, topology_domains_names);
		return 0;
	case KEY_SPEEDS:
		read_speeds(state, o, arg);
		return 0;
	case KEY_IDLE:
		parse_idle(state, o, arg);
		return 0;
	case KEY_SAMPLER:
		if (sampler_kind_parse(arg, &o->sampler) < 0)
			refuse(state, "--sampler '%s': expected auto, schedstat, taskstats or perf",
				arg);
		return 0;
	case KEY_MARGIN:
		o->margin_ns = (int64_t)parse_time(state, "--margin", arg);
		return 0;
	case KEY_REPORT:
		o->report = arg;
		return 0;
	case KEY_TRACE:
		o->trace = arg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose++;
		return 0;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = table,
	.parser = parse_option,
	.help_filter = filter_help,
	.args_doc = "COMMAND [ARG...]\n-p PID",
	.doc = "Run a parallel program and keep all its threads progressing at the same rate, by "
	       "moving them between CPUs.\v"
	       "JUGGLE_OPTIONS in the environment can hold options, separated by blanks. They are "
	       "read before those of the command line.\n\n"
	       "Exit status: the command's own; 128+N when signal N killed it; 125 when juggle "
	       "itself failed; 126 when the command can't be executed; 127 when it isn't found. "
	       "With -p: 0.",
};

/* Parse JUGGLE_OPTIONS as an argument vector of its own. Options may point into its words. */
static void parse_environment(struct options *options, char *name)
{
	const char *text = getenv("JUGGLE_OPTIONS");
	size_t bytes = 0;

	if (text == NULL || text[strspn(text, " ")] == '\0')
		return;
	if (parse_words(text, &options->environment, &bytes) < 0)
		return;
	size_t count = argz_count(options->environment, bytes);
	char **argv = calloc(count + 2, sizeof *argv);
	if (argv == NULL)
		return;
	argv[0] = name;
	argz_extract(options->environment, bytes, argv + 1);
	(void)command_line_argp(&parser, ARGP_IN_ORDER, (int)count + 1, argv, options);
	if (options->command != NULL && options->command[0] != NULL) {
		text_line(stderr, "juggle: JUGGLE_OPTIONS: '%s' is not an option",
			options->command[0]);
		exit(EXIT_JUGGLE_FAILED);
	}
	options->command = NULL;
	free(argv);
}

void options_deinit(struct options *options)
{
	free(options->speed);
	options->speed = NULL;
	free(options->environment);
	options->environment = NULL;
}

void options_parse(struct options *options, int argc, char **argv)
{
	char *defaults[] = {argv[0], "-i" DEFAULT_PERIOD, "--jitter=" DEFAULT_JITTER,
		"-P" DEFAULT_POLICY, "--domains=" DEFAULT_DOMAINS, "--phases=" DEFAULT_PHASES,
		"--idle=" DEFAULT_IDLE, "--sampler=" DEFAULT_SAMPLER, "--margin=" DEFAULT_MARGIN,
		NULL};

	*options = (struct options){0};
	argp_err_exit_status = EXIT_JUGGLE_FAILED;
	argp_parse(&parser, sizeof defaults / sizeof defaults[0] - 1, defaults, ARGP_IN_ORDER, NULL,
		options);
	options->jitter_given = false;
	parse_environment(options, argv[0]);
	bool fit = options->fit; /* wherever it applies */
	options->fit = false;
	(void)command_line_argp(&parser, ARGP_IN_ORDER, argc, argv, options);
	if (options->policy->regular && !options->jitter_given)
		options->jitter = 0;
	bool command = options->command != NULL && options->command[0] != NULL;
	if (command && options->pid != 0) {
		fprintf(stderr, "juggle: give either a command or -p PID, not both\n");
		exit(EXIT_JUGGLE_FAILED);
	}
	if (options->fit && options->pid != 0) {
		fprintf(stderr, "juggle: --fit is for a command; a running process has its "
				"environment already\n");
		exit(EXIT_JUGGLE_FAILED);
	}
	options->fit |= fit && command;
	if (!command && options->pid == 0) {
		fprintf(stderr, "juggle: nothing to run; try 'juggle --help'\n");
		exit(EXIT_JUGGLE_FAILED);
	}
}
