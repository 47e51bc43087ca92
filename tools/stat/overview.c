/* SPDX-License-Identifier: MIT */
/* The job as a whole, in words: the head of a listing. */
#include "tools/stat/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/table/format.h"

enum { LABEL_COLUMNS = 11, COMMAND_WIDTH = TEXT_COLUMNS - 8 };
enum { SITES = 3 }; /* that are shown */
#define SITE_SHARE_LEAST 0.01 /* of all waits */

static void label(FILE *to, const char *name)
{
	fprintf(to, "  %-*s ", LABEL_COLUMNS, name);
}

/* "3 threads", "1 thread". */
static void print_number_of(FILE *to, uint64_t n, const char *one, const char *many)
{
	fprintf(to, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

static struct format time_of(uint64_t ns)
{
	return format_time((double)ns * 1e-9);
}

/* " (12.3/s)", where it is known. */
static void print_per_s(FILE *to, double rate)
{
	if (rate >= 0 && isfinite(rate))
		fprintf(to, " (%s/s)", format_number(rate).text);
}

static void print_command(FILE *to, const char *command)
{
	if (*command == '\0')
		command = "(command not known)";
	int bytes = format_cut(command, COMMAND_WIDTH);
	fprintf(to, "%.*s%s\n", bytes, command, command[bytes] != '\0' ? "..." : "");
}

static void print_processes(FILE *to, const struct live_sample *s)
{
	struct format age = format_age(((double)s->now_ns - (double)s->start_ns) * 1e-9);

	label(to, "processes");
	if (!s->wrapped) {
		print_number_of(to, s->processes, "process", "processes");
		fprintf(to, ", for %s, without juggle\n", age.text);
		return;
	}
	fprintf(to, "juggle %d", (int)s->juggle_pid);
	if (s->job_pid > 0)
		fprintf(to, " %s %d", s->attached ? "attached to" : "around", (int)s->job_pid);
	fprintf(to, ", for %s\n", age.text);
}

static void print_state(FILE *to, const struct live_sample *s)
{
	label(to, "state");
	if (s->lost)
		fputs("lost: the balancer died; threads are as it saw them last", to);
	else
		fputs(s->balancing ? "balances" : "stands aside", to);
	if (!s->lost && s->reason != NULL && s->reason[0] != '\0')
		fprintf(to, ": %s", s->reason);
	fputc('\n', to);
}

/* How the time was spent; ways that took less than a percent of it are left out. */
static void print_ways(FILE *to, const struct live_sample *s)
{
	for (size_t k = 0; k < s->ways; k++) {
		if (s->way[k].time_ns < (s->now_ns - s->start_ns) / 100)
			break;
		label(to, k == 0 ? "so far" : "");
		fprintf(to, "%s %s: %s\n", s->way[k].balance ? "balanced" : "aside",
			time_of(s->way[k].time_ns).text,
			policy_reason_text((enum policy_reason)s->way[k].reason));
	}
}

static void print_periods(FILE *to, const struct live_sample *s)
{
	for (int k = 0; k < POLICY_PACES; k++) {
		const struct live_pace *pace = &s->pace[k];
		if (k == POLICY_PACE_ASIDE || pace->time_ns == 0)
			continue;
		label(to, "period");
		fputs(time_of(pace->least_ns).text, to);
		if (pace->most_ns > pace->least_ns)
			fprintf(to, " to %s", time_of(pace->most_ns).text);
		fprintf(to, ": %s\n", policy_pace_text((enum policy_pace)k));
	}
	if (s->phase_ns > 0) {
		label(to, "");
		fprintf(to, "last for phases of %s, and points of %s\n", time_of(s->phase_ns).text,
			time_of(s->point_ns).text);
	}
}

static void print_policy(FILE *to, const struct live_sample *s)
{
	label(to, "policy");
	fprintf(to, "%s, domains %s, sampler %s\n", s->policy, s->domains, s->sampler);
	print_periods(to, s);
}

static void print_cost(FILE *to, const struct live_sample *s)
{
	double share = s->balancer_share >= 0 && !s->lost ? s->balancer_share : NAN;

	label(to, "its cost");
	fprintf(to, "%s %% of a CPU", format_percent(share).text);
	if (s->cycle_max_ns > 0)
		fprintf(to, "; a point %s (p99 %s, max %s)", time_of(s->cycle_median_ns).text,
			time_of(s->cycle_p99_ns).text, time_of(s->cycle_max_ns).text);
	fputc('\n', to);
}

static void print_points(FILE *to, const struct live_sample *s)
{
	label(to, "points");
	fprintf(to, "%" PRIu64, s->cycles);
	print_per_s(to, s->lost ? NAN : s->cycles_per_s);
	fprintf(to, ", %" PRIu64 " moves", s->migrations);
	print_per_s(to, s->lost ? NAN : s->migrations_per_s);
	fputc('\n', to);
}

/* Domains are numbered from 0. */
static uint64_t count_domains(const struct live_sample *s)
{
	int32_t most = -1;

	for (size_t i = 0; i < s->cpus; i++)
		most = s->cpu[i].domain > most ? s->cpu[i].domain : most;
	return (uint64_t)(most + 1);
}

static void print_threads(FILE *to, const struct live_sample *s)
{
	label(to, "threads");
	print_number_of(to, s->compute_threads, "computes", "compute");
	if (s->wrapped) {
		fprintf(to, ", %" PRIu32 " idle, on ", s->idle_threads);
		print_number_of(to, s->cpus, "CPU", "CPUs");
		if (count_domains(s) > 1)
			fprintf(to, " of %" PRIu64 " domains", count_domains(s));
	}
	if (s->thread_spread_s >= 0)
		fprintf(to, "; spread %s", format_time(s->thread_spread_s).text);
	fputc('\n', to);
	if (s->unlisted > 0) {
		label(to, "");
		fprintf(to, "%" PRIu64 " threads more than juggle has room to publish\n",
			s->unlisted);
	}
}

/* Words in lines of at most TEXT_COLUMNS, below each other. */
static void print_words(FILE *to, const char *words)
{
	int room = TEXT_COLUMNS - LABEL_COLUMNS - 3;

	while (*words != '\0') {
		int bytes = format_cut(words, room);
		if (words[bytes] != '\0')
			for (int i = bytes; i > 0; i--)
				if (words[i] == ' ') {
					bytes = i;
					break;
				}
		fprintf(to, "%.*s\n", bytes, words);
		words += bytes;
		words += *words == ' ';
		if (*words != '\0')
			label(to, "");
	}
}

/* Where threads waited for longest, and for how much of all these waits. */
static void print_sites(FILE *to, const struct live_sample *s)
{
	double all_ns = 0;

	for (size_t i = 0; i < s->sites; i++)
		all_ns += (double)s->site[i].waited_ns;
	for (size_t i = 0; i < s->sites && i < SITES; i++) {
		double share = (double)s->site[i].waited_ns / all_ns;
		if (!(share >= SITE_SHARE_LEAST))
			break;
		label(to, i == 0 ? "waits" : "");
		int bytes = format_cut(s->site[i].name, TEXT_COLUMNS - LABEL_COLUMNS - 12);
		fprintf(to, "%s %% %.*s\n", format_percent(share).text, bytes, s->site[i].name);
	}
}

/* How well CPUs were used, where runtimes tell of phases. */
static void print_phases(FILE *to, const struct live_sample *s)
{
	const struct efficiency *e = &s->efficiency;

	if (e->threads == 0 || s->lost) {
		if (s->not_told[0] != '\0') {
			label(to, "phases");
			fprintf(to, "not told: %s\n", s->not_told);
		}
		return;
	}
	label(to, "phases");
	fprintf(to, "%" PRIu64 " of %s", e->phases, format_time(e->phase_s).text);
	print_per_s(to, 1 / e->phase_s);
	fputc('\n', to);
	print_sites(to, s);
	label(to, "efficiency");
	fprintf(to, "%.3f: load balance %.3f, communication %.3f; CPUs %.3f\n",
		e->parallel_efficiency, e->load_balance, e->communication_efficiency,
		e->useful_share);
	label(to, "lost");
	fprintf(to, "%s of CPU time in waits (%s %%)\n", format_time(e->lost_s).text,
		format_percent(e->lost_share).text);
	label(to, "advice");
	print_words(to, s->advice);
}

/* What makes the CPUs slow, if anything does. */
static void print_cpus(FILE *to, const struct live_sample *s)
{
	bool differ = live_speeds_differ(s);
	double least = INFINITY, stolen = live_stolen(s);

	for (size_t i = 0; i < s->cpus; i++)
		least = fmin(least, s->cpu[i].speed);
	if (differ || stolen > 0) {
		label(to, "CPUs");
		if (differ)
			fprintf(to, "speeds %s to 1, by %s%s", format_number(least).text,
				s->speeds_from, stolen > 0 ? "; " : "");
		if (stolen > 0)
			fprintf(to, "%s %% of their time stolen", format_percent(stolen).text);
		fputc('\n', to);
	}
	if (s->quota_cpus > 0 || s->throttled_ns > 0) {
		label(to, "quota");
		if (s->quota_cpus > 0)
			fprintf(to, "%s CPUs; ", format_number(s->quota_cpus).text);
		fprintf(to, "throttled for %s so far\n", time_of(s->throttled_ns).text);
	}
}

static void print_subdomains(FILE *to, const struct live_sample *s)
{
	if (s->workers == 0)
		return;
	label(to, "subdomains");
	fprintf(to, "%" PRIu32 " of ", s->subdomains);
	print_number_of(to, s->workers, "worker", "workers");
	if (s->subdomains > 0)
		fprintf(to, ", spread %" PRIu64, s->spread);
	if (s->iteration_rate >= 0)
		fprintf(to, ", %s iterations/s", format_number(s->iteration_rate).text);
	if (s->moves_per_s >= 0)
		fprintf(to, ", %s moves/s", format_number(s->moves_per_s).text);
	fputc('\n', to);
}

static void print_interval(FILE *to, const struct live_sample *s, bool since_start)
{
	label(to, "averages");
	if (since_start)
		fputs("since the start\n", to);
	else
		fprintf(to, "of the last %s\n", format_time(s->interval_s).text);
}

void text_head(FILE *to, const struct live_sample *sample, bool since_start)
{
	print_command(to, sample->command);
	print_processes(to, sample);
	if (sample->wrapped) {
		print_state(to, sample);
		print_ways(to, sample);
		print_policy(to, sample);
		print_cost(to, sample);
		print_points(to, sample);
	}
	print_threads(to, sample);
	print_cpus(to, sample);
	print_phases(to, sample);
	print_subdomains(to, sample);
	print_interval(to, sample, since_start);
}

void text_troubles(FILE *to, const struct live_sample *sample, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->processes; i++) {
		const struct live_process *process = &sample->process[i];
		const char *trouble = sample_trouble(process);
		if (trouble == NULL || n++ >= most)
			continue;
		fputs(n == 1 ? "\n" : "", to);
		if (process->rank >= 0)
			fprintf(to, "rank %d, ", (int)process->rank);
		fprintf(to, "process %d: %s\n", (int)process->pid, trouble);
	}
	if (n > most)
		fprintf(to, "... %zu more that cannot be read\n", n - most);
}
