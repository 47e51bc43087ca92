/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/report.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "daemon/policy/policy.h"
#include "daemon/telemetry/writer.h"
#include "libprogress/reader/reader.h"

static const char *regime_text(const struct telemetry *t)
{
	return telemetry_get32(&t->regime) == POLICY_BALANCE ? "balance" : "aside";
}

static const char *reason_text(const struct telemetry *t)
{
	return policy_reason_text((enum policy_reason)telemetry_get32(&t->reason));
}

static const char *state_text(const struct telemetry *t)
{
	static const char *const text[] = {"starting", "running", "ended", "lost"};
	uint32_t state = telemetry_get32(&t->state);

	return state < sizeof text / sizeof text[0] ? text[state] : "unknown";
}

static json_t *cpu_list(const struct telemetry *t)
{
	const struct telemetry_cpu *cpu = telemetry_cpus(t);
	json_t *list = json_array();

	for (uint32_t i = 0; i < telemetry_get32(&t->cpus); i++)
		json_array_append_new(list, json_integer(cpu[i].os_cpu));
	return list;
}

/* CPUs are sorted by domain. */
static json_t *domain_list(const struct telemetry *t)
{
	const struct telemetry_cpu *cpu = telemetry_cpus(t);
	json_t *domains = json_array(), *domain = NULL;

	for (uint32_t i = 0; i < telemetry_get32(&t->cpus); i++) {
		if (i == 0 || cpu[i].domain != cpu[i - 1].domain) {
			domain = json_array();
			json_array_append_new(domains, domain);
		}
		json_array_append_new(domain, json_integer(cpu[i].os_cpu));
	}
	return domains;
}

static json_t *thread_list(const struct telemetry *t)
{
	const struct telemetry_thread *thread = telemetry_threads(t);
	json_t *list = json_array();

	for (uint32_t i = 0; i < telemetry_get32(&t->slots); i++) {
		json_array_append_new(list,
			json_pack("{s:i, s:i, s:s, s:f, s:f, s:I}", "tid", thread[i].tid, "pid",
				thread[i].pid, "comm", thread[i].comm, "progress_s",
				(double)telemetry_get(&thread[i].progress_ns) * 1e-9, "wait_s",
				(double)telemetry_get(&thread[i].wait_ns) * 1e-9, "migrations",
				(json_int_t)telemetry_get(&thread[i].migrations)));
	}
	return list;
}

static json_t *progress_list(const struct telemetry *t)
{
	const struct telemetry_progress *progress = telemetry_progress(t);
	json_t *list = json_array();

	for (uint32_t i = 0; i < telemetry_get32(&t->progress_slots); i++)
		json_array_append_new(
			list, json_pack("{s:i, s:i, s:I, s:I, s:s, s:I, s:I, s:I}", "pid",
				      progress[i].pid, "rank", progress[i].rank, "workers",
				      (json_int_t)progress[i].workers, "subdomains",
				      (json_int_t)progress[i].subdomains, "balancing",
				      progress_reader_balancing(progress[i].balancing), "points",
				      (json_int_t)telemetry_get(&progress[i].points), "moves",
				      (json_int_t)telemetry_get(&progress[i].moves), "spread",
				      (json_int_t)telemetry_get(&progress[i].spread)));
	return list;
}

/* The histogram gives the middle of a bucket, which may lie beyond all that it counted. */
static double cycle_us(const struct telemetry *t, double share)
{
	uint64_t ns = telemetry_quantile_ns(t, share), max_ns = telemetry_get(&t->cycle_max_ns);

	return (double)(ns < max_ns ? ns : max_ns) * 1e-3;
}

static json_t *cycle_costs(const struct telemetry *t)
{
	return json_pack("{s:f, s:f, s:f}", "median", cycle_us(t, 0.5), "p99", cycle_us(t, 0.99),
		"max", (double)telemetry_get(&t->cycle_max_ns) * 1e-3);
}

static json_t *build(const struct telemetry *t, int exit_status, double elapsed_s)
{
	/* The command can hold any bytes, JSON strings cannot. */
	json_t *command = json_string(t->command);

	return json_pack("{s:s, s:o, s:i, s:f, s:s, s:s, s:f, s:s, s:o, s:o, s:I, s:I, s:I, s:I, "
			 "s:f, s:o, s:s, s:s, s:s, s:f, s:I, s:I, s:o, s:o}",
		"version", JUGGLE_VERSION, "command", command != NULL ? command : json_string("?"),
		"exit_status", exit_status, "elapsed_s", elapsed_s, "policy", t->policy, "sampler",
		t->sampler, "period_s", (double)telemetry_get(&t->period_ns) * 1e-9, "balancers",
		t->balancers, "cpus", cpu_list(t), "domains", domain_list(t), "threads",
		(json_int_t)telemetry_get32(&t->threads_most), "idle_threads",
		(json_int_t)telemetry_get32(&t->idle_then), "cycles",
		(json_int_t)telemetry_get(&t->cycles), "migrations",
		(json_int_t)telemetry_get(&t->migrations), "balancer_cpu_s",
		(double)telemetry_get(&t->balancer_cpu_ns) * 1e-9, "cycle_us", cycle_costs(t),
		"balancer", state_text(t), "regime", regime_text(t), "reason", reason_text(t),
		"balanced_s", (double)telemetry_get(&t->balanced_ns) * 1e-9, "regime_changes",
		(json_int_t)telemetry_get(&t->regime_changes), "threads_unlisted",
		(json_int_t)telemetry_get(&t->unlisted), "thread", thread_list(t), "progress",
		progress_list(t));
}

int report_write(
	const char *path, const struct telemetry *telemetry, int exit_status, double elapsed_s)
{
	json_t *report = build(telemetry, exit_status, elapsed_s);
	FILE *file = strcmp(path, "-") == 0 ? stderr : fopen(path, "we");
	int r = 0;

	if (report == NULL)
		r = -ENOMEM;
	else if (file == NULL)
		r = -errno;
	if (r == 0 && (json_dumpf(report, file, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) < 0 ||
			      fputc('\n', file) == EOF || fflush(file) == EOF))
		r = errno != 0 ? -errno : -EIO;
	if (file != NULL && file != stderr && fclose(file) == EOF && r == 0)
		r = -errno;
	json_decref(report);
	return r;
}

/* Only for programs that publish their progress. */
static void summarize_progress(FILE *out, const struct telemetry *t)
{
	const struct telemetry_progress *progress = telemetry_progress(t);
	uint32_t slots = telemetry_get32(&t->progress_slots);
	uint64_t workers = 0, subdomains = 0, points = 0, moves = 0, spread = 0;

	for (uint32_t i = 0; i < slots; i++) {
		workers += progress[i].workers;
		subdomains += progress[i].subdomains;
		points += telemetry_get(&progress[i].points);
		moves += telemetry_get(&progress[i].moves);
		if (telemetry_get(&progress[i].spread) > spread)
			spread = telemetry_get(&progress[i].spread);
	}
	if (slots > 0)
		fprintf(out,
			"  subdomains   %llu of %llu workers, %llu moves in %llu points, spread "
			"%llu\n",
			(unsigned long long)subdomains, (unsigned long long)workers,
			(unsigned long long)moves, (unsigned long long)points,
			(unsigned long long)spread);
}

void report_summary(FILE *out, const struct telemetry *t, double elapsed_s)
{
	double balanced_s = (double)telemetry_get(&t->balanced_ns) * 1e-9;
	double cpu_s = (double)telemetry_get(&t->balancer_cpu_ns) * 1e-9;
	uint64_t cycles = telemetry_get(&t->cycles);

	fprintf(out, "juggle: %s\n", t->command);
	fprintf(out, "  elapsed      %.3f s, %.0f %% of it balanced; balancer %s\n", elapsed_s,
		elapsed_s > 0 ? 100 * balanced_s / elapsed_s : 0, state_text(t));
	fprintf(out, "  threads      %u compute, %u idle, on %u CPUs\n",
		telemetry_get32(&t->threads_most), telemetry_get32(&t->idle_then),
		telemetry_get32(&t->cpus));
	fprintf(out, "  policy       %s, period %.3g ms, sampler %s, a balancer for each %s\n",
		t->policy, (double)telemetry_get(&t->period_ns) * 1e-6, t->sampler,
		strcmp(t->balancers, "cpu") == 0 ? "CPU" : "domain");
	fprintf(out, "  at the end   %s (%s)\n", regime_text(t), reason_text(t));
	fprintf(out, "  migrations   %llu in %llu balancing points\n",
		(unsigned long long)telemetry_get(&t->migrations), (unsigned long long)cycles);
	summarize_progress(out, t);
	fprintf(out,
		"  its cost     %.3f s of CPU (%.2f %% of one CPU), %.1f us a point (median)\n",
		cpu_s, elapsed_s > 0 ? 100 * cpu_s / elapsed_s : 0, cycle_us(t, 0.5));
}
