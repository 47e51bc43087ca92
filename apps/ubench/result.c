/* SPDX-License-Identifier: MIT */
/*
 * What a run of ubench found, as JSON; see result.h.
 */
#include "apps/ubench/result.h"

#include "daemon/base/json_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static double median_s(uint64_t *ns, uint64_t count)
{
	if (count == 0)
		return 0;
	qsort(ns, count, sizeof(*ns), compare);
	return ((double)ns[(count - 1) / 2] + (double)ns[count / 2]) / 2e9;
}

static int compare_falling(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a < b) - (a > b);
}

/* The speeds of the CPUs that the threads can use at a time, added up. A job on several machines has
 * the same list on each. */
static double speed_of_all(const struct result *result, const struct ubench_options *options)
{
	int used = result->threads < result->cpus ? result->threads : result->cpus;
	double sorted[CPUSET_CPUS_MAX], sum = 0;

	if (options->speed_count == 0)
		return used;

	int machines = result->cpus / (int)options->speed_count;
	memcpy(sorted, options->speed, options->speed_count * sizeof(*sorted));
	qsort(sorted, options->speed_count, sizeof(*sorted), compare_falling);
	for (int i = 0; i < used; i++)
		sum += sorted[i / machines];
	return sum;
}

/* No schedule can be faster: each CPU takes its share of the work, and the thread with
 * the most work has a CPU of its own, the fastest. */
static double ideal_s(const struct result *result, const struct ubench_options *options)
{
	double extra = options->imbalance_pct / 100;
	double shared = (result->threads + extra) / speed_of_all(result, options);
	double longest = 1 + extra;

	return (double)options->phase_ns / 1e9 * (double)options->phases *
	       (shared > longest ? shared : longest);
}

static int write_object(const char *program, const char *path, json_t *object)
{
	int rc = json_file_write(path, object);

	if (rc < 0)
		fprintf(stderr, "%s: %s: %s\n", program, path, strerror(-rc));
	return rc < 0 ? 1 : 0;
}

int result_write(const struct result *result, const struct ubench_options *options)
{
	json_t *times = json_array(), *speeds = options->speed_count ? json_array() : json_null();
	char checksum[24];

	for (uint64_t i = 0; i < result->phase_count; i++)
		json_array_append_new(times, json_real((double)result->phase_ns[i] / 1e9));
	for (size_t i = 0; i < options->speed_count; i++)
		json_array_append_new(speeds, json_real(options->speed[i]));
	/* As text: a 64-bit number does not survive readers that have only doubles. */
	snprintf(checksum, sizeof(checksum), "%016" PRIx64, result->checksum);
	return write_object(result->program, options->json,
		json_pack("{s:s, s:s, s:i, s:i, s:f, s:I, s:s, s:b, s:f, s:o, s:I, s:I, s:f, s:f, "
			  "s:f, s:s, s:o}",
			"program", result->program, "version", JUGGLE_VERSION, "threads",
			result->threads, "cpus", result->cpus, "phase_s",
			(double)options->phase_ns / 1e9, "phases", (json_int_t)options->phases,
			"barrier", barrier_name(options->barrier), "pin", options->pin,
			"imbalance_pct", options->imbalance_pct, "speeds", speeds,
			"rate_steps_per_ms", (json_int_t)result->rate_steps_per_ms, "memory_bytes",
			(json_int_t)options->memory_bytes, "elapsed_s",
			(double)result->elapsed_ns / 1e9, "phase_median_s",
			median_s(result->phase_ns, result->phase_count), "ideal_s",
			ideal_s(result, options), "checksum", checksum, "phase_times_s", times));
}

int result_write_rate(
	const char *program, uint64_t rate_steps_per_ms, const struct ubench_options *options)
{
	return write_object(program, options->json,
		json_pack("{s:s, s:s, s:I, s:I}", "program", program, "version", JUGGLE_VERSION,
			"rate_steps_per_ms", (json_int_t)rate_steps_per_ms, "memory_bytes",
			(json_int_t)options->memory_bytes));
}
