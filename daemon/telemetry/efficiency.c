/* SPDX-License-Identifier: MIT */
/* The efficiencies of POP; see efficiency.h. */
#include "daemon/telemetry/efficiency.h"

#include <math.h>
#include <stdlib.h>

#define SPAN_LEAST 0.5 /* of the whole time */
#define ARRIVALS_LEAST 0.25 /* of the median, or ... */
#define USEFUL_LEAST 0.25 /* of the mean useful time */

static double span_ns(const struct efficiency_thread *thread)
{
	return thread->to_ns > thread->from_ns ? (double)(thread->to_ns - thread->from_ns) : 0;
}

/* The kernel may count CPU time a tick late. */
static double useful_share(const struct efficiency_thread *thread)
{
	return fmin(1, (double)thread->useful_ns / span_ns(thread));
}

/* NAN: not known. */
static double share(double value)
{
	return value > 0 ? fmin(1, value) : 0;
}

static int by_arrivals(const void *a, const void *b)
{
	const struct efficiency_thread *x = a, *y = b;

	return (x->arrivals > y->arrivals) - (x->arrivals < y->arrivals);
}

static int by_useful(const void *a, const void *b)
{
	double x = useful_share(a), y = useful_share(b);

	return (x > y) - (x < y);
}

/* ---- All threads ---- */

static double whole_ns(const struct efficiency_thread *thread, size_t n)
{
	uint64_t from_ns = UINT64_MAX, to_ns = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(span_ns(&thread[i]) > 0))
			continue;
		from_ns = thread[i].from_ns < from_ns ? thread[i].from_ns : from_ns;
		to_ns = thread[i].to_ns > to_ns ? thread[i].to_ns : to_ns;
	}
	return to_ns > from_ns ? (double)(to_ns - from_ns) : 0;
}

/* Threads that come and go count for as long as they are there. */
static void measure_cpus(
	const struct efficiency_thread *thread, size_t n, double cpus, struct efficiency *out)
{
	double spans = 0, useful = 0, waited = 0, whole = out->told_s * 1e9;

	for (size_t i = 0; i < n; i++) {
		spans += span_ns(&thread[i]);
		useful += fmin((double)thread[i].useful_ns, span_ns(&thread[i]));
		waited += fmin((double)thread[i].waited_ns, span_ns(&thread[i]));
	}
	double capacity = fmin(spans, cpus * whole);
	double lost = fmax(0, fmin(capacity - useful, waited));
	out->capacity_s = capacity * 1e-9;
	out->useful_share = share(useful / capacity);
	out->lost_s = lost * 1e-9;
	out->lost_share = share(lost / capacity);
}

/* ---- Those that count ---- */

/* Move them to the front, by their arrivals. Returns how many there are. */
static size_t choose(struct efficiency_thread *thread, size_t n, double whole)
{
	size_t told = 0, kept = 0;
	double useful_ns = 0;

	for (size_t i = 0; i < n; i++) {
		struct efficiency_thread one = thread[i];
		if (one.arrivals == 0 || span_ns(&one) < SPAN_LEAST * whole)
			continue;
		thread[i] = thread[told];
		thread[told++] = one;
		useful_ns += (double)one.useful_ns;
	}
	if (told == 0)
		return 0;
	qsort(thread, told, sizeof *thread, by_arrivals);
	double least = ARRIVALS_LEAST * (double)thread[(told - 1) / 2].arrivals;
	double least_ns = USEFUL_LEAST * useful_ns / (double)told;
	for (size_t i = 0; i < told; i++) {
		struct efficiency_thread one = thread[i];
		if ((double)one.arrivals < least && (double)one.useful_ns < least_ns)
			continue;
		thread[i] = thread[kept];
		thread[kept++] = one;
	}
	return kept;
}

static void measure_phases(const struct efficiency_thread *thread, size_t n, struct efficiency *out)
{
	double each_s = 0, work_s = 0, waiting = 0;

	for (size_t i = 0; i < n; i++) {
		each_s += span_ns(&thread[i]) * 1e-9;
		work_s += (double)thread[i].useful_ns * 1e-9;
		waiting += share((double)thread[i].waited_ns / span_ns(&thread[i]));
	}
	out->phases = thread[(n - 1) / 2].arrivals;
	out->phase_s = each_s / (double)n / (double)out->phases;
	out->work_s = work_s / (double)n / (double)out->phases;
	out->waiting = waiting / (double)n;
}

static void measure_others(
	const struct efficiency_thread *thread, size_t n, double cpus, struct efficiency *out)
{
	double each = ceil((double)n / cpus), ran = 0, ready = 0;

	for (size_t i = 0; i < n; i++) {
		ran += share(thread[i].ran);
		ready += share(thread[i].ready);
	}
	/* On a CPU with k threads at most k - 1 wait while one runs, and k while others do. */
	out->others = fmax(0, (ready - (each - 1) * ran) / each);
}

static void measure_threads(
	struct efficiency_thread *thread, size_t n, double cpus, struct efficiency *out)
{
	size_t each = (size_t)fmin(ceil((double)n / cpus), (double)n);

	qsort(thread, n, sizeof *thread, by_useful);
	for (size_t i = 0; i < n; i++) {
		out->useful += useful_share(&thread[i]);
		if (i < each)
			out->stacked = out->useful;
	}
	out->threads = (uint32_t)n;
	out->most = thread[n - 1].id;
	out->parallel_efficiency = out->useful / (double)n;
	out->communication_efficiency = useful_share(&thread[n - 1]);
	/* Threads without any work are in balance. */
	out->load_balance = out->communication_efficiency > 0
				    ? out->parallel_efficiency / out->communication_efficiency
				    : 1;
}

bool efficiency_take(
	const struct telemetry_thread *thread, uint32_t id, struct efficiency_thread *out)
{
	uint64_t until_ns = telemetry_get(&thread->told_until_ns);

	if (!(telemetry_get32(&thread->flags) & TELEMETRY_THREAD_TOLD) ||
		until_ns <= thread->told_ns)
		return false;
	double known_ns =
		until_ns > thread->met_ns ? (double)(until_ns - thread->met_ns) : INFINITY;
	*out = (struct efficiency_thread){.id = id,
		.from_ns = thread->told_ns,
		.to_ns = until_ns,
		.arrivals = telemetry_get(&thread->arrivals),
		.useful_ns = telemetry_get(&thread->useful_ns),
		.waited_ns = telemetry_get(&thread->waited_ns),
		.ran = (double)telemetry_get(&thread->progress_ns) / known_ns,
		.ready = (double)telemetry_get(&thread->wait_ns) / known_ns};
	return true;
}

void efficiency_measure(
	struct efficiency_thread *thread, size_t n, double cpus, struct efficiency *out)
{
	double whole = whole_ns(thread, n);
	size_t counted = choose(thread, n, whole);

	*out = (struct efficiency){0};
	if (counted == 0 || !(whole > 0))
		return;
	out->told_s = whole * 1e-9;
	measure_cpus(thread, n, cpus, out);
	measure_phases(thread, counted, out);
	measure_others(thread, counted, cpus, out);
	measure_threads(thread, counted, cpus, out);
}
