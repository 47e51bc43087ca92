/* SPDX-License-Identifier: MIT */
/* The command line of stat; see options.h. */
#include "tools/stat/options.h"

#include "daemon/base/clock.h"
#include "daemon/base/command_line.h"
#include "tools/command/print.h"

#include <errno.h>

#define INTERVAL_MIN_NS (CLOCK_NS_PER_S / 100)
#define INTERVAL_MAX_NS (CLOCK_NS_PER_S * 1000000000)

enum { TABLE_THREADS, TABLE_PROCESSES, TABLE_SUBDOMAINS, TABLE_CPUS };

const struct sample_table *const stat_tables[STAT_TABLES] = {
	[TABLE_THREADS] = &sample_threads,
	[TABLE_PROCESSES] = &sample_processes,
	[TABLE_SUBDOMAINS] = &sample_subdomains,
	[TABLE_CPUS] = &sample_cpus,
};

enum {
	KEY_THREADS = 0x100, /* in the order of the tables */
	KEY_PROCESSES,
	KEY_SUBDOMAINS,
	KEY_CPUS,
	KEY_SUMMARY,
	KEY_SORT,
	KEY_CSV,
	KEY_OPENMETRICS,
	KEY_PROMETHEUS,
};

static const struct argp_option table[] = {
	{"interval", 'i', "TIME", 0,
		"Repeat, with a line each time: seconds, or a time with its unit, from 10ms "
		"(default: once)",
		0},
	{"count", 'c', "N", 0, "With --interval: N times (default: until the job ends)", 0},
	{"threads", KEY_THREADS, NULL, 0, "List all threads", 1},
	{"processes", KEY_PROCESSES, NULL, 0, "List all processes that publish progress", 1},
	{"subdomains", KEY_SUBDOMAINS, NULL, 0, "List all subdomains", 1},
	{"cpus", KEY_CPUS, NULL, 0, "List all CPUs that juggle uses", 1},
	{"all", 'a', NULL, 0, "List all of these", 1},
	{"summary", KEY_SUMMARY, NULL, 0, "List none of these", 1},
	{"sort", KEY_SORT, "BY", 0,
		"Sort by rank, cpu, lead (the furthest behind first), moves (the most moved "
		"first) or rate (the slowest first) (default: rank)",
		1},
	{"csv", KEY_CSV, NULL, 0,
		"Print comma-separated values: a line each time, or a line for each row if one "
		"table is chosen",
		2},
	{"openmetrics", KEY_OPENMETRICS, NULL, 0,
		"Print metrics of all jobs, or of each JOB, in the text format of OpenMetrics", 3},
	{"prometheus", KEY_PROMETHEUS, NULL, 0,
		"Print them in the older text format of Prometheus, as node_exporter reads it", 3},
	{"output", 'o', "FILE", 0,
		"Write metrics to FILE, which is replaced as a whole (default: standard output)",
		3},
	{0},
};

static const char doc[] =
	"Print the progress of a job's threads and subdomains.\v"
	"JOB is the pid of juggle, of its command, or of a process below or above them, or the "
	"name of the command. It may be omitted if there is only one job. Programs that publish "
	"their progress without juggle are jobs, too. Only metrics may be of several.\n\n"
	"Exit status: 0, also when the job ends; 1 when there is no such job or it cannot be read; "
	"2 when the command line is wrong.";

static error_t read_order(struct argp_state *state, const char *arg, enum sample_order *out)
{
	size_t which = 0;
	error_t error =
		command_line_choice(state, "--sort", arg, sample_order_name, ORDERS, &which);

	*out = (enum sample_order)which;
	return error;
}

static error_t read_option(int key, char *arg, struct argp_state *state)
{
	struct stat_options *options = state->input;

	switch (key) {
	case 'i':
		return command_interval(state, arg, INTERVAL_MIN_NS, INTERVAL_MAX_NS,
			"seconds, or a time with its unit as 500ms, from 10ms",
			&options->interval_ns);
	case 'c':
		return command_line_count(state, "--count", arg, 1, INT32_MAX, &options->count);
	case KEY_THREADS:
	case KEY_PROCESSES:
	case KEY_SUBDOMAINS:
	case KEY_CPUS:
		options->chosen[key - KEY_THREADS] = true;
		return 0;
	case 'a':
		options->all = true;
		return 0;
	case KEY_SUMMARY:
		options->summary = true;
		return 0;
	case KEY_SORT:
		return read_order(state, arg, &options->order);
	case KEY_CSV:
		options->csv = true;
		return 0;
	case KEY_OPENMETRICS:
		options->openmetrics = true;
		return 0;
	case KEY_PROMETHEUS:
		options->prometheus = true;
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case ARGP_KEY_ARG: /* behind all options */
		if (stat_options_metrics(options))
			return ARGP_ERR_UNKNOWN; /* then all come at once */
		return command_argument(state, arg, "job", &options->job);
	case ARGP_KEY_ARGS:
		options->jobs = state->argv + state->next;
		options->jobs_given = (size_t)(state->argc - state->next);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

size_t stat_options_chosen(const struct stat_options *options)
{
	size_t n = 0;

	for (size_t i = 0; i < STAT_TABLES; i++)
		n += options->chosen[i];
	return n;
}

bool stat_options_metrics(const struct stat_options *options)
{
	return options->openmetrics || options->prometheus;
}

/* What contradicts itself in options of metrics; NULL when nothing does. */
static const char *metrics_contradiction(const struct stat_options *options)
{
	if (!stat_options_metrics(options))
		return options->output != NULL ? "--output needs --openmetrics or --prometheus"
					       : NULL;
	if (options->openmetrics && options->prometheus)
		return "--openmetrics or --prometheus, not both";
	if (options->csv || options->common.json)
		return "metrics, --csv or --json: one format at a time";
	if (options->summary || options->all || stat_options_chosen(options) > 0)
		return "metrics have no tables: omit those options";
	if (options->interval_ns > 0 && options->output == NULL)
		return "metrics at intervals need --output";
	return NULL;
}

/* The same of all options. */
static const char *contradiction(const struct stat_options *options)
{
	size_t chosen = stat_options_chosen(options);

	if (options->count > 0 && options->interval_ns == 0)
		return "--count needs --interval";
	if (options->csv && options->common.json)
		return "--csv or --json, not both";
	if (options->csv && (options->all || chosen > 1))
		return "--csv: one table at a time";
	if (options->summary && (options->all || chosen > 0))
		return "--summary lists no table: omit it, or omit the tables";
	return metrics_contradiction(options);
}

int stat_options_parse(struct stat_options *out, int argc, char **argv)
{
	const struct argp argp = {
		.options = table, .parser = read_option, .args_doc = "[JOB...]", .doc = doc};

	*out = (struct stat_options){.order = ORDER_RANK};
	int r = command_parse(&argp, argc, argv, out, &out->common);
	if (r != 0)
		return r;
	const char *wrong = contradiction(out);
	if (wrong != NULL) {
		command_wrong(argv[0], "%s", wrong);
		return -EINVAL;
	}
	return 0;
}
