/* SPDX-License-Identifier: MIT */
/*
 * Metrics of several jobs. Each round looks for jobs anew, since they come and go; values that need
 * two moments are those since the last round, or since the start of the job.
 */
#include "tools/stat/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/clock.h"
#include "tools/command/output.h"
#include "tools/command/print.h"
#include "tools/stat/metrics.h"

struct round {
	struct live_sample *sample;
	size_t n;
};

static void round_deinit(struct round *round)
{
	for (size_t i = 0; i < round->n; i++)
		live_sample_deinit(&round->sample[i]);
	free(round->sample);
	*round = (struct round){0};
}

/* The sample of the same job in a round; NULL: there is none. */
static const struct live_sample *find(const struct round *round, const struct live_sample *sample)
{
	for (size_t i = 0; i < round->n; i++) {
		const struct live_sample *other = &round->sample[i];
		if (other->wrapped == sample->wrapped && other->uid == sample->uid &&
			metrics_pid(other) == metrics_pid(sample) &&
			other->start_ns == sample->start_ns)
			return other;
	}
	return NULL;
}

/* Add a sample of a job, unless it is there: a job may have been named twice. Returns 0 or an error
 * of live_take(). */
static int add(struct round *round, struct live_job *job)
{
	struct live_sample *grown = realloc(round->sample, (round->n + 1) * sizeof *grown);

	if (grown == NULL)
		return -ENOMEM;
	round->sample = grown;
	int r = live_take(job, &grown[round->n]);
	if (r < 0)
		return r;
	if (find(round, &grown[round->n]) != NULL)
		live_sample_deinit(&grown[round->n]);
	else
		round->n++;
	return 0;
}

/* All jobs, but those that end meanwhile or can't be read. Returns 0 or a negative errno. */
static int take_all(struct round *round)
{
	struct live_entry *choice;
	size_t n;
	int r = live_choices(&choice, &n);

	for (size_t i = 0; i < n && r != -ENOMEM; i++) {
		struct live_job *job = NULL;
		struct live_error error;
		r = live_open_choice(&choice[i], &job, &error);
		if (r == 0)
			r = add(round, job);
		live_close(job);
		if (r != -ENOMEM)
			r = 0;
	}
	free(choice);
	return r;
}

static int take_one(const char *name, struct round *round, struct live_error *error)
{
	struct live_job *job = NULL;
	int r = live_open(name, &job, error);

	if (r < 0)
		return r;
	r = add(round, job);
	if (r < 0)
		snprintf(error->text, sizeof error->text, "cannot look at %.60s: %s", name,
			r == -ESRCH ? "it has just ended" : strerror(-r));
	live_close(job);
	return r;
}

/* Returns an exit status. first: all that are named have to be there; later some may have ended. */
static int take(
	const char *program, const struct stat_options *options, bool first, struct round *round)
{
	struct live_error error;

	if (options->jobs_given == 0) {
		int r = take_all(round);
		return r < 0 ? command_fail(program, "cannot look for jobs: %s", strerror(-r)) : 0;
	}
	for (size_t i = 0; i < options->jobs_given; i++)
		if (take_one(options->jobs[i], round, &error) < 0 && first)
			return command_fail(program, "%s", error.text);
	return 0;
}

static int write_to(FILE *scratch, const struct stat_options *options, const struct round *round)
{
	uint64_t bytes;

	metrics_print(scratch, options->prometheus ? METRICS_PROMETHEUS : METRICS_OPENMETRICS,
		round->sample, round->n);
	if (fflush(scratch) != 0)
		return -errno;
	return output_commit(fileno(scratch), options->output, &bytes);
}

/* Returns an exit status. */
static int write_round(
	const char *program, const struct stat_options *options, const struct round *round)
{
	FILE *scratch = tmpfile();
	int r = scratch == NULL ? -errno : write_to(scratch, options, round);

	if (scratch != NULL)
		fclose(scratch);
	if (r == 0)
		return 0;
	return command_fail(program, "cannot write %s: %s",
		options->output == NULL ? "output" : options->output, strerror(-r));
}

static void wait_until(uint64_t deadline_ns)
{
	struct timespec time = clock_timespec(deadline_ns);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* Are there no more rounds? */
static bool is_last(const struct stat_options *options, uint32_t rounds, const struct round *round)
{
	return options->interval_ns == 0 || rounds == options->count ||
	       (options->jobs_given > 0 && round->n == 0);
}

int export_metrics(const char *program, const struct stat_options *options)
{
	struct round before = {0}, now = {0};
	uint64_t deadline_ns = clock_monotonic_ns();
	int status = 0;

	for (uint32_t rounds = 1; status == 0; rounds += rounds < UINT32_MAX) {
		status = take(program, options, rounds == 1, &now);
		for (size_t i = 0; i < now.n; i++)
			live_compare(find(&before, &now.sample[i]), &now.sample[i]);
		if (status == 0)
			status = write_round(program, options, &now);
		bool last = is_last(options, rounds, &now);
		round_deinit(&before);
		before = now;
		now = (struct round){0};
		if (last || status != 0)
			break;
		deadline_ns = clock_next_ns(deadline_ns, options->interval_ns);
		wait_until(deadline_ns);
	}
	if (status == 0 && before.n == 0 && options->jobs_given > 0 && !options->common.quiet)
		fprintf(stderr, "%s: all these jobs have ended\n", program);
	round_deinit(&before);
	return status;
}
