/* SPDX-License-Identifier: MIT */
#include "daemon/keeper/phases_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/json_text.h"
#include "daemon/base/text.h"
#include "daemon/progress/told.h"
#include "daemon/telemetry/efficiency.h"
#include "daemon/telemetry/worth.h"
#include "daemon/telemetry/writer.h"

struct found {
	struct efficiency efficiency;
	enum worth_verdict verdict;
	double brought; /* see worth_brought() */
	char advice[WORTH_BYTES];
};

/* ---- Measuring ---- */

static uint32_t cpus_of(const struct telemetry *t)
{
	uint32_t cpus = telemetry_get32(&t->cpus);

	return cpus == 0 ? 1 : cpus < TELEMETRY_CPUS ? cpus : TELEMETRY_CPUS;
}

static uint32_t slots_of(const struct telemetry *t)
{
	uint32_t slots = telemetry_get32(&t->slots);

	return slots < TELEMETRY_THREADS ? slots : TELEMETRY_THREADS;
}

static double slowest_of(const struct telemetry *t)
{
	const struct telemetry_cpu *cpu = telemetry_cpus(t);
	double slowest = 1;

	for (uint32_t i = 0; i < cpus_of(t); i++) {
		uint32_t speed = telemetry_get32(&cpu[i].speed);
		if (speed > 0)
			slowest = fmin(slowest, speed * 1e-3);
	}
	return slowest;
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* Without memory nothing is known. */
static void measure(const struct telemetry *t, double cpus, struct efficiency *out)
{
	const struct telemetry_thread *thread = telemetry_threads(t);
	uint32_t slots = slots_of(t), n = 0;

	struct efficiency_thread *told = calloc(slots + 1, sizeof *told);
	for (uint32_t i = 0; i < slots && told != NULL; i++)
		n += efficiency_take(&thread[i], i, &told[n]);
	efficiency_measure(told, n, cpus, out);
	free(told);
}

/* Of the job's CPU time, the share of threads that tell. */
static double covered(const struct telemetry *t)
{
	const struct telemetry_thread *thread = telemetry_threads(t);
	uint32_t slots = slots_of(t);
	double told_s = 0, all_s = 0;

	for (uint32_t i = 0; i < slots; i++) {
		double used_s = (double)telemetry_get(&thread[i].progress_ns) * 1e-9;
		all_s += used_s;
		if (telemetry_get32(&thread[i].flags) & TELEMETRY_THREAD_TOLD)
			told_s += used_s;
	}
	return share(told_s, all_s);
}

static void find(const struct telemetry *t, double elapsed_s, struct found *out)
{
	double quota = (double)telemetry_get(&t->quota) * 1e-3;
	uint32_t cpus = cpus_of(t);
	/* Threads that are only placed have not been balanced. */
	bool moves = strcmp(t->policy, "static") != 0;
	const struct worth_case c = {.efficiency = &out->efficiency,
		.cpus = cpus,
		.quota = quota,
		.throttled =
			share((double)telemetry_get(&t->throttled_ns) * 1e-9, elapsed_s * cpus),
		.balanced =
			moves ? share((double)telemetry_get(&t->balanced_ns) * 1e-9, elapsed_s) : 0,
		.declined = share((double)telemetry_declined_ns(t) * 1e-9, elapsed_s),
		.slowest = slowest_of(t),
		.covered = covered(t)};

	measure(t, quota > 0 ? fmin(quota, cpus) : cpus, &out->efficiency);
	out->verdict = worth_judge(&c, out->advice);
	out->brought = worth_brought(&c);
}

/* ---- Sites ---- */

static int by_time(const void *a, const void *b)
{
	const struct telemetry_site *x = *(const struct telemetry_site *const *)a;
	const struct telemetry_site *y = *(const struct telemetry_site *const *)b;
	uint64_t first = telemetry_get(&x->waited_ns), second = telemetry_get(&y->waited_ns);

	return (first < second) - (first > second);
}

/* The longest first. Returns how many. */
static uint32_t sort_sites(
	const struct telemetry *t, const struct telemetry_site *out[TELEMETRY_SITES])
{
	uint32_t sites = telemetry_get32(&t->sites);

	sites = sites < TELEMETRY_SITES ? sites : TELEMETRY_SITES;
	for (uint32_t i = 0; i < sites; i++)
		out[i] = &t->site[i];
	qsort(out, sites, sizeof *out, by_time);
	return sites;
}

static double waited_s(const struct telemetry_site *site)
{
	return (double)telemetry_get(&site->waited_ns) * 1e-9;
}

double phases_brought(const struct telemetry *t, double elapsed_s)
{
	struct found found;

	find(t, elapsed_s, &found);
	return found.brought;
}

/* ---- The report ---- */

static json_t *sources_of(const struct telemetry *t)
{
	static const char *const names[] = {"OMPT", "libgomp", "MPI", "pthreads", "own"};
	uint32_t told = telemetry_get32(&t->told);
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (told >> i & 1)
			json_array_append_new(list, json_string(names[i]));
	return list;
}

static json_t *sites_of(const struct telemetry *t)
{
	const struct telemetry_site *site[TELEMETRY_SITES];
	uint32_t sites = sort_sites(t, site);
	json_t *list = json_array();

	for (uint32_t i = 0; i < sites; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:I, s:f}", "name", site[i]->name, "waits",
				      (json_int_t)telemetry_get(&site[i]->waits), "waited_s",
				      waited_s(site[i])));
	return list;
}

/* A key with a number, or null where nothing is known. */
static void set_real(json_t *object, const char *key, double value, bool known)
{
	json_object_set_new(object, key, known ? json_real(value) : json_null());
}

/* Why nobody was asked to tell. */
static json_t *not_told(const struct telemetry *t)
{
	if (telemetry_get32(&t->told) != 0 || t->untold[0] == '\0')
		return json_null();
	return json_text(t->untold);
}

json_t *phases_report(const struct telemetry *t, double elapsed_s)
{
	struct found found;
	find(t, elapsed_s, &found);
	const struct efficiency *e = &found.efficiency;
	bool known = e->threads > 0;
	json_t *object = json_pack("{s:o, s:o, s:I, s:o, s:o, s:s, s:s}", "told_by", sources_of(t),
		"not_told", not_told(t), "threads", (json_int_t)e->threads, "phases",
		known ? json_integer((json_int_t)e->phases) : json_null(), "sites", sites_of(t),
		"verdict", worth_name(found.verdict), "advice", found.advice);

	set_real(object, "told_s", e->told_s, known);
	set_real(object, "parallel_efficiency", e->parallel_efficiency, known);
	set_real(object, "load_balance", e->load_balance, known);
	set_real(object, "communication_efficiency", e->communication_efficiency, known);
	set_real(object, "useful_share", e->useful_share, known);
	set_real(object, "lost_s", e->lost_s, known);
	set_real(object, "lost_share", e->lost_share, known);
	set_real(object, "phase_s", e->phase_s, known);
	set_real(object, "work_s", e->work_s, known);
	return object;
}

/* ---- The summary ---- */

static void summarize_efficiency(FILE *out, const struct telemetry *t, const struct efficiency *e)
{
	const struct telemetry_site *site[TELEMETRY_SITES];

	fprintf(out,
		"  efficiency   %.3f of %u thread%s: load balance %.3f, communication %.3f; CPUs "
		"%.3f\n",
		e->parallel_efficiency, e->threads, e->threads == 1 ? "" : "s", e->load_balance,
		e->communication_efficiency, e->useful_share);
	fprintf(out, "  lost         %.3f s of CPU time in waits (%.1f %%)", e->lost_s,
		100 * e->lost_share);
	if (sort_sites(t, site) > 0)
		fprintf(out, ", most at %s", site[0]->name);
	fputc('\n', out);
}

/* Has any thread ended a phase? */
static bool has_arrivals(const struct telemetry *t)
{
	const struct telemetry_thread *thread = telemetry_threads(t);
	uint32_t slots = slots_of(t);

	for (uint32_t i = 0; i < slots; i++)
		if (telemetry_get32(&thread[i].flags) & TELEMETRY_THREAD_TOLD &&
			telemetry_get(&thread[i].arrivals) > 0)
			return true;
	return false;
}

void phases_summary(FILE *out, const struct telemetry *t, double elapsed_s)
{
	uint32_t told = telemetry_get32(&t->told);
	struct found found;
	char sources[128];

	find(t, elapsed_s, &found);
	if (told == 0 && t->untold[0] != '\0') {
		text_line(out, "  phases       not told: %s", t->untold);
		return;
	}
	if (told == 0) {
		fprintf(out, "  phases       no thread was seen to wait for others\n");
		return;
	}
	fprintf(out, "  phases       told by %s", told_sources_text(told, sources, sizeof sources));
	if (found.efficiency.threads == 0) {
		fprintf(out, ": %s\n",
			has_arrivals(t) ? "by no thread for long enough to measure"
					: "no phase has ended");
		return;
	}
	fprintf(out, ": %llu of %.3g ms\n", (unsigned long long)found.efficiency.phases,
		found.efficiency.phase_s * 1e3);
	summarize_efficiency(out, t, &found.efficiency);
	fprintf(out, "  advice       %s\n", found.advice);
}
