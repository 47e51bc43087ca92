/* SPDX-License-Identifier: MIT */
/*
 * jugglectl stat: how far the threads and subdomains of a job have come, once or at intervals.
 * tools/live takes samples and computes rates, tools/table makes tables of them, and text.h, csv.h
 * and record.h print them.
 */
#include "tools/command/print.h"
#include "tools/command/subcommands.h"
#include "tools/stat/csv.h"
#include "tools/stat/export.h"
#include "tools/stat/options.h"
#include "tools/stat/record.h"
#include "tools/stat/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/clock.h"

enum { LINES_PER_TITLE = 20 };
/* JSON has more subdomains only on request: a million take gigabytes. */
enum { SUBDOMAINS_MOST = 16384 };

struct session {
	const char *program;
	struct stat_options options;
	struct live_job *job;
	struct live_sample sample, before; /* zeroed until it is taken */
	bool terminal;
	uint64_t printed;
};

/* ---- One sample's output ---- */

static int64_t unix_time_ms(const struct live_sample *sample)
{
	double ago_ns = (double)clock_monotonic_ns() - (double)sample->now_ns;

	return (int64_t)(((double)clock_read_ns(CLOCK_REALTIME) - ago_ns) * 1e-6);
}

static int print_record(const struct session *session)
{
	const struct stat_options *options = &session->options;
	const struct sample_table *table[STAT_TABLES];
	bool all = stat_options_chosen(options) == 0 && !options->summary;
	size_t n = 0;

	for (size_t i = 0; i < STAT_TABLES; i++) {
		bool many = stat_tables[i] == &sample_subdomains &&
			    session->sample.subdomains > SUBDOMAINS_MOST;
		if (options->chosen[i] || options->all || (all && !many))
			table[n++] = stat_tables[i];
	}
	return command_print_json(
		session->program, record_json(table, n, &session->sample,
					  unix_time_ms(&session->sample), options->order));
}

static int print_csv(const struct session *session)
{
	const struct sample_table *table = &sample_head;

	for (size_t i = 0; i < STAT_TABLES; i++)
		if (session->options.chosen[i])
			table = stat_tables[i];
	if (session->printed == 0)
		csv_keys(stdout, table);
	return csv_rows(stdout, table, &session->sample, unix_time_ms(&session->sample),
		session->options.order);
}

/* Print the chosen tables in full. */
static int print_chosen(const struct session *session)
{
	const struct stat_options *options = &session->options;
	int r = 0;

	for (size_t i = 0; i < STAT_TABLES && r == 0; i++)
		if (options->chosen[i] || options->all)
			r = text_table(stdout, stat_tables[i], &session->sample, options->order,
				SIZE_MAX, "");
	return r;
}

/* Print the first rows of each table that has any. Idle threads are not worth the space. */
static int print_some(const struct session *session)
{
	const struct live_sample *sample = &session->sample;
	enum sample_order order = session->options.order;
	int r = text_table(stdout, &sample_compute_threads, sample, order, TEXT_ROWS, "--threads");

	if (r == 0 && sample->processes > 0)
		r = text_table(stdout, &sample_processes, sample, order, TEXT_ROWS, "--processes");
	if (r == 0 && sample->subdomains > 0)
		r = text_table(
			stdout, &sample_subdomains, sample, order, TEXT_ROWS, "--subdomains");
	return r;
}

static int print_listing(const struct session *session)
{
	const struct stat_options *options = &session->options;
	bool some = stat_options_chosen(options) == 0 && !options->all;
	int r = 0;

	if (session->printed > 0)
		putchar('\n');
	text_head(stdout, &session->sample, options->interval_ns == 0);
	if (!options->summary)
		r = some ? print_some(session) : print_chosen(session);
	text_troubles(stdout, &session->sample, some ? TEXT_ROWS : SIZE_MAX);
	return r;
}

static void print_line(const struct session *session)
{
	if (session->printed == 0 || (session->terminal && session->printed % LINES_PER_TITLE == 0))
		text_interval_titles(stdout);
	text_interval(stdout, &session->sample);
}

/* Returns an exit status. */
static int print_sample(struct session *session)
{
	const struct stat_options *options = &session->options;
	bool lines = options->interval_ns > 0 && stat_options_chosen(options) == 0 &&
		     !options->all && !options->summary;
	int r = 0;

	if (options->common.json)
		return print_record(session);
	if (options->csv)
		r = print_csv(session);
	else if (lines)
		print_line(session);
	else
		r = print_listing(session);
	session->printed++;
	return r < 0 ? command_fail(session->program, "%s", strerror(-r))
		     : command_flush(session->program);
}

/* ---- Time ---- */

static bool is_there(pid_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

/* Might everything that is watched have ended? This check is cheap. */
static bool seems_over(const struct live_sample *sample)
{
	if (sample->wrapped)
		return sample->juggle_pid > 0 && !is_there(sample->juggle_pid);
	for (size_t i = 0; i < sample->processes; i++)
		if (sample->process[i].pid > 0 && is_there(sample->process[i].pid))
			return false;
	return true;
}

/* Sleep. In a long interval, check now and then that there is still something to wait for. Returns
 * 0 or an error of live_take(). */
static int wait_until(struct session *session, uint64_t deadline_ns)
{
	for (uint64_t now; (now = clock_monotonic_ns()) < deadline_ns;) {
		uint64_t until =
			deadline_ns - now > CLOCK_NS_PER_S ? now + CLOCK_NS_PER_S : deadline_ns;
		struct timespec time = clock_timespec(until);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
		if (until == deadline_ns || !seems_over(&session->before))
			continue;
		struct live_sample sample = {0};
		int r = live_take(session->job, &sample);
		live_sample_deinit(&sample);
		if (r < 0)
			return r;
	}
	return 0;
}

static int end(const struct session *session, int error)
{
	bool again = session->options.interval_ns > 0;

	if (error != -ESRCH)
		return command_fail(
			session->program, "cannot look at the job: %s", strerror(-error));
	if (!again)
		return command_fail(session->program, "the job has just ended");
	if (!session->options.common.quiet)
		fprintf(stderr, "%s: the job, or juggle around it, has ended\n", session->program);
	return 0;
}

static int stat_once(struct session *session)
{
	int r = live_take(session->job, &session->sample);

	if (r < 0)
		return end(session, r);
	live_compare(NULL, &session->sample);
	return print_sample(session);
}

static int stat_again(struct session *session)
{
	uint64_t interval_ns = session->options.interval_ns;
	int status = 0, r = live_take(session->job, &session->before);
	uint64_t deadline_ns = clock_monotonic_ns();

	for (uint32_t i = 0; r == 0 && status == 0; i++) {
		if (session->options.count > 0 && i == session->options.count)
			return 0;
		deadline_ns = clock_next_ns(deadline_ns, interval_ns);
		r = wait_until(session, deadline_ns);
		if (r == 0)
			r = live_take(session->job, &session->sample);
		if (r < 0)
			break;
		live_compare(&session->before, &session->sample);
		status = print_sample(session);
		live_sample_deinit(&session->before);
		session->before = session->sample;
		session->sample = (struct live_sample){0};
	}
	return r < 0 ? end(session, r) : status;
}

int stat_main(int argc, char **argv)
{
	struct session session = {.program = argv[0], .terminal = isatty(STDOUT_FILENO)};
	struct live_error error;
	int r = stat_options_parse(&session.options, argc, argv);

	if (r != 0)
		return r < 0 ? COMMAND_WRONG : 0;
	live_open_many();
	if (stat_options_metrics(&session.options))
		return export_metrics(argv[0], &session.options);
	r = live_open(session.options.job, &session.job, &error);
	if (r < 0)
		return command_fail(argv[0], "%s", error.text);
	int status = session.options.interval_ns > 0 ? stat_again(&session) : stat_once(&session);
	live_sample_deinit(&session.sample);
	live_sample_deinit(&session.before);
	live_close(session.job);
	return status;
}
