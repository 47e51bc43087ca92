/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/clock.h"
#include "daemon/base/file.h"
#include "daemon/base/json_text.h"
#include "daemon/base/text.h"
#include "daemon/keeper/phases_report.h"
#include "daemon/policy/kind.h"
#include "daemon/policy/policy.h"
#include "daemon/telemetry/writer.h"
#include "libprogress/reader/reader.h"

#define PATIENCE_NS 1000000000 /* with a slow reader of the report */

/* What the report and the summary have in common. */
struct facts {
	double elapsed_s, period_s, balanced_s, balancer_cpu_s;
	double median_us, p99_us, max_us; /* of what a balancing point cost */
	uint32_t threads, idle_threads;
	uint32_t cpus, slots, progress_slots; /* elements of the arrays */
	uint64_t cycles, migrations, regime_changes, unlisted;
	const char *balancer, *regime, *reason;
};

/* ---- Gathering ---- */

static uint32_t at_most(const _Atomic uint32_t *field, uint32_t most)
{
	uint32_t value = telemetry_get32(field);

	return value < most ? value : most;
}

static double seconds(const _Atomic uint64_t *ns)
{
	return (double)telemetry_get(ns) * 1e-9;
}

static const char *balancer_text(const struct telemetry *t)
{
	static const char *const text[] = {"starting", "running", "ended", "lost"};
	uint32_t state = telemetry_get32(&t->state);

	return state < sizeof text / sizeof text[0] ? text[state] : "unknown";
}

/* The histogram gives the middle of a bucket, which can be larger than all that it counted. */
static double cycle_us(const struct telemetry *t, double share)
{
	uint64_t ns = telemetry_quantile_ns(t, share), max_ns = telemetry_get(&t->cycle_max_ns);

	return (double)(ns < max_ns ? ns : max_ns) * 1e-3;
}

static const char *regime_text(bool balance)
{
	return balance ? "balance" : "aside";
}

static struct facts gather(const struct telemetry *t, double elapsed_s)
{
	return (struct facts){
		.elapsed_s = elapsed_s,
		.period_s = seconds(&t->period_ns),
		.balanced_s = seconds(&t->balanced_ns),
		.balancer_cpu_s = seconds(&t->balancer_cpu_ns),
		.median_us = cycle_us(t, 0.5),
		.p99_us = cycle_us(t, 0.99),
		.max_us = (double)telemetry_get(&t->cycle_max_ns) * 1e-3,
		.threads = telemetry_get32(&t->threads_most),
		.idle_threads = telemetry_get32(&t->idle_then),
		.cpus = at_most(&t->cpus, TELEMETRY_CPUS),
		.slots = at_most(&t->slots, TELEMETRY_THREADS),
		.progress_slots = at_most(&t->progress_slots, TELEMETRY_PROGRESS),
		.cycles = telemetry_get(&t->cycles),
		.migrations = telemetry_get(&t->migrations),
		.regime_changes = telemetry_get(&t->regime_changes),
		.unlisted = telemetry_get(&t->unlisted),
		.balancer = balancer_text(t),
		.regime = regime_text(telemetry_get32(&t->regime) == POLICY_BALANCE),
		.reason = policy_reason_text((enum policy_reason)telemetry_get32(&t->reason)),
	};
}

/* ---- The report ---- */

static json_t *cpu_list(const struct telemetry *t, uint32_t cpus)
{
	const struct telemetry_cpu *cpu = telemetry_cpus(t);
	json_t *list = json_array();

	for (uint32_t i = 0; i < cpus; i++)
		json_array_append_new(list, json_integer(cpu[i].os_cpu));
	return list;
}

/* What is published of each CPU in thousandths. */
static json_t *share_list(const struct telemetry *t, uint32_t cpus, bool stolen)
{
	const struct telemetry_cpu *cpu = telemetry_cpus(t);
	json_t *list = json_array();

	for (uint32_t i = 0; i < cpus; i++) {
		const _Atomic uint32_t *share = stolen ? &cpu[i].stolen : &cpu[i].speed;
		json_array_append_new(list, json_real(telemetry_get32(share) * 1e-3));
	}
	return list;
}

/* CPUs are sorted by domain. */
static json_t *domain_list(const struct telemetry *t, uint32_t cpus)
{
	const struct telemetry_cpu *cpu = telemetry_cpus(t);
	json_t *domains = json_array(), *domain = NULL;

	for (uint32_t i = 0; i < cpus; i++) {
		if (i == 0 || cpu[i].domain != cpu[i - 1].domain) {
			domain = json_array();
			json_array_append_new(domains, domain);
		}
		json_array_append_new(domain, json_integer(cpu[i].os_cpu));
	}
	return domains;
}

/* What its runtime told of a thread; null where it told nothing. */
static void add_told(json_t *object, const struct telemetry_thread *thread)
{
	bool told = telemetry_get32(&thread->flags) & TELEMETRY_THREAD_TOLD;

	json_object_set_new(
		object, "useful_s", told ? json_real(seconds(&thread->useful_ns)) : json_null());
	json_object_set_new(
		object, "waited_s", told ? json_real(seconds(&thread->waited_ns)) : json_null());
	json_object_set_new(object, "arrivals",
		told ? json_integer((json_int_t)telemetry_get(&thread->arrivals)) : json_null());
}

static json_t *thread_list(const struct telemetry *t, uint32_t slots)
{
	const struct telemetry_thread *thread = telemetry_threads(t);
	json_t *list = json_array();

	for (uint32_t i = 0; i < slots; i++) {
		json_t *object = json_pack("{s:i, s:i, s:o, s:f, s:f, s:I}", "tid", thread[i].tid,
			"pid", thread[i].pid, "comm", json_text(thread[i].comm), "progress_s",
			seconds(&thread[i].progress_ns), "wait_s", seconds(&thread[i].wait_ns),
			"migrations", (json_int_t)telemetry_get(&thread[i].migrations));
		add_told(object, &thread[i]);
		json_array_append_new(list, object);
	}
	return list;
}

static uint64_t spread_of(const struct telemetry_progress *progress)
{
	return telemetry_get(&progress->updates_most) - telemetry_get(&progress->updates_least);
}

static json_t *progress_list(const struct telemetry *t, uint32_t slots)
{
	const struct telemetry_progress *progress = telemetry_progress(t);
	json_t *list = json_array();

	for (uint32_t i = 0; i < slots; i++)
		json_array_append_new(
			list, json_pack("{s:i, s:i, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I}",
				      "pid", progress[i].pid, "rank", progress[i].rank, "workers",
				      (json_int_t)progress[i].workers, "subdomains",
				      (json_int_t)progress[i].subdomains, "balancing",
				      progress_reader_balancing(progress[i].balancing), "points",
				      (json_int_t)telemetry_get(&progress[i].points), "moves",
				      (json_int_t)telemetry_get(&progress[i].moves), "spread",
				      (json_int_t)spread_of(&progress[i]), "held",
				      (json_int_t)telemetry_get(&progress[i].held), "updates_least",
				      (json_int_t)telemetry_get(&progress[i].updates_least),
				      "updates_most",
				      (json_int_t)telemetry_get(&progress[i].updates_most)));
	return list;
}

static json_t *way_list(const struct telemetry *t)
{
	struct telemetry_way way[TELEMETRY_WAYS];
	size_t ways = telemetry_ways(t, way);
	json_t *list = json_array();

	for (size_t k = 0; k < ways; k++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:f}", "regime", regime_text(way[k].balance),
				"reason", policy_reason_text((enum policy_reason)way[k].reason),
				"seconds", (double)way[k].time_ns * 1e-9));
	return list;
}

static json_t *pace_list(const struct telemetry *t)
{
	json_t *list = json_array();

	for (int k = 0; k < POLICY_PACES; k++)
		if (telemetry_get(&t->pace[k].time_ns) > 0)
			json_array_append_new(
				list, json_pack("{s:s, s:f, s:f, s:f}", "cause",
					      policy_pace_text((enum policy_pace)k), "seconds",
					      seconds(&t->pace[k].time_ns), "least_s",
					      seconds(&t->pace[k].least_ns), "most_s",
					      seconds(&t->pace[k].most_ns)));
	return list;
}

static json_t *quota_of(const struct telemetry *t)
{
	uint64_t quota = telemetry_get(&t->quota);

	return quota > 0 ? json_real((double)quota * 1e-3) : json_null();
}

static json_t *build(const struct telemetry *t, int exit_status, double elapsed_s)
{
	struct facts f = gather(t, elapsed_s);

	return json_pack(
		"{s:s, s:o, s:i, s:f, s:s, s:s, s:f, s:s, s:o, s:o, s:I, s:I, s:I, s:I, "
		"s:f, s:{s:f, s:f, s:f}, s:s, s:s, s:s, s:f, s:I, s:o, s:o, s:f, s:f, s:o, s:f, "
		"s:I, s:o, s:o}",
		"version", JUGGLE_VERSION, "command", json_text(t->command), "exit_status",
		exit_status, "elapsed_s", f.elapsed_s, "policy", t->policy, "sampler", t->sampler,
		"period_s", f.period_s, "balancers", t->balancers, "cpus", cpu_list(t, f.cpus),
		"domains", domain_list(t, f.cpus), "threads", (json_int_t)f.threads, "idle_threads",
		(json_int_t)f.idle_threads, "cycles", (json_int_t)f.cycles, "migrations",
		(json_int_t)f.migrations, "balancer_cpu_s", f.balancer_cpu_s, "cycle_us", "median",
		f.median_us, "p99", f.p99_us, "max", f.max_us, "balancer", f.balancer, "regime",
		f.regime, "reason", f.reason, "balanced_s", f.balanced_s, "regime_changes",
		(json_int_t)f.regime_changes, "regimes", way_list(t), "periods", pace_list(t),
		"phase_s", seconds(&t->phase_ns), "point_s", seconds(&t->point_ns), "quota_cpus",
		quota_of(t), "throttled_s", seconds(&t->throttled_ns), "threads_unlisted",
		(json_int_t)f.unlisted, "thread", thread_list(t, f.slots), "progress",
		progress_list(t, f.progress_slots));
}

json_t *report_build(const struct telemetry *t, int exit_status, double elapsed_s)
{
	uint32_t cpus = at_most(&t->cpus, TELEMETRY_CPUS);
	json_t *report = build(t, exit_status, elapsed_s);
	json_t *speeds = json_pack("{s:o, s:s, s:o, s:f, s:o}", "cpu_speeds",
		share_list(t, cpus, false), "speeds_from", t->speeds, "stolen",
		share_list(t, cpus, true), "short_slices_s",
		telemetry_get32(&t->short_slices_ms) * 1e-3, "phases", phases_report(t, elapsed_s));

	json_object_update(report, speeds);
	json_decref(speeds);
	return report;
}

/* To a file that several ranks may name, or standard error. */
static int write_text(const char *path, const char *text, size_t bytes)
{
	bool file = strcmp(path, "-") != 0;
	int fd = file ? file_open_output(path, false) : STDERR_FILENO;
	uint64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;

	if (fd < 0)
		return fd;
	if (!file)
		return file_write_all(fd, text, bytes, until_ns);
	int r = file_write_whole(fd, text, bytes, until_ns);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

int report_write(const char *path, json_t *report)
{
	if (report == NULL)
		return -ENOMEM;
	char *json = json_dumps(report, JSON_INDENT(2) | JSON_REAL_PRECISION(9)), *text = NULL;
	json_decref(report);
	int bytes = json != NULL ? asprintf(&text, "%s\n", json) : -1;
	free(json);
	if (bytes < 0)
		return -ENOMEM;
	int r = write_text(path, text, (size_t)bytes);
	free(text);
	return r;
}

/* ---- Lines of the summary ---- */

/* Is this another process of the program that the ones before it, from `first` on, are ranks of? A rank that
 * comes again is of another program. */
static bool is_next_rank(const struct telemetry_progress *progress, uint32_t first, uint32_t i)
{
	for (uint32_t k = first; k < i; k++)
		if (progress[k].rank == progress[i].rank)
			return false;
	return true;
}

/* The largest spread of a program, over all its ranks. */
static uint64_t largest_spread(const struct telemetry_progress *progress, uint32_t slots)
{
	uint64_t least = UINT64_MAX, most = 0, spread = 0;
	uint32_t first = 0;

	for (uint32_t i = 0; i < slots; i++) {
		uint64_t own_least = telemetry_get(&progress[i].updates_least);
		uint64_t own_most = telemetry_get(&progress[i].updates_most);
		if (!is_next_rank(progress, first, i)) {
			first = i;
			least = UINT64_MAX;
			most = 0;
		}
		if (telemetry_get(&progress[i].held) == 0)
			continue;
		least = own_least < least ? own_least : least;
		most = own_most > most ? own_most : most;
		spread = most - least > spread ? most - least : spread;
	}
	return spread;
}

/* A line for programs that publish their progress; for others there is none. */
static void summarize_progress(FILE *out, const struct telemetry *t, uint32_t slots)
{
	const struct telemetry_progress *progress = telemetry_progress(t);
	uint64_t workers = 0, held = 0, points = 0, moves = 0;

	for (uint32_t i = 0; i < slots; i++) {
		workers += progress[i].workers;
		held += telemetry_get(&progress[i].held);
		points += telemetry_get(&progress[i].points);
		moves += telemetry_get(&progress[i].moves);
	}
	if (slots > 0)
		fprintf(out,
			"  subdomains   %llu of %llu worker%s, %llu moves in %llu points, spread "
			"%llu among them\n",
			(unsigned long long)held, (unsigned long long)workers,
			workers == 1 ? "" : "s", (unsigned long long)moves,
			(unsigned long long)points,
			(unsigned long long)largest_spread(progress, slots));
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Shorter throttling is not worth a line. */
#define THROTTLED_LEAST_NS 1000000
/* Ways that took less than this share of the time are left out. */
#define SHARE_LEAST 0.01

static void summarize_ways(FILE *out, const struct telemetry *t, double elapsed_s)
{
	struct telemetry_way way[TELEMETRY_WAYS];
	size_t ways = telemetry_ways(t, way);

	for (size_t k = 0; k < ways; k++) {
		double time_s = (double)way[k].time_ns * 1e-9;
		if (k > 0 && time_s < SHARE_LEAST * elapsed_s)
			break;
		fprintf(out, "  %-12s %.3f s: %s\n", way[k].balance ? "balanced" : "aside", time_s,
			policy_reason_text((enum policy_reason)way[k].reason));
	}
}

static void summarize_paces(FILE *out, const struct telemetry *t)
{
	for (int k = 0; k < POLICY_PACES; k++) {
		const struct telemetry_pace *pace = &t->pace[k];
		double least_ms = seconds(&pace->least_ns) * 1e3;
		double most_ms = seconds(&pace->most_ns) * 1e3;
		if (k == POLICY_PACE_ASIDE || telemetry_get(&pace->time_ns) == 0)
			continue;
		fprintf(out, "  period       %.3g", least_ms);
		if (most_ms > least_ms)
			fprintf(out, " to %.3g", most_ms);
		fprintf(out, " ms for %.3f s: %s\n", seconds(&pace->time_ns),
			policy_pace_text((enum policy_pace)k));
	}
	if (telemetry_get(&t->phase_ns) > 0)
		fprintf(out, "               last for phases of %.3g ms, and points of %.3g us\n",
			seconds(&t->phase_ns) * 1e3, seconds(&t->point_ns) * 1e6);
}

static void summarize_quota(FILE *out, const struct telemetry *t)
{
	uint64_t quota = telemetry_get(&t->quota);

	if (telemetry_get(&t->throttled_ns) < THROTTLED_LEAST_NS)
		return;
	fprintf(out, "  throttled    for %.3f s by a quota", seconds(&t->throttled_ns));
	if (quota > 0)
		fprintf(out, " of %.3g CPU%s", (double)quota * 1e-3, quota == 1000 ? "" : "s");
	fputc('\n', out);
}

static void summarize_slices(FILE *out, const struct telemetry *t)
{
	uint32_t ms = telemetry_get32(&t->short_slices_ms);

	if (ms > 0)
		fprintf(out,
			"  slices       short for %.3f s, as threads yield beside other work\n",
			ms * 1e-3);
}

/* ---- The line ---- */

#define LINE_LEAST_S 1 /* of a run: in a shorter one juggle has hardly begun */
#define BALANCED_MOSTLY 0.5

static bool is_result(const struct telemetry_way *way)
{
	return way->reason == POLICY_REASON_FASTER || way->reason == POLICY_REASON_SLOWER;
}

/* Why it balanced, or stood aside, for longest. All that is up to trials counts together, and is told by what they
 * showed, where they showed something. */
static const char *main_reason(const struct telemetry *t, bool balance)
{
	struct telemetry_way way[TELEMETRY_WAYS];
	size_t ways = telemetry_ways(t, way);
	const struct telemetry_way *trials = NULL, *main = NULL;
	uint64_t trials_ns = 0;

	for (size_t k = 0; k < ways; k++) {
		if (way[k].balance != balance)
			continue;
		if (policy_reason_by_trials((enum policy_reason)way[k].reason)) {
			trials_ns += way[k].time_ns;
			if (trials == NULL || (is_result(&way[k]) && !is_result(trials)))
				trials = &way[k];
		} else if (main == NULL) {
			main = &way[k];
		}
	}
	if (trials != NULL && (main == NULL || trials_ns >= main->time_ns))
		main = trials;
	return main != NULL ? policy_reason_text((enum policy_reason)main->reason)
			    : "nothing was to be done";
}

static const char *aside_reason(const struct telemetry *t, uint32_t threads)
{
	if (telemetry_get32(&t->state) == TELEMETRY_STARTING)
		return "one CPU, one for each thread, or threads that Linux balances well";
	return threads > 0 ? main_reason(t, false) : "no thread computed";
}

void report_line(FILE *out, const struct telemetry *t, double elapsed_s)
{
	const struct policy_kind *kind = policy_kind_find(t->policy);
	struct facts f = gather(t, elapsed_s);
	double brought = phases_brought(t, elapsed_s);

	if (kind == NULL || kind->balance == NULL || elapsed_s < LINE_LEAST_S ||
		telemetry_get32(&t->state) == TELEMETRY_LOST)
		return;
	if (f.balanced_s < BALANCED_MOSTLY * f.elapsed_s) {
		fprintf(out, "juggle: stood aside for %.0f %% of %.3g s: %s\n",
			100 - percent(f.balanced_s, f.elapsed_s), f.elapsed_s,
			aside_reason(t, f.threads));
		return;
	}
	fprintf(out,
		"juggle: %u thread%s on %u CPU%s, balanced for %.0f %% of %.3g s by %llu move%s",
		f.threads, f.threads == 1 ? "" : "s", f.cpus, f.cpus == 1 ? "" : "s",
		percent(f.balanced_s, f.elapsed_s), f.elapsed_s, (unsigned long long)f.migrations,
		f.migrations == 1 ? "" : "s");
	if (brought > 0)
		fprintf(out, "; pinned it would have taken at least %.2f times as long\n", brought);
	else
		fprintf(out, " (%s)\n", main_reason(t, true));
}

/* ---- The summary ---- */

void report_summary(FILE *out, const struct telemetry *t, double elapsed_s)
{
	struct facts f = gather(t, elapsed_s);

	text_line(out, "juggle: %s", t->command);
	fprintf(out, "  elapsed      %.3f s, %.0f %% of it balanced; balancer %s\n", f.elapsed_s,
		percent(f.balanced_s, f.elapsed_s), f.balancer);
	fprintf(out, "  threads      %u compute, %u idle, on %u CPU%s\n", f.threads, f.idle_threads,
		f.cpus, f.cpus == 1 ? "" : "s");
	fprintf(out, "  policy       %s, sampler %s\n", t->policy, t->sampler);
	summarize_ways(out, t, f.elapsed_s);
	summarize_paces(out, t);
	summarize_slices(out, t);
	summarize_quota(out, t);
	fprintf(out, "  migrations   %llu in %llu balancing points\n",
		(unsigned long long)f.migrations, (unsigned long long)f.cycles);
	summarize_progress(out, t, f.progress_slots);
	fprintf(out,
		"  its cost     %.3f s of CPU (%.2f %% of one CPU), %.1f us a point (median)\n",
		f.balancer_cpu_s, percent(f.balancer_cpu_s, f.elapsed_s), f.median_us);
	phases_summary(out, t, elapsed_s);
	report_line(out, t, elapsed_s);
}
